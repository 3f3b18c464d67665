"""The choice of the shaped kernel: how many clusters, which particle is in which, and how wide the kernels are.

The number K of clusters and the width h are those with the largest leave-one-out log density (Duin 1976) less the
price of K means and covariances, K d (d + 3) / 2 parameters over the effective sample size (Akaike 1974). All is a
function of particles and weights, without chance.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import NamedTuple

import numpy as np

from pmdviz.densities import weighted_sum
from pmdviz.kernels.clusters import clustered, moments
from pmdviz.kernels.kde import SCALE, whiten
from pmdviz.kernels.leave_one_out import leave_one_out
from pmdviz.kernels.resampling import systematic

MOST_CLUSTERS = 4
WIDTHS = (0.15, 0.2, 0.25, 0.3, 0.4, 0.5, 0.65, 0.8, 0.95)
START = 4  # place in WIDTHS where the search for the best one begins
JUDGED, SEEDS = 400, 30  # particles that are left out in turn; that clusters may start from
MOST_KERNELS = 3000  # of more particles, so many stand for all in the choice
DEAREST = 1.0  # nats a point that the parameters of K clusters may cost, or they are not tried
RIDGE = 1e-9  # of a particle's variance


class Shape(NamedTuple):
    """Which cluster each particle belongs to, and h."""

    labels: np.ndarray  # (m,) int64, from 0 on without gaps
    width: float  # h in (0, 1)


class Whitened(NamedTuple):
    """A cluster in coordinates in which it has mean 0 and covariance I, and the judged particles in the same."""

    points: np.ndarray
    log_weights: np.ndarray
    judged: np.ndarray
    own: np.ndarray  # place of each judged particle among the points, -1 for those of other clusters
    log_scale: float  # log density in the coordinates of before, less that in these


def chosen_shape(particles: np.ndarray, weights: np.ndarray) -> Shape:
    """K clusters and h for particles (m, d) with weights (m,) of sum 1; one and the widest where they are too few."""
    m, d = particles.shape
    one = Shape(np.zeros(m, np.int64), WIDTHS[-1])
    centred = particles - weighted_sum(weights, particles)
    sd, ess = np.sqrt(weighted_sum(weights, centred**2)), 1.0 / (weights**2).sum()
    if ess < d + 2 or not (sd > 0).all():
        return one
    z, learned = centred / sd, representatives(weights)
    usual = float(((learned**2).sum() * ess) ** (-1 / (d + 4)))  # h falls so from as many as judge it to all
    best, best_value, place = one, -np.inf, START
    for k in range(1, MOST_CLUSTERS + 1):
        price = k * d * (d + 3) / 2 / ess
        if k > 1 and price > DEAREST:
            break
        labels = clustered(z, weights, np.unique(systematic(learned, SEEDS, 0.5)), k, learned)
        parts = whitened(z, learned, labels)
        if parts is None:
            continue
        value, place = best_width(parts, d, place)
        if value - price <= best_value:
            break
        best, best_value = Shape(labels, WIDTHS[place] * usual), value - price
    return best


def representatives(weights: np.ndarray) -> np.ndarray:
    """The weights; where they are many, those of a systematic choice, 0 for all others."""
    if len(weights) <= MOST_KERNELS:
        return weights
    return np.bincount(systematic(weights, MOST_KERNELS, 0.5), minlength=len(weights)) / MOST_KERNELS


def whitened(z: np.ndarray, weights: np.ndarray, labels: np.ndarray) -> list[Whitened] | None:
    """The clusters of z (m, d); None where one has too few effective particles to have a shape."""
    d, at, parts = z.shape[1], np.unique(systematic(weights, JUDGED, 0.5)), []
    for c in range(labels.max() + 1):
        inside = np.flatnonzero((labels == c) & (weights > 0))
        w = weights[inside]
        if w.sum() ** 2 < (d + 2) * (w * w).sum() or not len(w):
            return None
        mean, covariance = moments(z[inside], w / w.sum())
        factor = np.linalg.cholesky(covariance + RIDGE * np.eye(d))
        place = np.full(len(z), -1)
        place[inside] = np.arange(len(inside))
        points, those = (whiten(x, mean, factor)[:, : len(x)].T / SCALE for x in (z[inside], z[at]))
        parts.append(Whitened(points, np.log(w), those, place[at], -np.log(np.diag(factor)).sum()))
    return parts


def best_width(parts: list[Whitened], d: int, place: int) -> tuple[float, int]:
    """The largest mean leave-one-out log density, and the place in WIDTHS that has it, by steps uphill."""

    @cache
    def value(place: int) -> float:
        return float(left_out(parts, WIDTHS[place]).mean())

    while True:
        near = [k for k in (place, place - 1, place + 1) if 0 <= k < len(WIDTHS)]
        best = max(near, key=value)
        if best == place:
            return value(place), place
        place = best


def left_out(parts: list[Whitened], h: float) -> np.ndarray:
    """log q at each judged particle without its own kernel, (n,)."""
    total = _sum(parts, lambda part: leave_one_out(*part[:4], h))
    faint = np.flatnonzero(total == -np.inf)
    if faint.size:
        few = [part._replace(judged=part.judged[faint], own=part.own[faint]) for part in parts]
        total[faint] = _sum(few, lambda part: leave_one_out(*part[:4], h, exact=True))
    return total


def _sum(parts: list[Whitened], log_density: Callable[[Whitened], np.ndarray]) -> np.ndarray:
    total = log_density(parts[0]) + parts[0].log_scale
    for part in parts[1:]:
        total = np.logaddexp(total, log_density(part) + part.log_scale)
    return total
