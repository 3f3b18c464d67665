"""How far the approximation q is from the exact posterior p, by sums over a grid.

TV = 0.5 (sum |p - q| dA + mass of q outside the grid), forward KL = KL(p || q), reverse KL = KL(q || p) and cross
entropy = -E_p log q, all but TV in nats. q is never renormalised on the box.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from statistics import NormalDist
from typing import TYPE_CHECKING
from weakref import WeakKeyDictionary

import numpy as np

from pmdviz.densities.density import CELLS_PER_SD, FINER_SIDES, Grid, largest_side, side_for
from pmdviz.kernels.checks import Array
from pmdviz.kernels.resampling import systematic
from pmdviz.metrics import DASHED, DOTTED, metric, of_pair, on_axis, once, planar
from pmdviz.targets import Target
from pmdviz.targets.exact import NATS_BOXED, Box, Exact

if TYPE_CHECKING:
    from pmdviz.densities.density import Density
    from pmdviz.engine.frame import Frame

# Points that represent the approximation q: as many of each kernel as it has weight, spread evenly within the kernel.

NUM_POINTS, NUM_BEYOND = 16_384, 2048  # all over q; outside the grids
FEW_BEYOND, LITTLE = 128, 1e-4  # outside the grids, where at most such a share of q is: it changes the KL by 0.001
STEPS = {1: (0.6180339887498949,), 2: (0.7548776662466927, 0.5698402909980532)}  # 1/g, 1/g^2
NEAR = 1.0  # sds from an edge up to which a kernel's own noise meets what lies beyond often enough
REACH = 8.5  # sds: what a kernel has beyond does not count, here as on grids


def quasi_draws(density: Density) -> tuple[Array, Array]:
    """NUM_POINTS points (n, d) of equal weight that represent q, and their parents (n,)."""
    parents = systematic(density.weights, NUM_POINTS, 0.5)
    return _placed(density, parents, _noise(density.particles.shape[1])), parents


def _placed(density: Density, parents: Array, noise: Array) -> Array:
    return density.centres[parents] + np.einsum("nij,nj->ni", density.choleskys[parents], noise)


@cache
def _noise(d: int) -> Array:
    """Standard normal noise (NUM_POINTS, d), evenly spread in every stretch of it."""
    noise = spread_normals(NUM_POINTS, np.array(STEPS[d]))
    noise.flags.writeable = False
    return noise


def spread_normals(n: int, steps: Array) -> Array:
    """The first n terms (n, d) of the sequence of the steps 1/g, ..., 1/g^d (d,), as points of N(0, I)."""
    return np.vectorize(NormalDist().inv_cdf)((0.5 + np.arange(1, n + 1)[:, None] * steps) % 1.0)


def expectations(density: Density, exact: Exact, grids: list[Grid]) -> dict[str, float]:
    """TV = 1 - E_q min(1, p/q), KL(q || p) = E_q log(q/p) in nats, and the share of q outside the grids.

    min(1, p/q) has a kink, which a rule of a few nodes per kernel misses: TV is usually off by 0.0007, at most by
    0.003.
    """
    points, _ = quasi_draws(density)
    log_ratio = exact.log_density(points) - density.log_density(points)
    return {
        "tv": 1.0 - float(np.exp(np.minimum(log_ratio, 0.0)).mean()),
        "kl_reverse": -float(log_ratio.mean()),
        "mass_outside": float(_outside(points, grids).mean()),
    }


def reverse_outside(density: Density, exact: Exact, grids: list[Grid], number: int = NUM_BEYOND) -> float:
    """The part of KL(q || p) that lies outside the grids, in nats: infinite where p is 0 and q is not.

    By a `number` of points: every kernel has its share of them beyond each edge of the grid that holds most of it,
    about as many as it has mass there.
    """
    sds = density.kernel_sds
    bounds = np.array([grid.box for grid in grids])  # (grids, d, 2)
    gaps = (bounds - density.centres[:, None, :, None]) * np.array([-1.0, 1.0]) / sds[:, None, :, None]
    beyond = np.where(gaps < NEAR, 1.0, np.where(gaps < REACH, np.exp(-0.5 * gaps**2), 0.0))
    nearest = beyond.sum(axis=(2, 3)).argmin(axis=1)
    each = np.arange(len(nearest))
    gaps, beyond = gaps[each, nearest], beyond[each, nearest]  # (m, d, 2)
    shares = (density.weights[:, None, None] * beyond).ravel()
    if not shares.any():
        return 0.0
    parents, axes, sides = np.unravel_index(systematic(shares, number, 0.5), beyond.shape)
    directions = density.choleskys[parents, axes] * ((2 * sides - 1) / sds[parents, axes])[:, None]
    noise, counts = _beyond(directions, gaps[parents, axes, sides])
    points, box = _placed(density, parents, noise), bounds[nearest[parents]]
    edges = ((points < box[:, :, 0]) | (points > box[:, :, 1])).sum(axis=1)  # beyond two of them a point is met twice
    kept = _outside(points, grids) & (counts > 0) & (edges > 0)
    if not kept.any():
        return 0.0
    log_ratio = density.log_density(points[kept]) - exact.log_density(points[kept])
    return float((counts[kept] / edges[kept] * log_ratio).sum() * shares.sum() / number)


def _beyond(directions: Array, gaps: Array) -> tuple[Array, Array]:
    """Normal noise (n, d) beyond `gaps` (n,) along unit `directions` (n, d), and what each counts for (n,).

    Along its direction noise is drawn as sqrt(gap^2 - 2 log u), which has the density t exp((gap^2 - t^2) / 2) beyond
    the gap; what it counts for is the normal density over that and over exp(-gap^2 / 2), the point's share. Where the
    gap is small or negative it stays as it was, and counts where it lies beyond.
    """
    noise = _noise(directions.shape[1])[: len(gaps)]
    along = np.einsum("nd,nd->n", noise, directions)
    uniform = (0.5 + np.arange(1, len(gaps) + 1) * STEPS[1][0]) % 1.0
    pushed = np.sqrt(np.maximum(gaps, NEAR) ** 2 - 2.0 * np.log(uniform))
    far = gaps >= NEAR
    counts = np.where(far, 1.0 / (np.sqrt(2 * np.pi) * pushed), along > gaps)
    return noise + directions * np.where(far, pushed - along, 0.0)[:, None], counts


def _outside(points: Array, grids: list[Grid]) -> Array:
    return ~np.any([grid.holds(points) for grid in grids], axis=0)


NEGLIGIBLE = 1e-8  # share of the peak below which a cell does not count in an expectation; of mass outside, likewise
LOST = 1e-4  # share of the posterior that may lie outside the view box before the grid is made larger
UNDERFLOW = 1e-12  # share of a kernel's peak below which the cut kernels of `on_grid` no longer give log q

Cells = tuple[Array, Array, float]  # centres (n, d), log p (n,), volume of one

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
    p: Array | None
    log_p: Array | None
    q: Array
    density: Density
    resolved: bool


def picture(density: Density, exact: Exact | None, view_box: Box) -> DensitiesOnGrid:
    """p and q on the coarsest grid that resolves both; where the view box is too wide for that, on the exact's box.

    Where the view box does not hold the posterior the grid reaches over both.
    """
    grid, resolved = _grid(density, exact, view_box if exact is None else _holding(exact, view_box))
    limit = CELLS_PER_SD / grid.side
    return _on(grid, density if resolved else density.widened(limit, grid.extent), exact, resolved)


def panels(density: Density, exact: Exact) -> list[DensitiesOnGrid] | None:
    """p and q on a grid for each mode that stands apart; None where a kernel is too narrow for the finest of them."""
    grids = []
    for box in exact.boxes:
        extent = _extent(box)
        side = side_for(len(box), exact.narrowest(extent), FINER_SIDES, density.narrowest(extent))
        if side is None:
            return None
        grids.append(Grid(box, side))
    return [_on(grid, density, exact, True) for grid in grids]


def _on(grid: Grid, density: Density, exact: Exact | None, resolved: bool) -> DensitiesOnGrid:
    log_p = exact.on_grid(grid, everywhere=resolved) if exact is not None else None
    p = _exp(exact, log_p) if exact is not None and log_p is not None else None
    return DensitiesOnGrid(grid, p, log_p, density.on_grid(grid), density, resolved)


def _exp(exact: Exact, log_p: Array) -> Array:
    """p on a grid, read-only: the same array while log p is, which it is from frame to frame."""
    kept = _exps.get(exact, ())
    found = next((p for values, p in kept if values is log_p), None)
    if found is None:
        found = np.exp(log_p)
        found.flags.writeable = False
        _exps[exact] = (*kept[1 - KEPT_EXPS :], (log_p, found))
    return found


_exps: WeakKeyDictionary[Exact, tuple[tuple[Array, Array], ...]] = WeakKeyDictionary()


@of_pair
def exact_picture(exact: Exact, view_box: Box) -> tuple[Grid, Array]:
    """The coarsest grid that resolves p, whatever q is, and p on it; the SAME arrays at every call soon after."""
    grid, resolved = _grid(None, exact, _holding(exact, view_box))
    return grid, _exp(exact, exact.on_grid(grid, everywhere=resolved))


def _holding(exact: Exact, view_box: Box) -> Box:
    both = tuple((min(a, c), max(b, d)) for (a, b), (c, d) in zip(view_box, exact.box, strict=True))
    return view_box if exact.mass_in(view_box) >= 1 - LOST else both


def _grid(density: Density | None, exact: Exact | None, view_box: Box) -> tuple[Grid, bool]:
    """The grid to draw on, and whether it resolves p and q; None for one that is not drawn."""
    dim = len(view_box)
    for box in (view_box, exact.box if exact is not None else view_box):
        of_exact, kernel = (np.inf if one is None else one.narrowest(_extent(box)) for one in (exact, density))
        side = side_for(dim, of_exact, kernel=kernel)
        if side is not None:
            return Grid(box, side), True
    resolves_exact = exact is None or side_for(dim, exact.narrowest(_extent(view_box)))
    return Grid(view_box if resolves_exact else exact.box, largest_side(dim)), False


def _extent(box: Box) -> Array:
    return np.array([high - low for low, high in box])


class Divergences(dict[str, "float | None"]):
    """TV, both KLs, cross entropy and mass outside, on the grid that is drawn or on finer ones.

    What lies outside the grids enters too: of q the reverse KL, by points, which is None where the target's function
    gives no number there; of p the forward KL and the cross entropy. Kernels that are too narrow for every grid are
    taken one by one (`by_points`). These points cost half of the time, and wait for the first use of the reverse KL.
    """

    def __init__(self, density: Density, exact: Exact, drawn: DensitiesOnGrid) -> None:
        parts = [drawn] if drawn.resolved else panels(density, exact)
        if parts is None:
            super().__init__(by_points(density, exact))
            return
        found = compare(*parts)
        cross_entropy, entropy = _outside_divergences(density, exact, drawn.grid) if drawn.resolved else (0.0, 0.0)
        found["kl_forward"] += cross_entropy - entropy
        found["cross_entropy"] += cross_entropy
        if found["mass_outside"] > NEGLIGIBLE:
            number = FEW_BEYOND if found["mass_outside"] < LITTLE else NUM_BEYOND
            self._inside = found.pop("kl_reverse")
            self._beyond = density, exact, [part.grid for part in parts], number
        super().__init__(found)

    def __missing__(self, name: str) -> float | None:
        """The reverse KL, which waits."""
        reverse = self._inside + reverse_outside(*self._beyond)
        self[name] = None if np.isnan(reverse) else reverse
        return self[name]


def measure(density: Density, exact: Exact, drawn: DensitiesOnGrid) -> dict[str, float | None]:
    """All of `Divergences`."""
    found = Divergences(density, exact, drawn)
    return {name: found[name] for name in NAMES}


def by_points(density: Density, exact: Exact) -> dict[str, float | None]:
    """The metrics for kernels far narrower than the posterior: E_q by points of every kernel (`quasi_draws`).

    Between the kernels log q varies as slowly as the particles are apart: for -E_p log q a grid that resolves p does,
    with log q in full at each cell.
    """
    grids = [Grid(box, FINER_SIDES[len(box)][POINT_GRID]) for box in exact.boxes]
    parts = []
    for grid in grids:  # -E_p log q and -E_p log p over one grid
        log_p = exact.on_grid(grid).ravel()
        counts = log_p > log_p.max() + np.log(NEGLIGIBLE)
        parts.append(_expected(grid.points[counts], log_p[counts], grid.cell_volume, density))
    cross_entropy, entropy = map(sum, zip(*parts, strict=True))
    forward = {"kl_forward": cross_entropy - entropy, "cross_entropy": cross_entropy}
    return {**forward, **expectations(density, exact, grids)}


def _outside_divergences(density: Density, exact: Exact, drawn: Grid) -> tuple[float, float]:
    """-E_p log q and -E_p log p over what a grid leaves out of the posterior's box, on cells that resolve p there."""
    cells = _cells_outside(exact, drawn.box)
    return (0.0, 0.0) if cells is None else _expected(*cells, density)


