"""Log likelihood of data whose mean is bent, theta_1 + b theta_2^2: all theta on one parabola explain them alike.

With the mean of the batch and r = mean - theta_1 - b theta_2^2,

    sum_n log N(x_n | theta_1 + b theta_2^2, s^2) = -( sum_n (x_n - mean)^2 + B r^2 ) / (2 s^2) - B log(s sqrt(2 pi))
"""

from collections.abc import Callable, Iterator
from typing import NamedTuple

import numpy as np

from pmdviz.kernels.checks import finite, matrix, positive, vector
from pmdviz.kernels.jit import jit
from pmdviz.kernels.models import GRADIENTS, LOG_JOINTS, mean_of, normal_prior, normal_sum, scatter_about


def banana_log_likelihood(theta: np.ndarray, x: np.ndarray, sigma_x: float, bend: float) -> np.ndarray:
    """Sum over the data x (B,) of log N(x_n | theta_1 + b theta_2^2, sigma_x^2), in nats, for theta (m, 2); as (m,).

    sigma_x > 0 in the units of x; `bend` b, finite. A theta that is not finite gives -inf or NaN. ValueError for shapes
    or values that do not fit.
    """
    theta, x, sigma_x = _checked(theta, x, sigma_x, bend)
    if not x.size:
        return np.zeros(len(theta))
    mean = x.mean()
    constant = -0.5 * ((x - mean) ** 2).sum() / sigma_x**2 - x.size * np.log(sigma_x * np.sqrt(2 * np.pi))
    return _log_likelihood(theta, mean, float(bend), x.size / sigma_x**2, constant)


def banana_grad_log_likelihood(theta: np.ndarray, x: np.ndarray, sigma_x: float, bend: float) -> np.ndarray:
    """Gradient with respect to theta, B r / sigma_x^2 (1, 2 b theta_2), as (m, 2) in nats per unit of theta."""
    theta, x, sigma_x = _checked(theta, x, sigma_x, bend)
    if not x.size:
        return np.zeros(theta.shape)
    return _gradient(theta, x.mean(), float(bend), x.size / sigma_x**2)


def _checked(theta: np.ndarray, x: np.ndarray, sigma_x: float, bend: float) -> tuple[np.ndarray, np.ndarray, float]:
    if not np.isfinite(bend):
        raise ValueError(f"bend must be finite, not {bend}")
    return matrix(theta, "theta", 2), finite(vector(x, "x"), "x"), positive(sigma_x, "sigma_x")


@jit
def _log_likelihood(theta, mean, bend, precision, constant):
    out = np.empty(theta.shape[0])
    for i in range(theta.shape[0]):
        residual = mean - theta[i, 0] - bend * theta[i, 1] * theta[i, 1]
        out[i] = constant - 0.5 * precision * residual * residual
    return out


@jit
def _gradient(theta, mean, bend, precision):
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


def _model_log_joint(model, theta, x):
    scatter = scatter_about(x, theta[0] + model.bend * theta[1] * theta[1])
    likelihood = model.num_data / x.size * normal_sum(scatter, x.size, model.sigma_x)
    return normal_prior(theta, model.prior_precision) + likelihood


def _model_gradient(model, theta, x, out):
    residual = mean_of(x) - theta[0] - model.bend * theta[1] * theta[1]
    pull = model.num_data / (model.sigma_x * model.sigma_x) * residual
    out[0] = pull - model.prior_precision * theta[0]
    out[1] = pull * 2.0 * model.bend * theta[1] - model.prior_precision * theta[1]


LOG_JOINTS[BananaModel], GRADIENTS[BananaModel] = _model_log_joint, _model_gradient


def warm_up_calls() -> Iterator[tuple[str, str, Callable[[], object]]]:
    """One call of each kernel."""
    theta, x = np.zeros((2, 2)), np.zeros(2)
    yield "banana", "banana likelihood", lambda: banana_log_likelihood(theta, x, 1.0, 1.0)
    yield "banana", "banana gradient", lambda: banana_grad_log_likelihood(theta, x, 1.0, 1.0)


def warm_up_model() -> tuple[tuple, np.ndarray, int]:
    """A model, data for it, and its dimension: chains are compiled for it."""
    return BananaModel(1.0, 2.0, 1.0, 1.0), np.zeros(2), 2
