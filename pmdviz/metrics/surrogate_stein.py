"""The gradient-free kernel Stein discrepancy, which needs values of log p and a surrogate's gradient."""

from __future__ import annotations

import numpy as np

from pmdviz.methods import Method
from pmdviz.methods.stein.shown import WithSurrogate
from pmdviz.methods.stein.surrogates import log_ratios
from pmdviz.metrics.base import Measurable, Metric
from pmdviz.metrics.plane import DASHED
from pmdviz.metrics.stein import stein_matrix
from pmdviz.targets import Target

POINTS = 300


def _gf_ksd(frame: Measurable) -> float:
    """sqrt of sum_ij w_i w_j kappa_rho(x_i, x_j) of the particles, in prior sds, w = rho/p with sum 1."""
    target, method = frame.target, frame.method
    points, unit = frame.particles[:: max(1, len(frame.particles) // POINTS)], target.scale
    rho = method.surrogate(frame.state, frame.knobs, target)
    w = np.exp(log_ratios(rho.log_density(points), target.log_joint(points), points))
    matrix = stein_matrix(points / unit, rho.score(points) * unit)
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
