"""The gradient-free kernel Stein discrepancy, which needs values of log p and a surrogate's gradient."""

from __future__ import annotations

import numpy as np

from pmdviz.methods import Method
from pmdviz.methods.stein.shown import WithSurrogate
from pmdviz.methods.stein.surrogates import log_ratios
from pmdviz.metrics.base import Measurable, Metric
from pmdviz.metrics.draws import squared_distances
from pmdviz.metrics.plane import DASHED
from pmdviz.targets import Target

POINTS = 300
# f of k = f(r), r = |x - y|^2 / h, with its first two derivatives
PROFILES = {
    "rbf": lambda r: (np.exp(-r), -np.exp(-r), np.exp(-r)),
    "imq": lambda r: ((1 + r) ** -0.5, -0.5 * (1 + r) ** -1.5, 0.75 * (1 + r) ** -2.5),
}


def stein_matrix(x: np.ndarray, scores: np.ndarray, h: float, kernel: str = "rbf") -> np.ndarray:
    """kappa (n, n) of points x and scores (n, d): k s.s' + s.grad' k + s'.grad k + tr grad grad' k.

    k = f(|x - y|^2 / h), h > 0 in squared units of the points. With u = x - y: grad k = (2/h) f' u, grad' k is minus
    that, and the trace is -(2/h) (d f' + (2/h) |u|^2 f'').
    """
    squared = squared_distances(x, x)
    value, slope, curve = PROFILES[kernel](squared / h)
    along = np.einsum("id,jd->ij", scores, x)  # s_i . x_j
    apart = np.diag(along)[:, None] - along  # s_i . (x_i - x_j)
    first = value * np.einsum("id,jd->ij", scores, scores) - 2 / h * slope * (apart + apart.T)
    return first - 2 / h * (x.shape[1] * slope + 2 / h * squared * curve)


def _gf_ksd(frame: Measurable) -> float:
    """sqrt of sum_ij w_i w_j kappa_rho(x_i, x_j) of the particles, in prior sds, w = rho/p with sum 1."""
    target, method = frame.target, frame.method
    points, unit = frame.particles[:: max(1, len(frame.particles) // POINTS)], target.scale
    rho = method.surrogate(frame.state, frame.knobs, target)
    w = np.exp(log_ratios(rho.log_density(points), target.log_joint(points), points))
    matrix = stein_matrix(points / unit, rho.score(points) * unit, 1.0, "imq")
    return float(np.sqrt(max(np.einsum("i,ij,j->", w, matrix, w), 0.0)))


def _applies(target: Target, method: Method) -> bool:
    return "reals" in target.offers and isinstance(method, WithSurrogate)


Metric(
    name="gf_ksd",
    title="GF-KSD",
    unit="prior units",
    about="gradient-free kernel Stein discrepancy of 300 particles (Han 2019, section 3.5), from values of log p alone",
    measure=_gf_ksd,
    applies=_applies,
    traced=_applies,
    order=21,
    axis="ksd",
    axis_title="KSD",
    limits=(0.01, 100.0),
    colour="approximate",
    dash=DASHED,
)
