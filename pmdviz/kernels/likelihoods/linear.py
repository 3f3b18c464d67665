"""Log likelihood of Bayesian linear regression, y = x.w + noise, for many weight vectors at once.

A row of data is (x_1, ..., x_d, y). A row of theta costs O(B d).
"""

from collections.abc import Callable, Iterator
from typing import NamedTuple

import numpy as np

from pmdviz.kernels.checks import finite, matrix, positive
from pmdviz.kernels.jit import fast_jit, jit
from pmdviz.kernels.models import GRADIENTS, LOG_JOINTS, normal_prior, normal_sum
from pmdviz.kernels.pool import run_blocks

ROWS_PER_BLOCK = 256


def linear_log_likelihood(theta: np.ndarray, rows: np.ndarray, sigma: float) -> np.ndarray:
    """Sum over the rows (B, d + 1) of log N(y | x.theta, sigma^2), in nats, for theta (m, d); as (m,).

    sigma > 0 in the units of y. ValueError for shapes or values that do not fit.
    """
    theta, rows, sigma = _checked(theta, rows, sigma)
    out = np.empty(len(theta))
    run_blocks(lambda a, b: _log_likelihood(theta[a:b], rows, sigma, out[a:b]), len(theta), *_size(theta, rows))
    return out


def linear_grad_log_likelihood(theta: np.ndarray, rows: np.ndarray, sigma: float) -> np.ndarray:
    """Its gradient, sum over the rows of (y - x.theta) x / sigma^2, (m, d) in nats per unit of theta."""
    theta, rows, sigma = _checked(theta, rows, sigma)
    out = np.empty(theta.shape)
    run_blocks(lambda a, b: _gradient(theta[a:b], rows, sigma, out[a:b]), len(theta), *_size(theta, rows))
    return out


def _size(theta: np.ndarray, rows: np.ndarray) -> tuple[int, float]:
    return ROWS_PER_BLOCK, float(len(theta)) * rows.size


def _checked(theta: np.ndarray, rows: np.ndarray, sigma: float) -> tuple[np.ndarray, np.ndarray, float]:
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
def _log_likelihood(theta, rows, sigma, out):
    for i in range(out.size):
        scatter = 0.0
        for n in range(rows.shape[0]):
            away = residual(rows[n], theta[i])
            scatter += away * away
        out[i] = normal_sum(scatter, rows.shape[0], sigma)


@jit
def _gradient(theta, rows, sigma, out):
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


def _model_log_joint(model, theta, x):
    scatter = 0.0
    for n in range(x.shape[0]):
        away = residual(x[n], theta)
        scatter += away * away
    likelihood = normal_sum(scatter, x.shape[0], model.sigma)
    return normal_prior(theta, model.prior_precision) + model.num_data / x.shape[0] * likelihood


def _model_gradient(model, theta, x, out):
    for k in range(theta.size):
        out[k] = -model.prior_precision * theta[k]
    scale = model.num_data / x.shape[0] / (model.sigma * model.sigma)
    for n in range(x.shape[0]):
        pull = scale * residual(x[n], theta)
        for k in range(theta.size):
            out[k] += pull * x[n, k]


LOG_JOINTS[LinearModel], GRADIENTS[LinearModel] = _model_log_joint, _model_gradient


def warm_up_calls() -> Iterator[tuple[str, str, Callable[[], object]]]:
    """One call of each kernel."""
    theta, rows = np.zeros((2, 2)), np.zeros((2, 3))
    yield "linear", "linear regression", lambda: linear_log_likelihood(theta, rows, 1.0)
    yield "linear", "linear regression's gradient", lambda: linear_grad_log_likelihood(theta, rows, 1.0)


def warm_up_model() -> tuple[tuple, np.ndarray, int]:
    """A model, data for it, and its dimension: chains are compiled for it."""
    return LinearModel(1.0, 2.0, 1.0), np.zeros((2, 3)), 2
