"""One coordinate of a few values: a bar for each, of the particles' share beside the exact probability."""

from __future__ import annotations

from typing import Any

import numpy as np

from pmdviz.methods import Method
from pmdviz.scenes.columns import EMPTY_DOTS, MAX_DRAWN, StageColumns
from pmdviz.scenes.stage.base import Pair, Ranges, Scene
from pmdviz.targets import Target

HALF, SIDE = 0.4, 0.7  # of a bar, and of the room beside the outer ones, in the least distance of two values
HEADROOM = 1.35  # times the highest exact probability

Line = dict[str, np.ndarray]


class ValueBarsScene(Scene):
    """Side by side at each value: exact, where it is known, and the approximation's share."""

    name = "value_bars"
    title = "Probabilities"
    order = 8
    legend = {"exact": "exact probability", "approximate": "share of the particles"}

    def applies(self, target: Target, method: Method) -> bool:
        """To one coordinate of discrete states."""
        return "discrete" in target.offers and target.dim == 1

    def ranges(self, target: Target, pair: Pair, top: float) -> Ranges:
        """All values."""
        values, gap = np.sort(target.space.values), _least_distance(target)
        return (values[0] - SIDE * gap, values[-1] + SIDE * gap), (0.0, HEADROOM * highest(target))

    def axis_labels(self, target: Target, pair: Pair) -> tuple[str, str]:
        """The coordinate's name."""
        return f"value of {target.parameter_names[0]}", "probability"

    def columns(self, frame: Any, pair: Pair, limit: int = MAX_DRAWN) -> StageColumns:
        """Two rows of bars."""
        target, m = frame.target, len(frame.weights)
        values, half = np.sort(target.space.values), HALF * _least_distance(target)
        exact, share = probabilities(frame)
        return StageColumns(bars(values - half, values, exact), bars(values, values + half, share), EMPTY_DOTS, m, m)


def _least_distance(target: Target) -> float:
    return float(np.diff(np.sort(target.space.values)).min())


def highest(target: Target) -> float:
    """The highest exact probability; 1 where none is known."""
    exact = target.exact
    return float(np.exp(exact.log_density(_states(target))).max()) if exact is not None else 1.0


def probabilities(frame: Any) -> tuple[np.ndarray, np.ndarray]:
    """Exact probabilities (NaN where they are not known) and the approximation's, of the values in ascending order."""
    target, q = frame.target, frame.density
    states = _states(target)
    share = ((q.particles == states[:, 0]) * q.weights[:, None]).sum(axis=0)
    exact = target.exact
    return (np.full(len(states), np.nan) if exact is None else np.exp(exact.log_density(states))), share


def _states(target: Target) -> np.ndarray:
    return np.sort(target.space.values)[:, None]


def bars(left: np.ndarray, right: np.ndarray, heights: np.ndarray, foot: float = 0.0) -> Line:
    """The outlines of bars (K,) that stand on `foot`, with gaps of NaN."""
    nan, low = np.full(len(left), np.nan), np.full(len(left), foot)
    x = np.stack([left, left, right, right, left, nan], axis=1)
    y = np.stack([low, foot + heights, foot + heights, low, low, nan], axis=1)
    return {"x": x.ravel().astype(np.float32), "y": y.ravel().astype(np.float32)}
