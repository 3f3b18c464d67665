"""Pooled covariance within neighbourhoods: the width of a mode, whatever the distance between modes."""

from collections.abc import Callable, Iterator

import numpy as np

from pmdviz.kernels.checks import finite, matrix, plain, vector
from pmdviz.kernels.jit import jit
from pmdviz.kernels.pool import run_blocks

CENTRES_PER_BLOCK = 8


def pooled_local_covariance(
    particles: np.ndarray,
    weights: np.ndarray,
    centres: np.ndarray,
    scale: np.ndarray,
    num_neighbours: int,
    share: float = 1.0,
    effective: float = 1.0,
) -> np.ndarray:
    """Mean over centres of the weighted covariance of the nearest particles, (d, d) in the units of theta squared.

    particles (m, d); weights (m,) not negative; centres (k,) whole numbers, indices of particles; scale (d,) above 0:
    distance is Euclidean after dividing coordinates by it; num_neighbours in 1..m counts the centre itself, ties go
    to the lower index. A neighbourhood is the nearest `num_neighbours`, or fewer: it ends where it holds `share` of
    all weight and an effective number (sum w)^2 / sum w^2 of `effective` particles. Within it the weights are
    renormalised and the covariance is about the weighted mean. Neighbourhoods of zero weight are left out of the mean;
    if all are, the result is zero. ValueError for anything else.
    """
    particles = finite(matrix(particles, "particles"), "particles")
    num, dim = particles.shape
    weights, scale = finite(vector(weights, "weights", num), "weights"), finite(vector(scale, "scale", dim), "scale")
    centres = plain(centres, np.int64)
    if not centres.size or centres.min() < 0 or centres.max() >= num or not 1 <= num_neighbours <= num:
        raise ValueError(f"centres and num_neighbours ({num_neighbours}) must fit the {num} particles")
    if weights.min() < 0.0 or scale.min() <= 0.0:
        raise ValueError("weights must not be negative and scale must be above 0")
    covariances, counted = np.zeros((centres.size, dim, dim)), np.zeros(centres.size)
    columns = np.ascontiguousarray((particles / scale).T)
    enough = float(share) * weights.sum()

    def work(start: int, stop: int) -> None:
        distances = _distances(columns, centres[start:stop])
        limits = np.partition(distances, num_neighbours - 1, axis=1)[:, num_neighbours - 1]
        for row, c in enumerate(range(start, stop)):
            chosen = _nearest(distances[row], limits[row], int(num_neighbours))
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
            _add_square(columns[k], columns[k, centres[c]], out[c])
    return out


@jit
def _add_square(x, y, out):
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
    """Weighted covariance of the chosen particles into `out`; 1.0 if they have weight, else 0.0. Origin: near them."""
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


def warm_up_calls() -> Iterator[tuple[str, str, Callable[[], object]]]:
    """One call of each kernel."""
    two, axis, one = np.zeros((2, 2)), np.arange(2.0), np.zeros(1, np.int64)
    yield "neighbourhoods", "neighbourhoods", lambda: pooled_local_covariance(two, axis, one, np.ones(2), 2, 0.5)
