"""A Gaussian process classifier and its rows: the chance of class 1 over two features, and where it is 1/2."""

from __future__ import annotations

from typing import Any

import numpy as np

from pmdviz.methods import Method
from pmdviz.scenes.columns import EMPTY_DOTS, EMPTY_LINE, MAX_DRAWN, Image, StageColumns
from pmdviz.scenes.stage.base import Pair, Ranges, Scene
from pmdviz.scenes.stage.decision_lines import lines_at_half
from pmdviz.targets import Target

DRAWS = 8  # draws of q that the chance is a mean over, and that have a line each
SIDE = 32  # cells of the picture, a side
DOT = 5.0  # px
MARGIN = 1.15  # of the rows' largest feature


class ClassMapScene(Scene):
    """In the plane of two features: P(y = 1) as a mean over draws of q, and the lines where each draw has 1/2.

    Of more than two features the others are at their means. Any target with `chances`, `features` and `classes` has it.
    """

    name = "class_map"
    title = "Classes"
    order = 5
    legend = {
        "exact": "line of the reference's mean",
        "approximate": f"lines of {DRAWS} draws",
        "particles": "rows of class 1",
        "others": "rows of class 0",
    }

    def applies(self, target: Target, method: Method) -> bool:
        """To classifiers whose latent function is integrated out, of two features or more."""
        return hasattr(target, "chances") and len(target.feature_names) > 1

    def ranges(self, target: Target, pair: Pair, top: float) -> Ranges:
        """A square that holds the rows."""
        reach = MARGIN * float(np.abs(target.features[:, :2]).max())
        return (-reach, reach), (-reach, reach)

    def axis_labels(self, target: Target, pair: Pair) -> tuple[str, str]:
        """The features' names."""
        first, second, *others = target.feature_names
        rest = f" ({len(others)} other features at their means)" if others else ""
        return f"{first}, in sds", f"{second}, in sds{rest}"

    def columns(self, frame: Any, pair: Pair, limit: int = MAX_DRAWN) -> StageColumns:
        """Lines, rows, and the chance of class 1."""
        target, (span, _) = frame.target, self.ranges(frame.target, pair, np.nan)
        axis = span[0] + (span[1] - span[0]) * (np.arange(SIDE) + 0.5) / SIDE
        points = np.zeros((SIDE * SIDE, len(target.feature_names)))
        points[:, 0], points[:, 1] = np.tile(axis, SIDE), np.repeat(axis, SIDE)
        some = frame.draws[np.linspace(0, len(frame.draws) - 1, DRAWS).astype(np.int64)]
        mean = target.reference().mean[None]
        chances = target.chances(np.concatenate([some, mean]), points).reshape(-1, SIDE, SIDE)
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
    size = np.full(int(one.sum()), DOT, np.float32)
    nan = np.full(len(size), np.nan, np.float32)
    ones = {"x": x[one, 0], "y": x[one, 1], "size": size, "weight": nan, "log_density": nan}
    return {**EMPTY_DOTS, **ones}, {**EMPTY_LINE, "x": x[~one, 0], "y": x[~one, 1]}
