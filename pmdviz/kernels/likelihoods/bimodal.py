"""Log likelihood of data whose mean is the square of the parameter: theta and -theta explain them equally well.

With the mean of the batch,

    sum_n log N(x_n | theta^2, s^2) = -( sum_n (x_n - mean)^2 + B (mean - theta^2)^2 ) / (2 s^2) - B log(s sqrt(2 pi))
"""

from collections.abc import Callable, Iterator
from typing import NamedTuple

import numpy as np

from pmdviz.kernels.checks import finite, matrix, positive, vector
from pmdviz.kernels.jit import jit
from pmdviz.kernels.models import GRADIENTS, LOG_JOINTS, mean_of, normal_prior, normal_sum, scatter_about


def bimodal_log_likelihood(theta: np.ndarray, x: np.ndarray, sigma_x: float) -> np.ndarray:
    """Sum over the data x (B,) of log N(x_n | theta^2, sigma_x^2), in nats, for each row of theta (m, 1); as (m,).

    sigma_x > 0 in the units of x, that is of theta squared. A theta that is not finite gives -inf or NaN. ValueError
    for shapes or values that do not fit.
    """
    theta, x, sigma_x = _checked(theta, x, sigma_x)
    if not x.size:
        return np.zeros(len(theta))
    mean = x.mean()
    constant = -0.5 * ((x - mean) ** 2).sum() / sigma_x**2 - x.size * np.log(sigma_x * np.sqrt(2 * np.pi))
    return _log_likelihood(theta, mean, x.size / sigma_x**2, constant)


def bimodal_grad_log_likelihood(theta: np.ndarray, x: np.ndarray, sigma_x: float) -> np.ndarray:
    """Gradient with respect to theta, 2 theta B (mean - theta^2) / sigma_x^2, as (m, 1) in nats per unit of theta."""
    theta, x, sigma_x = _checked(theta, x, sigma_x)
    if not x.size:
        return np.zeros(theta.shape)
    return _gradient(theta, x.mean(), x.size / sigma_x**2)


def _checked(theta: np.ndarray, x: np.ndarray, sigma_x: float) -> tuple[np.ndarray, np.ndarray, float]:
    return matrix(theta, "theta", 1), finite(vector(x, "x"), "x"), positive(sigma_x, "sigma_x")


@jit
def _log_likelihood(theta, mean, precision, constant):
    out = np.empty(theta.shape[0])
    for i in range(theta.shape[0]):
        residual = mean - theta[i, 0] * theta[i, 0]
        out[i] = constant - 0.5 * precision * residual * residual
    return out


@jit
def _gradient(theta, mean, precision):
    out = np.empty(theta.shape)
    for i in range(theta.shape[0]):
        out[i, 0] = 2.0 * theta[i, 0] * precision * (mean - theta[i, 0] * theta[i, 0])
    return out


class BimodalModel(NamedTuple):
    """The model in compiled code."""

    prior_precision: float
    num_data: float
    sigma_x: float


def _model_log_joint(model, theta, x):
    scatter = scatter_about(x, theta[0] * theta[0])
    likelihood = model.num_data / x.size * normal_sum(scatter, x.size, model.sigma_x)
    return normal_prior(theta, model.prior_precision) + likelihood


def _model_gradient(model, theta, x, out):
    pull = model.num_data / (model.sigma_x * model.sigma_x) * (mean_of(x) - theta[0] * theta[0])
    out[0] = 2.0 * theta[0] * pull - model.prior_precision * theta[0]


LOG_JOINTS[BimodalModel], GRADIENTS[BimodalModel] = _model_log_joint, _model_gradient


def warm_up_calls() -> Iterator[tuple[str, str, Callable[[], object]]]:
    """One call of each kernel."""
    theta, x = np.zeros((2, 1)), np.zeros(2)
    yield "bimodal", "bimodal likelihood", lambda: bimodal_log_likelihood(theta, x, 1.0)
    yield "bimodal", "bimodal gradient", lambda: bimodal_grad_log_likelihood(theta, x, 1.0)


def warm_up_model() -> tuple[tuple, np.ndarray, int]:
    """A model, data for it, and its dimension: chains are compiled for it."""
    return BimodalModel(1.0, 2.0, 1.0), np.zeros(2), 1
