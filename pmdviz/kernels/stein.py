"""Stein forces and weights: of SVGD, few points, and leaders on followers; soft means; least discrepancy."""

from typing import NamedTuple

import numpy as np

from pmdviz.kernels.checks import Array, finite, plain
from pmdviz.kernels.clusters import median_distance
from pmdviz.kernels.factors import add_multiple, add_squares, dot, factorise, subtract_squares, sum_of
from pmdviz.kernels.jit import LOG2E, WarmUps, exp2, exp64, exp_jit, fast_jit, jit
from pmdviz.kernels.pool import one_blas_thread, run_blocks

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
    number of threads. ValueError for values that are not finite.
    """
    particles, scores, h = _checked(particles, scores, h)
    centred = particles - particles.mean(axis=0)
    columns = np.ascontiguousarray(centred.T) * np.sqrt(np.log2(np.e) / h)  # 2^-|x - y|^2 is the kernel
    pulls = _weighted((scores - 2.0 / h * centred).T, weights)
    m = len(particles)
    out, sums = np.empty((m, len(pulls))), np.empty(m)
    run_blocks(lambda a, b: _rows(columns, pulls, out, sums, a, b), m, ROWS_PER_BLOCK, float(m) ** 2)
    if weights is not None:
        return out[:, :-1] + 2.0 / h * centred * out[:, -1:]
    return (out + 2.0 / h * centred * sums[:, None]) / m


def imq_force(particles: Array, scores: Array, h: float, weights: Array | None = None) -> Array:
    """As `stein_force` with the inverse multiquadric kernel (Gorham, Mackey 2017, with beta = -1/2)."""
    particles, scores, h = _checked(particles, scores, h)
    centred = (particles - particles.mean(axis=0)) / np.sqrt(h)
    columns, pulls = np.ascontiguousarray(centred.T), _weighted(scores.T, weights)
    places = columns if weights is None else _weighted(centred.T, weights)
    m = len(particles)
    found = drive, apart, sums = np.empty((m, len(pulls))), np.empty((m, len(places))), np.empty(m)
    run_blocks(lambda a, b: _imq_rows(columns, pulls, places, *found, a, b), m, ROWS_PER_BLOCK, float(m) ** 2)
    if weights is not None:
        return drive[:, :-1] + (centred * apart[:, -1:] - apart[:, :-1]) / np.sqrt(h)
    return (drive + (centred * sums[:, None] - apart) / np.sqrt(h)) / m


def _weighted(rows: Array, weights: Array | None) -> Array:
    """Rows (d, m), or with weights each times w_j, and the weights below them (d + 1, m)."""
    if weights is None:
        return np.ascontiguousarray(rows)
    return np.ascontiguousarray(np.concatenate([rows * weights, weights[None]]))


def _checked(points: Array, scores: Array, h: float) -> tuple[Array, Array, float]:
    return finite(plain(points), "points"), finite(plain(scores), "scores"), float(h)


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
                out[i, k] += dot(values, pulls[k, first:last], values.size)


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
                add_squares(columns[k, first:last], columns[k, i], values)
            sums[i] += _roots(values, cubes)
            for k in range(pulls.shape[0]):
                drive[i, k] += dot(values, pulls[k, first:last], values.size)
            for k in range(places.shape[0]):
                apart[i, k] += dot(cubes, places[k, first:last], cubes.size)


def sampled_median_distance(points: Array, num_pairs: int = 20_000) -> float:
    """Median of |x_i - x_j| over about `num_pairs` pairs that depend on m alone; over all where there are no more.

    Every point is in equally many pairs, with the points that stand a few fixed steps further in the array. They
    should be in no order; then the result is off by about 0.5 % of the pairs' rank. ValueError as `median_distance`.
    """
    points = finite(plain(points), "points")
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
    number the mean of the middle two. For points and scores (m, d) and weights (m,) of sum 1. ValueError for values
    that are not finite.
    """
    centred = points - np.mean(points, axis=0)  # the differences keep their digits far from the origin
    points, scores, factor = _checked(centred, scores, factor)
    squares, pairs = _squares(np.ascontiguousarray(points.T))
    m, middle = len(points), len(pairs) // 2
    if m < 2:
        median = 1.0
    else:
        parted = np.partition(pairs, middle)
        median = parted[middle] if len(pairs) % 2 else 0.5 * (parted[:middle].max() + parted[middle])
    h = float(factor * max(median, CLOSEST) / (2 * np.log(m + 1)))
    return _force(points, scores - 2.0 / h * points, plain(weights), squares, h), h


