"""Annealed importance sampling (Neal 2001): weights collected on the way from prior to posterior."""

from __future__ import annotations

from pmdviz.methods.annealing.knobs import LadderKnobs, leapfrog_steps_knob, sandwich_knob
from pmdviz.methods.annealing.ladder import Ladder
from pmdviz.methods.grammar import Grammar, by


class AISKnobs(LadderKnobs):
    """The knobs of `ais`."""

    kind_words = "knob of method 'ais':"

    leapfrog_steps = leapfrog_steps_knob(1)
    sandwich = sandwich_knob()


class AIS(Ladder):
    """log w += (β_t - β_{t-1}) log L(θ), then one move that leaves prior x L^β_t as it is: MALA, or HMC with L > 1.

    Where there is no gradient it is a random walk, and on discrete states single changes, d of them or 64.
    """

    name = "ais"
    title = "Annealed importance sampling"
    about = (
        "Annealed importance sampling leads draws of a simple density to the posterior by small rises of temperature, "
        "and weighs each by what it gained at every rise."
    )
    formula = "log w ← log w + (β_t - β_{t-1}) log p(X | θ),  θ ~ move that keeps p(θ) p(X | θ)^{β_t}"
    what_moves = "Particles follow the rising temperature by Metropolis moves, and each collects a weight of its own."
    source = "Neal 2001; the way back: Grosse, Ghahramani, Adams 2015; the step tuned by pilots: ours"
    short_title = "AIS"
    grammar = Grammar(
        propagate=by("prior"),
        reweight=by("temperature"),
        move=by("MALA", remark="HMC with more leapfrog steps; Metropolis without a gradient"),
        adapt=by("step size", remark="by pilots, which have no weight"),
    )
    Knobs = AISKnobs
    bounds_log_z = True
