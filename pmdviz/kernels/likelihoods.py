"""Log likelihoods of many parameters at once, and the same models as compiled chains call them.

A chain asks a model for its log joint and the gradient of that, on a batch of its data. A model is a NamedTuple of
plain numbers; its type picks the code when a chain's kernel is compiled: one kernel serves every model. The files of
the likelihoods enter theirs in the two tables.
"""

from collections.abc import Callable, Iterator
from typing import NamedTuple

import numpy as np
from numba.extending import overload

from pmdviz.kernels.checks import Array, plain
from pmdviz.kernels.factors import dot
from pmdviz.kernels.jit import OVERLOAD, WarmUps, exp64, fast_jit, jit
from pmdviz.kernels.pool import Rows, by_rows, filled

LOG_JOINTS: dict[type, Callable] = {}  # model type -> (model, theta (d,), x) -> nats
GRADIENTS: dict[type, Callable] = {}  # model type -> (model, theta (d,), x, out (d,)), which puts the gradient in `out`


def log_joint(model, theta, x):
    """log p(theta) + (N/B) sum over the batch x of log p(x_n | theta), in nats, for compiled code."""
    return LOG_JOINTS[type(model)](model, theta, x)


def put_gradient(model, theta, x, out):
    """The gradient of `log_joint` in theta, into out (d,), for compiled code."""
    return GRADIENTS[type(model)](model, theta, x, out)


@overload(log_joint, jit_options=OVERLOAD)
def _log_joint_of(model, theta, x):
    return LOG_JOINTS.get(getattr(model, "instance_class", None))


@overload(put_gradient, jit_options=OVERLOAD)
def _gradient_of(model, theta, x, out):
    return GRADIENTS.get(getattr(model, "instance_class", None))


@fast_jit
def mean_of(x):
    """Mean of x (B,)."""
    total = 0.0
    for n in range(x.size):
        total += x[n]
    return total / x.size


@fast_jit
def scatter_about(x, centre):
    """sum (x_n - centre)^2 of x (B,)."""
    total = 0.0
    for n in range(x.size):
        residual = x[n] - centre
        total += residual * residual
    return total


@fast_jit
def normal_prior(theta, precision):
    """log N(theta | 0, I / precision), theta (d,), in nats."""
    total = 0.0
    for k in range(theta.size):
        total += theta[k] * theta[k]
    return 0.5 * (theta.size * np.log(precision / (2.0 * np.pi)) - precision * total)


@fast_jit
def normal_sum(scatter, count, sigma_x):
    """Log density of `count` numbers from a normal of sd sigma_x with a sum of squared residuals `scatter`."""
    return -0.5 * scatter / (sigma_x * sigma_x) - count * np.log(sigma_x * np.sqrt(2.0 * np.pi))


def _summed(x: Array, sigma_x: float) -> tuple[Array, float, float]:
    """Of data x (B, ...): the mean, B / sigma_x^2, and the log density of x around its mean, in nats."""
    mean = x.mean(axis=0) if len(x) else np.zeros(x.shape[1:])
    constant = -0.5 * ((x - mean) ** 2).sum() / sigma_x**2 - x.size * np.log(sigma_x * np.sqrt(2 * np.pi))
    return mean, len(x) / sigma_x**2, constant


# Log likelihood of a Gaussian with unknown mean, for many parameters at once, from the batch's mean and scatter.
#
#     sum_n log N(x_n | theta, s^2 I) = -( sum_n |x_n - mean|^2 + B |mean - theta|^2 ) / (2 s^2) - B d log(s sqrt(2 pi))
#
# The two sums of squares are about the batch's own mean, so nothing cancels; the cost is O(B + m), not O(B m).


