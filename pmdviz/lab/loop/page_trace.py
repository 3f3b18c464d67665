"""The points of a page's traces: the measured history, and every frame that was drawn between its rows."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from pmdviz.engine.recipe.recipe import Recipe
from pmdviz.scenes.trace_columns import CLOCKS, column, columns_drawn, extremes, value_of

CLOCKS_FIRST = ("iteration", *(clock for clock in CLOCKS if clock != "iteration"))
MAX_ROWS = 8_000  # of drawn frames; beyond that only where a trace turns, in half as many


class PageTrace:
    """The drawn frames of a run, in rising order. The history of the run itself knows nothing of them."""

    def __init__(self) -> None:
        self._names = (*CLOCKS_FIRST, *columns_drawn())
        self._rows = np.empty((0, len(self._names)))
        self._recipe: Recipe | None = None

    def put(self, frame: Any, recipe: Recipe) -> None:
        """A frame of the run of `recipe` was drawn; what was drawn after it, or of another run, is forgotten."""
        self._follow(recipe)
        self._cut(frame.iteration)
        row = np.array([value_of(frame, name) for name in self._names])
        self._rows = np.concatenate([self._rows, row[None]])
        if len(self._rows) > MAX_ROWS:
            self._rows = self._rows[extremes(self._rows[:, len(CLOCKS_FIRST) :].T, MAX_ROWS // 2)]

    def _cut(self, iteration: float) -> None:
        """Forget what was drawn at `iteration` and after it."""
        self._rows = self._rows[: np.searchsorted(self._rows[:, 0], iteration)]

    def _follow(self, recipe: Recipe) -> None:
        """Forget what was drawn since the first change of knobs that is not in both recipes; all, of another start."""
        before, self._recipe = self._recipe, recipe
        if before is None or before is recipe:
            return
        if before.until(0, None) != recipe.until(0, None):
            self._cut(0)
        every = *before.changes, *recipe.changes
        self._cut(min((at for at, knobs in every if not _in_both((at, knobs), before, recipe)), default=np.inf))

    def columns(self, history: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
        """The history's rows and the drawn frames between them, by iteration."""
        drawn = self._rows[~np.isin(self._rows[:, 0], history["iteration"])]
        pairs = zip(self._names, drawn.T, strict=True)
        whole = {name: np.append(column(history, name), values) for name, values in pairs}
        order = np.argsort(whole["iteration"], kind="stable")
        found = {name: values[order] for name, values in whole.items()}
        found["seconds"] = np.maximum.accumulate(found["seconds"])  # a step that was made twice has two times
        return found


def _in_both(change: tuple[int, Any], one: Recipe, two: Recipe) -> bool:
    return change in one.changes and change in two.changes
