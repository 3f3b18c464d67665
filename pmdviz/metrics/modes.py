"""The modes of an exact posterior, their basins, and the mass of an approximation in each basin.

Ours. A mode's basin is the set of cells from which one reaches its peak by going up (a watershed of log p on a grid
over each box of the posterior). A peak that rises less than one nat above the pass to a higher one is not a mode of
its own, nor is one with less than a hundredth of the mass. Cells more than 30 nats below the highest peak belong to no
basin: what an approximation puts there counts for no mode: the masses add up to at most 1.
"""

from __future__ import annotations

import threading
from dataclasses import dataclass

import numpy as np

from pmdviz.densities.density import Density
from pmdviz.densities.grid import CELLS_PER_SD, FINER_SIDES, Grid, side_for
from pmdviz.kernels.checks import Array
from pmdviz.targets import Target
from pmdviz.targets.exact import NATS_BOXED, Exact

PROMINENCE = 1.0  # nats
MIN_MASS = 0.01
ROUNDING = 1e-12
KEPT = 32  # targets whose modes are remembered
NOWHERE = -1

_known: dict[tuple, Modes | None] = {}
_lock = threading.Lock()


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
            values = _resolved(density, grid).on_grid(grid)[inside] * grid.cell_volume
            found += np.bincount(labels[inside], values, len(found))
        return [float(mass) for mass in found / max(1.0, found.sum() * (1 + ROUNDING))]


def modes(target: Target) -> Modes | None:
    """The modes of the target's exact posterior; None where that is not known on a grid (above two dimensions)."""
    key = target.key
    with _lock:
        if key not in _known:
            while len(_known) >= KEPT:
                _known.pop(next(iter(_known)))
            _known[key] = _found(target)
        return _known[key]


def _found(target: Target) -> Modes | None:
    exact = target.planar
    if exact is None:
        return None
    grids = tuple(Grid(box, _side(box, exact)) for box in exact.boxes)
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
    return _in_order(np.array(peaks), np.array(masses), grids, labels)


def _in_order(peaks: Array, masses: Array, grids: tuple[Grid, ...], labels: list[Array]) -> Modes:
    order = np.lexsort(peaks.T[::-1])
    place = np.append(np.argsort(order), NOWHERE)  # the last one means NOWHERE, which is -1
    return Modes(peaks[order], masses[order] / max(1.0, masses.sum()), grids, tuple(place[one] for one in labels))


def _side(box: tuple[tuple[float, float], ...], exact: Exact) -> int:
    extent = np.array([high - low for low, high in box])
    sides = FINER_SIDES[len(box)]
    return side_for(len(box), exact.narrowest(extent), FINER_SIDES) or sides[-1]


def _resolved(density: Density, grid: Grid) -> Density:
    limit = CELLS_PER_SD / grid.side
    return density if density.narrowest(grid.extent) >= limit else density.widened(limit, grid.extent)


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
