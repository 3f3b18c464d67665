"""An area that is added up step by step, beside the number that it should come to."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import numpy as np

from pmdviz.methods import Method
from pmdviz.methods.stein.shown import AreaUnderDiscrepancy
from pmdviz.scenes.columns import EMPTY_DOTS, EMPTY_LINE, MAX_DRAWN, StageColumns
from pmdviz.scenes.stage.base import Pair, Ranges, Scene
from pmdviz.streams import stream
from pmdviz.targets import Target

POINTS = 500  # of a curve
DRAWS, FEWEST, MAX_PAIRS = 20_000, 200, 20_000_000  # of q0; pairs of draw and datum


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
        """The whole run; from minus the level to twice that: an area that leaves the picture has missed it."""
        top = top if np.isfinite(top) and top > 0 else 1.0
        return (0.0, 1.0), (-top, 2 * top)

    def axis_labels(self, target: Target, pair: Pair) -> tuple[str, str]:
        """Both in words."""
        return "share of the run", "area under KSD² (nats)"

    def columns(self, frame: Any, pair: Pair, limit: int = MAX_DRAWN) -> StageColumns:
        """A curve, and a level."""
        areas, m = frame.method.areas(frame.state), len(frame.weights)
        rows = np.unique(np.linspace(0, len(areas) - 1, min(POINTS, len(areas))).astype(np.int64))
        done = min(frame.spent / frame.budget, 1.0) if frame.budget else 1.0
        shares = rows / max(len(areas) - 1, 1) * done
        curve = {"x": shares.astype(np.float32), "y": areas[rows].astype(np.float32)}
        level = start_divergence(frame.target)
        if level is not None and np.isfinite(level):
            return StageColumns(_across(level), curve, EMPTY_DOTS, m, m, level)
        return StageColumns(EMPTY_LINE, curve, EMPTY_DOTS, m, m, float(areas.max()) or np.nan)


def _across(level: float) -> dict[str, np.ndarray]:
    return {"x": np.array([0.0, 1.0], np.float32), "y": np.full(2, level, np.float32)}


def start_divergence(target: Target) -> float | None:
    """KL(q0, p) = E_q0 [log q0 - log p] + log Z in nats, by seeded draws of q0; None where log Z is unknown."""
    return _start_divergence(_Known(target))


class _Known:
    """A target as a key of a cache, which holds the few that are looked at."""

    def __init__(self, target: Target) -> None:
        self.target = target

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Known) and self.target.key == other.target.key

    def __hash__(self) -> int:
        return hash(self.target.key)


@lru_cache(8)
def _start_divergence(known: _Known) -> float | None:
    target = known.target
    reference = target.reference()
    if reference is None or reference.log_z is None:
        return None
    num = int(np.clip(MAX_PAIRS // target.num_data, FEWEST, DRAWS))
    draws = target.sample_prior(stream("pictures"), num)
    return float(reference.log_z - target.log_likelihood(draws, target.data_rows).mean())
