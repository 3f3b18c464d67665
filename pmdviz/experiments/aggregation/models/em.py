"""Weighted expectation maximisation of a mixture of Gaussians, and where it begins."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from pmdviz.experiments.aggregation.models.covariances import Covariances
from pmdviz.experiments.aggregation.models.mixture import Mixture, log_joint, log_sum

MOST_STEPS, TOLERANCE = 500, 1e-6  # the tolerance is in units of the points' sd, and of shares
TRIAL_STEPS, TRIALS, MOST_TRIED = 30, 4, 5000  # several beginnings, on so many points
LEAST_VARIANCE = 1e-6  # of a component, as a share of the points' variance
LEAST_SHARE = 1e-9  # of a component; below it the component stays where it was
FLOOR_HIT = "a covariance has shrunk to its floor"
NOT_CONVERGED = "EM has not converged"


class Fit(NamedTuple):
    """A maximum of the likelihood, and what is wrong with it in words, or ""."""

    params: Mixture
    note: str


def maximise(
    points: np.ndarray, weights: np.ndarray, start: Mixture, family: Covariances, most_steps: int = MOST_STEPS
) -> Fit:
    """A local maximum of sum_i w_i log p(x_i) from `start`: points (n, d), weights (n,) of sum 1.

    A single component has its maximum in closed form.
    """
    unit = _spread(points, weights)
    params, floored, moved = start, False, np.inf
    for _ in range(1 if len(start.shares) == 1 else most_steps):
        before = params
        params, floored = _maximised(points, weights, before, family, LEAST_VARIANCE * unit**2)
        moved = _moved(before, params, unit)
        if moved < TOLERANCE:
            break
    late = len(start.shares) > 1 and moved >= TOLERANCE
    return Fit(params, FLOOR_HIT if floored else NOT_CONVERGED if late else "")


def _maximised(
    points: np.ndarray, weights: np.ndarray, before: Mixture, family: Covariances, floor: float
) -> tuple[Mixture, bool]:
    """One step: the expected assignments under `before`, and the most likely parameters for them."""
    expected = weights[:, None] * responsibilities(points, before)
    shares, floored = expected.sum(axis=0), False
    means, covs = before.means.copy(), before.covs.copy()
    for c in np.flatnonzero(shares > LEAST_SHARE):
        means[c] = expected[:, c] @ points / shares[c]
        centred = points - means[c]
        covs[c], low = family.fitted((centred * (expected[:, c] / shares[c])[:, None]).T @ centred, floor)
        floored |= low
    return Mixture(shares / shares.sum(), means, covs), floored or bool(shares.min() <= LEAST_SHARE)


def responsibilities(points: np.ndarray, mixture: Mixture) -> np.ndarray:
    """P(component | x), (n, c)."""
    if len(mixture.shares) == 1:
        return np.ones((len(points), 1))
    joint = log_joint(points, mixture)
    return np.exp(joint - log_sum(joint)[:, None])


def _spread(points: np.ndarray, weights: np.ndarray) -> float:
    """Root of the mean variance of a coordinate."""
    mean = weights @ points
    return float(np.sqrt(max((weights @ (points - mean) ** 2).mean(), np.finfo(float).tiny)))


def _moved(before: Mixture, after: Mixture, unit: float) -> float:
    """The largest change of a share, of a mean in sds, and of a covariance in variances."""
    changes = (np.abs(old - new).max() for old, new in zip(before, after, strict=True))
    return max(change / scale for change, scale in zip(changes, (1.0, unit, unit**2), strict=True))


def beginning(
    points: np.ndarray, weights: np.ndarray, components: int, family: Covariances, rng: np.random.Generator
) -> Mixture:
    """Where EM starts: the likeliest of several short runs from centres that are far apart."""
    if components == 1:
        return _around(points[:1], points, family)
    kept = np.arange(len(points)) if len(points) <= MOST_TRIED else rng.choice(len(points), MOST_TRIED, replace=False)
    some, share = points[kept], weights[kept] / weights[kept].sum()
    tried = [
        maximise(some, share, _around(_centres(some, share, components, rng), some, family), family, TRIAL_STEPS).params
        for _ in range(TRIALS)
    ]
    return max(tried, key=lambda params: float(share @ log_sum(log_joint(some, params))))


def _around(centres: np.ndarray, points: np.ndarray, family: Covariances) -> Mixture:
    """Equal components with the points' covariance, smaller the more there are."""
    c, d = centres.shape
    spread = np.cov(points, rowvar=False) if len(points) > 1 else np.eye(d)
    cov, _ = family.fitted(spread / c ** (2 / d), LEAST_VARIANCE * max(np.trace(spread) / d, np.finfo(float).tiny))
    return Mixture(np.full(c, 1 / c), np.array(centres), np.repeat(cov[None], c, axis=0))


def _centres(points: np.ndarray, weights: np.ndarray, c: int, rng: np.random.Generator) -> np.ndarray:
    """Points drawn one after the other by the square of their distance to the nearest so far (k-means++)."""
    chosen = [int(rng.choice(len(points), p=weights))]
    nearest = ((points - points[chosen[0]]) ** 2).sum(axis=1)
    while len(chosen) < c:
        mass = weights * nearest
        chosen.append(int(rng.choice(len(points), p=mass / mass.sum() if mass.sum() > 0 else weights)))
        nearest = np.minimum(nearest, ((points - points[chosen[-1]]) ** 2).sum(axis=1))
    return points[chosen]
