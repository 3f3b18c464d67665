"""Annealed importance sampling (Neal 2001), its Hamiltonian form and its stochastic form."""

from __future__ import annotations

from typing import Any

import numpy as np

from pmdviz.knobs import Real
from pmdviz.methods.annealing import moves
from pmdviz.methods.annealing.ladder import Ladder, LadderKnobs, LadderState, leapfrog_steps_knob, sandwich_knob
from pmdviz.methods.annealing.moves import Walkers, asked
from pmdviz.methods.base import Method
from pmdviz.methods.grammar import Grammar, by
from pmdviz.methods.shared.batching import BatchKnobs, BatchMethod, batch_size_knob
from pmdviz.methods.shared.particles import PREVIOUS, weight_update
from pmdviz.methods.step import Cost, Term
from pmdviz.targets import Target


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


# Hamiltonian annealed importance sampling (Sohl-Dickstein, Culpepper 2012): momenta that outlive a temperature.


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


# Annealed importance sampling with a minibatch at each temperature: it is cheap, and its log Z is wrong.


class StochasticAISKnobs(BatchKnobs, LadderKnobs):
    """The knobs of `stochastic_ais`."""

    kind_words = "knob of method 'stochastic_ais':"

    batch_size = batch_size_knob(100)
    leapfrog_steps = leapfrog_steps_knob(1)


class StochasticAIS(BatchMethod, Ladder):
    """AIS with L_t = exp of (N/B) sum over batch t of log p(x | θ): log w += β_t log L_t(θ) - β_{t-1} log L_{t-1}(θ).

    The move at rung t and the denominator of the next weight share batch t; then w is exact for a ladder that ends at
    prior x L_T, the posterior of ONE batch counted N/B times, and not at the posterior. So the mean of Z-hat is that of
    Z_T, which by Jensen's inequality is above Z, but it is so by rare batches and particles. What a run sees lies far
    below: walkers that follow batch t-1 fit batch t less well. On N data around θ in d dimensions that costs
    β_t d (N/B - 1) nats at each rung where the moves forget their start, so MORE temperatures make it worse
    (T/(p + 1) times d (N/B - 1) in all; ours). With B = N and shuffled passes it is `ais`.
    """

    name = "stochastic_ais"
    title = "Stochastic annealed importance sampling"
    about = (
        "Stochastic annealed importance sampling replaces the likelihood by that of a batch at each temperature, which "
        "spoils the weights and log Z."
    )
    formula = "log w ← log w + (N/B) [β_t log p(batch_t | θ) - β_{t-1} log p(batch_{t-1} | θ)]"
    what_moves = (
        "Particles chase the posterior of one batch after another, and most of the weight goes to a few of them."
    )
    source = "Han 2019, section on stochastic annealed importance sampling; that it is biased: ours"
    short_title = "Stochastic AIS"
    grammar = Grammar(
        propagate=by("prior"),
        reweight=by("temperature", remark="one batch comes in, the one before it goes out"),
        move=by("MALA", remark="HMC with more leapfrog steps; Metropolis without a gradient"),
        adapt=by("step size", remark="by pilots, which have no weight"),
    )
    Knobs = StochasticAISKnobs
    update = weight_update(
        PREVIOUS,
        Term(
            "likelihood",
            "likelihoods of two batches",
            "+ N/B [β′ Σ_{batch′} log p(x | θ) − β Σ_{batch} log p(x | θ)]",
            "The new batch comes in and the one before it goes out, which leaves the noise of both.",
        ),
    )

    def missing_in(self, target: Target) -> str:
        """Without data there are no batches."""
        return super().missing_in(target) or ("data to take batches of" if target.data is None else "")

    def fitted(self, knobs: Any, target: Target) -> Any:
        """A batch that is at most the data."""
        return BatchMethod.fitted(self, knobs, target)

    def passes(self, target: Target, knobs: Any) -> int:
        """Besides the move's, those of the new batch where the walkers stand."""
        return super().passes(target, knobs) + (2 if {"reals", "gradient"} <= target.offers else 1)

    def batch_size(self, state: Any, knobs: Any, num_data: int) -> int:
        """B."""
        return min(knobs.batch_size, num_data)

    def batches(self, state: Any, knobs: Any) -> str:
        """As the knob says."""
        return knobs.batches

    def known_at(self, state: LadderState, target: Target, batch: np.ndarray) -> tuple[Walkers, Cost]:
        """Of this batch, in every step."""
        walkers, _ = super().known_at(state._replace(iteration=1), target, batch)
        return asked(walkers, target, batch, self.by_gradient(target))

    def numbers(self, before: LadderState, after: LadderState, target: Target, batch: np.ndarray) -> dict[str, float]:
        """Both temperatures, and how many data a row of a batch stands for."""
        return {"N/B": target.num_data / len(batch), "β′": after.beta, "β": before.beta}

    def gained(self, state: LadderState, beta: float, log_likelihood: np.ndarray) -> np.ndarray:
        """β' log L' - β log L, (n,), where L is of the batch before."""
        if state.beta == 0:
            return beta * log_likelihood
        with np.errstate(invalid="ignore"):
            found = beta * log_likelihood - state.beta * state.log_likelihood
        return np.where(np.isnan(found), -np.inf, found)
