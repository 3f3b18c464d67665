"""The kernel Stein discrepancy, which needs the gradient of log p alone: no reference, no normalising constant."""

from __future__ import annotations

import numpy as np

from pmdviz.methods import Method
from pmdviz.metrics.base import Measurable, Metric
from pmdviz.metrics.draws import squared_distances
from pmdviz.targets import Target

POINTS = 500


def stein_matrix(x: np.ndarray, score: np.ndarray) -> np.ndarray:
    """k_p (n, n) of points x (n, d) with `score` (n, d) = grad log p there, kernel k = (1 + |x - y|^2)^(-1/2).

    k s.s' + s.grad' k + s'.grad k + tr grad grad' k, of mean 0 under p in either argument (Gorham & Mackey 2017).
    """
    d = x.shape[1]
    base = 1 + squared_distances(x, x)
    along = np.einsum("id,jd->ij", score, x)
    difference = np.diag(along)[:, None] - along  # s_i . (x_i - x_j)
    k, slope = base**-0.5, base**-1.5
    first = np.einsum("id,jd->ij", score, score) * k
    second = slope * (difference + difference.T)
    third = d * slope - 3 * (base - 1) * base**-2.5
    return first + second + third


def ksd(x: np.ndarray, score: np.ndarray) -> float:
    """sqrt of the mean over all pairs of k_p(x_i, x_j), in the units of x."""
    return float(np.sqrt(max(stein_matrix(x, score).mean(), 0.0)))


def _ksd(frame: Measurable) -> float:
    unit, points = frame.target.scale, frame.draws[:: max(1, len(frame.draws) // POINTS)]
    return ksd(points / unit, frame.target.grad_log_joint(points) * unit)


def _applies(target: Target, method: Method) -> bool:
    return {"reals", "gradient"} <= target.offers


def _traced(target: Target, method: Method) -> bool:
    """It asks for the gradient at 500 points and all data: where nothing else is available."""
    return target.reference() is None and not target.by_points


Metric(
    name="ksd",
    title="KSD",
    unit="prior units",
    about="kernel Stein discrepancy of 500 draws (Gorham & Mackey 2017), from the gradient of log p alone",
    measure=_ksd,
    applies=_applies,
    traced=_traced,
    order=20,
    axis="ksd",
    axis_title="KSD",
    limits=(0.01, 100.0),
    colour="particles",
)
