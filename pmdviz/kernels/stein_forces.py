"""Stein forces: of SVGD, of few points in many dimensions, and the soft means of goodness of fit.

Compiled steps along a row that several kernels of this folder take.
"""

import numpy as np

from pmdviz.kernels.checks import Array, finite, matrix, positive, vector
from pmdviz.kernels.clusters import median_distance
from pmdviz.kernels.jit import LOG2E, WarmUps, exp2, exp64, exp_jit, fast_jit, jit
from pmdviz.kernels.pool import run_blocks


@fast_jit
def subtract_squares(x, y, exponents):
    """exponents -= (x - y)^2, for x (m,) and a number y."""
    for j in range(exponents.size):
        a = x[j] - y
        exponents[j] -= a * a


@fast_jit
def product(a, b):
    """sum_j a_j b_j."""
    total = 0.0
    for j in range(a.size):
        total += a[j] * b[j]
    return total


# The force of Stein variational gradient descent on every particle, without a matrix of all pairs; a cheap median.
#
#     RBF:  phi_i = (1/m) sum_j k_ij (s_j + (2/h) (x_i - x_j)),         k_ij = exp(-|x_i - x_j|^2 / h)
#     IMQ:  phi_i = (1/m) sum_j k_ij s_j + (k_ij^3 / h) (x_i - x_j),    k_ij = (1 + |x_i - x_j|^2 / h)^(-1/2)
#
# The second term is split, (2/h) x_i sum_j k_ij - (2/h) sum_j k_ij x_j: a row needs the sum of its k_ij and
# one scalar product a dimension with u_j = s_j - (2/h) x_j. Particles are taken about their mean: the differences
# keep their digits far from the origin. With weights w_j instead of 1/m (Han 2019, Algorithm 5) u_j is w_j times
# that, and the sum of w_j k_ij is one scalar product more.

ROWS_PER_BLOCK = 64
GOLDEN = 0.6180339887498949  # multiples of it, without their whole parts, fill [0, 1) evenly
TILE = 2048  # particles at a time: their terms stay in the first-level cache


def stein_force(particles: Array, scores: Array, h: float, weights: Array | None = None) -> Array:
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


def imq_force(particles: Array, scores: Array, h: float, weights: Array | None = None) -> Array:
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


def _weighted(rows: Array, weights: Array | None) -> Array:
    """Rows (d, m), or with weights each times w_j, and the weights below them (d + 1, m)."""
    if weights is None:
        return np.ascontiguousarray(rows)
    weights = finite(vector(weights, "weights", rows.shape[1]), "weights")
    if weights.min() < 0:
        raise ValueError("weights must be at least 0")
    return np.ascontiguousarray(np.concatenate([rows * weights, weights[None]]))


def _checked(particles: Array, scores: Array, h: float) -> tuple[Array, Array, float]:
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


def sampled_median_distance(points: Array, num_pairs: int = 20_000) -> float:
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


# The weighted Stein force of few points in many dimensions, and its width, from one matrix of their distances.
#
# `stein_force` never holds all pairs, which suits thousands of points in a few dimensions. Of a hundred points
# in a hundred dimensions the distances are most of the work: here each is computed once, for the median and for the
# kernel.

CLOSEST = 1e-12  # of the squared median distance, where most points coincide


def matched_force(points: Array, scores: Array, weights: Array, factor: float) -> tuple[Array, float]:
    """sum_j w_j k_ij (s_j + (2/h) (x_i - x_j)) (m, d), and h = factor med^2 / (2 log(m + 1)).

    k_ij = exp(-|x_i - x_j|^2 / h); med^2 is the median of the squared distances between different points, of an even
    number the mean of the middle two. For points and scores (m, d) and weights (m,) of sum 1. ValueError for shapes
    that do not fit and values that are not finite.
    """
    centred = points - np.mean(points, axis=0)  # the differences keep their digits far from the origin
    points = finite(matrix(centred, "points"), "points")
    scores = finite(matrix(scores, "scores", points.shape[1]), "scores")
    weights = finite(vector(weights, "weights", len(points)), "weights")
    if scores.shape != points.shape:
        raise ValueError(f"scores must have the points' shape {points.shape}, not {scores.shape}")
    squares, pairs = _squares(np.ascontiguousarray(points.T))
    m, middle = len(points), len(pairs) // 2
    if m < 2:
        median = 1.0
    else:
        parted = np.partition(pairs, middle)
        median = parted[middle] if len(pairs) % 2 else 0.5 * (parted[:middle].max() + parted[middle])
    h = float(factor * max(median, CLOSEST) / (2 * np.log(m + 1)))
    return _force(points, scores - 2.0 / h * points, weights, squares, h), h


@fast_jit
def _add_three(a, p, u, b, q, v, c, r, w, one, other):
    """one += p a + q b + r c and other += u a + v b + w c: every vector that is read serves two sums."""
    for k in range(one.size):
        one[k] += p * a[k] + q * b[k] + r * c[k]
        other[k] += u * a[k] + v * b[k] + w * c[k]


@fast_jit
def _add_one(a, p, out):
    for k in range(out.size):
        out[k] += p * a[k]


@jit
def _products(columns):
    """The products of the points i <= j with one another, (m, m); columns (d, m)."""
    dim, m = columns.shape
    out = np.zeros((m, m))
    for i in range(0, m - 1, 2):
        one, other = out[i, i:], out[i + 1, i:]
        for k in range(0, dim - 2, 3):
            a, b, c = columns[k, i:], columns[k + 1, i:], columns[k + 2, i:]
            _add_three(a, a[0], a[1], b, b[0], b[1], c, c[0], c[1], one, other)
        for k in range(dim - dim % 3, dim):
            _add_one(columns[k, i:], columns[k, i], one)
            _add_one(columns[k, i:], columns[k, i + 1], other)
    if m % 2:
        for k in range(dim):
            out[m - 1, m - 1] += columns[k, m - 1] * columns[k, m - 1]
    return out


