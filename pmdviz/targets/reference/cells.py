"""The cells that hold a density's mass, found by splitting: narrow modes in a wide box, without a fine grid over it."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from pmdviz.densities.grid import Grid
from pmdviz.errors import TargetError

LogDensity = Callable[[np.ndarray], np.ndarray]
Box = tuple[tuple[float, float], ...]

NATS_KEPT = 50.0  # cells whose log density is further below the peak hold no mass
NATS_BOXED = 30.0  # the same for the boxes that metrics are measured on
PARTS = 3  # that a cell is split into along each edge
COARSE_SIDE = {1: 512, 2: 32}
ENOUGH = {1: 4096, 2: 25_000}  # cells: 0.05 to 0.15 sd wide where there is one mode
RASTER, MAX_BOXES = 64, 8  # places along each edge where groups of cells are told apart; more groups: one box
MOST_DOUBLINGS = 40  # of a box that does not hold the mass
MAX_SPLITS = 60  # 3^-60 of the box is below rounding


class Cells(NamedTuple):
    """Equal cells: centres (n, d), log density there (n,), edges (d,)."""

    centres: np.ndarray
    values: np.ndarray
    width: np.ndarray

    @property
    def box(self) -> Box:
        """The smallest box that holds all cells."""
        low, high = self.centres.min(axis=0) - self.width / 2, self.centres.max(axis=0) + self.width / 2
        return tuple((float(a), float(b)) for a, b in zip(low, high, strict=True))


def mass_cells(log_density: LogDensity, box: Box, enough: int | None = None) -> Cells:
    """Cells with the mass of an unnormalised density (n, d) -> (n,) in `box`, in one or two dimensions.

    About `enough` of them: more than usual for a density whose mass is no blob, such as a thin ridge.
    Raises TargetError for NaN, +inf, or a density that is 0 everywhere it was asked for.
    """
    dim, grid = len(box), Grid(box, COARSE_SIDE[len(box)])
    cells = _split(log_density, Cells(grid.points, np.empty(0), grid.extent / grid.side), PARTS)
    for _ in range(MAX_SPLITS):
        kept = may_hold_mass(cells.values, PARTS**dim)
        kept |= (cells.values == -np.inf) & beside(cells, kept)  # the edge of the support may run through them
        cells = Cells(cells.centres[kept], cells.values[kept], cells.width)
        parts = int(np.ceil(((enough or ENOUGH[dim]) / len(cells.centres)) ** (1 / dim)))
        if parts <= 1:
            break
        cells = _split(log_density, cells, min(parts, PARTS))
        if parts <= PARTS:
            break
    return cells


def grown_cells(log_density: LogDensity, box: Box, enough: int | None = None) -> Cells:
    """`mass_cells` of a box that is doubled until none of them lies at its edge. Raises TargetError.

    For a density with one mode, such as a log-concave one, which is found wherever it lies.
    """
    cells = mass_cells(log_density, box, enough)
    for _ in range(MOST_DOUBLINGS):
        edges = np.array(box), np.array(cells.box)
        if (np.abs(edges[0] - edges[1]) > cells.width[:, None] / 2).all():
            break
        box = tuple((1.5 * low - 0.5 * high, 1.5 * high - 0.5 * low) for low, high in box)
        cells = mass_cells(log_density, box, enough)
    return cells


def may_hold_mass(values: np.ndarray, siblings: int) -> np.ndarray:
    """Which cells lie, or may reach, within NATS_KEPT of the peak; `siblings` in a row come from one cell.

    A narrow peak between the centres can be far above all of them, by less than the values differ among siblings:
    for a quadratic by at most a quarter of that.
    """
    families = values.reshape(-1, siblings)
    known = families > -np.inf
    highest = families.max(axis=1, keepdims=True)
    lowest = np.where(known, families, highest).min(axis=1, keepdims=True)
    spread = np.where(known.any(axis=1, keepdims=True), highest - np.where(np.isfinite(lowest), lowest, 0), -np.inf)
    reach = np.maximum(families, lowest) + spread
    return (reach >= values.max() - NATS_KEPT).ravel()  # at 1e17 nats and more, 50 make no difference


def beside(cells: Cells, chosen: np.ndarray) -> np.ndarray:
    """Which cells (n,) touch one of the chosen ones (n,), or are one."""
    places = np.rint((cells.centres - cells.centres.min(axis=0)) / cells.width).astype(np.int64) + 1
    strides = np.cumprod([1, *(places.max(axis=0) + 2)])[:-1]
    keys = places @ strides
    around = np.array(np.meshgrid(*[[-1, 0, 1]] * len(strides))).reshape(len(strides), -1).T @ strides
    return np.isin(keys, np.unique(keys[chosen][:, None] + around))


def mode_boxes(cells: Cells) -> tuple[Box, ...]:
    """Boxes that do not overlap and together hold the mass: one for each group of cells that stands apart.

    What is left out is below exp(-NATS_BOXED) of the peak. Groups are found on a raster of at most 64 places along
    each edge; boxes that overlap become one.
    """
    heavy = cells.values >= cells.values.max() - NATS_BOXED
    cells = Cells(cells.centres[heavy], cells.values[heavy], cells.width)
    low, width = np.array([pair[0] for pair in cells.box]), np.ptp(cells.box, axis=1)
    raster = np.minimum(((cells.centres - low) / width * RASTER).astype(int), RASTER - 1)
    labels = _groups(raster)
    boxes = [Cells(cells.centres[labels == k], cells.values, cells.width).box for k in range(labels.max() + 1)]
    return tuple(merged(boxes)) if len(boxes) <= MAX_BOXES else (cells.box,)


def _groups(raster: np.ndarray) -> np.ndarray:
    """Labels (n,) of the connected groups of places (n, d), diagonal neighbours included."""
    places, which = np.unique(raster, axis=0, return_inverse=True)
    numbers = {tuple(place): k for k, place in enumerate(places.tolist())}
    around = np.array(np.meshgrid(*[[-1, 0, 1]] * raster.shape[1])).reshape(raster.shape[1], -1).T
    labels, label = np.full(len(places), -1), 0
    for start in range(len(places)):
        if labels[start] >= 0:
            continue
        labels[start], waiting = label, [start]
        while waiting:
            for place in (places[waiting.pop()] + around).tolist():
                k = numbers.get(tuple(place))
                if k is not None and labels[k] < 0:
                    labels[k] = label
                    waiting.append(k)
        label += 1
    return labels[which.ravel()]


def merged(boxes: list[Box]) -> list[Box]:
    """The boxes with those that overlap made one, until none does."""
    for i, a in enumerate(boxes):
        for j, b in enumerate(boxes[:i]):
            if all(low < b[k][1] and b[k][0] < high for k, (low, high) in enumerate(a)):
                joined = tuple((min(p[0], r[0]), max(p[1], r[1])) for p, r in zip(a, b, strict=True))
                return merged([joined, *(box for k, box in enumerate(boxes) if k not in (i, j))])
    return boxes


def _split(log_density: LogDensity, cells: Cells, parts: int) -> Cells:
    width = cells.width / parts
    steps = (np.arange(parts) - (parts - 1) / 2)[:, None] * np.eye(len(width))[:, None] * width
    offsets = steps[0] if len(width) == 1 else (steps[0][:, None] + steps[1]).reshape(-1, 2)
    centres = (cells.centres[:, None] + offsets).reshape(-1, len(width))
    return Cells(centres, _checked(log_density, centres), width)


def _checked(log_density: LogDensity, points: np.ndarray) -> np.ndarray:
    values = log_density(points)
    bad = np.isnan(values) | (values == np.inf)
    if bad.any():
        theta, value = points[bad][0], values[bad][0]
        words = f"log_prior + log_likelihood is {value} at theta = {theta}, where the exact posterior is computed"
        raise TargetError(words, theta)
    if values.max() == -np.inf:
        words = "the prior times the likelihood is 0 wherever it was tried"
        raise TargetError(f"{words}, first at theta = {points[0]}; give bounds that hold the posterior", points[0])
    return values
