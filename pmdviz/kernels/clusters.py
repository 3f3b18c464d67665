"""How weighted particles lie: their clusters, the covariance of their neighbourhoods, their median distance.

Clusters of weighted particles, each with a shape of its own: hard EM with full covariances.

Particles come as columns (d, m): a loop over them is then one the compiler vectorises. No function here draws random
numbers.
"""

import numpy as np

from pmdviz.kernels.checks import Array, finite, plain
from pmdviz.kernels.factors import add_squares, dot, factorise
from pmdviz.kernels.jit import DEFAULT, WarmUps, fast_jit, jit
from pmdviz.kernels.pool import run_blocks

ROUNDS = 15  # of hard EM
RIDGE = 1e-6  # of a unit of the coordinates squared, added to each covariance
MIN_SHARE = 1e-6  # of a weight of 1; a cluster with less is given up


def clustered(points: Array, weights: Array, seeds: Array, k: int, learned: Array | None = None) -> Array:
    """Labels (m,) int64 of at most k clusters, from 0 on without gaps.

    points (m, d) in comparable units; weights (m,) not negative; seeds: indices of particles among which the first
    centres are chosen, each time the one that makes the weighted sum of squared distances from the nearest centre
    smallest (k-means++ without chance); then rounds of hard EM. `learned` (m,): the weights to learn from instead, 0
    for most of many particles; these are then given the cluster under which they are most likely.
    """
    if k == 1:
        return np.zeros(len(points), np.int64)
    columns, weights, seeds = plain(finite(points, "points").T), plain(weights), plain(seeds, np.int64)
    if learned is None:
        labels = _clustered(columns, weights, seeds, int(k))
    else:
        chosen = np.flatnonzero(learned)
        few, their = np.ascontiguousarray(columns[:, chosen]), plain(learned[chosen])
        found = _clustered(few, their, np.searchsorted(chosen, seeds), int(k))
        labels = _assigned(columns, few, their, found, int(k))
    return (np.cumsum(np.bincount(labels, minlength=k) > 0) - 1)[labels]  # without gaps; `np.unique` would sort


def moments(points: Array, weights: Array) -> tuple[Array, Array]:
    """Mean (d,) and covariance (d, d) of points (m, d) with weights (m,) of sum 1."""
    columns, weights = plain(points.T), plain(weights)
    mean, factor = np.empty(len(columns)), np.zeros((len(columns), len(columns)))
    _moments(columns, weights, 1.0, mean, factor)
    covariance = factor + factor.T
    np.fill_diagonal(covariance, np.diagonal(factor))
    return mean, covariance


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
    return share if factorise(factor) else 0.0


@jit
def _moments(columns, weights, share, mean, out):
    """Weighted mean, and the lower triangle of the covariance about it."""
    d, m = columns.shape
    centred = np.empty((d, m))
    for i in range(d):
        mean[i] = dot(weights, columns[i], m) / share
        for j in range(m):
            centred[i, j] = columns[i, j] - mean[i]
    for i in range(d):
        rest = dot(weights, centred[i], m) / share  # what rounding has left of the mean
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
                add_squares(columns[i], columns[i, s], trial)
            cost = _cost(trial, nearest, weights)
            if cost < least:
                least = cost
                for j in range(m):  # `kept[:] = trial` takes two seconds to compile
                    kept[j] = trial[j]
        for j in range(m):
            if kept[j] < nearest[j]:
                nearest[j], labels[j] = kept[j], c
    return labels


@jit
def _cost(one, other, weights):
    total = 0.0
    for j in range(weights.size):
        total += weights[j] * min(one[j], other[j])
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


# Pooled covariance within neighbourhoods: the width of a mode, whatever the distance between modes.

CENTRES_PER_BLOCK = 8


def pooled_local_covariance(
    particles: Array, weights: Array, centres: Array, unit: Array, most: int, share: float = 1.0, effective: float = 1.0
) -> Array:
    """Mean over centres of the weighted covariance of the nearest particles, (d, d) in the units of theta squared.

    particles (m, d); weights (m,) not negative; centres (k,) whole numbers, indices of particles; unit (d,) above 0:
    distance is Euclidean after dividing coordinates by it; most in 1..m counts the centre itself, ties go
    to the lower index. A neighbourhood is the nearest `most`, or fewer: it ends where it holds `share` of
    all weight and an effective number (sum w)^2 / sum w^2 of `effective` particles. Within it the weights are
    renormalised and the covariance is about the weighted mean. Neighbourhoods of zero weight are left out of the mean;
    if all are, the result is zero. ValueError for particles that are not finite.
    """
    particles, weights, centres = finite(plain(particles), "particles"), plain(weights), plain(centres, np.int64)
    num, dim = particles.shape
    covariances, counted = np.zeros((centres.size, dim, dim)), np.zeros(centres.size)
    columns = np.ascontiguousarray((particles / unit).T)
    enough = float(share) * weights.sum()

    def work(start: int, stop: int) -> None:
        distances = _distances(columns, centres[start:stop])
        limits = np.partition(distances, most - 1, axis=1)[:, most - 1]
        for row, c in enumerate(range(start, stop)):
            chosen = _nearest(distances[row], limits[row], int(most))
            if share < 1.0:
                chosen = chosen[np.argsort(distances[row][chosen], kind="stable")]
                chosen = chosen[: _extent(weights[chosen], enough, float(effective))]
            counted[c] = _covariance(particles, weights, chosen, particles[centres[c]], covariances[c])

    run_blocks(work, centres.size, CENTRES_PER_BLOCK, 3.0 * centres.size * num)  # choosing costs about 3 pairs
    return covariances.sum(axis=0) / max(counted.sum(), 1.0)


