"""How far the approximation q is from the exact posterior p, by sums over a grid.

TV = 0.5 (sum |p - q| dA + mass of q outside the grid), forward KL = KL(p || q), reverse KL = KL(q || p) and cross
entropy = -E_p log q, all but TV in nats. q is never renormalised on the box.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from weakref import WeakKeyDictionary

import numpy as np

from pmdviz.densities.density import Density
from pmdviz.densities.grid import CELLS_PER_SD, FINER_SIDES, Grid, largest_side, side_for
from pmdviz.metrics.quasi_draws import expectations, reverse_outside
from pmdviz.targets.reference.exact import Box, Exact

NEGLIGIBLE = 1e-8  # share of the peak below which a cell does not count in an expectation; of mass outside, likewise
LOST = 1e-4  # share of the posterior that may lie outside the view box before the grid is made larger
UNDERFLOW = 1e-12  # share of a kernel's peak below which the cut kernels of `on_grid` no longer give log q

Cells = tuple[np.ndarray, np.ndarray, float]  # centres (n, d), log p (n,), volume of one

NAMES = ("tv", "kl_forward", "kl_reverse", "cross_entropy", "mass_outside")
KEPT_EXPS = 3  # of the last grids
POINT_GRID = 1  # which of FINER_SIDES -E_p log q is summed on where kernels are too narrow for every grid
FAINTEST = 1e-12  # share of the peak of p below which a cell outside the grid does not count


@dataclass(frozen=True, eq=False)
class DensitiesOnGrid:
    """The exact posterior p (None where there is none) and the approximation q on one grid.

    `resolved` is false where the finest grid is too coarse for p or for the kernels of q. The kernels are then widened
    to what it resolves, for the picture alone: metrics are measured on `panels` of their own.
    """

    grid: Grid
    p: np.ndarray | None
    log_p: np.ndarray | None
    q: np.ndarray
    density: Density
    resolved: bool


def picture(density: Density, exact: Exact | None, view_box: Box) -> DensitiesOnGrid:
    """p and q on the coarsest grid that resolves both; where the view box is too wide for that, on the exact's box.

    Where the view box does not hold the posterior the grid reaches over both.
    """
    grid, resolved = _grid(density, exact, view_box if exact is None else _holding(view_box, exact))
    limit = CELLS_PER_SD / grid.side
    shown = density if resolved else density.widened(limit, grid.extent)
    return _on(grid, shown, exact, resolved)


def panels(density: Density, exact: Exact) -> list[DensitiesOnGrid] | None:
    """p and q on a grid for each mode that stands apart; None where a kernel is too narrow for the finest of them."""
    grids = []
    for box in exact.boxes:
        extent = _extent(box)
        side = side_for(len(box), min(density.narrowest(extent), exact.narrowest(extent)), FINER_SIDES)
        if side is None:
            return None
        grids.append(Grid(box, side))
    return [_on(grid, density, exact, True) for grid in grids]


def _on(grid: Grid, density: Density, exact: Exact | None, resolved: bool) -> DensitiesOnGrid:
    log_p = exact.on_grid(grid, everywhere=resolved) if exact is not None else None
    p = _exp(exact, log_p) if exact is not None and log_p is not None else None
    return DensitiesOnGrid(grid, p, log_p, density.on_grid(grid), density, resolved)


def _exp(exact: Exact, log_p: np.ndarray) -> np.ndarray:
    """p on a grid, read-only: the same array while log p is, which it is from frame to frame."""
    kept = _exps.get(exact, ())
    found = next((p for values, p in kept if values is log_p), None)
    if found is None:
        found = np.exp(log_p)
        found.flags.writeable = False
        _exps[exact] = (*kept[1 - KEPT_EXPS :], (log_p, found))
    return found


_exps: WeakKeyDictionary[Exact, tuple[tuple[np.ndarray, np.ndarray], ...]] = WeakKeyDictionary()


def _holding(view_box: Box, exact: Exact) -> Box:
    known = _held.setdefault(exact, {})
    if view_box not in known:
        both = tuple((min(a, c), max(b, d)) for (a, b), (c, d) in zip(view_box, exact.box, strict=True))
        known[view_box] = view_box if exact.mass_in(view_box) >= 1 - LOST else both
    return known[view_box]


_held: WeakKeyDictionary[Exact, dict[Box, Box]] = WeakKeyDictionary()


def _grid(density: Density, exact: Exact | None, view_box: Box) -> tuple[Grid, bool]:
    """The grid to draw on, and whether it resolves p and q."""
    dim = len(view_box)
    for box in (view_box, exact.box if exact is not None else view_box):
        narrowest = density.narrowest(_extent(box))
        if exact is not None:
            narrowest = min(narrowest, exact.narrowest(_extent(box)))
        side = side_for(dim, narrowest)
        if side is not None:
            return Grid(box, side), True
    resolves_exact = exact is None or side_for(dim, exact.narrowest(_extent(view_box)))
    return Grid(view_box if resolves_exact else exact.box, largest_side(dim)), False


def _extent(box: Box) -> np.ndarray:
    return np.array([high - low for low, high in box])


class Divergences(Mapping[str, float | None]):
    """TV, both KLs, cross entropy and mass outside, on the grid that is drawn or on finer ones.

    What lies outside the grids enters too: of q the reverse KL, by points, which is None where the target's function
    gives no number there; of p the forward KL and the cross entropy. Kernels that are too narrow for every grid are
    taken one by one (`by_points`). Those points cost half of it all, and wait until somebody asks for the reverse KL.
    """

    def __init__(self, density: Density, exact: Exact, drawn: DensitiesOnGrid) -> None:
        self._density, self._exact = density, exact
        self._beyond: list[Grid] = []  # outside of which q has points that the reverse KL still lacks
        parts = [drawn] if drawn.resolved else panels(density, exact)
        self._found: dict[str, float | None] = {}
        if parts is None:
            self._found |= by_points(density, exact)
            return
        found = compare(*parts)
        cross_entropy, entropy = _outside(density, exact, drawn.grid) if drawn.resolved else (0.0, 0.0)
        self._inside = found["kl_reverse"]
        if found["mass_outside"] > NEGLIGIBLE:
            self._beyond = [part.grid for part in parts]
        self._found |= found
        self._found["kl_forward"] = found["kl_forward"] + cross_entropy - entropy
        self._found["cross_entropy"] = found["cross_entropy"] + cross_entropy

    def __getitem__(self, name: str) -> float | None:
        if name == "kl_reverse" and self._beyond:
            reverse = self._inside + reverse_outside(self._density, self._exact, self._beyond)
            self._found[name], self._beyond = None if np.isnan(reverse) else reverse, []
        return self._found[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._found)

    def __len__(self) -> int:
        return len(self._found)


def measure(density: Density, exact: Exact, drawn: DensitiesOnGrid) -> dict[str, float | None]:
    """All of `Divergences`."""
    return dict(Divergences(density, exact, drawn))


def by_points(density: Density, exact: Exact) -> dict[str, float | None]:
    """The metrics for kernels far narrower than the posterior: E_q by points of every kernel (`quasi_draws`).

    Between the kernels log q varies as slowly as the particles are apart: for -E_p log q a grid that resolves p does,
    with log q in full at each cell.
    """
    grids = [Grid(box, FINER_SIDES[len(box)][POINT_GRID]) for box in exact.boxes]
    cross_entropy, entropy = map(sum, zip(*(_entropies(grid, density, exact) for grid in grids), strict=True))
    forward = {"kl_forward": cross_entropy - entropy, "cross_entropy": cross_entropy}
    return {**forward, **expectations(density, exact, grids)}


def _entropies(grid: Grid, density: Density, exact: Exact) -> tuple[float, float]:
    """-E_p log q and -E_p log p over one grid, with log q in full at each cell."""
    log_p = exact.on_grid(grid).ravel()
    counts = log_p > log_p.max() + np.log(NEGLIGIBLE)
    return _expected(grid.points[counts], log_p[counts], grid.cell_volume, density)


def _outside(density: Density, exact: Exact, drawn: Grid) -> tuple[float, float]:
    """-E_p log q and -E_p log p over what a grid leaves out of the posterior's box, on cells that resolve p there."""
    known = _left_out.setdefault(exact, {})
    if drawn.box not in known:
        known[drawn.box] = _cells_outside(exact, drawn)
    cells = known[drawn.box]
    return (0.0, 0.0) if cells is None else _expected(*cells, density)


