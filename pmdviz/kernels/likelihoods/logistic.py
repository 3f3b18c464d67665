"""Log likelihood of Bayesian logistic regression, P(y = 1 | x) = 1 / (1 + exp(-x.w)), for many weight vectors at once.

A row of data is (x_1, ..., x_d, y) with y 0 or 1. With a = x.w a row gives y a - log(1 + e^a), written without overflow
as (y - [a > 0]) a - log1p(e^-|a|).
"""

from collections.abc import Callable, Iterator
from typing import NamedTuple

import numpy as np

from pmdviz.kernels.checks import finite, matrix
from pmdviz.kernels.jit import fast_jit, jit
from pmdviz.kernels.models import GRADIENTS, LOG_JOINTS, normal_prior
from pmdviz.kernels.pool import run_blocks

ROWS_PER_BLOCK = 256


def logistic_log_likelihood(theta: np.ndarray, rows: np.ndarray) -> np.ndarray:
    """Sum over the rows (B, d + 1) of log P(y | x, theta), in nats, for theta (m, d); as (m,).

    ValueError for shapes or values that do not fit.
    """
    theta, rows = _checked(theta, rows)
    out = np.empty(len(theta))
    run_blocks(lambda a, b: _log_likelihood(theta[a:b], rows, out[a:b]), len(theta), *_size(theta, rows))
    return out


def logistic_grad_log_likelihood(theta: np.ndarray, rows: np.ndarray) -> np.ndarray:
    """Its gradient, sum over the rows of (y - P(1 | x, theta)) x, (m, d) in nats per unit of theta."""
    theta, rows = _checked(theta, rows)
    out = np.empty(theta.shape)
    run_blocks(lambda a, b: _gradient(theta[a:b], rows, out[a:b]), len(theta), *_size(theta, rows))
    return out


def logistic_row_log_likelihood(theta: np.ndarray, rows: np.ndarray) -> np.ndarray:
    """log P(y | x, theta) of every row, (m, d) and (n, d + 1) -> (m, n), in nats."""
    theta, rows = _checked(theta, rows)
    out = np.empty((len(theta), len(rows)))
    run_blocks(lambda a, b: _each_row(theta[a:b], rows, out[a:b]), len(theta), *_size(theta, rows))
    return out


def _size(theta: np.ndarray, rows: np.ndarray) -> tuple[int, float]:
    return ROWS_PER_BLOCK, float(len(theta)) * rows.size


def _checked(theta: np.ndarray, rows: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
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
def _row(row, theta):
    a = activation(row, theta)
    return (row[theta.size] - (a > 0.0)) * a - np.log1p(np.exp(-abs(a)))


@jit
def _pull(row, theta):
    """y - P(1 | x, theta)."""
    a = activation(row, theta)
    e = np.exp(-abs(a))
    return row[theta.size] - (1.0 if a > 0.0 else e) / (1.0 + e)


@jit
def _log_likelihood(theta, rows, out):
    for i in range(out.size):
        out[i] = 0.0
        for n in range(rows.shape[0]):
            out[i] += _row(rows[n], theta[i])


@jit
def _each_row(theta, rows, out):
    for i in range(out.shape[0]):
        for n in range(rows.shape[0]):
            out[i, n] = _row(rows[n], theta[i])


@jit
def _gradient(theta, rows, out):
    for i in range(out.shape[0]):
        out[i, :] = 0.0
        for n in range(rows.shape[0]):
            pull = _pull(rows[n], theta[i])
            for k in range(theta.shape[1]):
                out[i, k] += pull * rows[n, k]


class LogisticModel(NamedTuple):
    """The model in compiled code."""

    prior_precision: float
    num_data: float


def _model_log_joint(model, theta, x):
    total = 0.0
    for n in range(x.shape[0]):
        total += _row(x[n], theta)
    return normal_prior(theta, model.prior_precision) + model.num_data / x.shape[0] * total


def _model_gradient(model, theta, x, out):
    for k in range(theta.size):
        out[k] = -model.prior_precision * theta[k]
    scale = model.num_data / x.shape[0]
    for n in range(x.shape[0]):
        pull = scale * _pull(x[n], theta)
        for k in range(theta.size):
            out[k] += pull * x[n, k]


LOG_JOINTS[LogisticModel], GRADIENTS[LogisticModel] = _model_log_joint, _model_gradient


def warm_up_calls() -> Iterator[tuple[str, str, Callable[[], object]]]:
    """One call of each kernel."""
    theta, rows = np.zeros((2, 2)), np.zeros((2, 3))
    yield "logistic", "logistic regression", lambda: logistic_log_likelihood(theta, rows)
    yield "logistic", "logistic regression's gradient", lambda: logistic_grad_log_likelihood(theta, rows)
    yield "logistic", "logistic regression row by row", lambda: logistic_row_log_likelihood(theta, rows)


def warm_up_model() -> tuple[tuple, np.ndarray, int]:
    """A model, data for it, and its dimension: chains are compiled for it."""
    return LogisticModel(1.0, 2.0), np.zeros((2, 3)), 2