def gaussian_log_likelihood(theta: Array, x: Array, sigma_x: float) -> Array:
    """Sum over the data x (B, d) of log N(x_n | theta, sigma_x^2 I), in nats, for each row of theta (m, d); as (m,).

    sigma_x > 0 in the units of x. A theta that is not finite gives -inf or NaN.
    """
    return _gaussian(plain(theta), *_summed(x, sigma_x))


def gaussian_grad_log_likelihood(theta: Array, x: Array, sigma_x: float) -> Array:
    """Gradient with respect to theta, B (mean - theta) / sigma_x^2, as (m, d) in nats per unit of theta."""
    mean, precision, _ = _summed(x, sigma_x)
    return precision * (mean - theta)


@jit
def _gaussian(theta, mean, precision, constant):
    out = np.empty(theta.shape[0])
    for i in range(theta.shape[0]):
        distance = 0.0
        for k in range(theta.shape[1]):
            away = mean[k] - theta[i, k]
            distance += away * away
        out[i] = constant - 0.5 * precision * distance
    return out


class GaussianModel(NamedTuple):
    """The model in compiled code."""

    prior_precision: float
    num_data: float
    sigma_x: float


def _gaussian_log_joint(model, theta, x):
    scatter = 0.0
    for k in range(theta.size):
        scatter += scatter_about(x[:, k], theta[k])
    likelihood = model.num_data / len(x) * normal_sum(scatter, x.size, model.sigma_x)
    return normal_prior(theta, model.prior_precision) + likelihood


def _gaussian_gradient(model, theta, x, out):
    for k in range(theta.size):
        residual = mean_of(x[:, k]) - theta[k]
        out[k] = model.num_data / (model.sigma_x * model.sigma_x) * residual - model.prior_precision * theta[k]


LOG_JOINTS[GaussianModel], GRADIENTS[GaussianModel] = _gaussian_log_joint, _gaussian_gradient


# Log likelihood of data whose mean is bent, theta_1 + b theta_2^2: all theta on one parabola explain them alike.
#
# With the mean of the batch and r = mean - theta_1 - b theta_2^2,
#
#     sum_n log N(x_n | theta_1 + b theta_2^2, s^2) = -( sum_n (x_n - mean)^2 + B r^2 ) / (2 s^2) - B log(s sqrt(2 pi))


def banana_log_likelihood(theta: Array, x: Array, sigma_x: float, bend: float) -> Array:
    """Sum over the data x (B,) of log N(x_n | theta_1 + b theta_2^2, sigma_x^2), in nats, for theta (m, 2); as (m,).

    sigma_x > 0 in the units of x; `bend` b, finite. A theta that is not finite gives -inf or NaN.
    """
    mean, *rest = _summed(x, sigma_x)
    return _banana(plain(theta), float(mean), float(bend), *rest)


def banana_grad_log_likelihood(theta: Array, x: Array, sigma_x: float, bend: float) -> Array:
    """Gradient with respect to theta, B r / sigma_x^2 (1, 2 b theta_2), as (m, 2) in nats per unit of theta."""
    mean, precision, _ = _summed(x, sigma_x)
    return _banana_pulls(plain(theta), float(mean), float(bend), precision)


@jit
def _banana(theta, mean, bend, precision, constant):
    out = np.empty(theta.shape[0])
    for i in range(theta.shape[0]):
        residual = mean - theta[i, 0] - bend * theta[i, 1] * theta[i, 1]
        out[i] = constant - 0.5 * precision * residual * residual
    return out


@jit
def _banana_pulls(theta, mean, bend, precision):
    out = np.empty(theta.shape)
    for i in range(theta.shape[0]):
        pull = precision * (mean - theta[i, 0] - bend * theta[i, 1] * theta[i, 1])
        out[i, 0] = pull
        out[i, 1] = pull * 2.0 * bend * theta[i, 1]
    return out


class BananaModel(NamedTuple):
    """The model in compiled code."""

    prior_precision: float
    num_data: float
    sigma_x: float
    bend: float


