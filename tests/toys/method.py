"""A method in one file: weights that follow a running average of the likelihood; particles never move."""

from typing import Any, NamedTuple

import numpy as np

from pmdviz.densities.density import effective_sample_size
from pmdviz.methods import weighting
from pmdviz.methods.base import BatchMethod, checked_log_likelihood
from pmdviz.methods.step import BATCH_SIZE, Cost, Scalar, StepInfo, Term, Work
from pmdviz.methods.weighting import NUM_PARTICLES, SmoothedMethod, SmoothingKnobs, prior_draws
from pmdviz.targets import Target


class ToyKnobs(SmoothingKnobs):
    """The knobs of `toy_average`.

    num_particles: Draws from the prior; they never move.
    """

    num_particles = NUM_PARTICLES.at(500, acts="restart")
    batch_size = BATCH_SIZE.at(10)

    def work(self, num_data: int) -> Work:
        return Work(likelihoods=self.num_particles * self.rows(num_data))


class ToyState(NamedTuple):
    particles: np.ndarray
    log_weights: np.ndarray
    iteration: int


class ToyAverage(SmoothedMethod, BatchMethod):
    """A toy average.

    about: A toy average weights draws from the prior by a running average of the likelihood.
    formula: log w_t = (1 - 1/t) log w_{t-1} + (1/t) (N/B) log p(batch | θ)
    what_moves: Particles stay in place and change weight.
    source: ours
    propagate: prior
    reweight: likelihood (an average over the steps)
    """

    name = "toy_average"
    Knobs = ToyKnobs
    scalars = (*weighting.SCALARS, Scalar("toy_share", "toy share of the batch"))
    update = weighting.update(
        Term("previous", "weight before", "(1 − 1/t) log w", "The average so far, of which a share is kept."),
        Term("likelihood", "toy likelihood", "+ N/(tB) Σ log p(x | θ)", "This batch, as one of t in the average."),
    )

    def init(self, rng: np.random.Generator, target: Target, knobs: Any) -> ToyState:
        particles, _ = prior_draws(rng, target, knobs.num_particles)
        return ToyState(particles, weighting.equal(knobs.num_particles), 0)

    def step(
        self, rng: np.random.Generator, state: ToyState, target: Target, batch: np.ndarray, knobs: Any
    ) -> tuple[ToyState, StepInfo]:
        t, before = state.iteration + 1, effective_sample_size(state.log_weights)
        likelihood = checked_log_likelihood(target, state.particles, batch) * target.num_data / len(batch) / t
        previous = (1 - 1 / t) * state.log_weights
        log_weights = weighting.normalised(previous + likelihood, state.particles, batch)
        scalars = {"ess_before": before, "zero_weight": int((log_weights == -np.inf).sum()), "toy_share": 1 / t}
        terms = weighting.terms(log_weights, previous=previous, likelihood=likelihood)
        cost = Cost(len(batch), len(batch) * len(state.particles))
        return ToyState(state.particles, log_weights, t), StepInfo(cost, f"toy share 1/{t}", {}, scalars, terms)
