"""What some particles of a method say of discrete states, one lattice each, over the mean of all and the exact mean."""

from __future__ import annotations

from typing import Any

import numpy as np

from pmdviz.methods import Method
from pmdviz.scenes.columns import EMPTY_DOTS, EMPTY_LINE, MAX_DRAWN, Image, StageColumns
from pmdviz.scenes.stage.base import Pair, Ranges, Scene
from pmdviz.scenes.stage.discrete.lattice import GAP, cells, framed, shape_of
from pmdviz.scenes.tiling import joined
from pmdviz.targets import Target
from pmdviz.targets.space import Discrete

ACROSS, DOWN = 4, 2  # lattices of particles
LARGER = 2  # times as large as one of theirs is that of a mean


class LatticeStripScene(Scene):
    """The eight heaviest particles, of equal ones the first, and below them the mean of all and the exact one.

    A cell is a coordinate, from the lowest value (0) to the highest (1); the first row is on top. A place stays empty
    where there are fewer particles. The means have frames: pale cells would not be seen as a lattice.
    """

    name = "lattice_strip"
    title = "Lattices of particles"
    numbered = False
    order = 9
    legend = {"exact": "exact mean", "approximate": "mean of all"}

    def applies(self, target: Target, method: Method) -> bool:
        """To particles that are discrete states."""
        return isinstance(target.space, Discrete) and method.family == "particles"

    def ranges(self, target: Target, pair: Pair, top: float) -> Ranges:
        """Square cells."""
        width, height = _extent(target)
        half = max(width, height) / 2 + 0.5
        return (width / 2 - half, width / 2 + half), (height / 2 - half, height / 2 + half)

    def axis_labels(self, target: Target, pair: Pair) -> tuple[str, str]:
        """Which lattice is which, and what the colours say."""
        exact = " · exact mean" if target.reference() is not None else ""
        count = ACROSS * DOWN
        return f"above: {count} particles; below: mean of all{exact}", "orange: lowest value, green: highest"

    def columns(self, frame: Any, pair: Pair, limit: int = MAX_DRAWN) -> StageColumns:
        """One image of all lattices."""
        target, weights = frame.target, frame.weights
        heaviest = np.argsort(-weights, kind="stable")[: ACROSS * DOWN]
        width, height = _extent(target)
        rows, columns = shape_of(target)
        drawn = np.full((height, width), np.nan, np.float32)
        for place, state in enumerate(frame.particles[heaviest]):
            down, across = divmod(place, ACROSS)
            _put(drawn, cells(target, state), down * (rows + GAP), across * (columns + GAP))
        reference = target.reference()
        means = [frame.density.mean] + ([reference.mean] if reference is not None else [])
        frames = []
        for place, mean in enumerate(means):
            left = place * LARGER * (columns + GAP)
            frames.append(framed(left, left + LARGER * columns, LARGER * rows))
            large = cells(target, mean).repeat(LARGER, axis=0).repeat(LARGER, axis=1)
            _put(drawn, large, DOWN * (rows + GAP), left)
        image = Image(drawn[::-1].copy(), (0.0, float(width)), (0.0, float(height)))
        m = len(weights)
        return StageColumns(joined(frames[1:]) if frames[1:] else EMPTY_LINE, frames[0], EMPTY_DOTS, m, m, image=image)


def _extent(target: Target) -> tuple[int, int]:
    """Cells across and down."""
    rows, columns = shape_of(target)
    return ACROSS * (columns + GAP) - GAP, DOWN * (rows + GAP) + LARGER * rows


def _put(drawn: np.ndarray, lattice: np.ndarray, row: int, column: int) -> None:
    drawn[row : row + lattice.shape[0], column : column + lattice.shape[1]] = lattice