def _banana_log_joint(model, theta, x):
    scatter = scatter_about(x, theta[0] + model.bend * theta[1] * theta[1])
    likelihood = model.num_data / x.size * normal_sum(scatter, x.size, model.sigma_x)
    return normal_prior(theta, model.prior_precision) + likelihood


def _banana_gradient(model, theta, x, out):
    residual = mean_of(x) - theta[0] - model.bend * theta[1] * theta[1]
    pull = model.num_data / (model.sigma_x * model.sigma_x) * residual
    out[0] = pull - model.prior_precision * theta[0]
    out[1] = pull * 2.0 * model.bend * theta[1] - model.prior_precision * theta[1]


LOG_JOINTS[BananaModel], GRADIENTS[BananaModel] = _banana_log_joint, _banana_gradient


# Log likelihood of data whose mean is the square of the parameter: theta and -theta explain them equally well.
#
# With the mean of the batch,
#
#     sum_n log N(x_n | theta^2, s^2) = -( sum_n (x_n - mean)^2 + B (mean - theta^2)^2 ) / (2 s^2) - B log(s sqrt(2 pi))


def bimodal_log_likelihood(theta: Array, x: Array, sigma_x: float) -> Array:
    """Sum over the data x (B,) of log N(x_n | theta^2, sigma_x^2), in nats, for each row of theta (m, 1); as (m,).

    sigma_x > 0 in the units of x, that is of theta squared. A theta that is not finite gives -inf or NaN.
    """
    mean, *rest = _summed(x, sigma_x)
    return _bimodal(plain(theta), float(mean), *rest)


def bimodal_grad_log_likelihood(theta: Array, x: Array, sigma_x: float) -> Array:
    """Gradient with respect to theta, 2 theta B (mean - theta^2) / sigma_x^2, as (m, 1) in nats per unit of theta."""
    mean, precision, _ = _summed(x, sigma_x)
    return _bimodal_pulls(plain(theta), float(mean), precision)


@jit
def _bimodal(theta, mean, precision, constant):
    out = np.empty(theta.shape[0])
    for i in range(theta.shape[0]):
        residual = mean - theta[i, 0] * theta[i, 0]
        out[i] = constant - 0.5 * precision * residual * residual
    return out


@jit
def _bimodal_pulls(theta, mean, precision):
    out = np.empty(theta.shape)
    for i in range(theta.shape[0]):
        out[i, 0] = 2.0 * theta[i, 0] * precision * (mean - theta[i, 0] * theta[i, 0])
    return out


class BimodalModel(GaussianModel):
    """The model in compiled code."""


def _bimodal_log_joint(model, theta, x):
    scatter = scatter_about(x, theta[0] * theta[0])
    likelihood = model.num_data / x.size * normal_sum(scatter, x.size, model.sigma_x)
    return normal_prior(theta, model.prior_precision) + likelihood


def _bimodal_gradient(model, theta, x, out):
    pull = model.num_data / (model.sigma_x * model.sigma_x) * (mean_of(x) - theta[0] * theta[0])
    out[0] = 2.0 * theta[0] * pull - model.prior_precision * theta[0]


LOG_JOINTS[BimodalModel], GRADIENTS[BimodalModel] = _bimodal_log_joint, _bimodal_gradient


# Log likelihood of Bayesian linear regression, y = x.w + noise, for many weight vectors at once.
#
# A row of data is (x_1, ..., x_d, y). The cost of a gradient is O(B d) per row of theta.

ROWS_PER_BLOCK = 256


def linear_log_likelihood(theta: Array, rows: Array, sigma: float) -> Array:
    """Sum over the rows (B, d + 1) of log N(y | x.theta, sigma^2), in nats, for theta (m, d); as (m,).

    sigma > 0 in the units of y.
    """
    return _for_each(_linear, theta, rows, (), float(sigma))


