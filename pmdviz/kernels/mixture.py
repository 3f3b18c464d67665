"""Log likelihood of two Gaussians that share one standard deviation, for many parameters at once.

    log p(x | theta) = log( p N(x | theta_1, s^2) + (1 - p) N(x | theta_1 + theta_2, s^2) )
                     = max(a, b) + log(1 + exp(-|a - b|)),   a, b the logs of the two terms

The factors 1 + exp(-|a - b|) lie in (1, 2]: their product over a block of at most 500 data stays below 2^500, and one
logarithm per block replaces one per datum.
"""

import numpy as np

from pmdviz.kernels.checks import finite, matrix, positive, vector
from pmdviz.kernels.exponential import exp64
from pmdviz.kernels.jit import fast_jit, jit
from pmdviz.kernels.pool import run_blocks

ROWS_PER_BLOCK = 512
DATA_PER_LOG = 500
LOG_ZERO = -1e300  # finite stand-in for log 0: fast-math code must not see an infinity
LARGEST = 1e140  # beyond it squares overflow


def mixture_log_likelihood(theta: np.ndarray, x: np.ndarray, sigma_x: float, p: float) -> np.ndarray:
    """Sum over the data x (B,) of log p(x_n | theta), in nats, for each row of theta (m, 2); as (m,).

    sigma_x > 0 in the units of x; p in [0, 1] is the weight of the component at theta_1. Rows of theta that are not
    finite give NaN. ValueError for shapes or values that do not fit.
    """
    first, second, x, bad = _checked(theta, x, p)
    sigma_x, out = positive(sigma_x, "sigma_x"), np.empty(first.size)
    log_p, log_rest = _log_shares(p)

    def work(start: int, stop: int) -> None:
        _log_likelihood(first[start:stop], second[start:stop], x, 1.0 / sigma_x, log_p, log_rest, out[start:stop])

    run_blocks(work, first.size, ROWS_PER_BLOCK, first.size * x.size)
    out -= x.size * np.log(sigma_x * np.sqrt(2 * np.pi))
    out[bad] = np.nan
    return out


def mixture_grad_log_likelihood(theta: np.ndarray, x: np.ndarray, sigma_x: float, p: float) -> np.ndarray:
    """Gradient of `mixture_log_likelihood` with respect to theta, (m, 2), in nats per unit of theta; same arguments."""
    first, second, x, bad = _checked(theta, x, p)
    sigma_x, out = positive(sigma_x, "sigma_x"), np.empty((first.size, 2))
    log_p, log_rest = _log_shares(p)

    def work(start: int, stop: int) -> None:
        _gradient(first[start:stop], second[start:stop], x, 1.0 / sigma_x, log_p, log_rest, out[start:stop])

    run_blocks(work, first.size, ROWS_PER_BLOCK, first.size * x.size)
    out[bad] = np.nan
    return out


def _checked(theta: np.ndarray, x: np.ndarray, p: float) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    theta, x = matrix(theta, "theta", 2), finite(vector(x, "x"), "x")
    if not 0.0 <= p <= 1.0:
        raise ValueError(f"p must be in [0, 1], not {p}")
    bad = np.zeros(len(theta), bool)
    if not np.abs(theta).max(initial=0.0) <= LARGEST:  # true for NaN too
        bad = ~np.isfinite(theta).all(axis=1)
        theta = np.where(bad[:, None], 0.0, np.clip(theta, -LARGEST, LARGEST))
    return theta[:, 0].copy(), theta[:, 0] + theta[:, 1], x, bad  # the means of the two components


def _log_shares(p: float) -> tuple[float, float]:
    return (np.log(p) if p > 0 else LOG_ZERO), (np.log1p(-p) if p < 1 else LOG_ZERO)


@fast_jit
def _add_datum(x, first, second, precision, log_p, log_rest, total, product):
    for j in range(total.size):
        u, v = (x - first[j]) * precision, (x - second[j]) * precision
        a, b = log_p - 0.5 * u * u, log_rest - 0.5 * v * v
        total[j] += max(a, b)
        product[j] *= 1.0 + exp64(-abs(a - b))


@jit
def _log_likelihood(first, second, x, precision, log_p, log_rest, out):
    """first, second, out (rows,): the two means and the result. Data one by one: few data still fill the vectors."""
    out[:] = 0.0
    product = np.ones(out.size)
    for n in range(x.size):
        _add_datum(x[n], first, second, precision, log_p, log_rest, out, product)
        if (n + 1) % DATA_PER_LOG == 0 or n + 1 == x.size:
            for j in range(out.size):
                out[j] += np.log(product[j])
                product[j] = 1.0


@fast_jit
def _add_pulls(x, first, second, precision, log_p, log_rest, pull_first, pull_second):
    """Add the standardised residuals, each weighted with its component's responsibility."""
    for j in range(pull_first.size):
        u, v = (x - first[j]) * precision, (x - second[j]) * precision
        difference = (log_p - 0.5 * u * u) - (log_rest - 0.5 * v * v)
        small = exp64(-abs(difference))
        larger = 1.0 / (1.0 + small)
        share, rest = (larger, small * larger) if difference >= 0.0 else (small * larger, larger)
        pull_first[j] += share * u
        pull_second[j] += rest * v


@jit
def _gradient(first, second, x, precision, log_p, log_rest, out):
    pull_first, pull_second = np.zeros(first.size), np.zeros(first.size)
    for n in range(x.size):
        _add_pulls(x[n], first, second, precision, log_p, log_rest, pull_first, pull_second)
    for j in range(first.size):  # whole-array expressions would take seconds to compile
        out[j, 0] = (pull_first[j] + pull_second[j]) * precision
        out[j, 1] = pull_second[j] * precision