@fast_jit
def _add_three(a, p, u, b, q, v, c, r, w, one, other):
    """one += p a + q b + r c and other += u a + v b + w c: every vector that is read serves two sums."""
    for k in range(one.size):
        one[k] += p * a[k] + q * b[k] + r * c[k]
        other[k] += u * a[k] + v * b[k] + w * c[k]


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
            add_multiple(columns[k, i:], columns[k, i], one)
            add_multiple(columns[k, i:], columns[k, i + 1], other)
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
                add_multiple(pulls[j], row[j], one)
                add_multiple(pulls[j], more[j], other)
            add_multiple(points[i + 1], 2.0 / h * sum_of(more), other)
        else:
            for j in range(m):
                add_multiple(pulls[j], row[j], one)
        add_multiple(points[i], 2.0 / h * sum_of(row), one)
    return out


# Sums of Gaussian kernels at points, in logs, with the mean of the centres that they belong to.
#
#     log sum_j c_j exp(-|y - x_j|^2 / h),   sum_j r_j x_j with r_j = c_j exp(-|y - x_j|^2 / h) / the sum
#
# The largest exponent of a row is taken off first: no sum underflows, however far a point lies from every centre.


def soft_means(points: Array, centres: Array, log_masses: Array, h: float) -> tuple[Array, Array]:
    """Log sums (n,) and means (n, d) for points (n, d), centres (m, d) and the finite logs (m,) of their c_j.

    h > 0 in squared units of the points. The same bits for any number of threads. ValueError for values that are
    not finite.
    """
    points, centres = finite(plain(points), "points"), finite(plain(centres), "centres")
    base = finite(plain(log_masses), "log_masses") * LOG2E
    middle, unit = centres.mean(axis=0), np.sqrt(LOG2E / h)
    columns, rows = np.ascontiguousarray((centres - middle).T) * unit, (points - middle) * unit
    logs, means = np.empty(len(points)), np.empty(points.shape)
    found, cost = (logs, means), float(len(points)) * len(centres)
    run_blocks(lambda a, b: _mean_rows(columns, base, rows, *found, a, b), len(points), ROWS_PER_BLOCK, cost)
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
            means[i, k] = dot(values, columns[k], values.size) / total


# Stein importance sampling: weights of least discrepancy, forces of leaders with Jacobians, and smooth steps.
#
# The weights of least kernel Stein discrepancy: the matrix of all pairs, and descent on the simplex.
#
#     kappa(x, y) = k [s(x).s(y) + (2/h) (s(x) - s(y)).(x - y) + 2 d/h - (4/h^2) |x - y|^2],  k = exp(-|x - y|^2 / h)
#     u = argmin u'Ku over u >= 0, sum u = 1
#
# Steps are taken in a metric D: z = y - D^-1 Ky / L, and u is the point of the simplex that is nearest to z in it,
# u_i = max(0, z_i - tau / D_i). L is at least the largest eigenvalue of D^-1/2 K D^-1/2: no step goes too far.
MATRIX_ROWS = 16
POWERS, MARGIN = 40, 1.05  # of the iteration for L, and what it may have missed


class Descent(NamedTuple):
    """Where accelerated descent stands."""

    u: Array  # (n,) on the simplex
    ahead: Array  # (n,) from where the next step is taken
    pace: float  # t of Nesterov's sequence, at least 1
    value: float  # u'Ku
    gap: float  # max_i (g'u - g_i) with g = 2 K u: by so much at most u'Ku is above its least value


def stein_matrix(points: Array, scores: Array, h: float) -> Array:
    """kappa (n, n) for points (n, d) and the gradients (n, d) of the log density at them.

    h > 0 in squared units of theta. The same bits for any number of threads. ValueError for values that are not
    finite.
    """
    points, scores, h = _checked(points, scores, h)
    n, out = len(points), np.empty((len(points), len(points)))
    run_blocks(lambda a, b: _stein_rows(points, scores, h, out, a, b), n, MATRIX_ROWS, float(n) ** 2)
    return out


