"""Clusters of weighted particles, each with a shape of its own: hard EM with full covariances.

Particles come as columns (d, m): a loop over them is then one the compiler vectorises. Nothing here is random.
"""

from collections.abc import Callable, Iterator

import numpy as np

from pmdviz.kernels.checks import finite, matrix, plain, vector
from pmdviz.kernels.groups import DEFAULT
from pmdviz.kernels.jit import fast_jit, jit

ROUNDS = 15  # of hard EM
RIDGE = 1e-6  # of a unit of the coordinates squared, added to each covariance
MIN_SHARE = 1e-6  # of a weight of 1; a cluster with less is given up


def clustered(
    points: np.ndarray, weights: np.ndarray, seeds: np.ndarray, k: int, learned: np.ndarray | None = None
) -> np.ndarray:
    """Labels (m,) int64 of at most k clusters, from 0 on without gaps.

    points (m, d) in comparable units; weights (m,) not negative; seeds: indices of particles among which the first
    centres are chosen, each time the one that makes the weighted sum of squared distances from the nearest centre
    smallest (k-means++ without chance); then rounds of hard EM. `learned` (m,): the weights to learn from instead, 0
    for most of many particles; these are then given the cluster under which they are most likely.
    """
    points = finite(matrix(points, "points"), "points")
    weights = finite(vector(weights, "weights", len(points)), "weights")
    if k == 1:
        return np.zeros(len(points), np.int64)
    columns, seeds = np.ascontiguousarray(points.T), plain(seeds, np.int64)
    if learned is None:
        labels = _clustered(columns, weights, seeds, int(k))
    else:
        chosen = np.flatnonzero(learned)
        few, their = np.ascontiguousarray(columns[:, chosen]), plain(learned[chosen])
        found = _clustered(few, their, np.searchsorted(chosen, seeds), int(k))
        labels = _assigned(columns, few, their, found, int(k))
    return (np.cumsum(np.bincount(labels, minlength=k) > 0) - 1)[labels]  # without gaps; `np.unique` would sort


