"""Hamiltonian annealed importance sampling (Sohl-Dickstein, Culpepper 2012): momenta that outlive a temperature."""

from __future__ import annotations

import numpy as np

from pmdviz.knobs import Real
from pmdviz.methods.annealing import moves
from pmdviz.methods.annealing.knobs import LadderKnobs, leapfrog_steps_knob, sandwich_knob
from pmdviz.methods.annealing.ladder import Ladder
from pmdviz.methods.annealing.moves import Walkers
from pmdviz.methods.base import Method
from pmdviz.methods.grammar import Grammar, by
from pmdviz.targets import Target


class HAISKnobs(LadderKnobs):
    """The knobs of `hais`."""

    kind_words = "knob of method 'hais':"

    leapfrog_steps = leapfrog_steps_knob(10)
    refreshment = Real(
        0.5,
        bounds=(0, 1),
        inclusive_bounds=(False, True),
        softbounds=(0.01, 1),
        basic=True,
        label="Refreshment γ",
        unit="share of the momentum's variance",
        doc="How much of the momentum is replaced by a fresh draw at each temperature. At 1 all of it: that is AIS "
        "with the same leapfrog steps.",
    )
    sandwich = sandwich_knob()


class HAIS(Ladder):
    """As annealed importance sampling, with p <- sqrt(1 - γ) p + sqrt(γ) N(0, I) at each temperature.

    The ladder is that of prior x L^β x N(p | 0, I), of which the momenta's part has the same normaliser at every rung
    and cancels in the weights. A refused trajectory turns its momentum round.
    """

    name = "hais"
    title = "Hamiltonian annealed importance sampling"
    about = (
        "Hamiltonian annealed importance sampling leads draws of a simple density to the posterior by trajectories "
        "that keep some of their momentum from one temperature to the next."
    )
    formula = "p ← √{1-γ} p + √γ ξ;  θ, p by L leapfrog steps;  log w ← log w + (β_t - β_{t-1}) log p(X | θ)"
    what_moves = (
        "Particles glide along trajectories while the temperature rises, and each collects a weight of its own."
    )
    source = "Sohl-Dickstein, Culpepper 2012; partial refreshment: Horowitz 1991; the step tuned by pilots: ours"
    short_title = "HAIS"
    requires = frozenset({"reals", "gradient"})
    grammar = Grammar(
        propagate=by("prior"),
        reweight=by("temperature"),
        move=by("HMC", remark="half of the momentum is kept from one temperature to the next"),
        adapt=by("step size", remark="by pilots, which have no weight"),
    )
    Knobs = HAISKnobs
    bounds_log_z = True

    def missing_in(self, target: Target) -> str:
        """Trajectories need real coordinates and a gradient."""
        return Method.missing_in(self, target)

    def move(self, rng: np.random.Generator, walkers: Walkers, at: moves.Rung, knobs: HAISKnobs) -> moves.Moved:
        """The leapfrog from a momentum that is partly new."""
        return moves.leapt(rng, walkers, at, knobs.leaps, kept=float(np.sqrt(1 - knobs.refreshment)))
