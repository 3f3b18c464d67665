"""How far the approximation q is from the exact posterior p, by sums over a grid.

TV = 0.5 (sum |p - q| dA + mass of q outside the grid), forward KL = KL(p || q), reverse KL = KL(q || p) and cross
entropy = -E_p log q, all but TV in nats. q is never renormalised on the box.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from pmdviz.densities import KernelDensity
from pmdviz.grids import CELLS_PER_SD, Grid, largest_side, side_for
from pmdviz.targets.exact import Box, Exact

NEGLIGIBLE = 1e-10  # share of the peak below which a cell does not count in an expectation
LOST = 1e-4  # share of the posterior that may lie outside the view box before the grid is made larger
UNDERFLOW = 1e-12  # share of a kernel's peak below which the cut kernels of `on_grid` no longer give log q


@dataclass(frozen=True, eq=False)
class GridPicture:
    """The exact posterior p (None where there is none) and the approximation q on one grid.

    `widened` is true where the kernel was narrower than the finest grid resolves and was widened to that for the
    picture and the metrics.
    """

    grid: Grid
    p: np.ndarray | None
    log_p: np.ndarray | None
    q: np.ndarray
    density: KernelDensity
    widened: bool


def picture(density: KernelDensity, exact: Exact | None, view_box: Box) -> GridPicture:
    """p and q on the coarsest grid that resolves both; where the view box is too wide for that, on the exact's box.

    Where the view box does not hold the posterior the grid reaches over both.
    """
    grid = _grid(density, exact, view_box if exact is None else _holding(view_box, exact))
    extent = grid.extent
    limit = CELLS_PER_SD / grid.side
    widened = density.narrowest(extent) < limit * (1 - 1e-9)
    shown = density.widened(limit, extent) if widened else density
    log_p = exact.on_grid(grid) if exact is not None else None
    p = np.exp(log_p) if log_p is not None else None
    return GridPicture(grid, p, log_p, shown.on_grid(grid), shown, widened)


def _holding(view_box: Box, exact: Exact) -> Box:
    if exact.mass_in(view_box) >= 1 - LOST:
        return view_box
    return tuple((min(a, c), max(b, d)) for (a, b), (c, d) in zip(view_box, exact.box, strict=True))


def _grid(density: KernelDensity, exact: Exact | None, view_box: Box) -> Grid:
    dim = len(view_box)
    for box in (view_box, exact.box if exact is not None else view_box):
        extent = np.array([high - low for low, high in box])
        narrowest = density.narrowest(extent)
        if exact is not None:
            narrowest = min(narrowest, exact.narrowest(extent))
        side = side_for(dim, narrowest)
        if side is not None:
            return Grid(box, side)
    resolves_exact = exact is None or side_for(dim, exact.narrowest(_extent(view_box)))
    return Grid(view_box if resolves_exact else exact.box, largest_side(dim))


def _extent(box: Box) -> np.ndarray:
    return np.array([high - low for low, high in box])


def compare(pic: GridPicture) -> dict[str, float]:
    """TV, both KLs, cross entropy and mass outside for a picture with an exact posterior."""
    area = pic.grid.cell_volume
    outside = max(0.0, 1.0 - float(pic.q.sum()) * area)
    log_q, counts = _log_q_where_p_counts(pic)
    p = pic.p[counts]
    cross_entropy = -float((p * log_q).sum()) * area  # not p @ log_q: the last bits of BLAS hang on its threads
    return {
        "tv": 0.5 * (float(np.abs(pic.p - pic.q).sum()) * area + outside),
        "kl_forward": cross_entropy + float((p * pic.log_p[counts]).sum()) * area,
        "kl_reverse": _reverse_kl(pic, area),
        "cross_entropy": cross_entropy,
        "mass_outside": outside,
    }


def _log_q_where_p_counts(pic: GridPicture) -> tuple[np.ndarray, np.ndarray]:
    """log q in the cells that hold p's mass, in log space where the cut kernels do not reach; and those cells' mask."""
    counts = pic.p > NEGLIGIBLE * pic.p.max()
    q = pic.q[counts]
    faint = q < UNDERFLOW * pic.density.kernel_peak
    log_q = np.log(np.where(faint, 1.0, q))
    if faint.any():
        log_q[faint] = pic.density.log_density(pic.grid.points[counts.ravel()][faint])
    return log_q, counts


def _reverse_kl(pic: GridPicture, area: float) -> float:
    counts = pic.q > NEGLIGIBLE * pic.q.max()
    q = pic.q[counts]
    return float((q * (np.log(q) - pic.log_p[counts])).sum()) * area