@of_pair
def _cells_outside(exact: Exact, drawn: Box) -> Cells | None:
    """The cells that have any of the posterior's mass; None where almost no mass lies outside."""
    if exact.mass_in(drawn) >= 1.0 - NEGLIGIBLE:
        return None
    extent = _extent(exact.box)
    grid = Grid(exact.box, side_for(len(extent), exact.narrowest(extent)) or largest_side(len(extent)))
    log_p = exact.on_grid(grid).ravel()
    counts = (log_p > log_p.max() + np.log(FAINTEST)) & ~Grid(drawn, 1).holds(grid.points)
    return (grid.points[counts], log_p[counts], grid.cell_volume) if counts.any() else None


def _expected(points: Array, log_p: Array, cell_volume: float, density: Density) -> tuple[float, float]:
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


def _log_q(pic: DensitiesOnGrid, counts: Array) -> Array:
    """log q in the cells that count, in log space where the cut kernels do not reach."""
    q = pic.q[counts]
    faint = q < UNDERFLOW * pic.density.kernel_peak
    log_q = np.log(np.where(faint, 1.0, q))
    if faint.any():
        cells = pic.grid.points_at(np.flatnonzero(counts)[faint])
        log_q[faint] = pic.density.log_density(cells, single=True)  # they hold so little of p that this will do
    return log_q