_left_out: WeakKeyDictionary[Exact, dict[Box, Cells | None]] = WeakKeyDictionary()


def _cells_outside(exact: Exact, drawn: Grid) -> Cells | None:
    """The cells that have any of the posterior's mass; None where next to nothing lies outside."""
    if exact.mass_in(drawn.box) >= 1.0 - NEGLIGIBLE:
        return None
    extent = _extent(exact.box)
    grid = Grid(exact.box, side_for(len(extent), exact.narrowest(extent)) or largest_side(len(extent)))
    log_p = exact.on_grid(grid).ravel()
    counts = (log_p > log_p.max() + np.log(FAINTEST)) & ~drawn.holds(grid.points)
    return (grid.points[counts], log_p[counts], grid.cell_volume) if counts.any() else None


def _expected(points: np.ndarray, log_p: np.ndarray, cell_volume: float, density: Density) -> tuple[float, float]:
    p, log_q = np.exp(log_p), density.log_density(points)
    return -float((p * log_q).sum()) * cell_volume, -float((p * log_p).sum()) * cell_volume


def compare(*parts: DensitiesOnGrid) -> dict[str, float]:
    """The metrics from pictures that do not overlap and together hold the posterior; KLs over their cells alone."""
    peak_p, peak_q = max(pic.p.max() for pic in parts), max(pic.q.max() for pic in parts)
    sums = np.array([_sums(pic, peak_p, peak_q) for pic in parts]).sum(axis=0)
    mass, distance, cross_entropy, negative_entropy, reverse = (float(value) for value in sums)
    outside = max(0.0, 1.0 - mass)
    return {
        "tv": 0.5 * (distance + outside),
        "kl_forward": cross_entropy + negative_entropy,
        "kl_reverse": reverse,
        "cross_entropy": cross_entropy,
        "mass_outside": outside,
    }


