"""Grids of equal cells on which densities in one and two dimensions are compared and drawn."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from pmdviz.cached import cached_property
from pmdviz.kernels.checks import Array

CELLS_PER_SD = 1.0  # a cell is at most the narrowest sd: sums of Gaussians then err by 2 exp(-2 pi^2) = 5e-9
WIDEST_CELL = {1: 1.0, 2: 1.4}  # narrowest sds of q's kernels, by dimension: TV is then within 0.0003 of a fine grid's
Sides = dict[int, tuple[int, ...]]  # cells a side, by dimension
SIDES: Sides = {1: (512, 1024, 2048, 4096, 8192), 2: (160, 224, 320, 448, 640)}
FINER_SIDES: Sides = {1: (*SIDES[1], 32_768, 131_072), 2: (96, *SIDES[2], 900)}  # over one mode alone


@dataclass(frozen=True)
class Grid:
    """`side` equal cells along each edge of a box ((low, high), ...), one pair a dimension."""

    box: tuple[tuple[float, float], ...]
    side: int

    @cached_property
    def axes(self) -> tuple[Array, ...]:
        """Cell centres (side,) along each dimension, first coordinate first."""
        steps = (np.arange(self.side) + 0.5) / self.side
        return tuple(low + (high - low) * steps for low, high in self.box)

    @property
    def shape(self) -> tuple[int, ...]:
        """(side,) in one dimension, (rows along theta2, columns along theta1) in two."""
        return (self.side,) * len(self.box)

    @property
    def extent(self) -> Array:
        """Lengths of the box's edges (d,)."""
        return np.array([high - low for low, high in self.box])

    @property
    def cell_volume(self) -> float:
        """dA, the product of a cell's edges."""
        return float(np.prod(self.extent / self.side))

    def holds(self, points: Array) -> Array:
        """Which of the points (n, d) lie in the box, (n,)."""
        low, high = np.array(self.box).T
        return ((points >= low) & (points <= high)).all(axis=1)

    @cached_property
    def points(self) -> Array:
        """Cell centres (side^d, d) in the order of an array of `shape`."""
        mesh = np.meshgrid(*self.axes, indexing="xy")
        return np.stack([axis.ravel() for axis in mesh], axis=1)

    def points_at(self, cells: Array) -> Array:
        """Centres (n, d) of cells by their places (n,) in `points`."""
        places = np.unravel_index(cells, self.shape)[::-1]
        return np.stack([axis[at] for axis, at in zip(self.axes, places, strict=True)], axis=1)


def side_for(dim: int, narrowest: float, sides: Sides = SIDES, kernel: float = np.inf) -> int | None:
    """The smallest allowed side whose cells resolve sds of a posterior and of kernels; None if none does.

    `narrowest` and `kernel` are shares of the box.
    """
    least = min(narrowest, WIDEST_CELL[dim] * kernel)
    return next((side for side in sides[dim] if least * side >= CELLS_PER_SD), None)


def keep_sides(most: int) -> None:
    """Leave out, in this process and from now on, grids of more than `most` cells a side; the coarsest always stays."""
    for sides in (SIDES, FINER_SIDES):
        for dim, all_sides in sides.items():
            sides[dim] = tuple(side for side in all_sides if side <= most) or all_sides[:1]


def largest_side(dim: int) -> int:
    """Cells a side of the finest grid."""
    return SIDES[dim][-1]