def descended(K: Array, metric: Array, start: Descent, count: int) -> Descent:
    """`count` steps of accelerated projected gradient descent on u'Ku (Beck, Teboulle 2009) from `start`.

    K (n, n) symmetric and positive semi-definite, D (n,) > 0. Where a step turns against the last one the pace starts
    again (O'Donoghue, Candes 2015). ValueError for values that are not finite.
    """
    given = plain(start.u), plain(start.ahead), float(start.pace), int(count)
    return _descended(finite(plain(K), "K"), plain(metric), *given)


@jit
def _stein_rows(points, scores, h, out, start, stop):
    n, d = points.shape
    for i in range(start, stop):
        for j in range(n):
            apart, along, both = 0.0, 0.0, 0.0
            for k in range(d):
                gap = points[i, k] - points[j, k]
                apart += gap * gap
                along += (scores[i, k] - scores[j, k]) * gap
                both += scores[i, k] * scores[j, k]
            total = both + 2.0 / h * along + 2.0 * d / h - 4.0 / (h * h) * apart
            out[i, j] = np.exp(-apart / h) * total


@jit
def nearest_on_simplex(z, metric):
    """Argmin over the simplex of sum_i D_i (u_i - z_i)^2 for z, D > 0 (n,).

    tau by the breakpoints z_i D_i in falling order: those above it have u_i > 0.
    """
    falling = np.empty(z.size)
    for i in range(z.size):
        falling[i] = -z[i] * metric[i]
    order = np.argsort(falling)
    total, inverse, tau = -1.0, 0.0, 0.0
    for k in range(order.size):
        i = order[k]
        if k > 0 and z[i] * metric[i] <= tau:
            break
        total += z[i]
        inverse += 1.0 / metric[i]
        tau = total / inverse
    u, mass = np.empty(z.size), 0.0
    for i in range(z.size):
        u[i] = max(0.0, z[i] - tau / metric[i])
        mass += u[i]
    for i in range(z.size):
        u[i] /= mass  # 1 but for rounding
    return u


@jit
def _times(K, y, out):
    for i in range(y.size):
        out[i] = dot(K[i], y, y.size)


@jit
def _largest_eigenvalue(K, metric, buffer):
    """Of D^-1/2 K D^-1/2, by power iteration from sqrt(D K_ii)-like entries, and a margin."""
    n, value = metric.size, 0.0
    root, vector, scaled = np.empty(n), np.empty(n), np.empty(n)
    for i in range(n):
        root[i] = 1.0 / np.sqrt(metric[i])
        vector[i] = 1.0 + 0.1 * np.sin(1.0 + i)  # in general position
    for _ in range(POWERS):
        length = np.sqrt(dot(vector, vector, vector.size))
        for i in range(n):
            vector[i] /= length
            scaled[i] = vector[i] * root[i]
        _times(K, scaled, buffer)
        for i in range(n):
            vector[i] = buffer[i] * root[i]
        value = np.sqrt(dot(vector, vector, vector.size))
        if value <= 0.0:
            return 0.0
    return MARGIN * value


@jit
def _descended(K, metric, u, ahead, pace, count):
    u, ahead, slope, aim = u.copy(), ahead.copy(), np.empty(u.size), np.empty(u.size)
    longest = _largest_eigenvalue(K, metric, slope)
    for _ in range(count):
        if longest <= 0.0:
            break
        _times(K, ahead, slope)
        for i in range(u.size):
            aim[i] = ahead[i] - slope[i] / (longest * metric[i])
        new = nearest_on_simplex(aim, metric)
        turned = 0.0
        for i in range(u.size):
            turned += metric[i] * (ahead[i] - new[i]) * (new[i] - u[i])
        later = 0.5 * (1.0 + np.sqrt(1.0 + 4.0 * pace * pace))
        momentum = (pace - 1.0) / later
        if turned > 0.0:
            later, momentum = 1.0, 0.0
        for i in range(u.size):
            ahead[i] = new[i] + momentum * (new[i] - u[i])
            u[i] = new[i]
        pace = later
    _times(K, u, slope)
    value = dot(u, slope, u.size)
    gap = 0.0
    for i in range(u.size):
        gap = max(gap, 2.0 * (value - slope[i]))
    return Descent(u, ahead, pace, value, gap)


