"""Log likelihoods of many parameters at once, and the same models as compiled chains call them.

What a compiled chain asks of a model: its log joint and the gradient of that, on a batch of its data.

A model is a NamedTuple of plain numbers; its type picks the code when a chain's kernel is compiled: one kernel serves
every model. The files of the likelihoods enter theirs in the two tables.
"""

from collections.abc import Callable, Iterator
from typing import NamedTuple

import numpy as np
from numba.extending import overload

from pmdviz.kernels.checks import Array, finite, matrix, positive, vector
from pmdviz.kernels.jit import OVERLOAD, WarmUps, fast_jit, jit
from pmdviz.kernels.pool import run_blocks

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


# Log likelihood of a Gaussian with unknown mean, for many parameters at once, from the batch's mean and scatter.
#
#     sum_n log N(x_n | theta, s^2 I) = -( sum_n |x_n - mean|^2 + B |mean - theta|^2 ) / (2 s^2) - B d log(s sqrt(2 pi))
#
# The two sums of squares are about the batch's own mean, so nothing cancels; the cost is O(B + m), not O(B m).


def gaussian_log_likelihood(theta: Array, x: Array, sigma_x: float) -> Array:
    """Sum over the data x (B, d) of log N(x_n | theta, sigma_x^2 I), in nats, for each row of theta (m, d); as (m,).

    sigma_x > 0 in the units of x. A theta that is not finite gives -inf or NaN. ValueError for shapes or values that
    do not fit.
    """
    theta, x, sigma_x = _checked_gaussian(theta, x, sigma_x)
    if not len(x):
        return np.zeros(len(theta))
    mean = x.mean(axis=0)
    constant = -0.5 * ((x - mean) ** 2).sum() / sigma_x**2 - x.size * np.log(sigma_x * np.sqrt(2 * np.pi))
    return _gaussian(theta, mean, len(x) / sigma_x**2, constant)


def gaussian_grad_log_likelihood(theta: Array, x: Array, sigma_x: float) -> Array:
    """Gradient with respect to theta, B (mean - theta) / sigma_x^2, as (m, d) in nats per unit of theta."""
    theta, x, sigma_x = _checked_gaussian(theta, x, sigma_x)
    if not len(x):
        return np.zeros(theta.shape)
    return len(x) / sigma_x**2 * (x.mean(axis=0) - theta)


def _checked_gaussian(theta: Array, x: Array, sigma_x: float) -> tuple[Array, Array, float]:
    theta = matrix(theta, "theta")
    return theta, finite(matrix(x, "x", theta.shape[1]), "x"), positive(sigma_x, "sigma_x")


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

    sigma_x > 0 in the units of x; `bend` b, finite. A theta that is not finite gives -inf or NaN. ValueError for shapes
    or values that do not fit.
    """
    theta, x, sigma_x = _checked_banana(theta, x, sigma_x, bend)
    if not x.size:
        return np.zeros(len(theta))
    mean = x.mean()
    constant = -0.5 * ((x - mean) ** 2).sum() / sigma_x**2 - x.size * np.log(sigma_x * np.sqrt(2 * np.pi))
    return _banana(theta, mean, float(bend), x.size / sigma_x**2, constant)


def banana_grad_log_likelihood(theta: Array, x: Array, sigma_x: float, bend: float) -> Array:
    """Gradient with respect to theta, B r / sigma_x^2 (1, 2 b theta_2), as (m, 2) in nats per unit of theta."""
    theta, x, sigma_x = _checked_banana(theta, x, sigma_x, bend)
    if not x.size:
        return np.zeros(theta.shape)
    return _banana_pulls(theta, x.mean(), float(bend), x.size / sigma_x**2)


def _checked_banana(theta: Array, x: Array, sigma_x: float, bend: float) -> tuple[Array, Array, float]:
    if not np.isfinite(bend):
        raise ValueError(f"bend must be finite, not {bend}")
    return matrix(theta, "theta", 2), finite(vector(x, "x"), "x"), positive(sigma_x, "sigma_x")


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

    sigma_x > 0 in the units of x, that is of theta squared. A theta that is not finite gives -inf or NaN. ValueError
    for shapes or values that do not fit.
    """
    theta, x, sigma_x = _checked_bimodal(theta, x, sigma_x)
    if not x.size:
        return np.zeros(len(theta))
    mean = x.mean()
    constant = -0.5 * ((x - mean) ** 2).sum() / sigma_x**2 - x.size * np.log(sigma_x * np.sqrt(2 * np.pi))
    return _bimodal(theta, mean, x.size / sigma_x**2, constant)


