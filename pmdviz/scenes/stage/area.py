"""An area that is added up step by step, beside the number that it should come to."""

from __future__ import annotations

from typing import Any

import numpy as np

from pmdviz.methods import Method
from pmdviz.methods.stein.shown import AreaUnderDiscrepancy
from pmdviz.scenes.columns import EMPTY_DOTS, EMPTY_LINE, MAX_DRAWN, StageColumns
from pmdviz.scenes.stage.base import Pair, Ranges, Scene
from pmdviz.targets import Target

POINTS = 500  # of a curve
MARGIN = 1.15


class AreaScene(Scene):
    """The sum of step KSD^2 over the run so far, and KL(q0, p) where log Z is known.

    The axis is the share of the run: of its budget, or without one of the steps so far.
    """

    name = "area"
    title = "Area under KSD²"
    order = 9
    legend = {"exact": "KL(q₀, p), by draws of q₀", "approximate": "area under KSD²"}

    def applies(self, target: Target, method: Method) -> bool:
        """To methods that add one up."""
        return isinstance(method, AreaUnderDiscrepancy)

    def ranges(self, target: Target, pair: Pair, top: float) -> Ranges:
        """The whole run; up, or where the area dives down, to `top`."""
        top = top if np.isfinite(top) and top != 0 else 1.0
        low, high = sorted((-0.1 * top, MARGIN * top))
        return (0.0, 1.0), (low, high) if top > 0 else (low, -low)

    def axis_labels(self, target: Target, pair: Pair) -> tuple[str, str]:
        """Both in words."""
        return "share of the run", "nats"

    def columns(self, frame: Any, pair: Pair, limit: int = MAX_DRAWN) -> StageColumns:
        """A curve, and a level."""
        areas, m = frame.method.areas(frame.state), len(frame.weights)
        rows = np.unique(np.linspace(0, len(areas) - 1, min(POINTS, len(areas))).astype(np.int64))
        done = min(frame.spent / frame.budget, 1.0) if frame.budget else 1.0
        shares = rows / max(len(areas) - 1, 1) * done
        curve = {"x": shares.astype(np.float32), "y": areas[rows].astype(np.float32)}
        level = _exact(frame)
        exact = EMPTY_LINE if level is None else _across(level)
        return StageColumns(exact, curve, EMPTY_DOTS, m, m, _top(areas, level))


def _exact(frame: Any) -> float | None:
    reference = frame.target.reference()
    log_z = None if reference is None else reference.log_z
    return None if log_z is None else frame.method.exact_area(frame.state, log_z)


def _across(level: float) -> dict[str, np.ndarray]:
    return {"x": np.array([0.0, 1.0], np.float32), "y": np.full(2, level, np.float32)}


def _top(areas: np.ndarray, level: float | None) -> float:
    """What the picture must hold: the level and the highest area, or one that has fallen further than both."""
    high = max(float(areas.max()), level or 0.0)
    return float(areas.min()) if -areas.min() > high else high
