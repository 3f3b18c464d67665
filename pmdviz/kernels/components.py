"""Gaussians with diagonal covariances: each one's share of a mixture at every point, and sums weighted by the shares.

    r_ik = a_k N(x_i | mu_k, diag(s_k)^2) / q(x_i),   q(x) = exp(rest(x)) + sum_k a_k N(x | mu_k, diag(s_k)^2)

`rest` is the log density of a part that is no Gaussian, -inf where there is none. A step of EM, and the gradient of
log q in a_k, mu_k and s_k, are sums of c_i r_ik, c_i r_ik z and c_i r_ik z^2 with z = (x_i - mu_k) / s_k.
"""

import numpy as np

from pmdviz.kernels.checks import Array, finite, matrix, vector
from pmdviz.kernels.exponential import exp64
from pmdviz.kernels.jit import WarmUps, exp_jit, fast_jit, jit
from pmdviz.kernels.pool import run_blocks

ROWS_PER_BLOCK = 64


def component_shares(points: Array, log_weights: Array, means: Array, sds: Array, rest: Array) -> tuple[Array, Array]:
    """log q (n,), in nats, and r (n, K), at points (n, d), for log a (K,), means and sds (K, d), and rest (n,).

    The same bits for any number of threads. ValueError for shapes that do not fit and values that are not finite;
    rest may be -inf.
    """
    points, means, sds = _checked(points, means, sds)
    log_weights, rest = vector(log_weights, "log_weights", len(means)), vector(rest, "rest", len(points))
    peaks = finite(log_weights, "log_weights") - (np.log(sds) + 0.5 * np.log(2 * np.pi)).sum(axis=1)
    centres, narrow = np.ascontiguousarray(means.T), np.ascontiguousarray(np.sqrt(0.5) / sds.T)
    log_density, shares = np.empty(len(points)), np.empty((len(points), len(means)))

    def work(start: int, stop: int) -> None:
        _rows(points, peaks, centres, narrow, rest, log_density, shares, start, stop)

    run_blocks(work, len(points), ROWS_PER_BLOCK, float(shares.size))
    return log_density, shares


def weighted_sums(
    points: Array, means: Array, sds: Array, shares: Array, coefficients: Array
) -> tuple[Array, Array, Array]:
    """sum_i c_i r_ik (K,), sum_i c_i r_ik z (K, d) and sum_i c_i r_ik z^2 (K, d), z = (x_i - mu_k) / s_k.

    For points (n, d), means and sds (K, d), shares r (n, K) and coefficients c (n,), which may be negative.
    ValueError for shapes that do not fit and values that are not finite.
    """
    points, means, sds = _checked(points, means, sds)
    coefficients = finite(vector(coefficients, "coefficients", len(points)), "coefficients")
    shares = finite(matrix(shares, "shares", len(means)), "shares")
    if len(shares) != len(points):
        raise ValueError(f"shares must have a row for each of {len(points)} points, not {len(shares)}")
    d, k = points.shape[1], len(means)
    zeroth, first, second = np.zeros(k), np.zeros((d, k)), np.zeros((d, k))
    centres, narrow = np.ascontiguousarray(means.T), np.ascontiguousarray(1.0 / sds.T)
    _sums(points, centres, narrow, shares, coefficients, zeroth, first, second)
    return zeroth, first.T.copy(), second.T.copy()


def _checked(points: Array, means: Array, sds: Array) -> tuple[Array, Array, Array]:
    points = finite(matrix(points, "points"), "points")
    means = finite(matrix(means, "means", points.shape[1]), "means")
    sds = finite(matrix(sds, "sds", points.shape[1]), "sds")
    if sds.shape != means.shape or not (sds > 0).all():
        raise ValueError(f"sds must be above 0, of the means' shape {means.shape}")
    return points, means, sds


@fast_jit
def _subtract(x, centres, narrow, exponents):
    for k in range(exponents.size):
        z = (x - centres[k]) * narrow[k]
        exponents[k] -= z * z


@exp_jit
def _exponentials(exponents, top):
    for k in range(exponents.size):
        exponents[k] = exp64(exponents[k] - top)


@fast_jit
def _total(values):
    total = 0.0
    for k in range(values.size):
        total += values[k]
    return total


@jit
def _rows(points, peaks, centres, narrow, rest, log_density, shares, start, stop):
    for i in range(start, stop):
        row = shares[i]
        for k in range(row.size):
            row[k] = peaks[k]
        for j in range(points.shape[1]):
            _subtract(points[i, j], centres[j], narrow[j], row)
        top = rest[i]
        for k in range(row.size):
            top = max(top, row[k])
        _exponentials(row, top)
        total = _total(row) + np.exp(rest[i] - top)
        log_density[i] = top + np.log(total)
        for k in range(row.size):
            row[k] /= total


@fast_jit
def _add(x, centres, narrow, row, c, first, second):
    for k in range(row.size):
        z = (x - centres[k]) * narrow[k]
        first[k] += c * row[k] * z
        second[k] += c * row[k] * z * z


@jit
def _sums(points, centres, narrow, shares, coefficients, zeroth, first, second):
    for i in range(points.shape[0]):
        row, c = shares[i], coefficients[i]
        for k in range(row.size):
            zeroth[k] += c * row[k]
        for j in range(points.shape[1]):
            _add(points[i, j], centres[j], narrow[j], row, c, first[j], second[j])


def warm_up_calls() -> WarmUps:
    """Calls that compile every kernel of this file."""
    two, halves = np.zeros((2, 2)), np.full(2, np.log(0.5))
    yield "components", "components", component_shares, two, halves, two, two + 1.0, halves
    yield "components", "their sums", weighted_sums, two, two, two + 1.0, two, halves