@jit
def _squares(columns):
    """|x_i - x_j|^2 as (m, m), and the pairs i < j in a row, by |x_i|^2 + |x_j|^2 - 2 x_i x_j."""
    out = _products(columns)
    m, place = out.shape[0], 0
    norms, pairs = np.empty(m), np.empty(m * (m - 1) // 2)
    for i in range(m):
        norms[i] = out[i, i]
    for i in range(m):
        out[i, i] = 0.0
        for j in range(i + 1, m):
            square = max(norms[i] + norms[j] - 2.0 * out[i, j], 0.0)
            out[i, j] = square
            pairs[place + j - i - 1] = square
        place += m - i - 1
    for i in range(m):
        for j in range(i):
            out[i, j] = out[j, i]
    return out, pairs


@exp_jit
def _kernels(squares, slope, weights, out):
    """w_j exp(-slope |x_i - x_j|^2) for all j."""
    for j in range(out.size):
        out[j] = weights[j] * exp64(-slope * squares[j])


@jit
def _total(values):
    total = 0.0
    for j in range(values.size):
        total += values[j]
    return total


@jit
def _force(points, pulls, weights, squares, h):
    m, dim = points.shape
    out, rows = np.zeros((m, dim)), np.empty((2, m))
    for i in range(0, m, 2):
        both = i + 1 < m
        one, row, other, more = out[i], rows[0], out[i + both], rows[1]
        _kernels(squares[i], 1.0 / h, weights, row)
        if both:
            _kernels(squares[i + 1], 1.0 / h, weights, more)
            for j in range(0, m - 2, 3):
                a, b, c = pulls[j], pulls[j + 1], pulls[j + 2]
                _add_three(a, row[j], more[j], b, row[j + 1], more[j + 1], c, row[j + 2], more[j + 2], one, other)
            for j in range(m - m % 3, m):
                _add_one(pulls[j], row[j], one)
                _add_one(pulls[j], more[j], other)
            _add_one(points[i + 1], 2.0 / h * _total(more), other)
        else:
            for j in range(m):
                _add_one(pulls[j], row[j], one)
        _add_one(points[i], 2.0 / h * _total(row), one)
    return out


# Sums of Gaussian kernels at points, in logs, with the mean of the centres that they belong to.
#
#     log sum_j c_j exp(-|y - x_j|^2 / h),   sum_j r_j x_j with r_j = c_j exp(-|y - x_j|^2 / h) / the sum
#
# The largest exponent of a row is taken off first: no sum underflows, however far a point lies from every centre.


def soft_means(points: Array, centres: Array, log_masses: Array, h: float) -> tuple[Array, Array]:
    """Log sums (n,) and means (n, d) for points (n, d), centres (m, d) and the finite logs (m,) of their c_j.

    h > 0 in squared units of the points. The same bits for any number of threads. ValueError for shapes that do not
    fit and values that are not finite.
    """
    points, h = finite(matrix(points, "points"), "points"), positive(h, "h")
    centres = finite(matrix(centres, "centres", points.shape[1]), "centres")
    base = finite(vector(log_masses, "log_masses", len(centres)), "log_masses") * LOG2E
    middle, unit = centres.mean(axis=0), np.sqrt(LOG2E / h)
    columns, rows = np.ascontiguousarray((centres - middle).T) * unit, (points - middle) * unit
    logs, means = np.empty(len(points)), np.empty(points.shape)

    def work(start: int, stop: int) -> None:
        _mean_rows(columns, base, rows, logs, means, start, stop)

    run_blocks(work, len(points), ROWS_PER_BLOCK, float(len(points)) * len(centres))
    return logs / LOG2E, middle + means / unit


@fast_jit
def _largest(values):
    top = values[0]
    for j in range(values.size):
        top = max(top, values[j])
    return top


@exp_jit
def _power(exponent, top):
    return exp2(exponent - top)


@fast_jit
def _powers(exponents, top):
    """exponents <- 2^(exponents - top); returns the sum."""
    total = 0.0
    for j in range(exponents.size):
        value = _power(exponents[j], top)
        exponents[j] = value
        total += value
    return total


@jit
def _mean_rows(columns, base, rows, logs, means, start, stop):
    """Rows start to stop of `logs` (n,), to the base 2, and of `means` (n, d)."""
    dim, m = columns.shape
    values = np.empty(m)
    for i in range(start, stop):
        for j in range(m):
            values[j] = base[j]
        for k in range(dim):
            subtract_squares(columns[k], rows[i, k], values)
        top = _largest(values)
        total = _powers(values, top)
        logs[i] = top + np.log2(total)
        for k in range(dim):
            means[i, k] = product(values, columns[k]) / total


def warm_up_calls() -> WarmUps:
    """Calls that compile every kernel of this file."""
    two = np.zeros((2, 2))
    yield "svgd", "median of sampled distances", sampled_median_distance, np.zeros((3, 2)), 1
    yield "svgd", "Stein force", stein_force, two, two, 1.0
    yield "svgd", "Stein force, IMQ", imq_force, two, two, 1.0
    two = np.eye(2)
    yield "few_points", "Stein force of few points", matched_force, two, two, np.full(2, 0.5), 1.0
    two = np.zeros((2, 2))
    yield "responsibilities", "soft means", soft_means, two, two, np.zeros(2), 1.0
