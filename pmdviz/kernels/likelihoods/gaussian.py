"""Log likelihood of a Gaussian with unknown mean, for many parameters at once, from the batch's mean and scatter.

    sum_n log N(x_n | theta, s^2 I) = -( sum_n |x_n - mean|^2 + B |mean - theta|^2 ) / (2 s^2) - B d log(s sqrt(2 pi))

The two sums of squares are about the batch's own mean, so nothing cancels; the cost is O(B + m), not O(B m).
"""

from collections.abc import Callable, Iterator
from typing import NamedTuple

import numpy as np

from pmdviz.kernels.checks import finite, matrix, positive
from pmdviz.kernels.jit import jit
from pmdviz.kernels.models import GRADIENTS, LOG_JOINTS, mean_of, normal_prior, normal_sum, scatter_about


def gaussian_log_likelihood(theta: np.ndarray, x: np.ndarray, sigma_x: float) -> np.ndarray:
    """Sum over the data x (B, d) of log N(x_n | theta, sigma_x^2 I), in nats, for each row of theta (m, d); as (m,).

    sigma_x > 0 in the units of x. A theta that is not finite gives -inf or NaN. ValueError for shapes or values that
    do not fit.
    """
    theta, x, sigma_x = _checked(theta, x, sigma_x)
    if not len(x):
        return np.zeros(len(theta))
    mean = x.mean(axis=0)
    constant = -0.5 * ((x - mean) ** 2).sum() / sigma_x**2 - x.size * np.log(sigma_x * np.sqrt(2 * np.pi))
    return _log_likelihood(theta, mean, len(x) / sigma_x**2, constant)


def gaussian_grad_log_likelihood(theta: np.ndarray, x: np.ndarray, sigma_x: float) -> np.ndarray:
    """Gradient with respect to theta, B (mean - theta) / sigma_x^2, as (m, d) in nats per unit of theta."""
    theta, x, sigma_x = _checked(theta, x, sigma_x)
    if not len(x):
        return np.zeros(theta.shape)
    return len(x) / sigma_x**2 * (x.mean(axis=0) - theta)


def _checked(theta: np.ndarray, x: np.ndarray, sigma_x: float) -> tuple[np.ndarray, np.ndarray, float]:
    theta = matrix(theta, "theta")
    return theta, finite(matrix(x, "x", theta.shape[1]), "x"), positive(sigma_x, "sigma_x")


@jit
def _log_likelihood(theta, mean, precision, constant):
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


def _model_log_joint(model, theta, x):
    scatter = 0.0
    for k in range(theta.size):
        scatter += scatter_about(x[:, k], theta[k])
    likelihood = model.num_data / len(x) * normal_sum(scatter, x.size, model.sigma_x)
    return normal_prior(theta, model.prior_precision) + likelihood


def _model_gradient(model, theta, x, out):
    for k in range(theta.size):
        residual = mean_of(x[:, k]) - theta[k]
        out[k] = model.num_data / (model.sigma_x * model.sigma_x) * residual - model.prior_precision * theta[k]


LOG_JOINTS[GaussianModel], GRADIENTS[GaussianModel] = _model_log_joint, _model_gradient


def warm_up_calls() -> Iterator[tuple[str, str, Callable[[], object]]]:
    """One call of each kernel."""
    theta, x = np.zeros((2, 2)), np.zeros((2, 2))
    yield "gaussian", "Gaussian likelihood", lambda: gaussian_log_likelihood(theta, x, 1.0)
    yield "gaussian", "Gaussian gradient", lambda: gaussian_grad_log_likelihood(theta, x, 1.0)


def warm_up_model() -> tuple[tuple, np.ndarray, int]:
    """A model, data for it, and its dimension: chains are compiled for it."""
    return GaussianModel(1.0, 2.0, 1.0), np.zeros((2, 2)), 2
