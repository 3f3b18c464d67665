"""Kernel Stein discrepancies: by the gradient of log p, and by values of log p alone."""

from __future__ import annotations

import numpy as np

from pmdviz.densities.density import variances
from pmdviz.kernels.checks import Array
from pmdviz.methods import Method
from pmdviz.methods.stein.gf_svgd import GFSVGD, log_ratios
from pmdviz.metrics.base import DASHED, Measurable, metric, on_axis
from pmdviz.metrics.distances import squared_distances
from pmdviz.streams import stream
from pmdviz.targets import Target

POINTS = 500  # of q
MOST_ROWS = 2000  # whose gradient is taken at each


def stein_matrix(x: Array, score: Array, other: Array | None = None) -> Array:
    """k_p (n, n) of points x (n, d) with `score` (n, d) = grad log p there, kernel k = (1 + |x - y|^2)^(-1/2).

    k s.s' + s.grad' k + s'.grad k + tr grad grad' k, of mean 0 under p in either argument (Gorham & Mackey 2017).
    `other` (n, d) takes the place of s', where both are independent estimates of the gradient.
    """
    other = score if other is None else other
    d = x.shape[1]
    base = 1 + squared_distances(x, x)
    k, slope = base**-0.5, base**-1.5
    first = np.einsum("id,jd->ij", score, other) * k
    second = slope * (_pulled(x, score) + _pulled(x, other).T)
    third = d * slope - 3 * (base - 1) * base**-2.5
    return first + second + third


def _pulled(x: Array, score: Array) -> Array:
    """s_i . (x_i - x_j), (n, n)."""
    along = np.einsum("id,jd->ij", score, x)
    return np.diag(along)[:, None] - along


def squared_ksd(x: Array, score: Array, other: Array | None = None) -> tuple[float, float]:
    """The mean of k_p(x_i, x_j) over i != j (a U-statistic, unbiased), and its noise, both in the units of x.

    The noise is its standard deviation for draws of p itself, sqrt(2 / (n (n - 1)) E k_p^2) (Liu, Lee, Jordan 2016,
    Theorem 4.1: degenerate there).
    """
    n, matrix = len(x), stein_matrix(x, score, other)
    np.fill_diagonal(matrix, 0.0)
    pairs = n * (n - 1)
    return float(matrix.sum() / pairs), float(np.sqrt(2 * (matrix**2).sum()) / pairs)


def _measured(frame: Measurable) -> tuple[float, float]:
    """KSD^2 and its noise by 500 draws, in units of the posterior's sds: the reference's, or else those of q.

    With more than 2,000 observations the gradients at x_i and x_j come from two independent batches of 1,000, as their
    difference from the gradient at the mean, where all data are used once: the products are unbiased, and near the
    mean exact (control variates, Baker et al. 2019).
    """
    target, points = frame.target, frame.draws[:: max(1, len(frame.draws) // POINTS)]
    solid = target.reference() if target.reference() is not None else frame.density
    unit = np.sqrt(variances(solid))
    if not (unit > 0).all():
        return np.nan, np.nan
    if target.num_data <= MOST_ROWS:
        return squared_ksd(points / unit, target.grad_log_joint(points) * unit)
    rng, centre = stream("rows"), solid.mean[None]
    whole, scores = target.grad_log_joint(centre), []
    for _ in range(2):
        batch = target.data_rows[rng.choice(target.num_data, MOST_ROWS // 2, replace=False)]
        scores.append((target.grad_log_joint(points, batch) - target.grad_log_joint(centre, batch) + whole) * unit)
    return squared_ksd(points / unit, *scores)


def _work(frame: Measurable) -> float:
    return POINTS * min(frame.target.num_data, MOST_ROWS) * (20.0 + 2 * frame.target.dim)


def _applies(target: Target, method: Method) -> bool:
    return {"reals", "gradient"} <= target.offers


def _traced(target: Target, method: Method) -> bool:
    """It takes the gradient at 500 points: where there is no reference."""
    return target.reference() is None and not target.by_points


@metric("ksd", "KSD", "posterior units", 20, _applies, _traced, work=_work)
@on_axis("ksd", "KSD", colour="particles")
def _ksd(frame: Measurable) -> float | None:
    """kernel Stein discrepancy of 500 draws (Gorham & Mackey 2017), from the gradient of log p alone."""
    value, _ = _measured(frame)
    return float(np.sqrt(max(value, 0.0))) if np.isfinite(value) else None


@metric("ksd_noise", "noise of the KSD", "posterior units", 21, _applies, lambda target, method: False, ranks=False)
def _noise(frame: Measurable) -> float | None:
    """what 500 independent draws of the posterior have for a KSD, one standard deviation above 0."""
    _, noise = _measured(frame)
    return float(np.sqrt(noise)) if np.isfinite(noise) else None


# The gradient-free kernel Stein discrepancy, which needs values of log p and a surrogate's gradient.

GF_POINTS = 300


def _has_surrogate(target: Target, method: Method) -> bool:
    return "reals" in target.offers and isinstance(method, GFSVGD)


@metric("gf_ksd", "GF-KSD", "prior units", 21, _has_surrogate, _has_surrogate)
@on_axis("ksd", "KSD", colour="approximate", dash=DASHED)
def _gf_ksd(frame: Measurable) -> float:
    """gradient-free kernel Stein discrepancy of 300 particles (Han 2019, section 3.5), from values of log p alone.

    sqrt of sum_ij w_i w_j kappa_rho(x_i, x_j) of the particles, in prior sds, w = rho/p with sum 1.
    """
    target, method = frame.target, frame.method
    points, unit = frame.particles[:: max(1, len(frame.particles) // GF_POINTS)], target.scale
    rho = method.surrogate(frame.state, frame.knobs, target)
    w = np.exp(log_ratios(rho.log_density(points), target.log_joint(points), points))
    matrix = stein_matrix(points / unit, rho.score(points) * unit)
    return float(np.sqrt(max(np.einsum("i,ij,j->", w, matrix, w), 0.0)))
