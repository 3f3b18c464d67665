"""The points of a page's traces: the measured history, and every frame that was drawn between its rows."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from typing import Any, NamedTuple

import numpy as np

from pmdviz.engine.recipe import Recipe
from pmdviz.scenes.trace_columns import CLOCKS, column, columns_drawn, extremes, value_of

CLOCKS_FIRST = ("iteration", *(clock for clock in CLOCKS if clock != "iteration"))
MAX_ROWS = 8_000  # of drawn frames; beyond that only where a trace turns, in half as many
ROOM = 256  # rows at first


class Points(NamedTuple):
    """The history of a run and the frames drawn so far, as they are at one moment: read by whoever shows them."""

    names: tuple[str, ...]
    history: Mapping[str, np.ndarray]
    drawn: np.ndarray  # (n, names), by iteration
    asked: np.ndarray  # (n, names), 1 for what was computed, else 0: not all is, for traces that nobody looks at

    def of(self, metrics: Iterable[str]) -> dict[str, np.ndarray]:
        """The clocks and these, at the history's rows and at the drawn frames between them that have these.

        A metric that the run has in neither is left out.
        """
        names = [*CLOCKS_FIRST, *(name for name in metrics if self._has(name))]
        places = [self.names.index(name) for name in names]
        between = (self.asked[:, places] > 0).all(axis=1) & ~np.isin(self.drawn[:, 0], self.history["iteration"])
        pairs = zip(names, self.drawn[between][:, places].T, strict=True)
        whole = {name: np.append(column(self.history, name), values) for name, values in pairs}
        order = np.argsort(whole["iteration"], kind="stable")
        found = {name: values[order] for name, values in whole.items()}
        found["seconds"] = np.maximum.accumulate(found["seconds"])  # a step that was made twice has two times
        return found

    def _has(self, name: str) -> bool:
        return name in self.history or bool(np.isfinite(self.drawn[:, self.names.index(name)]).any())


class PageTrace:
    """The drawn frames of a run, in rising order. The history of the run itself knows nothing of them."""

    def __init__(self) -> None:
        self._names = (*CLOCKS_FIRST, *columns_drawn())
        self._room = np.empty((2, ROOM, len(self._names)))  # values, and whether they were asked for
        self._length = 0
        self._recipe: Recipe | None = None

    def copy(self) -> PageTrace:
        """Another one with the same frames."""
        twin = PageTrace()
        twin._room, twin._length, twin._recipe = self._room.copy(), self._length, self._recipe
        return twin

    def put(self, frame: Any, recipe: Recipe, due: Collection[str]) -> None:
        """A frame of the run of `recipe` was drawn; what was drawn after it, or of another run, is forgotten.

        `due`: the columns that it has a value for, besides the clocks.
        """
        self._follow(recipe)
        self._cut(frame.iteration)
        asked = [name in CLOCKS_FIRST or name in due for name in self._names]
        row = [value_of(frame, name) if wanted else np.nan for name, wanted in zip(self._names, asked, strict=True)]
        if self._length == self._room.shape[1]:
            self._room = np.concatenate([self._room, np.empty_like(self._room)], axis=1)
        self._room[:, self._length] = row, asked
        self._length += 1
        if self._length > MAX_ROWS:
            left = extremes(self._rows[:, len(CLOCKS_FIRST) :].T, MAX_ROWS // 2)
            self._room, self._length = self._room[:, left], len(left)

    @property
    def _rows(self) -> np.ndarray:
        return self._room[0, : self._length]

    def _cut(self, iteration: float) -> None:
        """Forget what was drawn at `iteration` and after it."""
        left = int(np.searchsorted(self._rows[:, 0], iteration))
        if left < self._length:
            self._room, self._length = self._room.copy(), left  # what was given out stays as it was

    def _follow(self, recipe: Recipe) -> None:
        """Forget what was drawn since the first change of knobs that is not in both recipes; all, of another start."""
        before, self._recipe = self._recipe, recipe
        if before is None or before is recipe:
            return
        if before.until(0, None) != recipe.until(0, None):
            self._cut(0)
        every = *before.changes, *recipe.changes
        self._cut(min((at for at, knobs in every if not _in_both((at, knobs), before, recipe)), default=np.inf))

    def points(self, history: Mapping[str, np.ndarray]) -> Points:
        """All of them, beside the history; both are read only from here on."""
        return Points(self._names, history, *self._room[:, : self._length])


def _in_both(change: tuple[int, Any], one: Recipe, two: Recipe) -> bool:
    return change in one.changes and change in two.changes
