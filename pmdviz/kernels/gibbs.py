"""One Gibbs sweep of the two-component mixture, by labels that say which component each datum comes from.

P(z_n = 1 | theta)   = p N(x_n | theta_1, s^2) / (p N(x_n | theta_1, s^2) + (1 - p) N(x_n | theta_1 + theta_2, s^2))
theta | z            ~ N(L^-1 h, L^-1) with, for a prior N(0, t^2 I) and n_2 data of the second component,
L = [[1/t^2 + N/s^2, n_2/s^2], [n_2/s^2, 1/t^2 + n_2/s^2]],   h = [sum of all x, sum of the second's] / s^2
"""

from collections.abc import Callable, Iterator

import numpy as np

from pmdviz.kernels.checks import finite, positive, vector
from pmdviz.kernels.exponential import exp64
from pmdviz.kernels.jit import fast_jit, jit


def mixture_sweep(
    theta: np.ndarray,
    x: np.ndarray,
    sigma_x: float,
    p: float,
    prior_sd: float,
    uniforms: np.ndarray,
    normals: np.ndarray,
) -> np.ndarray:
    """A new theta (2,) from theta (2,) and data x (N,): labels by `uniforms` (N,), then theta by `normals` (2,).

    sigma_x and prior_sd > 0 in the units of x, p in (0, 1) the weight of the component at theta_1. ValueError for
    shapes or values that do not fit.
    """
    theta, x = finite(vector(theta, "theta", 2), "theta"), finite(vector(x, "x"), "x")
    uniforms, normals = vector(uniforms, "uniforms", x.size), vector(normals, "normals", 2)
    if not 0.0 < p < 1.0:
        raise ValueError(f"p must be in (0, 1), not {p}")
    precision = 1.0 / positive(sigma_x, "sigma_x")
    count, total = _second(x, theta[0], theta[0] + theta[1], precision, np.log(p) - np.log1p(-p), uniforms)
    shares = precision**2 * np.array([x.size, count, x.sum(), total])
    return _draw(shares, 1.0 / positive(prior_sd, "prior_sd") ** 2, normals)


@fast_jit
def _add_labels(x, first, second, precision, log_odds, uniforms):
    count, total = 0.0, 0.0
    for n in range(x.size):
        u, v = (x[n] - first) * precision, (x[n] - second) * precision
        difference = log_odds - 0.5 * (u * u - v * v)
        small = exp64(-abs(difference))
        larger = 1.0 / (1.0 + small)
        share = larger if difference >= 0.0 else small * larger  # of the first component
        label = 1.0 if uniforms[n] >= share else 0.0
        count += label
        total += label * x[n]
    return count, total


@jit
def _second(x, first, second, precision, log_odds, uniforms):
    """How many data get the second component's label, and their sum."""
    return _add_labels(x, first, second, precision, log_odds, uniforms)


@jit
def _draw(shares, prior_precision, normals):
    """L^-1 h + C^-T normals with L = C C'; shares: N, n_2, sum of x and of the second's x, each over sigma_x^2."""
    c11 = np.sqrt(prior_precision + shares[0])
    c21 = shares[1] / c11
    c22 = np.sqrt(prior_precision + shares[1] - c21 * c21)
    y1 = shares[2] / c11 + normals[0]
    y2 = (shares[3] - c21 * shares[2] / c11) / c22 + normals[1]
    out = np.empty(2)
    out[1] = y2 / c22
    out[0] = (y1 - c21 * out[1]) / c11
    return out


def warm_up_calls() -> Iterator[tuple[str, str, Callable[[], object]]]:
    """One call of each kernel."""
    axis = np.arange(2.0)
    yield "gibbs", "mixture sweep", lambda: mixture_sweep(axis, axis, 1.0, 0.5, 1.0, axis, axis)
