"""Stein importance sampling: weights of least discrepancy, forces of leaders with Jacobians, and smooth steps.

The weights of least kernel Stein discrepancy: the matrix of all pairs, and descent on the simplex.

    kappa(x, y) = k [s(x).s(y) + (2/h) (s(x) - s(y)).(x - y) + 2 d/h - (4/h^2) |x - y|^2],  k = exp(-|x - y|^2 / h)
    u = argmin u'Ku over u >= 0, sum u = 1

Steps are taken in a metric D: z = y - D^-1 Ky / L, and u is the point of the simplex that is nearest to z in it,
u_i = max(0, z_i - tau / D_i). L is at least the largest eigenvalue of D^-1/2 K D^-1/2: no step goes too far.
"""

from typing import NamedTuple

import numpy as np

from pmdviz.kernels.checks import Array, finite, matrix, plain, positive, vector
from pmdviz.kernels.jit import WarmUps, exp2, exp64, exp_jit, fast_jit, jit
from pmdviz.kernels.pool import one_blas_thread, run_blocks
from pmdviz.kernels.stein_forces import product, subtract_squares

ROWS_PER_BLOCK = 16
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

    h > 0 in squared units of theta. The same bits for any number of threads. ValueError for shapes that do not fit and
    values that are not finite.
    """
    points = finite(matrix(points, "points"), "points")
    scores, h = finite(matrix(scores, "scores", points.shape[1]), "scores"), positive(h, "h")
    if scores.shape != points.shape:
        raise ValueError(f"scores must have the points' shape {points.shape}, not {scores.shape}")
    out = np.empty((len(points), len(points)))

    def work(start: int, stop: int) -> None:
        _stein_rows(points, scores, h, out, start, stop)

    run_blocks(work, len(points), ROWS_PER_BLOCK, float(len(points)) ** 2)
    return out


def nearest_on_simplex(z: Array, metric: Array) -> Array:
    """Argmin over the simplex of sum_i D_i (u_i - z_i)^2 for z, D > 0 (n,), by sorting. Raises ValueError."""
    z, metric = finite(vector(z, "z"), "z"), _metric(metric, np.size(z))
    return _nearest(z, metric)


def descended(K: Array, metric: Array, start: Descent, count: int) -> Descent:
    """`count` steps of accelerated projected gradient descent on u'Ku (Beck, Teboulle 2009) from `start`.

    K (n, n) symmetric and positive semi-definite, D (n,) > 0. Where a step turns against the last one the pace starts
    again (O'Donoghue, Candes 2015). ValueError for shapes that do not fit and values that are not finite.
    """
    K = finite(matrix(K, "K", np.size(start.u)), "K")
    metric = _metric(metric, len(K))
    u, ahead = vector(start.u, "u", len(K)).copy(), vector(start.ahead, "ahead", len(K)).copy()
    pace, value, gap = _descended(K, metric, u, ahead, float(start.pace), int(count))
    return Descent(u, ahead, pace, value, gap)


def _metric(metric: Array, n: int) -> Array:
    metric = finite(vector(metric, "metric", n), "metric")
    if not n or metric.min() <= 0:
        raise ValueError("metric must have entries above 0 only, and at least one")
    return metric


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
def _nearest(z, metric):
    """tau by the breakpoints z_i D_i in falling order: those above it have u_i > 0."""
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
        out[i] = product(K[i], y)


@jit
def _largest_eigenvalue(K, metric, buffer):
    """Of D^-1/2 K D^-1/2, by power iteration from sqrt(D K_ii)-like entries, and a margin."""
    n, value = metric.size, 0.0
    root, vector, scaled = np.empty(n), np.empty(n), np.empty(n)
    for i in range(n):
        root[i] = 1.0 / np.sqrt(metric[i])
        vector[i] = 1.0 + 0.1 * np.sin(1.0 + i)  # in general position
    for _ in range(POWERS):
        length = np.sqrt(product(vector, vector))
        for i in range(n):
            vector[i] /= length
            scaled[i] = vector[i] * root[i]
        _times(K, scaled, buffer)
        for i in range(n):
            vector[i] = buffer[i] * root[i]
        value = np.sqrt(product(vector, vector))
        if value <= 0.0:
            return 0.0
    return MARGIN * value


@jit
def _descended(K, metric, u, ahead, pace, count):
    """In place of u and ahead; returns the pace, u'Ku and the gap."""
    slope, aim = np.empty(u.size), np.empty(u.size)
    longest = _largest_eigenvalue(K, metric, slope)
    for _ in range(count):
        if longest <= 0.0:
            break
        _times(K, ahead, slope)
        for i in range(u.size):
            aim[i] = ahead[i] - slope[i] / (longest * metric[i])
        new = _nearest(aim, metric)
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
    value = product(u, slope)
    gap = 0.0
    for i in range(u.size):
        gap = max(gap, 2.0 * (value - slope[i]))
    return pace, value, gap


# The force of a few leaders on any points, and how much a step along it stretches space there.
#
#     phi(y) = (1/A) sum_j k_j (s_j - c u_j),   k_j = exp(-|u_j|^2 / h),  u_j = x_j - y,  c = 2 / h
#
#     J(y)_ab = d phi_a / d y_b = (c/A) sum_j k_j [(s_j - c u_j)_a u_jb + delta_ab]
#
# for leaders x_j with the gradients s_j of a log density. The map y -> y + eps phi(y) turns a density q into
# q / |det(I + eps J)|. Distances are taken from each point: then nothing cancels far from the origin.

POINTS_PER_BLOCK = 32
TILE = 1024  # leaders at a time: their terms stay in the first-level cache
Pair = tuple[Array, Array]


def transport(points: Array, leaders: Array, scores: Array, h: float) -> Pair:
    """phi (n, d) and its Jacobian J (n, d, d) at points (n, d), for leaders and scores (A, d); O(n A d^2).

    h > 0 in squared units of theta. The same bits for any number of threads. ValueError for shapes that do not fit
    and values that are not finite.
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
    signs, logs = np.linalg.slogdet(step * _square(jacobian) + np.eye(jacobian.shape[1]))
    return logs, signs


def is_monotone(jacobian: Array, step: float, least: float) -> bool:
    """Whether the symmetric part of I + step J, for every J of (n, d, d), has no eigenvalue below `least`.

    Where that holds with least > 0 in a convex region, the map y -> y + step phi(y) is one-to-one there. ValueError as
    `log_determinants`.
    """
    return bool(_is_monotone(_square(jacobian), float(step), float(least)))


def _square(jacobian: Array) -> Array:
    if jacobian.ndim != 3 or jacobian.shape[1] != jacobian.shape[2]:
        raise ValueError(f"jacobian must have shape (n, d, d), not {jacobian.shape}")
    return finite(plain(jacobian), "jacobian")


def _moved(points: Array, leaders: Array, scores: Array, h: float, full: bool) -> Pair:
    leaders = finite(matrix(leaders, "leaders"), "leaders")
    points = finite(matrix(points, "points", leaders.shape[1]), "points")
    scores, h = finite(matrix(scores, "scores", leaders.shape[1]), "scores"), positive(h, "h")
    if scores.shape != leaders.shape or not len(leaders):
        raise ValueError(f"scores must have the leaders' shape {leaders.shape}, not {scores.shape}; one or more rows")
    (num, dim), unit = leaders.shape, np.sqrt(h * np.log(2.0))  # 2^-|x - y|^2 is the kernel, in this unit
    columns, pulls, targets = np.ascontiguousarray(leaders.T) / unit, np.ascontiguousarray(scores.T), points / unit
    slope = 2.0 / h * unit
    force, jacobian = np.zeros(points.shape), np.zeros((*points.shape, dim if full else 1))
    sums = np.zeros(len(points))

    def work(start: int, stop: int) -> None:
        _rows(columns, pulls, targets, slope, force, jacobian, sums, start, stop)

    run_blocks(work, len(points), POINTS_PER_BLOCK, float(len(points)) * num)
    jacobian *= slope / num
    own = 2.0 / h * sums[:, None] / num
    if full:
        jacobian[:, np.arange(dim), np.arange(dim)] += own
    else:
        jacobian[:, :, 0] += own
    return force / num, jacobian


@exp_jit
def _kernel(exponent):
    return exp2(exponent)


@fast_jit
def _exponentials(exponents):
    """exponents <- their kernel values; returns the sum."""
    total = 0.0
    for j in range(exponents.size):
        k = _kernel(exponents[j])
        exponents[j] = k
        total += k
    return total


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
def _rows(columns, pulls, points, slope, force, jacobian, sums, start, stop):
    """Rows start to stop: sum_j k_j (s_j - c u_j), sum_j k_j (s_j - c u_j)_a u_jb in units of the kernel, sum_j k_j."""
    dim, num = columns.shape
    full = jacobian.shape[2] == dim
    kernels, weights = np.empty(min(TILE, num)), np.empty(min(TILE, num))
    for first in range(0, num, TILE):
        last = min(first + TILE, num)
        values, terms = kernels[: last - first], weights[: last - first]
        for i in range(start, stop):
            for j in range(values.size):
                values[j] = 0.0
            for a in range(dim):
                subtract_squares(columns[a, first:last], points[i, a], values)
            sums[i] += _exponentials(values)
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
        for a in range(dim):
            for b in range(a + 1):
                rest = m[a, b]
                for k in range(b):
                    rest -= m[a, k] * m[b, k]
                if a == b:
                    if rest < 0.0 or (rest == 0.0 and a + 1 < dim):
                        return False
                    m[a, a] = np.sqrt(rest)
                else:
                    m[a, b] = rest / m[b, b]
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
    two, half = np.zeros((2, 2)), np.full(2, 0.5)
    yield "black_box", "Stein matrix", stein_matrix, two, two, 1.0
    yield "black_box", "nearest point of the simplex", nearest_on_simplex, half, np.ones(2)
    yield "black_box", "descent on the simplex", descended, np.eye(2), np.ones(2), Descent(half, half, 1.0, 0.0, 0.0), 1
    two = np.zeros((2, 2))
    yield "steinis", "force of leaders", transport, two, two, two, 1.0
    yield "steinis", "force of leaders, diagonal", transport_diagonal, two, two, two, 1.0
    yield "steinis", "one-to-one maps", is_monotone, np.zeros((1, 2, 2)), 1.0, 0.5
    yield "smooth_steps", "smooth step", smooth_step, np.zeros((2, 1)), 2.0, -1.0, 1.0
