"""Mixtures of Gaussians: the likelihood of two of one standard deviation; densities, shares and sums of any number.

Log likelihood of two Gaussians that share one standard deviation, for many parameters at once.

    log p(x | theta) = log( p N(x | theta_1, s^2) + (1 - p) N(x | theta_1 + theta_2, s^2) )
                     = max(a, b) + log(1 + exp(-|a - b|)),   a, b the logs of the two terms

The factors 1 + exp(-|a - b|) lie in (1, 2]: their product over a block of at most 500 data stays below 2^500, and one
logarithm per block replaces one per observation.
"""

from collections.abc import Callable, Iterator
from typing import NamedTuple

import numpy as np

from pmdviz.kernels.checks import Array, plain
from pmdviz.kernels.jit import DEFAULT, LOG2E, WarmUps, exp2, exp64, exp_jit, fast_jit, jit
from pmdviz.kernels.likelihoods import GRADIENTS, LOG_JOINTS, normal_prior
from pmdviz.kernels.pool import Rows, filled

ROWS_PER_BLOCK = 512
Pair = tuple[Callable[..., None], Callable[..., None]]
FEW = 16  # parameters: below this the loops that vectorise run over the data
DATA_PER_LOG = 500  # an even number
LOG_ZERO = -1e300  # finite stand-in for log 0: fast-math code must not see an infinity
LARGEST = 1e140  # beyond it squares overflow
LN2 = 1.0 / LOG2E
SCALE = np.sqrt(LOG2E / 2)  # exponents are in base 2: exp(-u^2 / 2) has the exponent -(SCALE u)^2


def mixture_log_likelihood(theta: Array, x: Array, sigma_x: float, p: float) -> Array:
    """Sum over the data x (B,) of log p(x_n | theta), in nats, for each row of theta (m, 2); as (m,).

    sigma_x > 0 in the units of x; p in [0, 1] is the weight of the component at theta_1. Rows of theta that are not
    finite give NaN.
    """
    out, num, bad = _for_each((_log_likelihood, _log_likelihood_few), theta, x, sigma_x, p)
    out -= num * np.log(sigma_x * np.sqrt(2 * np.pi))
    out[bad] = np.nan
    return out


def mixture_grad_log_likelihood(theta: Array, x: Array, sigma_x: float, p: float) -> Array:
    """Gradient of `mixture_log_likelihood` with respect to theta, (m, 2), in nats per unit of theta; same arguments."""
    out, _, bad = _for_each((_gradient, _gradient_few), theta, x, sigma_x, p, 2)
    out[bad] = np.nan
    return out


def _for_each(kernels: Pair, theta: Array, x: Array, sigma_x: float, p: float, *shape: int) -> tuple[Array, int, Array]:
    """What the kernel for many parameters or the one for few gives (m, ...), the number of data, and which are bad.

    Bad are rows whose theta is not finite.
    """
    bad = np.zeros(len(theta), bool)
    if not np.abs(theta).max(initial=0.0) <= LARGEST:  # true for NaN too
        bad = ~np.isfinite(theta).all(axis=1)
        theta = np.where(bad[:, None], 0.0, np.clip(theta, -LARGEST, LARGEST))
    means, given = (theta[:, 0], theta[:, 0] + theta[:, 1]), (plain(x), (SCALE / sigma_x, *_log_shares(p)))
    (out,) = filled(kernels[len(theta) < FEW], means, given, ROWS_PER_BLOCK, len(theta) * x.size, shape)
    return out, x.size, bad


def _log_shares(p: float) -> tuple[float, float]:
    """log2 p and log2 (1 - p)."""
    return (np.log(p) * LOG2E if p > 0 else LOG_ZERO), (np.log1p(-p) * LOG2E if p < 1 else LOG_ZERO)


@fast_jit
def _exponents(x, first, second, precision, log_p, log_rest):
    """log2 of the two terms, but for the constant of the Gaussians."""
    u, v = (x - first) * precision, (x - second) * precision
    return log_p - u * u, log_rest - v * v


@fast_jit
def _add_two(x, y, first, second, constants, total, product):
    """Add two data to the sums of every parameter; two at a time need half as many loads."""
    precision, log_p, log_rest = constants
    for j in range(total.size):
        a, b = _exponents(x, first[j], second[j], precision, log_p, log_rest)
        c, d = _exponents(y, first[j], second[j], precision, log_p, log_rest)
        total[j] += max(a, b) + max(c, d)
        product[j] *= (1.0 + exp2(-abs(a - b))) * (1.0 + exp2(-abs(c - d)))


