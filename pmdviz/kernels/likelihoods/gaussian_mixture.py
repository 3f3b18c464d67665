"""Log density of a mixture of Gaussians of one variance, for many points at once, and its gradient.

    log p(x) = log sum_k w_k N(x | mu_k, v I),   grad log p(x) = sum_k r_k(x) (mu_k - x) / v

with r_k the share of component k at x. The largest exponent is subtracted before any exponential is taken, so that a
point far from every component has a finite log density.
"""

from collections.abc import Callable, Iterator

import numpy as np

from pmdviz.kernels.checks import finite, matrix, positive, vector
from pmdviz.kernels.jit import jit
from pmdviz.kernels.pool import run_blocks

ROWS_PER_BLOCK = 256


def gaussian_mixture_log_density(
    points: np.ndarray, means: np.ndarray, log_weights: np.ndarray, variance: float
) -> np.ndarray:
    """log sum_k w_k N(x | mu_k, v I), in nats, for points (m, d) and means (k, d); as (m,).

    log_weights (k,) finite, v > 0 in the squared units of x. A point that is not finite gives -inf or NaN. ValueError
    for shapes or values that do not fit.
    """
    points, means, log_weights, variance = _checked(points, means, log_weights, variance)
    out = np.empty(len(points))

    def work(start: int, stop: int) -> None:
        _log_density(points[start:stop], means, log_weights, variance, out[start:stop])

    run_blocks(work, len(points), ROWS_PER_BLOCK, float(len(points)) * means.size)
    return out - 0.5 * means.shape[1] * np.log(2 * np.pi * variance)


def gaussian_mixture_grad_log_density(
    points: np.ndarray, means: np.ndarray, log_weights: np.ndarray, variance: float
) -> np.ndarray:
    """Gradient of `gaussian_mixture_log_density` in the points, (m, d), in nats per unit of x; same arguments."""
    points, means, log_weights, variance = _checked(points, means, log_weights, variance)
    out = np.empty(points.shape)

    def work(start: int, stop: int) -> None:
        _gradient(points[start:stop], means, log_weights, variance, out[start:stop])

    run_blocks(work, len(points), ROWS_PER_BLOCK, float(len(points)) * means.size)
    return out


def _checked(
    points: np.ndarray, means: np.ndarray, log_weights: np.ndarray, variance: float
) -> tuple[np.ndarray, np.ndarray, np.ndarray, float]:
    means = finite(matrix(means, "means"), "means")
    log_weights = finite(vector(log_weights, "log_weights", len(means)), "log_weights")
    if not len(means):
        raise ValueError("a mixture needs at least one component")
    return matrix(points, "points", means.shape[1]), means, log_weights, positive(variance, "variance")


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
def _gradient(points, means, log_weights, variance, out):
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


def warm_up_calls() -> Iterator[tuple[str, str, Callable[[], object]]]:
    """One call of each kernel."""
    arguments = np.zeros((2, 2)), np.zeros((2, 2)), np.full(2, np.log(0.5)), 1.0
    yield "gaussian_mixture", "density of a Gaussian mixture", lambda: gaussian_mixture_log_density(*arguments)
    yield "gaussian_mixture", "gradient of a Gaussian mixture", lambda: gaussian_mixture_grad_log_density(*arguments)