# The force of a few leaders on any points, and how much a step along it stretches space there.
#
#     phi(y) = (1/A) sum_j k_j (s_j - c u_j),   k_j = exp(-|u_j|^2 / h),  u_j = x_j - y,  c = 2 / h
#
#     J(y)_ab = d phi_a / d y_b = (c/A) sum_j k_j [(s_j - c u_j)_a u_jb + delta_ab]
#
# for leaders x_j with the gradients s_j of a log density. The map y -> y + eps phi(y) turns a density q into
# q / |det(I + eps J)|. Distances are taken from each point: then nothing cancels far from the origin.

POINTS_PER_BLOCK = 32
LEADERS = 1024  # leaders at a time: their terms stay in the first-level cache
Pair = tuple[Array, Array]


def transport(points: Array, leaders: Array, scores: Array, h: float) -> Pair:
    """phi (n, d) and its Jacobian J (n, d, d) at points (n, d), for leaders and scores (A, d); O(n A d^2).

    h > 0 in squared units of theta. The same bits for any number of threads. ValueError for values that are not
    finite.
    """
    return _moved(points, leaders, scores, h, True)


def transport_diagonal(points: Array, leaders: Array, scores: Array, h: float) -> Pair:
    """phi (n, d) and the diagonal of its Jacobian alone, (n, d), in O(n A d). ValueError as `transport`."""
    force, diagonal = _moved(points, leaders, scores, h, False)
    return force, diagonal[:, :, 0]


@one_blas_thread()
def log_determinants(jacobian: Array, step: float) -> Pair:
    """log |det(I + step J)| and the determinant's sign (-1, 0 or 1), each (n,), for J (n, d, d).

    ValueError for values that are not finite.
    """
    signs, logs = np.linalg.slogdet(step * finite(jacobian, "jacobian") + np.eye(jacobian.shape[1]))
    return logs, signs


def is_monotone(jacobian: Array, step: float, least: float) -> bool:
    """Whether the symmetric part of I + step J, for every J of (n, d, d), has no eigenvalue below `least`.

    Where that holds with least > 0 in a convex region, the map y -> y + step phi(y) is one-to-one there. ValueError as
    `log_determinants`.
    """
    return bool(_is_monotone(finite(plain(jacobian), "jacobian"), float(step), float(least)))


def _moved(points: Array, leaders: Array, scores: Array, h: float, full: bool) -> Pair:
    leaders, scores, h = _checked(leaders, scores, h)
    points = finite(plain(points), "points")
    (num, dim), unit = leaders.shape, np.sqrt(h * np.log(2.0))  # 2^-|x - y|^2 is the kernel, in this unit
    columns, pulls, targets = np.ascontiguousarray(leaders.T) / unit, np.ascontiguousarray(scores.T), points / unit
    slope = 2.0 / h * unit
    force, jacobian = np.zeros(points.shape), np.zeros((*points.shape, dim if full else 1))
    found, n = (force, jacobian, sums := np.zeros(len(points))), len(points)
    given = columns, pulls, targets, slope
    run_blocks(lambda a, b: _transport_rows(*given, *found, a, b), n, POINTS_PER_BLOCK, float(n) * num)
    jacobian *= slope / num
    own = 2.0 / h * sums[:, None] / num
    if full:
        jacobian[:, np.arange(dim), np.arange(dim)] += own
    else:
        jacobian[:, :, 0] += own
    return force / num, jacobian


@fast_jit
def _pulled(values, pulls, x, y, slope, out):
    """out_j <- k_j (s_j - c u_j) in one coordinate; returns the sum."""
    total = 0.0
    for j in range(values.size):
        w = values[j] * (pulls[j] - slope * (x[j] - y))
        out[j] = w
        total += w
    return total


@fast_jit
def _moment(weights, x, y):
    total = 0.0
    for j in range(weights.size):
        total += weights[j] * (x[j] - y)
    return total