def linear_grad_log_likelihood(theta: Array, rows: Array, sigma: float) -> Array:
    """Its gradient, sum over the rows of (y - x.theta) x / sigma^2, (m, d) in nats per unit of theta."""
    return _for_each(_linear_pulls, theta, rows, theta.shape[1:], float(sigma))


def _for_each(kernel: Callable, theta: Array, rows: Array, shape: tuple[int, ...], *given: float) -> Array:
    """What a kernel puts for theta (m, d) and rows (B, d + 1), of this shape for each theta."""
    cost = float(len(theta)) * rows.size
    return filled(kernel, (theta,), (plain(rows), *given), ROWS_PER_BLOCK, cost, shape)[0]


@fast_jit
def residual(row, theta):
    """y - x.theta of a row (d + 1,)."""
    return row[theta.size] - dot(row, theta, theta.size)


@jit
def _linear(theta, rows, sigma, out):
    for i in range(out.size):
        scatter = 0.0
        for n in range(rows.shape[0]):
            away = residual(rows[n], theta[i])
            scatter += away * away
        out[i] = normal_sum(scatter, rows.shape[0], sigma)


@jit
def _linear_pulls(theta, rows, sigma, out):
    for i in range(out.shape[0]):
        out[i, :] = 0.0
        for n in range(rows.shape[0]):
            pull = residual(rows[n], theta[i]) / (sigma * sigma)
            for k in range(theta.shape[1]):
                out[i, k] += pull * rows[n, k]


class LinearModel(GaussianModel):
    """The model in compiled code, with the noise of y."""


def _linear_log_joint(model, theta, x):
    scatter = 0.0
    for n in range(x.shape[0]):
        away = residual(x[n], theta)
        scatter += away * away
    likelihood = normal_sum(scatter, x.shape[0], model.sigma_x)
    return normal_prior(theta, model.prior_precision) + model.num_data / x.shape[0] * likelihood


def _linear_gradient(model, theta, x, out):
    for k in range(theta.size):
        out[k] = -model.prior_precision * theta[k]
    scale = model.num_data / x.shape[0] / (model.sigma_x * model.sigma_x)
    for n in range(x.shape[0]):
        pull = scale * residual(x[n], theta)
        for k in range(theta.size):
            out[k] += pull * x[n, k]


LOG_JOINTS[LinearModel], GRADIENTS[LinearModel] = _linear_log_joint, _linear_gradient


# Log likelihood of Bayesian logistic regression, P(y = 1 | x) = 1 / (1 + exp(-x.w)), for many weight vectors at once.
#
# A row of data is (x_1, ..., x_d, y) with y 0 or 1. With a = x.w a row gives y a - log(1 + e^a), written without
# overflow as (y - [a > 0]) a - log1p(e^-|a|).


def logistic_log_likelihood(theta: Array, rows: Array) -> Array:
    """Sum over the rows (B, d + 1) of log P(y | x, theta), in nats, for theta (m, d); as (m,)."""
    return _for_each(_logistic, theta, rows, ())


def logistic_grad_log_likelihood(theta: Array, rows: Array) -> Array:
    """Its gradient, sum over the rows of (y - P(1 | x, theta)) x, (m, d) in nats per unit of theta."""
    return _for_each(_logistic_pulls, theta, rows, theta.shape[1:])


def logistic_row_log_likelihood(theta: Array, rows: Array) -> Array:
    """log P(y | x, theta) of every row, (m, d) and (n, d + 1) -> (m, n), in nats."""
    return _for_each(_each_row, theta, rows, (len(rows),))


@jit
def _log_chance(row, theta):
    a = dot(row, theta, theta.size)
    return (row[theta.size] - (a > 0.0)) * a - np.log1p(np.exp(-abs(a)))


@jit
def _logistic_pull(row, theta):
    """y - P(1 | x, theta)."""
    a = dot(row, theta, theta.size)
    e = np.exp(-abs(a))
    return row[theta.size] - (1.0 if a > 0.0 else e) / (1.0 + e)