def moments(points: np.ndarray, weights: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Mean (d,) and covariance (d, d) of points (m, d) with weights (m,) of sum 1."""
    columns, weights = np.ascontiguousarray(matrix(points, "points").T), vector(weights, "weights", len(points))
    mean, factor = np.empty(len(columns)), np.zeros((len(columns), len(columns)))
    _moments(columns, weights, 1.0, mean, factor)
    return mean, factor + np.tril(factor, -1).T


@jit
def _clustered(columns, weights, seeds, k):
    labels = _start(columns, weights, seeds, k)
    for _ in range(ROUNDS):
        fresh = _assigned(columns, columns, weights, labels, k)
        changed = False
        for j in range(labels.size):
            changed |= fresh[j] != labels[j]
        if not changed:
            break
        labels = fresh
    return labels


@jit
def _assigned(points, columns, weights, labels, k):
    """For each of the points the cluster of labelled particles under which it is most likely."""
    d, m = points.shape
    score, best, found = np.empty(m), np.empty(m), np.zeros(m, np.int64)
    for j in range(m):
        best[j] = -np.inf
    mean, factor = np.empty(d), np.empty((d, d))
    for c in range(k):
        share = _shape(columns, weights, labels, c, mean, factor)
        if share > 0.0:
            _score(points, share, mean, factor, score)
            for j in range(m):
                if score[j] > best[j]:
                    best[j], found[j] = score[j], c
    return found


@jit
def _shape(columns, weights, labels, c, mean, factor):
    """Share of the weight; mean and Cholesky factor into the arrays. 0 where the cluster is too small for these."""
    d, m = columns.shape
    inside, count, share = np.zeros(m), 0, 0.0
    for j in range(m):
        if labels[j] == c:
            inside[j] = weights[j]
            count += 1
            share += weights[j]
    if count < 2 * d + 2 or share < MIN_SHARE:
        return 0.0
    _moments(columns, inside, share, mean, factor)
    for i in range(d):
        factor[i, i] += RIDGE
    return share if _factorise(factor) else 0.0


@jit
def _moments(columns, weights, share, mean, out):
    """Weighted mean, and the lower triangle of the covariance about it."""
    d, m = columns.shape
    centred = np.empty((d, m))
    for i in range(d):
        mean[i] = _dot(weights, columns[i]) / share
        for j in range(m):
            centred[i, j] = columns[i, j] - mean[i]
    for i in range(d):
        rest = _dot(weights, centred[i]) / share  # what rounding has left of the mean
        mean[i] += rest
        for j in range(m):
            centred[i, j] -= rest
    for i in range(d):
        for k in range(i + 1):
            out[i, k] = _dot3(weights, centred[i], centred[k]) / share


@jit
def _score(points, share, mean, factor, out):
    """log of the share times the Gaussian's density at every point, but for a constant."""
    d, m = points.shape
    white = np.empty((d, m))
    constant = np.log(share)
    for j in range(m):
        out[j] = constant
    for i in range(d):
        for j in range(m):
            white[i, j] = points[i, j] - mean[i]
        for k in range(i):
            _subtract(white[k], factor[i, k], white[i])
        _divide(white[i], factor[i, i])
        _take_half_square(white[i], np.log(factor[i, i]), out)


@jit
def _start(columns, weights, seeds, k):
    """Labels by the nearest of k centres, chosen greedily among the seeds."""
    m = weights.size
    nearest, labels = np.empty(m), np.zeros(m, np.int64)
    trial, kept = np.empty(m), np.empty(m)
    for j in range(m):
        nearest[j] = np.inf
    for c in range(k):
        least = np.inf
        for s in seeds:
            for j in range(m):
                trial[j] = 0.0
            for i in range(columns.shape[0]):
                _add_square(columns[i], columns[i, s], trial)
            cost = _cost(trial, nearest, weights)
            if cost < least:
                least = cost
                for j in range(m):  # `kept[:] = trial` takes two seconds to compile
                    kept[j] = trial[j]
        for j in range(m):
            if kept[j] < nearest[j]:
                nearest[j], labels[j] = kept[j], c
    return labels


@fast_jit
def _add_square(x, y, out):
    for j in range(out.size):
        out[j] += (x[j] - y) * (x[j] - y)


@jit
def _cost(one, other, weights):
    total = 0.0
    for j in range(weights.size):
        total += weights[j] * min(one[j], other[j])
    return total


@jit
def _factorise(a):
    """The lower Cholesky factor of `a`, whose lower triangle is given, in its place; False where there is none."""
    for i in range(a.shape[0]):
        for k in range(i + 1):
            total = a[i, k]
            for j in range(k):
                total -= a[i, j] * a[k, j]
            if i == k:
                if not total > 0.0:
                    return False
                a[i, i] = np.sqrt(total)
            else:
                a[i, k] = total / a[k, k]
    return True


@fast_jit
def _dot(x, y):
    total = 0.0
    for j in range(x.size):
        total += x[j] * y[j]
    return total


@fast_jit
def _dot3(w, x, y):
    total = 0.0
    for j in range(x.size):
        total += w[j] * x[j] * y[j]
    return total


@fast_jit
def _subtract(x, factor, out):
    for j in range(out.size):
        out[j] -= factor * x[j]


@fast_jit
def _divide(x, by):
    for j in range(x.size):
        x[j] /= by


@fast_jit
def _take_half_square(x, constant, out):
    for j in range(out.size):
        out[j] -= 0.5 * x[j] * x[j] + constant


def warm_up_calls() -> Iterator[tuple[str, str, Callable[[], object]]]:
    """One call of each kernel."""
    two, halves, one = np.zeros((2, 2)), np.full(2, 0.5), np.zeros(1, np.int64)
    yield DEFAULT, "clusters", lambda: clustered(two, halves, one, 2, halves)
    yield DEFAULT, "moments", lambda: moments(two, halves)
    yield "many particles", "clusters of all", lambda: clustered(two, halves, one, 2, None)
