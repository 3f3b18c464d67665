"""Small multiples in one figure: where each tile lies, and how a picture gets into it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import NamedTuple

import numpy as np

GAP = 0.05  # between tiles, in widths of one
EDGE = 0.01  # round them all
NARROW_PX = 480  # narrower figures have two tiles a row
HEADS = {2: 0.34, 3: 0.24}  # height of the words over a tile, by tiles a row


class Tiling(NamedTuple):
    """`number` square tiles of side 1, `columns` of them a row; the first one at the top left has its corner at 0."""

    number: int
    columns: int

    @classmethod
    def fitting(cls, number: int, width_px: float) -> Tiling:
        """Three tiles a row, two in a narrow figure or for four of them."""
        return cls(number, 2 if width_px < NARROW_PX or number in (1, 2, 4) else 3)

    @property
    def head(self) -> float:
        """Height of the words over each tile."""
        return HEADS[self.columns]

    @property
    def rows(self) -> int:
        """Rows of tiles, at least one."""
        return max(1, -(-self.number // self.columns))

    @property
    def size(self) -> tuple[float, float]:
        """Width and height of everything."""
        width = self.columns * (1 + GAP) - GAP + 2 * EDGE
        return width, self.rows * (1 + GAP + self.head) - GAP + 2 * EDGE

    @property
    def ranges(self) -> tuple[tuple[float, float], tuple[float, float]]:
        """Where the axes of the figure begin and end."""
        width, height = self.size
        top = 1 + self.head + EDGE
        return (-EDGE, width - EDGE), (top - height, top)

    def corner(self, k: int) -> tuple[float, float]:
        """The lower left corner of tile k."""
        row, column = divmod(k, self.columns)
        return column * (1 + GAP), -row * (1 + GAP + self.head)


Ranges = tuple[tuple[float, float], tuple[float, float]]


def placed(x: np.ndarray, y: np.ndarray, ranges: Ranges, corner: tuple[float, float]) -> tuple[np.ndarray, np.ndarray]:
    """x and y of a picture with these ranges, in the tile at `corner`; NaN outside of it."""
    (x0, x1), (y0, y1) = ranges
    across, up = (np.asarray(x, float) - x0) / (x1 - x0), (np.asarray(y, float) - y0) / (y1 - y0)
    with np.errstate(invalid="ignore"):
        outside = (across < 0) | (across > 1) | (up < 0) | (up > 1)
    across, up = np.where(outside, np.nan, across), np.where(outside, np.nan, up)
    return (across + corner[0]).astype(np.float32), (up + corner[1]).astype(np.float32)


def joined(lines: Iterable[Mapping[str, np.ndarray]]) -> dict[str, np.ndarray]:
    """Lines (columns x, y) as one, with a gap between them; an invisible point where there are none."""
    gap = np.array([np.nan], np.float32)
    lines = list(lines)
    return {name: np.concatenate([gap, *(part for line in lines for part in (line[name], gap))]) for name in ("x", "y")}
