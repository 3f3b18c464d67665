"""Where a classifier divides two classes: lines over the data and the predictive probability."""

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


# A Gaussian process classifier and its rows: the chance of class 1 over two features, and where it is 1/2.

CLASS_MAP_DRAWS = 8  # draws of q that the chance is a mean over, and that have a line each
CLASS_MAP_SIDE = 32  # cells of the picture, a side
CLASS_MAP_DOT = 5.0  # px
CLASS_MAP_MARGIN = 1.15  # of the rows' largest feature


class ClassMapScene(Scene):
    """In the plane of two features: P(y = 1) as a mean over draws of q, and the lines where each draw has 1/2.

    Of more than two features the others are at their means. Any target with `chances`, `features` and `classes` has it.
    """

    name = "class_map"
    title = "Classes"
    order = 5
    legend = {
        "exact": "line of the reference's mean",
        "approximate": f"lines of {CLASS_MAP_DRAWS} draws",
        "particles": "rows of class 1",
        "others": "rows of class 0",
    }

    def applies(self, target: Target, method: Method) -> bool:
        """To classifiers whose latent function is integrated out, of two features or more."""
        return hasattr(target, "chances") and len(target.feature_names) > 1

    def ranges(self, target: Target, pair: Pair, top: float) -> Ranges:
        """A square that holds the rows."""
        reach = CLASS_MAP_MARGIN * float(np.abs(target.features[:, :2]).max())
        return (-reach, reach), (-reach, reach)

    def axis_labels(self, target: Target, pair: Pair) -> tuple[str, str]:
        """The features' names."""
        first, second, *others = target.feature_names
        rest = f" ({len(others)} other features at their means)" if others else ""
        return f"{first}, in sds", f"{second}, in sds{rest}"

    def columns(self, frame: Any, pair: Pair, limit: int = MAX_DRAWN) -> StageColumns:
        """Lines, rows, and the chance of class 1."""
        target, (span, _) = frame.target, self.ranges(frame.target, pair, np.nan)
        axis = span[0] + (span[1] - span[0]) * (np.arange(CLASS_MAP_SIDE) + 0.5) / CLASS_MAP_SIDE
        points = np.zeros((CLASS_MAP_SIDE * CLASS_MAP_SIDE, len(target.feature_names)))
        points[:, 0], points[:, 1] = np.tile(axis, CLASS_MAP_SIDE), np.repeat(axis, CLASS_MAP_SIDE)
        some = frame.draws[np.linspace(0, len(frame.draws) - 1, CLASS_MAP_DRAWS).astype(np.int64)]
        mean = target.reference().mean[None]
        chances = target.chances(np.concatenate([some, mean]), points).reshape(-1, CLASS_MAP_SIDE, CLASS_MAP_SIDE)
        ones, zeros = _rows(target)
        return StageColumns(
            lines_at_half(axis, chances[-1:]),
            lines_at_half(axis, chances[:-1]),
            ones,
            len(frame.weights),
            len(frame.weights),
            image=Image(chances[:-1].mean(axis=0).astype(np.float32), span, span),
            others=zeros,
        )


def _rows(target: Target) -> tuple[dict[str, np.ndarray], dict[str, np.ndarray]]:
    """The rows of class 1, with sizes, and those of class 0."""
    x, one = target.features.astype(np.float32), target.classes > 0
    size = np.full(int(one.sum()), CLASS_MAP_DOT, np.float32)
    nan = np.full(len(size), np.nan, np.float32)
    ones = {"x": x[one, 0], "y": x[one, 1], "size": size, "weight": nan, "log_density": nan}
    return {**EMPTY_DOTS, **ones}, {**EMPTY_LINE, "x": x[~one, 0], "y": x[~one, 1]}
