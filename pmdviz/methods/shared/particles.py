"""What methods with weighted particles share: two knobs, draws from the prior, and weights that must not all vanish."""

from __future__ import annotations

import numpy as np

from pmdviz.densities.bandwidth import PRIOR_FLOOR, SPREAD_FLOOR, spread
from pmdviz.densities.density import normalise, weighted_sum
from pmdviz.errors import TargetError
from pmdviz.knobs import Real, Whole
from pmdviz.methods.base import checked_log_prior, rows_in_words
from pmdviz.methods.shared import draws
from pmdviz.methods.step import Term, Update
from pmdviz.targets import Target

PREVIOUS = Term("previous", "weight before", "log w", "What the steps before have made of it.")
NORMALISER = Term("normaliser", "normaliser", "− log Z", "The same for all: it makes the weights add up to 1.")
SHAPE_COST = 1.0  # nats that a shape may cost which is estimated from few particles
REACH = 1e6  # prior sds; a particle beyond that has diverged
ROUNDING = 1e-9  # equal weights have ESS = m but for rounding, and are never below a threshold of 1


def num_particles_knob(
    default: int, acts: str, doc: str, usual: tuple[int, int] = (100, 50_000), **by: object
) -> Whole:
    """The knob `num_particles`, for a method whose own default it is; `usual` are the ends of its slider."""
    return Whole(
        default,
        bounds=(1, 100_000),
        softbounds=usual,
        log=True,
        basic=True,
        label="Particles m",
        acts=acts,
        doc=doc,
        **by,
    )


def ess_threshold_knob(default: float, doc: str, only_if: tuple[str, str] | None = None, basic: bool = False) -> Real:
    """The knob `ess_threshold`, for a method whose own default it is."""
    return Real(
        default,
        bounds=(0, 1),
        inclusive_bounds=(False, True),
        softbounds=(0.05, 1),
        label="ESS threshold τ",
        unit="fraction of m",
        only_if=only_if,
        basic=basic,
        doc=doc,
    )


def ess_below(ess: float, threshold: float, m: int) -> bool:
    """Whether an effective sample size in [1, m] is below `threshold` m."""
    return ess < threshold * m * (1 - ROUNDING)


def equal_log_weights(m: int) -> np.ndarray:
    """-log m for each of m particles, (m,)."""
    return np.full(m, -np.log(m))


def fewest_for_a_shape(d: int) -> float:
    """Effective particles that new ones must be drawn from: n have no covariance below d + 2.

    Above that a Gaussian's, by which it is d (d + 3) / (4 n) nats off on average (Akaike 1974: half a nat a parameter
    over n).
    """
    return max(d + 2, d * (d + 3) / (4 * SHAPE_COST))


def descended(fewest: float, at: int, particles: np.ndarray) -> str:
    """The caveat of particles (m, d) that descend from `fewest` effective ones, of iteration `at`; "" for enough."""
    m, d = particles.shape
    if m < d + 2 or fewest >= fewest_for_a_shape(d):
        return ""
    return (
        f"all descend from {fewest:.1f} effective particles: at iteration {at:,} they were "
        "too few to have a shape, and the ESS since then does not show what was lost"
    )


def covariance(particles: np.ndarray, weights: np.ndarray, scale: np.ndarray) -> np.ndarray:
    """Weighted covariance (d, d) of particles (m, d), with a little added that makes few or coincident ones solid."""
    centred = particles - weighted_sum(weights, particles)
    return np.einsum("m,mi,mj->ij", weights, centred, centred) + covariance_floor(particles, weights, scale)


def covariance_floor(particles: np.ndarray, weights: np.ndarray, scale: np.ndarray) -> np.ndarray:
    """Diagonal (d, d) that makes a covariance of the particles invertible: 1e-8 of their variance, and a trace more."""
    return np.diag((SPREAD_FLOOR * spread(particles, weights) + PRIOR_FLOOR * scale) ** 2)


def prior_draws(
    rng: np.random.Generator, target: Target, m: int, spread: str = "independent"
) -> tuple[np.ndarray, np.ndarray]:
    """m draws (m, d) from the prior and their log prior (m,). Raises TargetError where a draw has none.

    `spread` is a name of `draws.DRAWS`.
    """
    particles = draws.from_prior(rng, target, m, spread)
    log_prior = checked_log_prior(target, particles)
    if (log_prior == -np.inf).any():
        at = particles[log_prior == -np.inf][0]
        raise TargetError(f"log_prior of target {target.name!r} is -inf at its own draw theta = {at}", at)
    return particles, log_prior


def weight_update(*terms: Term, formula: str = "log w′", fresh: bool = False) -> Update:
    """What the new log-weights are the sum of: the terms, and their normaliser."""
    return Update("weights", formula, "new log-weight", "nats", (*terms, NORMALISER), fresh)


def tempered_update(about: str) -> Update:
    """What a rise of the temperature by Δβ makes of the log-weights; `about` says where the likelihood is taken."""
    return weight_update(PREVIOUS, Term("likelihood", "likelihood of all data", "+ Δβ log p(X | θ)", about))


def weight_terms(log_weights: np.ndarray, **parts: np.ndarray) -> dict[str, np.ndarray]:
    """The parts (m,) of an update with its normaliser besides: together they are the new `log_weights` (m,)."""
    total = sum(parts.values())
    best = int(np.argmax(log_weights))
    return {**parts, "normaliser": np.full(len(log_weights), log_weights[best] - total[best])}


def normalised(log_weights: np.ndarray, particles: np.ndarray, batch: np.ndarray) -> np.ndarray:
    """Log-weights (m,) with logsumexp 0. Raises TargetError where no particle has any weight left."""
    if log_weights.max() == -np.inf:
        at, rows = particles[0], rows_in_words(batch)
        raise TargetError(f"every particle (one is theta = {at}) has probability 0 after {rows}", at, rows)
    return normalise(log_weights)


def check_reach(particles: np.ndarray, target: Target, h: float, batch: np.ndarray) -> None:
    """Raise TargetError where a particle (m, k), of the first k coordinates, is NaN or a million prior sds away."""
    scale = target.scale[: particles.shape[1]]
    if max(-particles.min(), particles.max()) <= REACH * scale.min():  # without an array of their size
        return
    far = ~(np.abs(particles) <= REACH * scale).all(axis=1)
    if far.any():
        words = f"the particles diverged on target {target.name!r}; use a step size smaller than {h:.3g}"
        raise TargetError(words, particles[far][0], rows_in_words(batch))
