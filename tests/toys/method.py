"""A method in one file: weights that follow a running average of the likelihood; particles never move."""

from typing import Any, NamedTuple

import numpy as np

from pmdviz.densities.density import effective_sample_size
from pmdviz.methods.base import checked_log_likelihood, read_only
from pmdviz.methods.grammar import Grammar, by
from pmdviz.methods.shared.batching import BatchMethod, batch_size_knob
from pmdviz.methods.shared.particles import (
    equal_log_weights,
    normalised,
    num_particles_knob,
    prior_draws,
    weight_terms,
    weight_update,
)
from pmdviz.methods.shared.smoothing import SmoothedMethod, SmoothingKnobs
from pmdviz.methods.step import WEIGHTED, Cost, Scalar, StepInfo, Term, Work
from pmdviz.targets import Target


class ToyKnobs(SmoothingKnobs):
    """The knobs of `toy_average`."""

    kind_words = "knob of method 'toy_average':"

    num_particles = num_particles_knob(500, "restart", "Draws from the prior; they never move.")
    batch_size = batch_size_knob(10)

    def work(self, num_data: int) -> Work:
        return Work(likelihoods=self.num_particles * self.rows(num_data))


class ToyState(NamedTuple):
    """Weighted draws of the prior."""

    particles: np.ndarray
    log_weights: np.ndarray
    iteration: int


class ToyAverage(SmoothedMethod, BatchMethod):
    """log w_t = (1 - 1/t) log w_{t-1} + (1/t) (N / B) sum over the batch of log p(x | theta)."""

    name = "toy_average"
    title = "A toy average"
    about = "A toy average weights draws from the prior by a running average of the likelihood."
    formula = "log w_t = (1 - 1/t) log w_{t-1} + (1/t) (N/B) log p(batch | θ)"
    what_moves = "Particles stay in place and change weight."
    source = "ours"
    grammar = Grammar(propagate=by("prior"), reweight=by("likelihood", remark="an average over the steps"))
    Knobs = ToyKnobs
    scalars = (*WEIGHTED, Scalar("toy_share", "toy share of the batch"))
    update = weight_update(
        Term("previous", "weight before", "(1 − 1/t) log w", "The average so far, of which a share is kept."),
        Term("likelihood", "toy likelihood", "+ N/(tB) Σ log p(x | θ)", "This batch, as one of t in the average."),
    )

    def init(self, rng: np.random.Generator, target: Target, knobs: Any) -> ToyState:
        particles, _ = prior_draws(rng, target, knobs.num_particles)
        return ToyState(*read_only(particles, equal_log_weights(knobs.num_particles)), 0)

    def step(
        self, rng: np.random.Generator, state: ToyState, target: Target, batch: np.ndarray, knobs: Any
    ) -> tuple[ToyState, StepInfo]:
        t, before = state.iteration + 1, effective_sample_size(state.log_weights)
        likelihood = checked_log_likelihood(target, state.particles, batch) * target.num_data / len(batch) / t
        previous = (1 - 1 / t) * state.log_weights
        (log_weights,) = read_only(normalised(previous + likelihood, state.particles, batch))
        scalars = {"ess_before": before, "zero_weight": int((log_weights == -np.inf).sum()), "toy_share": 1 / t}
        terms = weight_terms(log_weights, previous=previous, likelihood=likelihood)
        cost = Cost(len(batch), len(batch) * len(state.particles))
        return ToyState(state.particles, log_weights, t), StepInfo(cost, f"toy share 1/{t}", (), scalars, terms)
