"""Log density of a weighted sum of Gaussian kernels, in one fused pass over the particles.

    log q(y) = log sum_j w_j N(y | x_j, L L^T),   L = cholesky (d, d)

After whitening (u = L^-1 (x - c)) this is logsumexp_j(log w_j - |u_j - v|^2 / 2) - (d/2) log 2 pi - sum log L_ii. The
maximum that a logsumexp needs is replaced by its bound max(log w): finding the exact one would cost as much as the
sum itself. Only rows whose sum underflows under that bound are done again with the exact maximum.
"""

import numpy as np

from pmdviz.kernels.checks import finite, lower_triangle, matrix, weighted_particles
from pmdviz.kernels.exponential import exp64
from pmdviz.kernels.jit import fast_jit, jit
from pmdviz.kernels.pool import run_blocks

ROWS_PER_BLOCK = 64
TILE = 1024  # particles at a time: the columns of a tile stay in the first-level cache
UNDERFLOW = 1e-280  # exp64 clamps at 3e-308: above this, 1e7 clamped terms are below 1e-20 of the sum
FARTHEST = 1e150  # whitened units: squares of anything larger would overflow


def kde_log_density(
    particles: np.ndarray, log_weights: np.ndarray, cholesky: np.ndarray, points: np.ndarray
) -> np.ndarray:
    """log q at `points` (n, d) in nats, as (n,).

    particles (m, d); log_weights (m,), used as given (logsumexp 0 makes q integrate to 1), -inf allowed; cholesky
    (d, d), lower factor of the kernel's covariance, in the units of theta. ValueError for shapes that do not fit,
    for values that are not finite and when no weight is above zero.
    """
    particles, log_weights = weighted_particles(particles, log_weights)
    dim = particles.shape[1]
    cholesky = lower_triangle(cholesky, dim)
    points = finite(matrix(points, "points", dim), "points")
    bound = log_weights.max()
    centre = particles[log_weights.argmax()]  # far from the origin the digits go to the differences, not to the offset
    columns, targets = whiten(particles, centre, cholesky), whiten(points, centre, cholesky).T.copy()
    relative, out = log_weights - bound, np.empty(len(points))

    def work(start: int, stop: int) -> None:
        _rows(columns, relative, targets, out, start, stop)

    run_blocks(work, len(points), ROWS_PER_BLOCK, len(points) * len(particles))
    return out + (bound - log_normaliser(cholesky))


def log_normaliser(cholesky: np.ndarray) -> float:
    """log of the integral of exp(-|L^-1 x|^2 / 2), that is (d/2) log 2 pi + log det L."""
    return 0.5 * len(cholesky) * np.log(2 * np.pi) + np.log(np.diagonal(cholesky)).sum()


def whiten(values: np.ndarray, centre: np.ndarray, cholesky: np.ndarray) -> np.ndarray:
    """L^-1 (x - centre) for each row x of `values` (n, d), as columns (d, n)."""
    return np.clip(_forward_substitution(values, centre, cholesky), -FARTHEST, FARTHEST)


@jit
def _forward_substitution(values, centre, cholesky):
    num, dim = values.shape
    out = np.empty((dim, num))
    for i in range(dim):
        for j in range(num):
            rest = values[j, i] - centre[i]
            for k in range(i):
                rest -= cholesky[i, k] * out[k, j]
            out[i, j] = rest / cholesky[i, i]
    return out


@fast_jit
def _sum_1(x0, base, targets, i, k):
    total, y0 = 0.0, targets[i, k]
    for j in range(base.size):
        a = x0[j] - y0
        total += exp64(base[j] - 0.5 * a * a)
    return total


@fast_jit
def _sum_2(x0, x1, base, targets, i, k):
    total, y0, y1 = 0.0, targets[i, k], targets[i, k + 1]
    for j in range(base.size):
        a, b = x0[j] - y0, x1[j] - y1
        total += exp64(base[j] - 0.5 * (a * a + b * b))
    return total