def _reverse(pic: DensitiesOnGrid, least: float) -> float:
    counts = pic.q > least
    q = pic.q[counts]
    return float((q * (np.log(q) - pic.log_p[counts])).sum())


# The metrics of the plane, which compare p and q on a grid: `divergences` computes them together, or TV alone.


@metric("tv", "TV", "0 to 1", 1, planar, drawn=True, always=True, baseline="floor_tv")
@on_axis("tv", axis_label="TV (0 identical, 1 no overlap)", log=False, limits=(0.0, 1.0), fixed=True, colour="ink")
def _tv(frame: Frame) -> float | None:
    """total variation: half the integral of |p - q|."""
    return frame.tv


@metric("kl_forward", "forward KL", "nats", 2, planar, always=True, baseline="floor_kl")
@on_axis("kl", "Forward and reverse KL", "KL divergence (nats)", colour="exact", dash=DASHED)
def _kl_forward(frame: Frame) -> float | None:
    """KL(exact || approximation)."""
    return frame.divergences["kl_forward"]


@metric("kl_reverse", "reverse KL", "nats", 3, planar, always=True)
@on_axis("kl", colour="approximate", dash=DOTTED)
def _kl_reverse(frame: Frame) -> float | None:
    """KL(approximation || exact)."""
    return frame.divergences["kl_reverse"]


