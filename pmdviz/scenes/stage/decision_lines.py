"""Where a classifier divides two classes: a fan of lines over the data and the predictive probability."""

from __future__ import annotations

from typing import Any

import contourpy
import numpy as np

from pmdviz.methods import Method
from pmdviz.scenes.columns import EMPTY_DOTS, EMPTY_LINE, MAX_DRAWN, Image, StageColumns, drawn_rows
from pmdviz.scenes.stage.base import Pair, Ranges, Scene
from pmdviz.targets import Target

LINES, DRAWS = 25, 200  # draws of q that have a line, and that the probability is the mean over
SIDE = 48  # cells of the picture, a side
DOT = 5.0  # px
MARGIN = 1.15  # of the data's largest coordinate

Lines = dict[str, np.ndarray]


class DecisionLinesScene(Scene):
    """In the plane of two inputs: where P(y = 1 | x, theta) = 1/2 for draws of q, over the mean of P over q.

    Of more than two inputs the others are 0. Any target that predicts a class and names its inputs has it.
    """

    name = "decision_lines"
    title = "Decision lines"
    order = 5
    legend = {
        "exact": "line of the exact mean",
        "approximate": f"lines of {LINES} draws",
        "particles": "data of class 1",
        "others": "data of class 0",
    }

    def applies(self, target: Target, method: Method) -> bool:
        """To classifiers of two inputs or more."""
        return target.predicts == "class" and len(target.input_names) > 1

    def ranges(self, target: Target, pair: Pair, top: float) -> Ranges:
        """A square that holds the data."""
        return _reach(target), _reach(target)

    def axis_labels(self, target: Target, pair: Pair) -> tuple[str, str]:
        """The inputs' names."""
        first, second, *others = target.input_names
        return first, f"{second} ({len(others)} other inputs at 0)" if others else second

    def columns(self, frame: Any, pair: Pair, limit: int = MAX_DRAWN) -> StageColumns:
        """Lines, data, and the predictive probability."""
        target, x = frame.target, _plane(frame.target)
        axis = np.unique(x[:, 0])
        chances = target.row_mean(_some(frame.draws, DRAWS), target.rows_at(x)).reshape(-1, SIDE, SIDE)
        reference = target.reference()
        mean = None if reference is None else target.row_mean(reference.mean[None], target.rows_at(x))
        exact = EMPTY_LINE if mean is None else lines_at_half(axis, mean.reshape(1, SIDE, SIDE))
        ones, zeros = _data(target, limit)
        return StageColumns(
            exact,
            lines_at_half(axis, _some(chances, LINES)),
            ones,
            len(frame.weights),
            len(frame.weights),
            image=Image(chances.mean(axis=0).astype(np.float32), *_edges(axis)),
            others=zeros,
        )


def _reach(target: Target) -> tuple[float, float]:
    """Ends of both axes."""
    reach = MARGIN * float(np.abs(target.inputs(target.data_rows)[:, :2]).max())
    return -reach, reach


def _plane(target: Target) -> np.ndarray:
    """Inputs (SIDE^2, k) at the cells of the square, row by row from the bottom."""
    low, high = _reach(target)
    axis = low + (high - low) * (np.arange(SIDE) + 0.5) / SIDE
    x = np.zeros((SIDE * SIDE, len(target.input_names)))
    x[:, 0], x[:, 1] = np.tile(axis, SIDE), np.repeat(axis, SIDE)
    return x


def _some(rows: np.ndarray, number: int) -> np.ndarray:
    """So many of the rows, evenly spread: draws stand in the order of their parents, neighbours beside each other."""
    return rows[np.linspace(0, len(rows) - 1, number).astype(np.int64)]


def _edges(axis: np.ndarray) -> Ranges:
    half = 0.5 * (axis[1] - axis[0])
    return (float(axis[0] - half), float(axis[-1] + half)), (float(axis[0] - half), float(axis[-1] + half))


def lines_at_half(axis: np.ndarray, chances: np.ndarray) -> Lines:
    """Where each of the surfaces (n, SIDE, SIDE) is 1/2, with gaps of NaN."""
    gap, parts = np.full((1, 2), np.nan), [np.full((1, 2), np.nan)]
    for surface in chances:
        points = contourpy.contour_generator(axis, axis, surface, line_type="ChunkCombinedNan").lines(0.5)[0][0]
        parts += [] if points is None else [points, gap]
    xy = np.concatenate(parts).astype(np.float32)
    return {"x": np.ascontiguousarray(xy[:, 0]), "y": np.ascontiguousarray(xy[:, 1])}


def _data(target: Target, limit: int) -> tuple[Lines, Lines]:
    """The rows of class 1, with sizes, and those of class 0; of many a part."""
    rows = target.data_rows[drawn_rows(np.full(target.num_data, 1 / target.num_data), limit)]
    x, one = target.inputs(rows).astype(np.float32), target.outcomes(rows) > 0.5
    size = np.full(int(one.sum()), DOT, np.float32)
    nan = np.full(len(size), np.nan, np.float32)
    ones = {"x": x[one, 0], "y": x[one, 1], "size": size, "weight": nan, "log_density": nan}
    return {**EMPTY_DOTS, **ones}, {"x": x[~one, 0], "y": x[~one, 1]}