@jit
def _logistic(theta, rows, out):
    for i in range(out.size):
        out[i] = 0.0
        for n in range(rows.shape[0]):
            out[i] += _log_chance(rows[n], theta[i])


@jit
def _each_row(theta, rows, out):
    for i in range(out.shape[0]):
        for n in range(rows.shape[0]):
            out[i, n] = _log_chance(rows[n], theta[i])


@jit
def _logistic_pulls(theta, rows, out):
    for i in range(out.shape[0]):
        out[i, :] = 0.0
        for n in range(rows.shape[0]):
            pull = _logistic_pull(rows[n], theta[i])
            for k in range(theta.shape[1]):
                out[i, k] += pull * rows[n, k]


class LogisticModel(NamedTuple):
    """The model in compiled code."""

    prior_precision: float
    num_data: float


def _logistic_log_joint(model, theta, x):
    total = 0.0
    for n in range(x.shape[0]):
        total += _log_chance(x[n], theta)
    return normal_prior(theta, model.prior_precision) + model.num_data / x.shape[0] * total


def _logistic_gradient(model, theta, x, out):
    for k in range(theta.size):
        out[k] = -model.prior_precision * theta[k]
    scale = model.num_data / x.shape[0]
    for n in range(x.shape[0]):
        pull = scale * _logistic_pull(x[n], theta)
        for k in range(theta.size):
            out[k] += pull * x[n, k]


LOG_JOINTS[LogisticModel], GRADIENTS[LogisticModel] = _logistic_log_joint, _logistic_gradient


# The stochastic volatility model: its density and gradient, what its closed forms need, and sweeps of exact MCMC.
#
# x_1 ~ N(mu, s2 / (1 - phi^2)), x_t = mu + phi (x_{t-1} - mu) + N(0, s2), y_t ~ N(0, exp(x_t)), t from 1 to T. The
# paths x are `points[:, first:]` of points (m, first + T), and what belongs to each of them is (m,). The priors are
# not included in these functions.
PATHS_PER_BLOCK = 64
NO_RETURNS = np.empty(0)
FARTHEST = 300.0  # of -x: even the square of e^300 is a number, and a path of log variances has diverged long before


def volatility_log_path(mu: Array, phi: Array, s2: Array, points: Array, first: int) -> Array:
    """log p(x | mu, phi, s2), in nats: (m,)."""
    squares, count = volatility_squares(mu, np.zeros(len(mu)), phi, points, first), points.shape[1] - first
    return -0.5 * (count * np.log(2 * np.pi * s2) - np.log1p(-phi * phi) + squares / s2)


def volatility_log_likelihood(points: Array, first: int, y: Array) -> Array:
    """log p(y | x) = sum_t log N(y_t | 0, exp x_t) of returns y (T,), in nats: (m,)."""
    (out,) = _of_paths(_likelihood, points, (), (first, y * y), ())
    return out - 0.5 * len(y) * np.log(2 * np.pi)


def volatility_squares(mu: Array, var: Array, phi: Array, points: Array, first: int) -> Array:
    """E over N(mu, var) of (1 - phi^2) (x_1 - mu)^2 + sum_t (x_t - mu - phi (x_{t-1} - mu))^2: (m,)."""
    return _of_paths(_squares, points, (mu, var, phi), (first,), ())[0]


def volatility_mean_terms(phi: Array, points: Array, first: int, times: float = 1.0) -> Rows:
    """A and B (m,): as a function of mu the squares are A mu^2 - 2 B mu + const.

    With `times` T - 1 the later terms of B are counted so often, as printed in the paper, which is a mistake.
    """
    return _of_paths(_mean_terms, points, (phi,), (first, times), (), ())