@metric("cross_entropy", "cross entropy", "nats", 4, planar, always=True)
@on_axis("cross_entropy", "Cross entropy", "cross entropy −E log q (nats)", log=False, colour="exact")
def _cross_entropy(frame: Frame) -> float | None:
    """-E_exact log approximation."""
    return frame.divergences["cross_entropy"]


@metric("mass_outside", "mass outside", "share", 6, planar, always=True, ranks=False)
@on_axis("", log=False, limits=(0.0, 1.0), colour="approximate")
def _mass_outside(frame: Frame) -> float | None:
    """of the approximation, outside the grid."""
    return frame.divergences["mass_outside"]


# The modes of an exact posterior, their basins, and the mass of an approximation in each basin.
#
# Ours. A mode's basin is the set of cells from which one reaches its peak by going up (a watershed of log p on a grid
# over each box of the posterior). A peak that rises less than one nat above the pass to a higher one is not a mode of
# its own, nor is one with less than a hundredth of the mass. Cells more than 30 nats below the highest peak belong to
# no basin: what an approximation puts there counts for no mode: the masses add up to at most 1.

PROMINENCE = 1.0  # nats
MIN_MASS = 0.01
ROUNDING = 1e-12
NOWHERE = -1


@dataclass(frozen=True, eq=False)
class Modes:
    """Peaks (k, d) by their first coordinate, the exact mass (k,) of each basin, and the cells that belong to it."""

    peaks: Array
    masses: Array
    grids: tuple[Grid, ...]
    labels: tuple[Array, ...]  # one a grid: the mode of each cell, or NOWHERE

    def masses_of(self, density: Density) -> list[float]:
        """The mass of `density` in each basin; their sum is at most 1. Kernels narrower than a cell are widened."""
        found = np.zeros(len(self.peaks))
        for grid, labels in zip(self.grids, self.labels, strict=True):
            inside = labels != NOWHERE
            limit = CELLS_PER_SD / grid.side
            wide = density if density.narrowest(grid.extent) >= limit else density.widened(limit, grid.extent)
            found += np.bincount(labels[inside], wide.on_grid(grid)[inside] * grid.cell_volume, len(found))
        return [float(mass) for mass in found / max(1.0, found.sum() * (1 + ROUNDING))]


