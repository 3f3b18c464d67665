"""The force of Stein variational gradient descent on every particle, without a matrix of all pairs; a cheap median.

    RBF:  phi_i = (1/m) sum_j k_ij (s_j + (2/h) (x_i - x_j)),         k_ij = exp(-|x_i - x_j|^2 / h)
    IMQ:  phi_i = (1/m) sum_j k_ij s_j + (k_ij^3 / h) (x_i - x_j),    k_ij = (1 + |x_i - x_j|^2 / h)^(-1/2)

The second term is split, (2/h) x_i sum_j k_ij - (2/h) sum_j k_ij x_j, so that a row needs the sum of its k_ij and one
scalar product a dimension with u_j = s_j - (2/h) x_j. Particles are taken about their mean: the differences keep their
digits far from the origin. With weights w_j in place of 1/m (Han 2019, Algorithm 5) u_j is w_j times that, and the sum
of w_j k_ij is one scalar product more.
"""

from collections.abc import Callable, Iterator

import numpy as np

from pmdviz.kernels.checks import finite, matrix, positive, vector
from pmdviz.kernels.distances import median_distance
from pmdviz.kernels.exponential import exp2
from pmdviz.kernels.jit import exp_jit, fast_jit, jit
from pmdviz.kernels.pool import run_blocks
from pmdviz.kernels.stein.vectors import product, subtract_squares

ROWS_PER_BLOCK = 64
GOLDEN = 0.6180339887498949  # multiples of it, without their whole parts, fill [0, 1) evenly
TILE = 2048  # particles at a time: their terms stay in the first-level cache


def stein_force(particles: np.ndarray, scores: np.ndarray, h: float, weights: np.ndarray | None = None) -> np.ndarray:
    """phi (m, d) for particles (m, d) and the gradients (m, d) of the log density at them.

    h > 0 in squared units of theta; `weights` (m,), at least 0, take the place of the mean's 1/m. The same bits for any
    number of threads. ValueError for shapes that do not fit and values that are not finite.
    """
    particles, scores, h = _checked(particles, scores, h)
    centred = particles - particles.mean(axis=0)
    columns = np.ascontiguousarray(centred.T) * np.sqrt(np.log2(np.e) / h)  # 2^-|x - y|^2 is the kernel
    pulls = _weighted((scores - 2.0 / h * centred).T, weights)
    out, sums = np.empty((len(particles), len(pulls))), np.empty(len(particles))

    def work(start: int, stop: int) -> None:
        _rows(columns, pulls, out, sums, start, stop)

    run_blocks(work, len(particles), ROWS_PER_BLOCK, float(len(particles)) ** 2)
    if weights is not None:
        return out[:, :-1] + 2.0 / h * centred * out[:, -1:]
    return (out + 2.0 / h * centred * sums[:, None]) / len(particles)


def imq_force(particles: np.ndarray, scores: np.ndarray, h: float, weights: np.ndarray | None = None) -> np.ndarray:
    """As `stein_force` with the inverse multiquadric kernel (Gorham, Mackey 2017, with beta = -1/2)."""
    particles, scores, h = _checked(particles, scores, h)
    centred = (particles - particles.mean(axis=0)) / np.sqrt(h)
    columns, pulls = np.ascontiguousarray(centred.T), _weighted(scores.T, weights)
    places = columns if weights is None else _weighted(centred.T, weights)
    drive, apart = np.empty((len(particles), len(pulls))), np.empty((len(particles), len(places)))
    sums = np.empty(len(particles))

    def work(start: int, stop: int) -> None:
        _imq_rows(columns, pulls, places, drive, apart, sums, start, stop)

    run_blocks(work, len(particles), ROWS_PER_BLOCK, float(len(particles)) ** 2)
    if weights is not None:
        return drive[:, :-1] + (centred * apart[:, -1:] - apart[:, :-1]) / np.sqrt(h)
    return (drive + (centred * sums[:, None] - apart) / np.sqrt(h)) / len(particles)


def _weighted(rows: np.ndarray, weights: np.ndarray | None) -> np.ndarray:
    """Rows (d, m), or with weights each times w_j, and the weights below them (d + 1, m)."""
    if weights is None:
        return np.ascontiguousarray(rows)
    weights = finite(vector(weights, "weights", rows.shape[1]), "weights")
    if weights.min() < 0:
        raise ValueError("weights must be at least 0")
    return np.ascontiguousarray(np.concatenate([rows * weights, weights[None]]))


def _checked(particles: np.ndarray, scores: np.ndarray, h: float) -> tuple[np.ndarray, np.ndarray, float]:
    particles = finite(matrix(particles, "particles"), "particles")
    scores, h = finite(matrix(scores, "scores", particles.shape[1]), "scores"), positive(h, "h")
    if scores.shape != particles.shape:
        raise ValueError(f"scores must have the particles' shape {particles.shape}, not {scores.shape}")
    return particles, scores, h