@fast_jit
def _add_one(x, first, second, constants, total, product):
    precision, log_p, log_rest = constants
    for j in range(total.size):
        a, b = _exponents(x, first[j], second[j], precision, log_p, log_rest)
        total[j] += max(a, b)
        product[j] *= 1.0 + exp2(-abs(a - b))


@jit
def _log_likelihood(first, second, x, constants, out):
    """first, second, out (rows,): the two means and the result."""
    product = np.empty(out.size)
    for j in range(out.size):
        out[j], product[j] = 0.0, 1.0
    for start in range(0, x.size, DATA_PER_LOG):
        stop = min(start + DATA_PER_LOG, x.size)
        for n in range(start, stop - 1, 2):
            _add_two(x[n], x[n + 1], first, second, constants, out, product)
        if (stop - start) % 2:
            _add_one(x[stop - 1], first, second, constants, out, product)
        for j in range(out.size):
            out[j] += np.log(product[j]) * LOG2E
            product[j] = 1.0
    for j in range(out.size):
        out[j] *= LN2


@fast_jit
def _sums_over_data(x, first, second, constants):
    precision, log_p, log_rest = constants
    total, product = 0.0, 1.0
    for n in range(x.size):
        a, b = _exponents(x[n], first, second, precision, log_p, log_rest)
        total += max(a, b)
        product *= 1.0 + exp2(-abs(a - b))
    return total, product


@jit
def _log_likelihood_few(first, second, x, constants, out):
    for j in range(out.size):
        out[j] = 0.0
        for start in range(0, x.size, DATA_PER_LOG):
            stop = min(start + DATA_PER_LOG, x.size)
            total, product = _sums_over_data(x[start:stop], first[j], second[j], constants)
            out[j] += total * LN2 + np.log(product)


@fast_jit
def _pulls(x, first, second, precision, log_p, log_rest):
    """The standardised residuals (times SCALE), each weighted with its component's responsibility."""
    u, v = (x - first) * precision, (x - second) * precision
    difference = (log_p - u * u) - (log_rest - v * v)
    small = exp2(-abs(difference))
    larger = 1.0 / (1.0 + small)
    share, rest = (larger, small * larger) if difference >= 0.0 else (small * larger, larger)
    return share * u, rest * v


@fast_jit
def _add_pulls(x, first, second, constants, pull_first, pull_second):
    precision, log_p, log_rest = constants
    for j in range(pull_first.size):
        a, b = _pulls(x, first[j], second[j], precision, log_p, log_rest)
        pull_first[j] += a
        pull_second[j] += b


@jit
def _gradient(first, second, x, constants, out):
    pull_first, pull_second = np.zeros(first.size), np.zeros(first.size)
    for n in range(x.size):
        _add_pulls(x[n], first, second, constants, pull_first, pull_second)
    for j in range(first.size):  # whole-array expressions would take seconds to compile
        _put_gradient(pull_first[j], pull_second[j], constants[0], out[j])


@fast_jit
def _pulls_of_data(x, first, second, constants):
    precision, log_p, log_rest = constants
    pull_first, pull_second = 0.0, 0.0
    for n in range(x.size):
        a, b = _pulls(x[n], first, second, precision, log_p, log_rest)
        pull_first += a
        pull_second += b
    return pull_first, pull_second


@jit
def _gradient_few(first, second, x, constants, out):
    for j in range(first.size):
        pull_first, pull_second = _pulls_of_data(x, first[j], second[j], constants)
        _put_gradient(pull_first, pull_second, constants[0], out[j])


@jit
def _put_gradient(pull_first, pull_second, precision, out):
    """theta_1 moves both components, theta_2 the second; d(SCALE u)/d theta is -precision, hence the 2 ln 2."""
    out[0] = (pull_first + pull_second) * precision * 2.0 * LN2
    out[1] = pull_second * precision * 2.0 * LN2


class MixtureModel(NamedTuple):
    """The model in compiled code; `mixture_model` makes one."""

    prior_precision: float
    num_data: float
    sigma_x: float
    constants: tuple[float, float, float]  # of the exponents


def mixture_model(prior_precision: float, num_data: float, sigma_x: float, p: float) -> MixtureModel:
    """The mixture with a prior N(0, I / prior_precision) on N data."""
    scale, (share, other) = float(SCALE / sigma_x), map(float, _log_shares(p))
    return MixtureModel(prior_precision, num_data, float(sigma_x), (scale, share, other))


