"""The two steps of `pmd` on the log-weights, mirror descent and a warm start's Bayes' rule, and how far they may go."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from pmdviz.kernels.limiting import largest_step
from pmdviz.methods.pmd.state import PMDState
from pmdviz.methods.shared.particles import PREVIOUS, weight_update
from pmdviz.methods.step import Term

UPDATE = weight_update(
    Term("previous", "weight before", "(1 − γ) log w", "What was known: the step forgets the share γ of it."),
    Term("prior", "prior", "+ γ log p(θ)", "The prior comes in anew as the old weights are forgotten."),
    Term(
        "likelihood",
        "likelihood of the batch",
        "+ γ N/B Σ log p(x | θ)",
        "The pull of this batch, as if all data were like it.",
    ),
    Term(
        "proposal",
        "density it was drawn from",
        "− γ log q̃(θ)",
        "Where many particles were drawn each of them counts for less.",
    ),
)
WARM_UPDATE = weight_update(
    PREVIOUS,
    Term(
        "likelihood",
        "likelihood of the batch",
        "+ s Σ log p(x | θ)",
        "Bayes' rule for the rows of this batch; the share s of it is 1 unless the step is limited.",
    ),
)


class Step(NamedTuple):
    """Where a step leads."""

    log_weights: np.ndarray  # (m,), not yet normalised
    size: float  # how far it went: γ, or the share of a batch whose likelihood was applied
    wanted: float  # how far it was to go

    @property
    def limited(self) -> bool:
        """Whether it went less far than it was to go."""
        return self.size < self.wanted


def mirror_step(state: PMDState, gamma: float, scaled_log_likelihood: np.ndarray, share: float = 0.0) -> Step:
    """log w <- (1-γ) log w + γ (log prior + (N/B) Σ log p(x|θ) - log proposal), not yet normalised.

    From Eq. 2 with q_t ∝ w · proposal. A particle of weight 0 keeps it, as 0^(1-γ) does for γ < 1. With a `share` above
    0 γ is at most what leaves that share of the effective sample size.
    """
    pull = state.log_prior + scaled_log_likelihood - state.log_proposal
    size = limit(state.log_weights, pull - _finite(state.log_weights), gamma, share)
    kept = (1 - size) * state.log_weights if size < 1 else 0.0
    return Step(kept + size * pull, size, gamma)


def bayes_step(state: PMDState, log_likelihood: np.ndarray, share: float = 0.0) -> Step:
    """log w <- log w + Σ log p(x|θ), or so much of what is left of the batch as the `share` of the ESS allows."""
    left = state.rest or 1.0
    size = limit(state.log_weights, log_likelihood, left, share)
    return Step(state.log_weights + size * log_likelihood, size, left)


def mirror_terms(state: PMDState, done: Step, scaled_log_likelihood: np.ndarray) -> dict[str, np.ndarray]:
    """What the log-weights of `mirror_step` are the sum of."""
    kept = (1 - done.size) * state.log_weights if done.size < 1 else np.zeros(len(state.log_weights))
    return {
        "previous": kept,
        "prior": done.size * state.log_prior,
        "likelihood": done.size * scaled_log_likelihood,
        "proposal": -done.size * state.log_proposal,
    }


def bayes_terms(state: PMDState, done: Step, log_likelihood: np.ndarray) -> dict[str, np.ndarray]:
    """What the log-weights of `bayes_step` are the sum of."""
    return {"previous": state.log_weights, "likelihood": done.size * log_likelihood}


def limit(log_weights: np.ndarray, slope: np.ndarray, most: float, share: float) -> float:
    """The largest step along `slope` up to `most` that keeps `share` of the ESS; 0: no limit."""
    reached = log_weights > -np.inf
    if share == 0.0 or not (reached & (slope > -np.inf)).any():  # nobody is left: the step itself says so
        return most
    return largest_step(log_weights, slope, most, share)


def _finite(log_weights: np.ndarray) -> np.ndarray:
    """Log-weights to be taken off: a particle of weight 0 does not count, whatever its slope."""
    return np.where(log_weights > -np.inf, log_weights, 0.0)