def total_variation(pic: DensitiesOnGrid) -> float:
    """TV alone, for a third of what all metrics cost."""
    distance, mass = float(np.abs(pic.p - pic.q).sum()), float(pic.q.sum())
    return 0.5 * (distance * pic.grid.cell_volume + max(0.0, 1.0 - mass * pic.grid.cell_volume))


def _sums(pic: DensitiesOnGrid, peak_p: float, peak_q: float) -> tuple[float, ...]:
    """Sums over one grid: q, |p - q|, -p log q, p log p, q log(q/p). Not by BLAS: the last bits depend on threads."""
    area = pic.grid.cell_volume
    counts = pic.p > NEGLIGIBLE * peak_p
    p, log_q = pic.p[counts], _log_q(pic, counts)
    return (
        float(pic.q.sum()) * area,
        float(np.abs(pic.p - pic.q).sum()) * area,
        -float((p * log_q).sum()) * area,
        float((p * pic.log_p[counts]).sum()) * area,
        _reverse(pic, NEGLIGIBLE * peak_q) * area,
    )


def _log_q(pic: DensitiesOnGrid, counts: np.ndarray) -> np.ndarray:
    """log q in the cells that count, in log space where the cut kernels do not reach."""
    q = pic.q[counts]
    faint = q < UNDERFLOW * pic.density.kernel_peak
    log_q = np.log(np.where(faint, 1.0, q))
    if faint.any():
        cells = pic.grid.points[counts.ravel()][faint]  # they hold so little of p that float32 will do
        log_q[faint] = pic.density.log_density(cells, single=True)
    return log_q


def _reverse(pic: DensitiesOnGrid, least: float) -> float:
    counts = pic.q > least
    q = pic.q[counts]
    return float((q * (np.log(q) - pic.log_p[counts])).sum())