@jit
def _transport_rows(columns, pulls, points, slope, force, jacobian, sums, start, stop):
    """Rows start to stop: sum_j k_j (s_j - c u_j), sum_j k_j (s_j - c u_j)_a u_jb in units of the kernel, sum_j k_j."""
    dim, num = columns.shape
    full = jacobian.shape[2] == dim
    kernels, weights = np.empty(min(LEADERS, num)), np.empty(min(LEADERS, num))
    for first in range(0, num, LEADERS):
        last = min(first + LEADERS, num)
        values, terms = kernels[: last - first], weights[: last - first]
        for i in range(start, stop):
            for j in range(values.size):
                values[j] = 0.0
            for a in range(dim):
                subtract_squares(columns[a, first:last], points[i, a], values)
            sums[i] += _powers(values, 0.0)
            for a in range(dim):
                x, y = columns[a, first:last], points[i, a]
                force[i, a] += _pulled(values, pulls[a, first:last], x, y, slope, terms)
                if full:
                    for b in range(dim):
                        jacobian[i, a, b] += _moment(terms, columns[b, first:last], points[i, b])
                else:
                    jacobian[i, a, 0] += _moment(terms, x, y)


@jit
def _is_monotone(jacobian, step, least):
    """By Cholesky's factor of the symmetric part less `least`, which exists where all is above."""
    num, dim, _ = jacobian.shape
    m = np.empty((dim, dim))
    for i in range(num):
        for a in range(dim):
            for b in range(a + 1):
                m[a, b] = 0.5 * step * (jacobian[i, a, b] + jacobian[i, b, a])
            m[a, a] += 1.0 - least
        if not factorise(m):
            return False
    return True


# The smooth map from the real line to the values of a discrete coordinate, and its slope.


def smooth_step(x: Array, steepness: float, low: float, high: float) -> tuple[Array, Array]:
    """tanh(steepness x / 2) stretched from `low` to `high`, and its derivative in x, both of the shape of x.

    By e = exp(-|steepness x|): the map is (1 - e) / (1 + e) with the sign of x, the slope of that 2 e / (1 + e)^2 times
    the steepness.
    """
    points = plain(x)
    values, slopes = np.empty(points.shape), np.empty(points.shape)
    half = 0.5 * (high - low)
    _smooth(points.ravel(), float(steepness), 0.5 * (low + high), half, values.ravel(), slopes.ravel())
    return values, slopes


@exp_jit
def _smooth(x, steepness, middle, half, values, slopes):
    for k in range(x.size):
        e = exp64(-abs(steepness * x[k]))
        share = 1.0 / (1.0 + e)
        values[k] = middle + half * np.copysign((1.0 - e) * share, x[k])
        slopes[k] = half * steepness * 2.0 * e * share * share


def warm_up_calls() -> WarmUps:
    """Calls that compile every kernel of this file."""
    two, half, zeros = np.eye(2), np.full(2, 0.5), np.zeros((2, 2))
    yield "svgd", "median of sampled distances", sampled_median_distance, np.zeros((3, 2)), 1
    yield "svgd", "Stein force", stein_force, two, two, 1.0
    yield "svgd", "Stein force, IMQ", imq_force, two, two, 1.0
    yield "few_points", "Stein force of few points", matched_force, two, two, half, 1.0
    yield "responsibilities", "soft means", soft_means, zeros, zeros, np.zeros(2), 1.0
    yield "black_box", "Stein matrix", stein_matrix, zeros, zeros, 1.0
    yield "black_box", "nearest point of the simplex", nearest_on_simplex, half, np.ones(2)
    yield "black_box", "descent on the simplex", descended, two, np.ones(2), Descent(half, half, 1.0, 0.0, 0.0), 1
    yield "steinis", "force of leaders", transport, zeros, zeros, zeros, 1.0
    yield "steinis", "force of leaders, diagonal", transport_diagonal, zeros, zeros, zeros, 1.0
    yield "steinis", "one-to-one maps", is_monotone, zeros[None], 1.0, 0.5
    yield "smooth_steps", "smooth step", smooth_step, zeros[:, :1], 2.0, -1.0, 1.0