def bimodal_grad_log_likelihood(theta: Array, x: Array, sigma_x: float) -> Array:
    """Gradient with respect to theta, 2 theta B (mean - theta^2) / sigma_x^2, as (m, 1) in nats per unit of theta."""
    theta, x, sigma_x = _checked_bimodal(theta, x, sigma_x)
    if not x.size:
        return np.zeros(theta.shape)
    return _bimodal_pulls(theta, x.mean(), x.size / sigma_x**2)


def _checked_bimodal(theta: Array, x: Array, sigma_x: float) -> tuple[Array, Array, float]:
    return matrix(theta, "theta", 1), finite(vector(x, "x"), "x"), positive(sigma_x, "sigma_x")


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


class BimodalModel(NamedTuple):
    """The model in compiled code."""

    prior_precision: float
    num_data: float
    sigma_x: float


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

    sigma > 0 in the units of y. ValueError for shapes or values that do not fit.
    """
    theta, rows, sigma = _checked_linear(theta, rows, sigma)
    out = np.empty(len(theta))
    run_blocks(lambda a, b: _linear(theta[a:b], rows, sigma, out[a:b]), len(theta), *_size(theta, rows))
    return out


def linear_grad_log_likelihood(theta: Array, rows: Array, sigma: float) -> Array:
    """Its gradient, sum over the rows of (y - x.theta) x / sigma^2, (m, d) in nats per unit of theta."""
    theta, rows, sigma = _checked_linear(theta, rows, sigma)
    out = np.empty(theta.shape)
    run_blocks(lambda a, b: _linear_pulls(theta[a:b], rows, sigma, out[a:b]), len(theta), *_size(theta, rows))
    return out


def _size(theta: Array, rows: Array) -> tuple[int, float]:
    return ROWS_PER_BLOCK, float(len(theta)) * rows.size


def _checked_linear(theta: Array, rows: Array, sigma: float) -> tuple[Array, Array, float]:
    theta = matrix(theta, "theta")
    return theta, finite(matrix(rows, "rows", theta.shape[1] + 1), "rows"), positive(sigma, "sigma")


@fast_jit
def residual(row, theta):
    """y - x.theta of a row (d + 1,)."""
    total = 0.0
    for k in range(theta.size):
        total += row[k] * theta[k]
    return row[theta.size] - total


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


class LinearModel(NamedTuple):
    """The model in compiled code."""

    prior_precision: float
    num_data: float
    sigma: float


def _linear_log_joint(model, theta, x):
    scatter = 0.0
    for n in range(x.shape[0]):
        away = residual(x[n], theta)
        scatter += away * away
    likelihood = normal_sum(scatter, x.shape[0], model.sigma)
    return normal_prior(theta, model.prior_precision) + model.num_data / x.shape[0] * likelihood


def _linear_gradient(model, theta, x, out):
    for k in range(theta.size):
        out[k] = -model.prior_precision * theta[k]
    scale = model.num_data / x.shape[0] / (model.sigma * model.sigma)
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
    """Sum over the rows (B, d + 1) of log P(y | x, theta), in nats, for theta (m, d); as (m,).

    ValueError for shapes or values that do not fit.
    """
    theta, rows = _checked_logistic(theta, rows)
    out = np.empty(len(theta))
    run_blocks(lambda a, b: _logistic(theta[a:b], rows, out[a:b]), len(theta), *_size(theta, rows))
    return out


def logistic_grad_log_likelihood(theta: Array, rows: Array) -> Array:
    """Its gradient, sum over the rows of (y - P(1 | x, theta)) x, (m, d) in nats per unit of theta."""
    theta, rows = _checked_logistic(theta, rows)
    out = np.empty(theta.shape)
    run_blocks(lambda a, b: _logistic_pulls(theta[a:b], rows, out[a:b]), len(theta), *_size(theta, rows))
    return out


def logistic_row_log_likelihood(theta: Array, rows: Array) -> Array:
    """log P(y | x, theta) of every row, (m, d) and (n, d + 1) -> (m, n), in nats."""
    theta, rows = _checked_logistic(theta, rows)
    out = np.empty((len(theta), len(rows)))
    run_blocks(lambda a, b: _each_row(theta[a:b], rows, out[a:b]), len(theta), *_size(theta, rows))
    return out


def _checked_logistic(theta: Array, rows: Array) -> tuple[Array, Array]:
    theta = matrix(theta, "theta")
    rows = finite(matrix(rows, "rows", theta.shape[1] + 1), "rows")
    if len(rows) and not np.isin(rows[:, -1], (0.0, 1.0)).all():
        raise ValueError("the last column of rows must be 0 or 1")
    return theta, rows


@fast_jit
def activation(row, theta):
    """x.theta of a row (d + 1,)."""
    total = 0.0
    for k in range(theta.size):
        total += row[k] * theta[k]
    return total


@jit
def _log_chance(row, theta):
    a = activation(row, theta)
    return (row[theta.size] - (a > 0.0)) * a - np.log1p(np.exp(-abs(a)))


@jit
def _logistic_pull(row, theta):
    """y - P(1 | x, theta)."""
    a = activation(row, theta)
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


def warm_up_models() -> Iterator[tuple[tuple, Array, int]]:
    """A model of each kind, data for it, and its dimension: chains are compiled for them."""
    yield GaussianModel(1.0, 2.0, 1.0), np.zeros((2, 2)), 2
    yield BananaModel(1.0, 2.0, 1.0, 1.0), np.zeros(2), 2
    yield BimodalModel(1.0, 2.0, 1.0), np.zeros(2), 1
    yield LinearModel(1.0, 2.0, 1.0), np.zeros((2, 3)), 2
    yield LogisticModel(1.0, 2.0), np.zeros((2, 3)), 2


def warm_up_calls() -> WarmUps:
    """Calls that compile every kernel of this file."""
    theta, x = np.zeros((2, 2)), np.zeros((2, 2))
    yield "gaussian", "Gaussian likelihood", gaussian_log_likelihood, theta, x, 1.0
    yield "gaussian", "Gaussian gradient", gaussian_grad_log_likelihood, theta, x, 1.0
    theta, x = np.zeros((2, 2)), np.zeros(2)
    yield "banana", "banana likelihood", banana_log_likelihood, theta, x, 1.0, 1.0
    yield "banana", "banana gradient", banana_grad_log_likelihood, theta, x, 1.0, 1.0
    theta, x = np.zeros((2, 1)), np.zeros(2)
    yield "bimodal", "bimodal likelihood", bimodal_log_likelihood, theta, x, 1.0
    yield "bimodal", "bimodal gradient", bimodal_grad_log_likelihood, theta, x, 1.0
    theta, rows = np.zeros((2, 2)), np.zeros((2, 3))
    yield "linear", "linear regression", linear_log_likelihood, theta, rows, 1.0
    yield "linear", "linear regression's gradient", linear_grad_log_likelihood, theta, rows, 1.0
    theta, rows = np.zeros((2, 2)), np.zeros((2, 3))
    yield "logistic", "logistic regression", logistic_log_likelihood, theta, rows
    yield "logistic", "logistic regression's gradient", logistic_grad_log_likelihood, theta, rows
    yield "logistic", "logistic regression row by row", logistic_row_log_likelihood, theta, rows
