"""The difference between two entrants of a race by the metric that ranks them, against what both have spent."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np

from pmdviz.experiments.race.clock import SHORT
from pmdviz.metrics import Metric
from pmdviz.scenes.race import RaceScene
from pmdviz.scenes.race_columns import CLOCK_OF
from pmdviz.scenes.trace_columns import nice
from pmdviz.scenes.words import count, number

SETTLED = 0.1  # share of the way in which the first differences, the largest, do not make the axis


class Difference(NamedTuple):
    """The metric of the second entrant minus that of the first: below 0 the second one is closer."""

    x: np.ndarray  # of the clock
    y: np.ndarray
    metric: Metric
    titles: tuple[str, str]
    unit: str  # of the budget

    @property
    def closer(self) -> str:
        """Who is closer where both stand: its title; "" for nobody."""
        return "" if not len(self.y) or self.y[-1] == 0 else self.titles[int(self.y[-1] < 0)]

    @property
    def words(self) -> str:
        """Where both stand: "TV is 0.012 lower with PMD, bandwidth h = 2 (at 4,000 data)"; "" where that is unknown."""
        if not len(self.y):
            return ""
        name, at = self.metric.short or self.metric.title, f"at {count(self.x[-1])} {SHORT[self.unit]}"
        if not self.closer:
            return f"{name} is the same {at}"
        return f"{name} is {number(abs(float(self.y[-1])))} lower with {self.closer} ({at})"

    @property
    def reach(self) -> float:
        """How far an axis around 0 goes: it holds all but the first differences."""
        later = self.y[self.x >= SETTLED * self.x[-1]] if len(self.x) else self.y
        return nice(1.05 * float(np.abs(later).max())) if len(later) and later.any() else 1.0


def difference(
    one: Mapping[str, np.ndarray], other: Mapping[str, np.ndarray], clock: str, metric: str
) -> tuple[np.ndarray, np.ndarray]:
    """x and `other` minus `one`, wherever one of them was measured and both have come to.

    In between each is linear. Rows without a value are left out; empty where nothing is in common.
    """
    pairs = [_known(trace, clock, metric) for trace in (one, other)]
    if not all(len(x) for x, _ in pairs):
        return np.empty(0), np.empty(0)
    x = np.union1d(*(x for x, _ in pairs))
    x = x[(x >= max(each[0] for each, _ in pairs)) & (x <= min(each[-1] for each, _ in pairs))]
    first, second = (np.interp(x, *pair) for pair in pairs)
    return x, second - first


def _known(trace: Mapping[str, np.ndarray], clock: str, metric: str) -> tuple[np.ndarray, np.ndarray]:
    x, y = np.asarray(trace[clock], float), np.asarray(trace[metric], float)
    known = np.isfinite(y)
    return x[known], y[known]


def difference_of(scene: RaceScene, clock: str = "") -> Difference | None:
    """That of a race with exactly two entrants, by default against what counts as its budget; None for others."""
    if len(scene.tiles) != 2:
        return None
    metric, unit = scene.recipe.shown[0], scene.recipe.budget_unit
    x, y = difference(*(tile.trace for tile in scene.tiles), clock or CLOCK_OF[unit], metric.name)
    return Difference(x, y, metric, tuple(tile.title for tile in scene.tiles), unit)