def _model_log_joint(model, theta, x):
    sums = 0.0
    for n in range(0, x.size, DATA_PER_LOG):
        total, product = _sums_over_data(x[n : n + DATA_PER_LOG], theta[0], theta[0] + theta[1], model.constants)
        sums += total * LN2 + np.log(product)
    sums -= x.size * np.log(model.sigma_x * np.sqrt(2.0 * np.pi))
    return normal_prior(theta, model.prior_precision) + model.num_data / x.size * sums


def _model_gradient(model, theta, x, out):
    pull_first, pull_second = _pulls_of_data(x, theta[0], theta[0] + theta[1], model.constants)
    _put_gradient(pull_first, pull_second, model.constants[0], out)
    for k in range(2):
        out[k] = model.num_data / x.size * out[k] - model.prior_precision * theta[k]


LOG_JOINTS[MixtureModel], GRADIENTS[MixtureModel] = _model_log_joint, _model_gradient


# Log density of a mixture of Gaussians of one variance, for many points at once, and its gradient.
#
#     log p(x) = log sum_k w_k N(x | mu_k, v I),   grad log p(x) = sum_k r_k(x) (mu_k - x) / v
#
# with r_k the share of component k at x. The largest exponent is subtracted before any exponential is taken: a
# point far from every component has a finite log density.

POINTS_PER_BLOCK = 256


def gaussian_mixture_log_density(points: Array, means: Array, log_weights: Array, variance: float) -> Array:
    """log sum_k w_k N(x | mu_k, v I), in nats, for points (m, d) and means (k, d); as (m,).

    log_weights (k,) finite, v > 0 in the squared units of x. A point that is not finite gives -inf or NaN.
    """
    out = _at_points(_log_density, points, means, log_weights, variance)
    return out - 0.5 * means.shape[1] * np.log(2 * np.pi * variance)


def gaussian_mixture_grad_log_density(points: Array, means: Array, log_weights: Array, variance: float) -> Array:
    """Gradient of `gaussian_mixture_log_density` in the points, (m, d), in nats per unit of x; same arguments."""
    return _at_points(_density_gradient, points, means, log_weights, variance, means.shape[1])


def _at_points(
    kernel: Callable[..., None], points: Array, means: Array, log_weights: Array, variance: float, *columns: int
) -> Array:
    """What a kernel gives at every point, (m, ...)."""
    given, cost = (plain(means), plain(log_weights), float(variance)), float(len(points)) * means.size
    return filled(kernel, (points,), given, POINTS_PER_BLOCK, cost, columns)[0]


@jit
def _put_exponents(x, means, log_weights, variance, exponents):
    """log w_k - |x - mu_k|^2 / (2 v) of every component into `exponents` (k,); gives the largest of them."""
    largest = -np.inf
    for k in range(means.shape[0]):
        distance = 0.0
        for a in range(x.size):
            away = x[a] - means[k, a]
            distance += away * away
        exponents[k] = log_weights[k] - 0.5 * distance / variance
        largest = max(largest, exponents[k])
    return largest


@jit
def _log_density(points, means, log_weights, variance, out):
    exponents = np.empty(means.shape[0])
    for i in range(out.size):
        largest = _put_exponents(points[i], means, log_weights, variance, exponents)
        total = 0.0
        for k in range(exponents.size):
            total += np.exp(exponents[k] - largest)
        out[i] = largest + np.log(total)


@jit
def _density_gradient(points, means, log_weights, variance, out):
    exponents = np.empty(means.shape[0])
    for i in range(points.shape[0]):
        largest = _put_exponents(points[i], means, log_weights, variance, exponents)
        total = 0.0
        for a in range(points.shape[1]):
            out[i, a] = 0.0
        for k in range(exponents.size):
            share = np.exp(exponents[k] - largest)
            total += share
            for a in range(points.shape[1]):
                out[i, a] += share * (means[k, a] - points[i, a])
        for a in range(points.shape[1]):
            out[i, a] /= total * variance


# Gaussians with diagonal covariances: each one's share of a mixture at every point, and sums weighted by the shares.
#
#     r_ik = a_k N(x_i | mu_k, diag(s_k)^2) / q(x_i),   q(x) = exp(rest(x)) + sum_k a_k N(x | mu_k, diag(s_k)^2)
#
# `rest` is the log density of a part that is not Gaussian, -inf without one. A step of EM, and the gradient of
# log q in a_k, mu_k and s_k, are sums of c_i r_ik, c_i r_ik z and c_i r_ik z^2 with z = (x_i - mu_k) / s_k.

