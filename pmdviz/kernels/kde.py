"""Log density of a weighted sum of Gaussian kernels, in one fused pass over the particles.

    log q(y) = log sum_j w_j N(y | x_j, L L^T),   L = cholesky (d, d)

After whitening (u = L^-1 (x - c)) this is logsumexp_j(log w_j - |u_j - v|^2 / 2) - (d/2) log 2 pi - sum log L_ii. The maximum
that a logsumexp needs is replaced by its bound max(log w): finding the exact one would cost as much as the sum itself. Only
rows whose sum underflows under that bound are done again with the exact maximum.
"""
import numpy as np

from pmdviz.kernels.checks import finite, lower_triangle, matrix, weighted_particles
from pmdviz.kernels.exponential import exp64
from pmdviz.kernels.jit import fast_jit, jit
from pmdviz.kernels.pool import run_blocks

ROWS_PER_BLOCK = 64
TILE = 1024  # particles at a time: the columns of a tile stay in the first-level cache
UNDERFLOW = 1e-280  # exp64 clamps at exp(-708) = 3e-308: above this, clamped terms are below 1e-20 of the sum for m up to 1e7
FARTHEST = 1e150  # whitened units: squares of anything larger would overflow


def kde_log_density(
    particles: np.ndarray, log_weights: np.ndarray, cholesky: np.ndarray, points: np.ndarray
) -> np.ndarray:
    """log q at `points` (n, d) in nats, as (n,).

    particles (m, d); log_weights (m,), used as given (logsumexp 0 makes q integrate to 1), -inf allowed; cholesky (d, d), the
    lower factor of the kernel's covariance, in the units of theta. ValueError for shapes that do not fit, for values that are
    not finite and when no weight is above zero.
    """
    particles, log_weights = weighted_particles(particles, log_weights)
    dim = particles.shape[1]
    cholesky = lower_triangle(cholesky, dim)
    points = finite(matrix(points, "points", dim), "points")
    bound = log_weights.max()
    centre = particles[log_weights.argmax()]  # far from the origin the digits go to the differences, not to the offset
    columns, targets = whiten(particles, centre, cholesky), whiten(points, centre, cholesky)
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
def _exponents(columns, log_w, target, i, first, out):
    for j in range(out.shape[0]):
        out[j] = log_w[first + j]
    for k in range(columns.shape[0]):
        x, y = columns[k, first : first + out.shape[0]], target[k, i]
        for j in range(out.shape[0]):
            a = x[j] - y
            out[j] -= 0.5 * a * a


@fast_jit
def _sum_exp(exponents, bound):
    total = 0.0
    for j in range(exponents.shape[0]):
        total += exp64(exponents[j] - bound)
    return total


@jit
def _rows(columns, log_w, targets, out, start, stop):
    exponents = np.empty(log_w.size)
    for i in range(start, stop):
        _exponents(columns, log_w, targets, i, 0, exponents)
        top = exponents.max()
        out[i] = top + np.log(_sum_exp(exponents, top))