@fast_jit
def _sum_3(x0, x1, x2, base, targets, i, k):
    total, y0, y1, y2 = 0.0, targets[i, k], targets[i, k + 1], targets[i, k + 2]
    for j in range(base.size):
        a, b, c = x0[j] - y0, x1[j] - y1, x2[j] - y2
        total += exp64(base[j] - 0.5 * (a * a + b * b + c * c))
    return total


@fast_jit
def _sum_exp(exponents, bound):
    total = 0.0
    for j in range(exponents.size):
        total += exp64(exponents[j] - bound)
    return total


@fast_jit
def _copy(values, out):
    for j in range(out.size):  # measured: `out[:] = values` would add a fifth to the whole sum
        out[j] = values[j]


@fast_jit
def _subtract_3(x0, x1, x2, targets, i, k, out):
    """Take half the squared distance in the dimensions k to k + 2 off `out`, in place."""
    y0, y1, y2 = targets[i, k], targets[i, k + 1], targets[i, k + 2]
    for j in range(out.size):
        a, b, c = x0[j] - y0, x1[j] - y1, x2[j] - y2
        out[j] -= 0.5 * (a * a + b * b + c * c)


@fast_jit
def _subtract_1(x0, y0, out):
    for j in range(out.size):
        a = x0[j] - y0
        out[j] -= 0.5 * a * a


@jit
def _add_tile(columns, k, base, first, last, targets, out, start, stop):
    """Add the sums over the particles first to last; the dimensions from k on, one to three, are fused with the exp.

    Only 1-D slices reach the inner loops: indexing columns[k, j] there would keep them from being vectorised.
    """
    left, x0 = columns.shape[0] - k, columns[k, first:last]
    if left == 1:
        for i in range(start, stop):
            out[i] += _sum_1(x0, base, targets, i, k)
    elif left == 2:
        x1 = columns[k + 1, first:last]
        for i in range(start, stop):
            out[i] += _sum_2(x0, x1, base, targets, i, k)
    else:
        x1, x2 = columns[k + 1, first:last], columns[k + 2, first:last]
        for i in range(start, stop):
            out[i] += _sum_3(x0, x1, x2, base, targets, i, k)


@jit
def _add_tile_any(columns, k, log_w, first, last, targets, out, start, stop):
    """The same for more than three dimensions: those before k three at a time into a buffer, row by row."""
    exponents = np.empty(last - first)
    for i in range(start, stop):
        _copy(log_w[first:last], exponents)
        for done in range(0, k, 3):
            x1, x2 = columns[done + 1, first:last], columns[done + 2, first:last]
            _subtract_3(columns[done, first:last], x1, x2, targets, i, done, exponents)
        _add_tile(columns, k, exponents, first, last, targets, out, i, i + 1)


@jit
def _exact_row(columns, log_w, y):
    """log of the sum with the true maximum, for a row so far away that every term underflows under the bound."""
    exponents, top = np.empty(log_w.size), -np.inf
    _copy(log_w, exponents)
    for k in range(columns.shape[0]):
        _subtract_1(columns[k], y[k], exponents)
    for value in exponents:  # a loop compiles in no time; .max() takes a second
        top = max(top, value)
    return top + np.log(_sum_exp(exponents, top))


@jit
def _rows(columns, log_w, targets, out, start, stop):
    out[start:stop] = 0.0
    k = (columns.shape[0] - 1) // 3 * 3  # the first dimension of those fused with the exponential
    for first in range(0, log_w.size, TILE):
        last = min(first + TILE, log_w.size)
        if k > 0:
            _add_tile_any(columns, k, log_w, first, last, targets, out, start, stop)
        else:
            _add_tile(columns, k, log_w[first:last], first, last, targets, out, start, stop)
    for i in range(start, stop):
        out[i] = np.log(out[i]) if out[i] > UNDERFLOW else _exact_row(columns, log_w, targets[i])