def volatility_gradient(
    mu: Array, var: Array, phi: Array, precision: Array, points: Array, first: int, y: Array = NO_RETURNS
) -> Rows:
    """E over mu ~ N(mu, var) and E(1/s2) = precision of the gradient of log p(x | mu, phi, s2), and p(y | x) if given.

    In psi = atanh phi (m,), which is finite for phi = 1 too, and in the points (m, d), whose other columns are left
    empty.
    """
    return _of_paths(_gradient, points, (mu, var, phi, precision), (first, y * y), (), points.shape[1:])


def volatility_pull(points: Array, first: int, y: Array, out: Array) -> None:
    """Add the gradient of log p(y | x), 1/2 (y_t^2 e^-x_t - 1), to that in the points: (m, d), of returns y (T,)."""
    by_rows(_pull, (plain(points),), (first, y * y), (out,), PATHS_PER_BLOCK, float(points.size))


def _of_paths(kernel: Callable, points: Array, each: Rows, given: tuple, *shapes: tuple[int, ...]) -> Rows:
    """What a kernel puts for each of the points, with numbers of theirs, into arrays of a row of these shapes each."""
    return filled(kernel, (*each, points), given, PATHS_PER_BLOCK, float(points.size), *shapes)


@jit
def volatility_sweep(x, y, mu, phi, s2, normals, uniforms):
    """Every x_t (T,) once, in place, from its conditional or left where it is (Kim, Shephard, Chib 1998, section 2).

    A proposal of N(m + v/2 (y_t^2 e^-m - 1), v), with m and v those given the neighbours, is accepted with the ratio of
    the conditional and its bound, which e^-x >= e^-m (1 + m - x) gives; otherwise x_t stays. This keeps p(x | y).
    """
    last = x.size - 1
    for t in range(x.size):
        if last == 0:
            mean, var = mu, s2 / (1.0 - phi * phi)
        elif t == 0:
            mean, var = mu + phi * (x[1] - mu), s2
        elif t == last:
            mean, var = mu + phi * (x[t - 1] - mu), s2
        else:
            mean = mu + phi * (x[t - 1] + x[t + 1] - 2.0 * mu) / (1.0 + phi * phi)
            var = s2 / (1.0 + phi * phi)
        square = y[t] * y[t]
        flat = np.exp(-mean)
        found = mean + 0.5 * var * (square * flat - 1.0) + np.sqrt(var) * normals[t]
        if uniforms[t] < np.exp(-0.5 * square * (np.exp(-found) - flat * (1.0 + mean - found))):
            x[t] = found


@fast_jit
def _likelihood(points, first, squares, out):
    for i in range(out.size):
        x, total = points[i, first:], 0.0
        for t in range(squares.size):
            total += x[t] + squares[t] * exp64(min(-x[t], FARTHEST))
        out[i] = -0.5 * total


@fast_jit
def _pull_row(x, squares, of_x):
    for t in range(squares.size):
        of_x[t] += 0.5 * (squares[t] * exp64(min(-x[t], FARTHEST)) - 1.0)


@fast_jit
def _pull(points, first, squares, out):
    for i in range(points.shape[0]):
        _pull_row(points[i, first:], squares, out[i, first:])


@fast_jit
def _times_mu_squared(p, count):
    """What stands before mu^2 in the squares."""
    return 1.0 - p * p + (count - 1) * (1.0 - p) * (1.0 - p)


@fast_jit
def _mean_terms(phi, points, first, times, factor, product):
    for i in range(phi.size):
        x, p, total = points[i, first:], phi[i], 0.0
        for t in range(x.size):
            total += x[t]
        begin, end = x[0], x[x.size - 1]
        factor[i] = _times_mu_squared(p, x.size)
        product[i] = (1.0 - p * p) * begin + times * (1.0 - p) * (total - begin - p * (total - end))