SHARED_PER_BLOCK = 64


def component_shares(points: Array, log_weights: Array, means: Array, sds: Array, rest: Array) -> tuple[Array, Array]:
    """log q (n,), in nats, and r (n, K), at points (n, d), for log a (K,), means and sds (K, d), and rest (n,).

    The same bits for any number of threads; rest may be -inf.
    """
    peaks = log_weights - (np.log(sds) + 0.5 * np.log(2 * np.pi)).sum(axis=1)
    centres, narrow = np.ascontiguousarray(means.T), np.ascontiguousarray(np.sqrt(0.5) / sds.T)
    given, cost = (peaks, centres, narrow), float(len(points)) * len(means)
    return filled(_share_rows, (points, rest), given, SHARED_PER_BLOCK, cost, (), (len(means),))


def weighted_sums(points: Array, means: Array, sds: Array, shares: Array, coefficients: Array) -> Rows:
    """sum_i c_i r_ik (K,), sum_i c_i r_ik z (K, d) and sum_i c_i r_ik z^2 (K, d), z = (x_i - mu_k) / s_k.

    For points (n, d), means and sds (K, d), shares r (n, K) and coefficients c (n,), which may be negative.
    """
    d, k = points.shape[1], len(means)
    zeroth, first, second = np.zeros(k), np.zeros((d, k)), np.zeros((d, k))
    centres, narrow = np.ascontiguousarray(means.T), np.ascontiguousarray(1.0 / sds.T)
    _weigh_sums(plain(points), centres, narrow, plain(shares), plain(coefficients), zeroth, first, second)
    return zeroth, first.T.copy(), second.T.copy()


@fast_jit
def _subtract(x, centres, narrow, exponents):
    for k in range(exponents.size):
        z = (x - centres[k]) * narrow[k]
        exponents[k] -= z * z


@exp_jit
def _to_shares(exponents, top):
    for k in range(exponents.size):
        exponents[k] = exp64(exponents[k] - top)


@fast_jit
def _total(values):
    total = 0.0
    for k in range(values.size):
        total += values[k]
    return total


@jit
def _share_rows(points, rest, peaks, centres, narrow, log_density, shares):
    for i in range(points.shape[0]):
        row = shares[i]
        for k in range(row.size):
            row[k] = peaks[k]
        for j in range(points.shape[1]):
            _subtract(points[i, j], centres[j], narrow[j], row)
        top = rest[i]
        for k in range(row.size):
            top = max(top, row[k])
        _to_shares(row, top)
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
def _weigh_sums(points, centres, narrow, shares, coefficients, zeroth, first, second):
    for i in range(points.shape[0]):
        row, c = shares[i], coefficients[i]
        for k in range(row.size):
            zeroth[k] += c * row[k]
        for j in range(points.shape[1]):
            _add(points[i, j], centres[j], narrow[j], row, c, first[j], second[j])


def warm_up_calls() -> WarmUps:
    """Calls that compile every kernel of this file."""
    axis = np.arange(2.0)
    for theta, words in ((np.zeros((FEW, 2)), ""), (np.zeros((2, 2)), " at few points")):
        yield DEFAULT, f"mixture likelihood{words}", mixture_log_likelihood, theta, axis, 1.0, 0.5
        yield "mixture", f"mixture gradient{words}", mixture_grad_log_likelihood, theta, axis, 1.0, 0.5
    arguments = np.zeros((2, 2)), np.zeros((2, 2)), np.full(2, np.log(0.5)), 1.0
    yield "gaussian_mixture", "density of a Gaussian mixture", gaussian_mixture_log_density, *arguments
    yield "gaussian_mixture", "gradient of a Gaussian mixture", gaussian_mixture_grad_log_density, *arguments
    two, halves = np.zeros((2, 2)), np.full(2, np.log(0.5))
    yield "components", "components", component_shares, two, halves, two, two + 1.0, halves
    yield "components", "their sums", weighted_sums, two, two, two + 1.0, two, halves


def warm_up_models() -> Iterator[tuple[tuple, Array, int]]:
    """A model of each kind, data for it, and its dimension: chains are compiled for them."""
    yield mixture_model(1.0, 2.0, 1.0, 0.5), np.zeros(2), 2
