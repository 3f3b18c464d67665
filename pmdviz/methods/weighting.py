"""Weights of particles: what changes them, as terms that add up, and the words and numbers that tell how they are."""

from __future__ import annotations

from functools import reduce

import numpy as np

from pmdviz.densities.density import effective_sample_size, normalise
from pmdviz.errors import TargetError
from pmdviz.kernels.checks import Array
from pmdviz.methods.base import rows_in_words
from pmdviz.methods.step import Scalar, Term, Update

SCALARS = (
    Scalar("ess_before", "ESS before the step", "particles", True),
    Scalar("zero_weight", "particles of weight 0", "particles"),
)
PREVIOUS = Term("previous", "weight before", "log w", "What the steps before have made of it.")
NORMALISER = Term("normaliser", "normaliser", "− log Σ w", "The same for all: it makes the weights add up to 1.")
ROUNDING = 1e-9  # equal weights have ESS = m but for rounding, and are never below a threshold of 1
SHAPE_COST = 1.0  # nats that a shape may cost which is estimated from few particles


def ess_below(ess: float, threshold: float, m: int) -> bool:
    """Whether an effective sample size in [1, m] is below `threshold` m."""
    return ess < threshold * m * (1 - ROUNDING)


def equal(m: int) -> Array:
    """-log m for each of m particles, (m,)."""
    return np.full(m, -np.log(m))


def descended(fewest: float, at: int, particles: Array) -> str:
    """The caveat of particles (m, d) that descend from `fewest` effective ones, of iteration `at`; "" for enough.

    Fewer than d + 2 have no covariance. A Gaussian with the covariance of n is d (d + 3) / (4 n) nats off on average
    (Akaike 1974: half a nat a parameter over n).
    """
    m, d = particles.shape
    if m < d + 2 or fewest >= max(d + 2, d * (d + 3) / (4 * SHAPE_COST)):
        return ""
    return (
        f"all descend from {fewest:.1f} effective particles: at iteration {at:,} they were "
        "too few to estimate a covariance, and the ESS since then does not show it; "
        "restart with more particles or smaller first steps"
    )


def update(*terms: Term, formula: str = "log w′", fresh: bool = False) -> Update:
    """The update of log-weights: the sum of the terms and their normaliser."""
    return Update("weights", formula, "new log-weight", "nats", (*terms, NORMALISER), fresh)


def following(title: str, formula: str, about: str = "") -> Update:
    """The update of log-weights by a likelihood that is added to them; `about` explains that term."""
    return update(PREVIOUS, Term("likelihood", title, formula, about))


def tempered(about: str) -> Update:
    """The same by a rise Δβ of the temperature."""
    return following("likelihood of all data", "+ Δβ log p(X | θ)", about)


def terms(log_weights: Array, **parts: Array) -> dict[str, Array]:
    """The parts (m,) of an update with its normaliser besides: together they are the new `log_weights` (m,)."""
    total = reduce(np.add, parts.values())
    best = int(np.argmax(log_weights))
    return {**parts, "normaliser": np.full(len(log_weights), log_weights[best] - total[best])}


def scalars(ess: float, log_weights: Array) -> dict[str, float]:
    """The numbers of WEIGHTED: the ESS before the step, and how many particles have weight 0 after it."""
    return {"ess_before": ess, "zero_weight": int((log_weights == -np.inf).sum())}


def words(log_weights: Array) -> str:
    """The effective sample size of normalised log-weights (m,), and how many of them are 0, for a step's line."""
    m, ess, zeros = len(log_weights), effective_sample_size(log_weights), int((log_weights == -np.inf).sum())
    return f"ESS {ess:,.0f} of {m:,} ({ess / m:.0%})" + (f" · {zeros:,} particles have weight 0" if zeros else "")


def normalised(log_weights: Array, particles: Array, batch: Array) -> Array:
    """Log-weights (m,) with logsumexp 0. Raises TargetError where no particle has any weight left."""
    if log_weights.max() == -np.inf:
        at, rows = particles[0], rows_in_words(batch)
        raise TargetError(
            f"every particle (one is theta = {at}) has probability 0 after {rows}; use more particles, larger batches "
            "or smaller steps, or widen the prior",
            at,
            rows,
        )
    return normalise(log_weights)
