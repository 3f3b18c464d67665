"""Pooled covariance within neighbourhoods: the width of a mode, whatever the distance between modes."""
import numpy as np

from pmdviz.kernels.checks import finite, matrix, vector
from pmdviz.kernels.jit import jit
from pmdviz.kernels.pool import run_blocks

CENTRES_PER_BLOCK = 8


def pooled_local_covariance(
    particles: np.ndarray, weights: np.ndarray, centres: np.ndarray, scale: np.ndarray, num_neighbours: int
) -> np.ndarray:
    """Mean over centres of the weighted covariance of the centre's nearest particles, (d, d) in the units of theta squared.

    particles (m, d); weights (m,) not negative; centres (k,) whole numbers, indices of particles; scale (d,) above 0: distance
    is Euclidean after dividing coordinates by it; num_neighbours in 1..m counts the centre itself, ties go to the lower
    index. Within a neighbourhood the weights are renormalised and the covariance is about the weighted mean. Neighbourhoods
    of zero weight are left out of the mean; if all are, the result is zero. ValueError for anything else.
    """
    particles = finite(matrix(particles, "particles"), "particles")
    num, dim = particles.shape
    weights, scale = finite(vector(weights, "weights", num), "weights"), finite(vector(scale, "scale", dim), "scale")
    centres = np.ascontiguousarray(centres, dtype=np.int64)
    if not centres.size or centres.min() < 0 or centres.max() >= num or not 1 <= num_neighbours <= num:
        raise ValueError(f"centres must be indices of the {num} particles and num_neighbours in 1..{num}, not {num_neighbours}")
    if weights.min() < 0.0 or scale.min() <= 0.0:
        raise ValueError("weights must not be negative and scale must be above 0")
    covariances, counted = np.zeros((centres.size, dim, dim)), np.zeros(centres.size)

    def work(start: int, stop: int) -> None:
        _local_covariances(particles, weights, centres, scale, int(num_neighbours), covariances, counted, start, stop)

    run_blocks(work, centres.size, CENTRES_PER_BLOCK, 10.0 * centres.size * num)  # choosing costs about 10 pairs a particle
    return covariances.sum(axis=0) / max(counted.sum(), 1.0)


@jit
def _local_covariances(particles, weights, centres, scale, num_neighbours, covariances, counted, start, stop):
    distances = np.empty(particles.shape[0])
    for c in range(start, stop):
        centre = particles[centres[c]]
        for j in range(particles.shape[0]):
            distances[j] = 0.0
            for k in range(particles.shape[1]):
                distances[j] += ((particles[j, k] - centre[k]) / scale[k]) ** 2
        chosen = _nearest(distances, num_neighbours)
        counted[c] = _covariance(particles, weights, chosen, centre, covariances[c])


@jit
def _nearest(distances, count):
    """Indices of the `count` smallest distances, in ascending order of index; ties go to the lower index."""
    limit = np.partition(distances, count - 1)[count - 1]
    ties = count - (distances < limit).sum()
    chosen, found = np.empty(count, np.int64), 0
    for j in range(distances.size):
        if distances[j] < limit or (distances[j] == limit and ties > 0):
            ties -= distances[j] == limit
            chosen[found] = j
            found += 1
    return chosen


@jit
def _covariance(particles, weights, chosen, origin, out):
    """Weighted covariance of the chosen particles into `out`; 1.0 if they have weight, else 0.0. Origin: near them."""
    total, dim = weights[chosen].sum(), origin.size
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
