"""One pass over the data: what importance sampling and one-pass sequential Monte Carlo have in common."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from pmdviz.densities.density import effective_sample_size
from pmdviz.methods.base import checked_log_likelihood, read_only, usual_rows
from pmdviz.methods.shared.batching import BatchMethod
from pmdviz.methods.shared.particles import (
    PREVIOUS,
    descended,
    equal_log_weights,
    normalised,
    prior_draws,
    weight_terms,
    weight_update,
)
from pmdviz.methods.shared.smoothing import SmoothedMethod
from pmdviz.methods.step import Cost, StepInfo, Term, events
from pmdviz.targets import Target


class OnePassState(NamedTuple):
    """Weighted particles that stand for the posterior given the data seen so far."""

    particles: np.ndarray  # (m, d)
    log_weights: np.ndarray  # (m,) logsumexp 0
    supported: np.ndarray  # (m,) 1.0 where the prior is above 0, else 0.0
    iteration: int
    seen: int  # observations used, each once
    fewest: float  # the smallest ESS that new particles have been drawn from; infinite where none have
    fewest_at: int  # iteration of that
    log_z: float  # estimate of log p(data seen), nats


class Once(BatchMethod):
    """A method that visits every datum once; its state says how many have been `seen`."""

    budget_words = "one pass over the data"

    def default_budget(self, target: Target, knobs: Any) -> int:
        """The one pass; never less than other methods have."""
        return max(usual_rows(target), target.num_data)

    def batch_size(self, state: Any, knobs: Any, num_data: int) -> int:
        """B, and at last what is left."""
        return min(knobs.batch_size, num_data - state.seen)

    def batches(self, state: Any, knobs: Any) -> str:
        """Always one pass: there is no second one to draw from."""
        return "epochs"

    def ended(self, state: Any, knobs: Any, target: Target) -> str:
        """After the pass there is nothing more to do, whatever the budget."""
        return "one pass only" if state.seen >= target.num_data else ""


class OnePass(SmoothedMethod, Once):
    """Every datum is visited once: log w <- log w + sum over the batch of log p(x | theta).

    log p(batch | data before it) is estimated by the log of the weighted mean of p(batch | theta), and log Z is the sum
    over batches: exp of it is unbiased where particles are not redrawn, or redrawn without any noise.
    """

    estimates_log_z = True
    update = weight_update(
        PREVIOUS,
        Term(
            "likelihood",
            "likelihood of the batch",
            "+ Σ log p(x | θ)",
            "Bayes' rule for the rows of this batch: each datum counts once.",
        ),
    )

    def init(self, rng: np.random.Generator, target: Target, knobs: Any) -> OnePassState:
        """m draws from the prior, equally weighted."""
        m = knobs.num_particles
        particles, _ = prior_draws(rng, target, m)
        return OnePassState(*read_only(particles, equal_log_weights(m), np.ones(m)), 0, 0, np.inf, 0, 0.0)

    def renewed(
        self, rng: np.random.Generator, state: OnePassState, target: Target, ess: float, knobs: Any
    ) -> tuple[OnePassState, str, np.ndarray | None]:
        """The state that the step starts from; where particles were redrawn why ("" elsewhere), and their parents."""
        return state, "", None

    def step(
        self, rng: np.random.Generator, state: OnePassState, target: Target, batch: np.ndarray, knobs: Any
    ) -> tuple[OnePassState, StepInfo]:
        """Bayes' rule for the batch, after new particles where they are due."""
        ess = effective_sample_size(state.log_weights)
        state, reason, parents = self.renewed(rng, state, target, ess, knobs)
        if reason and ess < state.fewest:
            state = state._replace(fewest=ess, fewest_at=state.iteration)
        log_likelihood = checked_log_likelihood(target, state.particles, batch, state.supported > 0)
        before = state.log_weights
        log_z = state.log_z + float(np.logaddexp.reduce(before + log_likelihood))
        (log_weights,) = read_only(normalised(state.log_weights + log_likelihood, state.particles, batch))
        state = state._replace(
            log_weights=log_weights, iteration=state.iteration + 1, seen=state.seen + len(batch), log_z=log_z
        )
        zeros = int((log_weights == -np.inf).sum())
        return state, StepInfo(
            Cost(len(batch), len(batch) * int((state.supported > 0).sum())),
            _words(state, len(batch), target.num_data, reason, zeros),
            events(rejuvenated=reason),
            {"ess_before": ess, "zero_weight": zeros},
            weight_terms(log_weights, previous=before, likelihood=log_likelihood),
            parents=parents,
        )

    def log_z(self, state: OnePassState, knobs: Any, target: Target) -> float | None:
        """Of the data seen."""
        return state.log_z if state.seen else None

    def caveat(self, state: OnePassState, knobs: Any) -> str:
        """That too few particles carry the posterior, or once did."""
        return super().caveat(state, knobs) or descended(state.fewest, state.fewest_at, state.particles)


def _words(state: OnePassState, batch: int, num_data: int, reason: str, zeros: int) -> str:
    m, after = len(state.particles), effective_sample_size(state.log_weights)
    parts = [f"batch of {batch:,}", f"{state.seen:,} of {num_data:,} data seen"]
    parts += [f"ESS {after:,.0f} of {m:,} ({after / m:.0%})"]
    parts += [f"resampled and jittered first ({reason})"] if reason else []
    parts += [f"{zeros:,} particles have weight 0"] if zeros else []
    return " · ".join(parts)
