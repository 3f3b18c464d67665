"""The density of the shaped kernel: in every cluster kernels of its shape, which leave its mean and covariance alone.

Within a cluster of mean mu and covariance C the centres are drawn towards mu by a = sqrt(1 - h^2) and the kernels have
the covariance h^2 C. The cluster's part of q then has mean mu and covariance a^2 C + h^2 C = C, whatever h (West 1993;
Liu and West 2001): h near 1 is a mixture of Gaussians, a small h an ordinary kernel density estimate.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from operator import attrgetter
from typing import NamedTuple

import numpy as np

from pmdviz.densities.bandwidth import own_scale
from pmdviz.densities.density import START, Shape, ShapedDensity, weighted_sum
from pmdviz.kernels.checks import Array
from pmdviz.kernels.clusters import clustered, moments
from pmdviz.kernels.factors import cholesky
from pmdviz.kernels.kde import SCALE, Kernels, kernels_of, leave_one_out, only, whiten
from pmdviz.kernels.resampling import systematic

# The choice of the shaped kernel: how many clusters, which particle is in which, and how wide the kernels are.

MAX_CLUSTERS = 4
WIDTHS = (0.15, 0.2, 0.25, 0.3, 0.4, 0.5, 0.65, 0.8, 0.95)  # the search begins at START
JUDGED, SEEDS = 400, 30  # times that a particle is left out; particles that clusters may start from
KERNELS = 250  # times d + 1: of more particles, so many represent all in the choice
DEAREST = 1.0  # nats that K clusters may cost more than one, or they are not tried
WORTH_SHARING = 0.01  # nats that one covariance for all must save, or it is not tried
MIN_ESS = 10  # times d + 1: of a cluster with a covariance of its own; one of a few outliers would be far too narrow
RIDGE = 1e-9  # of a particle's variance


class Judged(NamedTuple):
    """Particles that are left out one after the other, a systematic choice by weight, and how often each counts."""

    at: Array
    counts: Array


class Whitened(NamedTuple):
    """A cluster in coordinates in which it has mean 0 and covariance I, and the judged particles in the same."""

    kernels: Kernels
    log_scale: float  # log density in the coordinates of before, less that in these


class Candidate(NamedTuple):
    """A shape that was tried."""

    value: float  # leave-one-out log density less the price, nats a point
    labels: Array
    place: int  # of h in WIDTHS
    shared: bool


def chosen_shape(particles: Array, weights: Array, each: int = 1, last: Shape | None = None) -> Shape:
    """K clusters and h for particles (m, d) with weights (m,) of sum 1; one and the widest where they are too few.

    `each`: of how many candidates every particle was chosen, to spread them more evenly. Leaving one out then
    leaves a gap, and finds h as for the particles alone; they represent all candidates, and h falls as with so many.
    `last`: a shape of the same particles whose clusters are kept, so h alone is chosen, in a quarter of the time.
    """
    m, d = particles.shape
    centred = particles - weighted_sum(weights, particles)
    sd, ess = np.sqrt(weighted_sum(weights, centred**2)), float(1.0 / (weights**2).sum())
    if ess < d + 2 or not (sd > 0).all():
        return Shape(np.zeros(m, np.int64), WIDTHS[-1])
    learned = representatives(weights, KERNELS * (d + 1))
    best = (last and _kept(centred / sd, learned, last)) or _best(centred / sd, weights, learned, ess)
    usual = float(((learned**2).sum() * ess * each) ** (-1 / (d + 4)))  # h falls so from as many as judge it to all
    return Shape(best.labels, WIDTHS[best.place] * usual, best.shared, best.place)


def _kept(z: Array, learned: Array, last: Shape) -> Candidate | None:
    """The clusters of before with their best h; None where one has become too light."""
    judged = judges(learned)
    parts = whitened(z, learned, last.labels, judged.at, last.shared)
    if parts is None:
        return None
    value, place = best_width(parts, judged.counts, last.place)
    return Candidate(value, last.labels, place, last.shared)


def _best(z: Array, weights: Array, learned: Array, ess: float) -> Candidate:
    """One cluster after another is added, until that is not better."""
    best = Candidate(-np.inf, np.zeros(len(z), np.int64), START, False)
    seeds, judged = np.unique(systematic(learned, SEEDS, 0.5)), judges(learned)
    for k in range(1, MAX_CLUSTERS + 1):
        kinds, tried = _kinds(k, z.shape[1], ess), []
        labels = clustered(z, weights, seeds, k, learned) if kinds else best.labels
        for shared in kinds:
            if parts := whitened(z, learned, labels, judged.at, shared):
                value, place = best_width(parts, judged.counts, max(best.place, START))
                tried.append(Candidate(value - price(k, z.shape[1], shared) / ess, labels, place, shared))
        here = max(tried, key=attrgetter("value"), default=None)
        if here and here.value <= best.value:
            break
        best = here or best
    return best


def price(k: int, d: int, shared: bool) -> float:
    """Parameters of k means and of their covariances, one or k."""
    return k * d + (1 if shared else k) * d * (d + 1) / 2


def _kinds(k: int, d: int, ess: float) -> list[bool]:
    """What to try with k clusters: covariances of their own, a shared one (True), both, or neither."""
    if k == 1:
        return [False]
    own, shared = price(k, d, False), price(k, d, True)
    most = price(1, d, False) + DEAREST * ess
    allowed = {False: own <= most, True: shared <= most and own - shared > WORTH_SHARING * ess}
    return [kind for kind in allowed if allowed[kind]]


def representatives(weights: Array, most: int) -> Array:
    """The weights; where they are more than `most`, the weights of a systematic choice, 0 for all others."""
    if len(weights) <= most:
        return weights
    return np.bincount(systematic(weights, most, 0.5), minlength=len(weights)) / most


def judges(weights: Array) -> Judged:
    """The particles that judge: a heavy one counts as often as it is chosen."""
    return Judged(*np.unique(systematic(weights, JUDGED, 0.5), return_counts=True))


def whitened(z: Array, weights: Array, labels: Array, at: Array, shared: bool = False) -> list[Whitened] | None:
    """The clusters of z (m, d), and those judged; None where one has too few effective particles for its own shape.

    A `shared` covariance is the weighted mean of the clusters' own, as in linear discriminant analysis.
    """
    d, insides = z.shape[1], [np.flatnonzero((labels == c) & (weights > 0)) for c in range(labels.max() + 1)]
    those = [weights[inside] for inside in insides]
    if any(not len(w) or not shared and w.sum() ** 2 < MIN_ESS * (d + 1) * (w * w).sum() for w in those):
        return None
    found = [moments(z[inside], w / w.sum()) for inside, w in zip(insides, those, strict=True)]
    within = sum((w.sum() * covariance for w, (_, covariance) in zip(those, found, strict=True)), np.zeros((d, d)))
    return [
        _whitened(z, inside, w, mean, within if shared else covariance, at)
        for inside, w, (mean, covariance) in zip(insides, those, found, strict=True)
    ]


def _whitened(z: Array, inside: Array, weights: Array, mean: Array, covariance: Array, at: Array) -> Whitened:
    factor = cholesky(covariance + RIDGE * np.eye(len(mean)))
    place = np.full(len(z), -1)
    place[inside] = np.arange(len(inside))
    points, judged = (whiten(x, mean, factor)[:, : len(x)].T / SCALE for x in (z[inside], z[at]))
    return Whitened(kernels_of(points, np.log(weights), judged, place[at]), -np.log(np.diag(factor)).sum())


def best_width(parts: list[Whitened], counts: Array, place: int) -> tuple[float, int]:
    """The largest mean leave-one-out log density, and the place in WIDTHS that has it, by steps uphill."""
    shares = counts / counts.sum()

    @cache
    def value(place: int) -> float:
        inside = 0 <= place < len(WIDTHS)
        return float((left_out(parts, WIDTHS[place]) * shares).sum()) if inside else -np.inf

    way = 1 if value(place + 1) > value(place) else -1
    while value(place + way) > value(place):
        place += way
    return value(place), place


def left_out(parts: list[Whitened], h: float) -> Array:
    """log q at each judged particle without its own kernel, (n,)."""
    total = _sum(parts, lambda part: leave_one_out(part.kernels, h))
    faint = np.flatnonzero(total == -np.inf)
    if faint.size:
        few = [part._replace(kernels=only(part.kernels, faint)) for part in parts]
        total[faint] = _sum(few, lambda part: leave_one_out(part.kernels, h, exact=True))
    return total


def _sum(parts: list[Whitened], log_density: Callable[[Whitened], Array]) -> Array:
    total = log_density(parts[0]) + parts[0].log_scale
    for part in parts[1:]:
        total = np.logaddexp(total, log_density(part) + part.log_scale)
    return total


WIDEST = 0.95  # of h: beyond it the particles' own places would no longer be seen
THIN, FLAT = 1e-9, 1e-4  # smallest sd of a cluster, in prior sd; of one without a shape: a share of its spread


def shaped_density(particles: Array, log_weights: Array, shape: Shape, factor: float, scale: Array) -> ShapedDensity:
    """q of weighted particles (m, d) in clusters, with kernels `factor` times as wide as chosen.

    Up to WIDEST the particles move towards the cluster's mean, and q has their covariance. With a factor above 1,
    kernels are that much wider than the cluster: q is too smooth.
    Fewer than d + 2 particles have no covariance: their kernels are as wide along each coordinate as the particles are
    spread. Along a coordinate without spread, such as a lone particle's, `scale` (d,) is used, the prior's sd.
    """
    h, beyond = min(shape.width * factor, WIDEST), max(1.0, min(factor, shape.width * factor / WIDEST))
    weights, centres = np.exp(log_weights), particles.copy()
    insides = [shape.labels == c for c in range(shape.labels.max() + 1)]
    few = len(particles) < particles.shape[1] + 2
    found = [_cluster(particles[s], weights[s], scale, few) for s in insides]
    for inside, (mean, _) in zip(insides, found, strict=True):
        centres[inside] = mean + np.sqrt(1 - h * h) * (particles[inside] - mean)
    covariances = np.array([covariance for _, covariance in found])
    if shape.shared:
        shares = np.bincount(shape.labels, weights)
        covariances[:] = np.einsum("k,kij->ij", shares, covariances)
    return ShapedDensity(particles, log_weights, shape.labels, centres, beyond * h * _factors(covariances), few, shape)


def _factors(covariances: Array) -> Array:
    """Cholesky factors (k, d, d); copies of few particles span no space, and get a share of their spread."""
    try:
        return cholesky(covariances)
    except np.linalg.LinAlgError:
        return cholesky(covariances + FLAT**2 * covariances * np.eye(covariances.shape[-1]))


def _cluster(particles: Array, weights: Array, scale: Array, few: bool) -> tuple[Array, Array]:
    """Mean (d,) and covariance (d, d), which is made solid where there are too few effective particles for one."""
    m, d = particles.shape
    share = weights.sum()
    w = weights / share if share > 0 else np.full(m, 1 / m)
    mean, covariance = moments(particles, w)
    if few:
        covariance = np.diag(own_scale(np.sqrt(np.diag(covariance)), scale) ** 2)
    elif (w * w).sum() * (d + 2) > 1:
        covariance = covariance + np.diag(FLAT**2 * np.diag(covariance))
    return mean, covariance + np.diag((THIN * scale) ** 2)