@fast_jit
def _squares(mu, var, phi, points, first, out):
    for i in range(out.size):
        x, p, shift = points[i, first:], phi[i], (1.0 - phi[i]) * mu[i]
        away = x[0] - mu[i]
        total = (1.0 - p * p) * away * away
        for t in range(1, x.size):
            residual = x[t] - p * x[t - 1] - shift
            total += residual * residual
        out[i] = total + var[i] * _times_mu_squared(p, x.size)


@fast_jit
def _gradient(mu, var, phi, precision, points, first, squares, of_psi, out):
    for i in range(of_psi.size):
        x, of_x, p, level, scale = points[i, first:], out[i, first:], phi[i], mu[i], precision[i]
        shift, last, total = (1.0 - p) * level, x.size - 1, 0.0
        for t in range(1, last):
            residual = x[t] - p * x[t - 1] - shift
            total += residual * (x[t - 1] - level)
            of_x[t] = scale * (p * (x[t + 1] - p * x[t] - shift) - residual)
        start = x[0] - level
        total += p * start * start + var[i] * (p + last * (1.0 - p))
        of_x[0] = -scale * (1.0 - p * p) * start
        if last:
            before, now = x[last - 1] - level, x[last] - level
            total += (now - p * before) * before
            of_x[0] += scale * p * (x[1] - level - p * start)
            of_x[last] = scale * (p * before - now)
        of_psi[i] = (1.0 - p * p) * scale * total - p
        _pull_row(x, squares, of_x)


def warm_up_models() -> Iterator[tuple[tuple, Array, int]]:
    """A model of each kind, data for it, and its dimension: chains are compiled for them."""
    yield GaussianModel(1.0, 2.0, 1.0), np.zeros((2, 2)), 2
    yield BananaModel(1.0, 2.0, 1.0, 1.0), np.zeros(2), 2
    yield BimodalModel(1.0, 2.0, 1.0), np.zeros(2), 1
    yield LinearModel(1.0, 2.0, 1.0), np.zeros((2, 3)), 2
    yield LogisticModel(1.0, 2.0), np.zeros((2, 3)), 2


def warm_up_calls() -> WarmUps:
    """Calls that compile every kernel of this file."""
    theta, axis, rows, one = np.zeros((2, 2)), np.zeros(2), np.zeros((2, 3)), np.full(2, 0.5)
    yield "gaussian", "Gaussian likelihood", gaussian_log_likelihood, theta, theta, 1.0
    yield "banana", "banana likelihood", banana_log_likelihood, theta, axis, 1.0, 1.0
    yield "banana", "banana gradient", banana_grad_log_likelihood, theta, axis, 1.0, 1.0
    yield "bimodal", "bimodal likelihood", bimodal_log_likelihood, theta[:, :1], axis, 1.0
    yield "bimodal", "bimodal gradient", bimodal_grad_log_likelihood, theta[:, :1], axis, 1.0
    yield "linear", "linear regression", linear_log_likelihood, theta, rows, 1.0
    yield "linear", "linear regression's gradient", linear_grad_log_likelihood, theta, rows, 1.0
    yield "logistic", "logistic regression", logistic_log_likelihood, theta, rows
    yield "logistic", "logistic regression's gradient", logistic_grad_log_likelihood, theta, rows
    yield "logistic", "logistic regression row by row", logistic_row_log_likelihood, theta, rows
    yield "volatility", "stochastic volatility", volatility_squares, one, one, one, rows, 1
    yield "volatility", "stochastic volatility's likelihood", volatility_log_likelihood, rows, 1, axis
    yield "volatility", "stochastic volatility's mean", volatility_mean_terms, one, rows, 1
    yield "volatility", "stochastic volatility's gradient", volatility_gradient, one, one, one, one, rows, 1
    yield "volatility", "stochastic volatility's pull of the returns", volatility_pull, rows, 1, axis, np.zeros((2, 3))
    walk = np.zeros(2), axis, 0.0, 0.5, 1.0, axis, axis
    yield "volatility", "stochastic volatility, point by point", volatility_sweep, *walk
