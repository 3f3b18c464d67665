"""Log likelihood of two Gaussians that share one standard deviation, for many parameters at once.

    log p(x | theta) = log( p N(x | theta_1, s^2) + (1 - p) N(x | theta_1 + theta_2, s^2) )
                     = max(a, b) + log(1 + exp(-|a - b|)),   a, b the logs of the two terms

The factors 1 + exp(-|a - b|) lie in (1, 2]: their product over a block of at most 500 data stays below 2^500, and one logarithm
per block replaces one per datum.
"""
import numpy as np

from pmdviz.kernels.checks import finite, matrix, positive, vector
from pmdviz.kernels.exponential import exp64
from pmdviz.kernels.jit import fast_jit, jit
from pmdviz.kernels.pool import run_blocks

ROWS_PER_BLOCK = 256
DATA_PER_LOG = 500
LOG_ZERO = -1e300  # finite stand-in for log 0: fast-math code must not see an infinity
LARGEST = 1e140  # beyond it squares overflow


def mixture_log_likelihood(theta: np.ndarray, x: np.ndarray, sigma_x: float, p: float) -> np.ndarray:
    """Sum over the data x (B,) of log p(x_n | theta), in nats, for each row of theta (m, 2); as (m,).

    sigma_x > 0 in the units of x; p in [0, 1] is the weight of the component at theta_1. Rows of theta that are not finite give
    NaN. ValueError for shapes or values that do not fit.
    """
    theta, x, bad = _checked(theta, x, p)
    sigma_x, out = positive(sigma_x, "sigma_x"), np.empty(len(theta))
    log_p, log_rest = _log_shares(p)

    def work(start: int, stop: int) -> None:
        _log_likelihood(theta, x, 1.0 / sigma_x, log_p, log_rest, out, start, stop)

    run_blocks(work, len(theta), ROWS_PER_BLOCK, theta.size / 2 * x.size)
    out -= x.size * np.log(sigma_x * np.sqrt(2 * np.pi))
    out[bad] = np.nan
    return out


def mixture_grad_log_likelihood(theta: np.ndarray, x: np.ndarray, sigma_x: float, p: float) -> np.ndarray:
    """Gradient of `mixture_log_likelihood` with respect to theta, (m, 2), in nats per unit of theta; same arguments."""
    theta, x, bad = _checked(theta, x, p)
    sigma_x, out = positive(sigma_x, "sigma_x"), np.empty(theta.shape)
    log_p, log_rest = _log_shares(p)

    def work(start: int, stop: int) -> None:
        _gradient(theta, x, 1.0 / sigma_x, log_p, log_rest, out, start, stop)

    run_blocks(work, len(theta), ROWS_PER_BLOCK, theta.size / 2 * x.size)
    out[bad] = np.nan
    return out


def _checked(theta: np.ndarray, x: np.ndarray, p: float) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    theta, x = matrix(theta, "theta", 2), finite(vector(x, "x"), "x")
    if not 0.0 <= p <= 1.0:
        raise ValueError(f"p must be in [0, 1], not {p}")
    bad = ~np.isfinite(theta).all(axis=1)
    safe = np.where(bad[:, None], 0.0, np.clip(theta, -LARGEST, LARGEST))
    return np.ascontiguousarray(safe), x, bad


def _log_shares(p: float) -> tuple[float, float]:
    return (np.log(p) if p > 0 else LOG_ZERO), (np.log1p(-p) if p < 1 else LOG_ZERO)


@fast_jit
def _max_and_product(x, first, second, precision, log_p, log_rest):
    total, product = 0.0, 1.0
    for n in range(x.size):
        u, v = (x[n] - first) * precision, (x[n] - second) * precision
        a, b = log_p - 0.5 * u * u, log_rest - 0.5 * v * v
        total += max(a, b)
        product *= 1.0 + exp64(-abs(a - b))
    return total, product


@jit
def _log_likelihood(theta, x, precision, log_p, log_rest, out, start, stop):
    for i in range(start, stop):
        out[i] = 0.0
        for n in range(0, x.size, DATA_PER_LOG):
            total, product = _max_and_product(
                x[n : n + DATA_PER_LOG], theta[i, 0], theta[i, 0] + theta[i, 1], precision, log_p, log_rest
            )
            out[i] += total + np.log(product)


@fast_jit
def _pulls(x, first, second, precision, log_p, log_rest):
    """Sums over the data of the standardised residuals, each weighted with its component's responsibility."""
    pull_first, pull_second = 0.0, 0.0
    for n in range(x.size):
        u, v = (x[n] - first) * precision, (x[n] - second) * precision
        difference = (log_p - 0.5 * u * u) - (log_rest - 0.5 * v * v)
        small = exp64(-abs(difference))
        larger = 1.0 / (1.0 + small)
        share = larger if difference >= 0.0 else small * larger
        pull_first += share * u
        pull_second += (1.0 - share) * v
    return pull_first, pull_second


@jit
def _gradient(theta, x, precision, log_p, log_rest, out, start, stop):
    for i in range(start, stop):
        first, second = _pulls(x, theta[i, 0], theta[i, 0] + theta[i, 1], precision, log_p, log_rest)
        out[i, 0] = (first + second) * precision
        out[i, 1] = second * precision