def modes(target: Target) -> Modes | None:
    """The modes of the target's exact posterior; None where that is not known on a grid (above two dimensions)."""
    exact = target.planar
    return None if exact is None else once(target, "modes", lambda: _found(exact))


def _found(exact: Exact) -> Modes:
    dim = len(exact.box)
    sides = [side_for(dim, exact.narrowest(_extent(box)), FINER_SIDES) for box in exact.boxes]
    grids = tuple(Grid(box, side or FINER_SIDES[dim][-1]) for box, side in zip(exact.boxes, sides, strict=True))
    values = [exact.on_grid(grid) for grid in grids]
    least = max(float(log_p.max()) for log_p in values) - NATS_BOXED
    basins = [watershed(log_p, least) for log_p in values]
    peaks: list[Array] = []
    masses: list[float] = []
    labels = [np.full(grid.shape, NOWHERE) for grid in grids]
    for place, (grid, log_p, basin) in enumerate(zip(grids, values, basins, strict=True)):
        for label in range(basin.max() + 1):
            cells = basin == label
            mass = float(np.exp(log_p[cells]).sum()) * grid.cell_volume
            if mass >= MIN_MASS:
                labels[place][cells] = len(peaks)
                peaks.append(grid.points[np.where(cells, log_p, -np.inf).argmax()])
                masses.append(mass)
    found = np.array(peaks)
    order = np.lexsort(found.T[::-1])
    # The last one means NOWHERE, which is -1; bytes, because the labels of many targets are kept.
    places = np.append(np.argsort(order), NOWHERE).astype(np.int8)
    shares = np.array(masses) / max(1.0, np.sum(masses))
    return Modes(found[order], shares[order], grids, tuple(places[one] for one in labels))


def watershed(log_p: Array, least: float) -> Array:
    """The basin of each cell of a grid in one or two dimensions, numbered by the height of their peaks.

    Cells at or below `least` are NOWHERE. Cells are taken from the highest down; each joins the basin of its highest
    neighbour, and where two basins meet the lower one ends if it rises less than PROMINENCE above the pass.
    """
    padded = np.pad(log_p, 1, constant_values=-np.inf)
    flat = padded.ravel()
    steps = np.unique(sum(np.meshgrid(*[(-s // padded.itemsize, 0, s // padded.itemsize) for s in padded.strides])))
    order = np.flatnonzero(flat > least)
    order = order[np.argsort(-flat[order], kind="stable")]
    basin = np.full(len(flat), NOWHERE)
    parents: list[int] = []
    heights: list[float] = []

    def root(label: int) -> int:
        while parents[label] != label:
            label = parents[label]
        return label

    for cell in order:
        around = cell + steps
        around = around[basin[around] != NOWHERE]
        if not len(around):
            basin[cell] = len(parents)
            parents.append(len(parents))
            heights.append(flat[cell])
            continue
        basin[cell] = basin[around[flat[around].argmax()]]
        for lower in sorted({root(label) for label in basin[around].tolist()})[1:]:
            if heights[lower] - flat[cell] < PROMINENCE:
                parents[lower] = min(root(label) for label in basin[around].tolist())
    names = {label: k for k, label in enumerate(sorted({root(label) for label in range(len(parents))}))}
    final = np.array([names[root(label)] for label in range(len(parents))] + [NOWHERE])
    return final[basin].reshape(padded.shape)[(slice(1, -1),) * log_p.ndim]
