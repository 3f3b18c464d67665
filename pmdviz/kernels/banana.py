"""Log likelihood of data whose mean is bent, theta_1 + b theta_2^2: all theta on one parabola explain them alike.

With the mean of the batch and r = mean - theta_1 - b theta_2^2,

    sum_n log N(x_n | theta_1 + b theta_2^2, s^2) = -( sum_n (x_n - mean)^2 + B r^2 ) / (2 s^2) - B log(s sqrt(2 pi))
"""

import numpy as np

from pmdviz.kernels.checks import finite, matrix, positive, vector
from pmdviz.kernels.jit import jit


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
        out[i] = constant - 0.5 * precision * (mean - theta[i, 0] - bend * theta[i, 1] ** 2) ** 2
    return out


@jit
def _gradient(theta, mean, bend, precision):
    out = np.empty(theta.shape)
    for i in range(theta.shape[0]):
        pull = precision * (mean - theta[i, 0] - bend * theta[i, 1] ** 2)
        out[i, 0] = pull
        out[i, 1] = pull * 2.0 * bend * theta[i, 1]
    return out