@jit
def _distances(columns, centres):
    """Squared distances (k, m) of the particles (d, m) from the particles at `centres`."""
    out = np.zeros((centres.size, columns.shape[1]))
    for c in range(centres.size):
        for k in range(columns.shape[0]):
            _add_squares(columns[k], columns[k, centres[c]], out[c])
    return out


@jit
def _add_squares(x, y, out):
    for j in range(out.size):
        out[j] += (x[j] - y) * (x[j] - y)


@jit
def _nearest(distances, limit, count):
    """Indices of the `count` smallest distances, the largest being `limit`, ascending; ties go to the lower index."""
    ties = count
    for j in range(distances.size):
        ties -= distances[j] < limit
    chosen, found = np.empty(count, np.int64), 0
    for j in range(distances.size):
        tie = distances[j] == limit and ties > 0
        if tie or distances[j] < limit:
            ties -= tie
            chosen[found] = j
            found += 1
    return chosen


@jit
def _extent(weights, enough, effective):
    """How many of the particles, nearest first, it takes to hold `enough` weight and `effective` effective ones."""
    total, squares = 0.0, 0.0
    for j in range(weights.size):
        total += weights[j]
        squares += weights[j] * weights[j]
        if total >= enough and total * total >= effective * squares:
            return j + 1
    return weights.size


@jit
def _covariance(particles, weights, chosen, origin, out):
    """Weighted covariance of the chosen particles into `out`; 1.0 if they have weight, else 0.0; `origin` is near."""
    total, dim = 0.0, origin.size
    for j in chosen:
        total += weights[j]
    if not total > 0.0:
        return 0.0
    mean = np.zeros(dim)
    for j in chosen:
        for k in range(dim):
            mean[k] += weights[j] / total * (particles[j, k] - origin[k])
    for j in chosen:
        for k in range(dim):
            for i in range(dim):
                a, b = particles[j, k] - origin[k] - mean[k], particles[j, i] - origin[i] - mean[i]
                out[k, i] += weights[j] / total * a * b
    return 1.0


# The median distance between points, which measures how far they are spread without a model of their shape.


def median_distance(points: Array, leave_out: int = 0) -> float:
    """Median of |x_i - x_j| over all pairs i < j of the rows of points (m, d), Euclidean, in their unit.

    As `numpy.median` of the m (m - 1) / 2 distances without the `leave_out` smallest (the zeros of repeated points),
    in O(m^2) time and memory (m = 1000: 4 MB), for two points or more. ValueError for values that are not finite.
    """
    points = finite(plain(points), "points")
    largest = np.abs(points).max() or 1.0  # squares of the scaled points neither overflow nor vanish all together
    squared = _squared_distances(points / largest)
    middle = (len(squared) + leave_out) // 2
    if (len(squared) - leave_out) % 2:
        return float(largest * np.sqrt(np.partition(squared, middle)[middle]))
    low, high = np.partition(squared, (middle - 1, middle))[middle - 1 : middle + 1]
    return float(largest * 0.5 * (np.sqrt(low) + np.sqrt(high)))


@jit
def _squared_distances(points):
    m, d = points.shape
    out = np.empty(m * (m - 1) // 2)
    place = 0
    for i in range(m):
        for j in range(i + 1, m):
            distance = 0.0
            for k in range(d):
                apart = points[i, k] - points[j, k]
                distance += apart * apart
            out[place] = distance
            place += 1
    return out


def warm_up_calls() -> WarmUps:
    """Calls that compile every kernel of this file."""
    two, halves, one = np.zeros((2, 2)), np.full(2, 0.5), np.zeros(1, np.int64)
    yield DEFAULT, "clusters", clustered, two, halves, one, 2, halves
    yield DEFAULT, "moments", moments, two, halves
    yield "many particles", "clusters of all", clustered, two, halves, one, 2, None
    two, axis, one = np.zeros((2, 2)), np.arange(2.0), np.zeros(1, np.int64)
    yield "neighbourhoods", "neighbourhoods", pooled_local_covariance, two, axis, one, np.ones(2), 2, 0.5
    yield DEFAULT, "median distance", median_distance, np.zeros((2, 2))