@exp_jit
def _kernel(base, a):
    return exp2(base - a * a)


@fast_jit
def _exponentials(x, y, exponents):
    """exponents <- their kernel values, the last dimension's distance taken off; returns the sum."""
    total = 0.0
    for j in range(exponents.size):
        k = _kernel(exponents[j], x[j] - y)
        exponents[j] = k
        total += k
    return total


@jit
def _rows(columns, pulls, out, sums, start, stop):
    """Rows start to stop of `out` (m, r) = sum_j k_ij u_j, u (r, m) the pulls, and of `sums` (m,) = sum_j k_ij."""
    dim, m = columns.shape
    buffer = np.empty(min(TILE, m))
    out[start:stop] = 0.0
    sums[start:stop] = 0.0
    for first in range(0, m, TILE):
        last = min(first + TILE, m)
        values = buffer[: last - first]
        for i in range(start, stop):
            for j in range(values.size):
                values[j] = 0.0
            for k in range(dim - 1):
                subtract_squares(columns[k, first:last], columns[k, i], values)
            sums[i] += _exponentials(columns[dim - 1, first:last], columns[dim - 1, i], values)
            for k in range(pulls.shape[0]):
                out[i, k] += product(values, pulls[k, first:last])


@fast_jit
def _add_squares(x, y, values):
    for j in range(values.size):
        a = x[j] - y
        values[j] += a * a


@fast_jit
def _roots(values, cubes):
    """values 1 + r^2 <- k, cubes <- k^3; returns the sum of these."""
    total = 0.0
    for j in range(values.size):
        k = 1.0 / np.sqrt(values[j])
        values[j] = k
        cubes[j] = k * k * k
        total += cubes[j]
    return total


@jit
def _imq_rows(columns, pulls, places, drive, apart, sums, start, stop):
    """Rows start to stop of `drive` = sum_j k_ij s_j, `apart` = sum_j k_ij^3 x_j and `sums` = sum_j k_ij^3.

    s (r, m) are the pulls and x (r, m) the places.
    """
    dim, m = columns.shape
    buffer, cubed = np.empty(min(TILE, m)), np.empty(min(TILE, m))
    drive[start:stop] = 0.0
    apart[start:stop] = 0.0
    sums[start:stop] = 0.0
    for first in range(0, m, TILE):
        last = min(first + TILE, m)
        values, cubes = buffer[: last - first], cubed[: last - first]
        for i in range(start, stop):
            for j in range(values.size):
                values[j] = 1.0
            for k in range(dim):
                _add_squares(columns[k, first:last], columns[k, i], values)
            sums[i] += _roots(values, cubes)
            for k in range(pulls.shape[0]):
                drive[i, k] += product(values, pulls[k, first:last])
            for k in range(places.shape[0]):
                apart[i, k] += product(cubes, places[k, first:last])


def warm_up_calls() -> Iterator[tuple[str, str, Callable[[], object]]]:
    """Every function of this file."""
    two = np.zeros((2, 2))
    yield "svgd", "median of sampled distances", lambda: sampled_median_distance(np.zeros((3, 2)), 1)
    yield "svgd", "Stein force", lambda: stein_force(two, two, 1.0)
    yield "svgd", "Stein force, IMQ", lambda: imq_force(two, two, 1.0)


def sampled_median_distance(points: np.ndarray, num_pairs: int = 20_000) -> float:
    """Median of |x_i - x_j| over about `num_pairs` pairs that depend on m alone; over all where there are no more.

    Every point is in equally many pairs, with the points that stand a few fixed steps further in the array. They
    should be in no order; then the result is off by about 0.5 % of the pairs' rank. ValueError as `median_distance`.
    """
    points = finite(matrix(points, "points"), "points")
    m = len(points)
    if m * (m - 1) // 2 <= num_pairs:
        return median_distance(points)
    rounds = np.arange(1, -(-num_pairs // m) + 1)
    steps = 1 + np.floor(rounds * GOLDEN % 1.0 * ((m - 1) // 2)).astype(np.int64)  # spread evenly, never 0
    largest = np.abs(points).max() or 1.0
    squared = _squared_at_steps(points / largest, steps)
    return float(largest * np.sqrt(np.median(squared)))


@jit
def _squared_at_steps(points, steps):
    m, d = points.shape
    out = np.zeros(steps.size * m)
    for r in range(steps.size):
        for i in range(m):
            j = (i + steps[r]) % m
            for k in range(d):
                apart = points[i, k] - points[j, k]
                out[r * m + i] += apart * apart
    return out
