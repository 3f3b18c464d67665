"""States of few values as cells of colour: the newest state, the mean under the approximation, and the exact mean."""

from __future__ import annotations

from typing import Any

import numpy as np

from pmdviz.methods import Method
from pmdviz.scenes.columns import EMPTY_DOTS, EMPTY_LINE, MAX_DRAWN, Image, StageColumns
from pmdviz.scenes.stage.base import Pair, Ranges, Scene
from pmdviz.targets import Target
from pmdviz.targets.space import Discrete

GAP = 1  # cells between two lattices


class LatticeScene(Scene):
    """Each coordinate is a cell, from the lowest value (0) to the highest (1); the first row is on top.

    The means have frames: pale cells would not be seen as a lattice.
    """

    name = "lattice"
    title = "Lattice"
    numbered = False
    order = 10
    legend = {"exact": "exact mean", "approximate": "mean of draws"}

    def applies(self, target: Target, method: Method) -> bool:
        """To discrete states."""
        return isinstance(target.space, Discrete)

    def ranges(self, target: Target, pair: Pair, top: float) -> Ranges:
        """Square cells."""
        rows, columns = shape_of(target)
        width = _panels(target) * (columns + GAP) - GAP
        half = max(rows, width) / 2 + 0.5
        return (width / 2 - half, width / 2 + half), (rows / 2 - half, rows / 2 + half)

    def axis_labels(self, target: Target, pair: Pair) -> tuple[str, str]:
        """Which lattice is which, in their order, and what the colours say."""
        exact = " · exact mean" if _panels(target) > 2 else ""
        return f"newest state · mean of draws{exact}", "orange: lowest value, green: highest"

    def columns(self, frame: Any, pair: Pair, limit: int = MAX_DRAWN) -> StageColumns:
        """One image of two or three lattices."""
        target = frame.target
        states = [frame.particles[-1], frame.density.mean]
        states += [target.reference().mean] if _panels(target) > 2 else []
        rows, columns = shape_of(target)
        gap = np.full((rows, GAP), np.nan)
        parts = [part for state in states for part in (cells(target, state)[::-1], gap)][:-1]
        drawn = np.concatenate(parts, axis=1).astype(np.float32)
        image = Image(drawn, (0.0, float(drawn.shape[1])), (0.0, float(rows)))
        m, wide = len(frame.weights), columns + GAP
        means = [framed(k * wide, k * wide + columns, rows) for k in range(1, len(states))]
        return StageColumns(means[1] if means[1:] else EMPTY_LINE, means[0], EMPTY_DOTS, m, m, image=image)


def shape_of(target: Target) -> tuple[int, int]:
    """Rows and columns; a list of states is one row."""
    shape = target.space.shape
    return (shape[0], shape[1]) if len(shape) == 2 else (1, target.dim)


def cells(target: Target, state: np.ndarray) -> np.ndarray:
    """A state or a mean of states (d,) as an array of rows and columns, the lowest value 0 and the highest 1."""
    values = np.array(target.space.values, float)
    return ((state - values.min()) / np.ptp(values)).reshape(shape_of(target))


def framed(left: float, right: float, top: float) -> dict[str, np.ndarray]:
    """The outline of a lattice that stands at 0."""
    x, y = (left, right, right, left, left), (0.0, 0.0, top, top, 0.0)
    return {"x": np.array(x, np.float32), "y": np.array(y, np.float32)}


def _panels(target: Target) -> int:
    return 3 if target.reference() is not None else 2
