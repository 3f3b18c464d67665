"""A hidden path over time: where most of it lies under q and exactly, and the true one where it is known."""

from __future__ import annotations

from typing import Any

import numpy as np

from pmdviz.methods import Method
from pmdviz.scenes.columns import EMPTY_DOTS, EMPTY_LINE, MAX_DRAWN, StageColumns
from pmdviz.scenes.stage.base import Pair, Ranges, Scene
from pmdviz.scenes.tiling import joined
from pmdviz.targets import Target

SHARES = 0.05, 0.5, 0.95  # of the points of a time that lie below each of the three lines
POINTS = 1000  # times at most
ROOM = 0.6  # above and below the exact band, in its height
KEPT = 16  # bands

Line = dict[str, np.ndarray]
_drawn: dict[tuple, Line] = {}


class HiddenPathScene(Scene):
    """Median, 5 % and 95 % of the path at every time, under q and exactly; the path that the data were simulated from.

    Any target that says in which coordinates its path is (`path_columns`) has it. Of particles q is they themselves,
    without the smoothing of a density.
    """

    name = "hidden_path"
    title = "Hidden path"
    order = 3
    legend = {
        "prior": "true path",
        "exact": "exact median, 5 and 95 %",
        "approximate": "approximate median, 5 and 95 %",
    }

    def applies(self, target: Target, method: Method) -> bool:
        """To targets with a path."""
        return hasattr(target, "path_columns")

    def ranges(self, target: Target, pair: Pair, top: float) -> Ranges:
        """All times, and room around the exact band."""
        band = _kept(target)["y"]
        low, high = float(np.nanmin(band)), float(np.nanmax(band))
        room = ROOM * (high - low) or 1.0
        count = len(_times(target))
        side = 0.01 * target.num_data if count > 1 else 1.0
        return (1 - side, target.num_data + side), (low - room, high + room)

    def axis_labels(self, target: Target, pair: Pair) -> tuple[str, str]:
        """Time, and what the target calls its path."""
        return "t", target.path_title

    def columns(self, frame: Any, pair: Pair, limit: int = MAX_DRAWN) -> StageColumns:
        """Two bands and the true path."""
        target, m = frame.target, len(frame.weights)
        approximate = _band(target, *points_of(frame))
        true = EMPTY_LINE if target.true_path is None else _line(target, target.true_path[_times(target)])
        return StageColumns(_kept(target), approximate, EMPTY_DOTS, m, m, prior=true)


def points_of(frame: Any) -> tuple[np.ndarray, np.ndarray]:
    """Points (n, d) with weights (n,): particles or draws of a chain, of a few Gaussians draws."""
    if frame.method.family == "parametric":
        return frame.draws, np.full(len(frame.draws), 1 / len(frame.draws))
    return frame.particles, frame.weights


def _times(target: Target) -> np.ndarray:
    """Which of the path's points are drawn, from 0."""
    count = target.num_data
    return np.unique(np.linspace(0, count - 1, min(count, POINTS)).astype(np.int64))


def _band(target: Target, points: np.ndarray, weights: np.ndarray) -> Line:
    paths = points[:, target.path_columns][:, _times(target)]
    return joined(_line(target, curve) for curve in weighted_quantiles(paths, weights, SHARES))


def _line(target: Target, y: np.ndarray) -> Line:
    return {"x": (_times(target) + 1).astype(np.float32), "y": y.astype(np.float32)}


def weighted_quantiles(values: np.ndarray, weights: np.ndarray, shares: tuple[float, ...]) -> np.ndarray:
    """Of every column of values (n, k) the least value that weights (n,) of each share lie at or below: (shares, k)."""
    order = np.argsort(values, axis=0)
    below = np.cumsum(weights[order], axis=0)
    places = [np.minimum((below < share * below[-1]).sum(axis=0), len(values) - 1) for share in shares]
    columns = np.arange(values.shape[1])
    return np.array([values[order[place, columns], columns] for place in places])


def _kept(target: Target) -> Line:
    """The exact band: the SAME arrays at every frame."""
    if target.key not in _drawn:
        while len(_drawn) >= KEPT:
            _drawn.pop(next(iter(_drawn)), None)
        draws = target.reference().draws
        _drawn[target.key] = _band(target, draws, np.full(len(draws), 1 / len(draws)))
    return _drawn[target.key]
