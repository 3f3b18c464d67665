"""The traces of a race: two metrics of every method against a clock, and the difference between two entrants."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
from bokeh.models import ColumnDataSource

from pmdviz.metrics import METRICS, Metric
from pmdviz.scenes import style
from pmdviz.scenes.columns import set_data
from pmdviz.scenes.race import (
    CLOCKS,
    Columns,
    Difference,
    band,
    difference_picture,
    line_columns,
    spans,
    traces_picture,
)
from pmdviz.scenes.trace_columns import clock_end
from pmdviz.views.drawing import PictureFigure, Store
from pmdviz.views.traces import WAITING

SLOTS = ("first", "second")  # of the figures, whichever metrics they show
HEIGHT = 250  # px
NO_ROWS = dict.fromkeys((*CLOCKS, *SLOTS), np.empty(0, np.float32))
ROOM = [NO_ROWS] * len(style.ENTRANTS_LIGHT)  # for as many entrants as can be told apart


class RaceTraces:
    """A figure for each of at most two metrics, with one clock and the entrants' sources; each zooms by itself."""

    def __init__(self, metrics: Sequence[Metric]) -> None:
        named, entrants = {*CLOCKS, *SLOTS}, range(len(style.ENTRANTS_LIGHT))
        self.stores = {f"traces-{k}": Store(ColumnDataSource(dict(NO_ROWS)), None, {*named}) for k in entrants}
        self.sources = [store.source for store in self.stores.values()]
        self.put: Callable[[ColumnDataSource, dict[str, np.ndarray]], None] = set_data
        self.clock, self.unit, self._look = "visited", "data", (False, False)
        self._rows: Sequence[Columns] = ()
        self._histories: Sequence[Sequence[Columns]] = ()
        self._floors: Mapping[str, float | None] = {}
        self._budget: int | None = None
        self.metrics: tuple[Metric, ...] = ()
        self.panels: dict[str, RacePanel] = {}
        self.measure(metrics)

    def measure(self, metrics: Sequence[Metric]) -> bool:
        """Have figures of these metrics: new ones where they are others. Returns whether the figures are new."""
        if self.metrics == tuple(metrics):
            return False
        self.metrics, self._rows, self._histories = tuple(metrics), (), ()
        pairs = zip(SLOTS, self.metrics, strict=False)
        self.panels = {slot: RacePanel(slot, metric, self.stores, self.clock) for slot, metric in pairs}
        self.set_theme(*self._look)
        return True

    def show(self, rows: Sequence[Columns], floors: Mapping[str, float | None], budget: int | None) -> None:
        """Draw the entrants' measured frames (columns of clocks and metrics) and the floors of the metrics."""
        self._rows, self._budget, self._floors = rows, budget, floors
        limits = spans(self.metrics, rows, floors)
        end = clock_end(self.clock, max((float(one[self.clock][-1]) for one in rows), default=0.0), budget, self.unit)
        lines = [self._slotted(line_columns(one, limits)) for one in rows]
        for k, store in enumerate(self.stores.values()):
            if k >= len(rows) and store.sent is not None and store.sent is not NO_ROWS:
                store.sent = NO_ROWS
                self.put(store.source, NO_ROWS)
        for slot, panel in self.panels.items():
            panel.put = self.put
            bands = panel.bands_of(self._histories, self.clock)
            metric = panel.metric
            shown = traces_picture(rows, metric, self.clock, end, limits, floors[metric.name], bands, lines, slot)
            if rows and all(len(one["visited"]) < 2 for one in rows):
                shown = shown._replace(middle=WAITING.format(metric.title))
            panel.draw_picture(shown)

    def _slotted(self, columns: Columns) -> dict[str, np.ndarray]:
        """The columns of the metrics under the names that the figures know; an empty slot has nothing but gaps."""
        names = dict(zip(SLOTS, (metric.name for metric in self.metrics), strict=False))
        gaps = np.full(len(columns["visited"]), np.nan, np.float32)
        found = {slot: columns[names[slot]] if slot in names else gaps for slot in SLOTS}
        return {clock: columns[clock] for clock in CLOCKS} | found

    def choose(self, clock: str) -> None:
        """Put all traces against another clock (a key of CLOCKS); the zoom along the old one means nothing any more."""
        self.clock = clock
        for panel in self.panels.values():
            panel.follow()
        self.show(self._rows, self._floors or dict.fromkeys(metric.name for metric in self.metrics), self._budget)

    def show_bands(self, histories: Sequence[Sequence[Columns]]) -> None:
        """Bands over the seeds of each entrant; none for an empty list."""
        self._histories = histories
        if self._rows:
            self.show(self._rows, self._floors, self._budget)

    def set_theme(self, dark: bool = False, presenter: bool = False) -> None:
        """Colours of the light or the dark theme; label size for a screen or a lecture hall."""
        self._look = dark, presenter
        for panel in self.panels.values():
            panel.set_theme(dark, presenter)


class RacePanel(PictureFigure):
    """The figure of one metric."""

    def __init__(self, slot: str, metric: Metric, stores: Mapping[str, Store], clock: str) -> None:
        self.metric = metric
        self._bands: tuple[Any, ...] = ((), "", {})
        first = traces_picture((), metric, clock, 1.0, spans([metric], (), {metric.name: None}), None, {}, ROOM, slot)
        super().__init__(f"race-{slot}", first, "width", stores=stores, height=HEIGHT)
        self.figure.on_event("doubletap", lambda event: self.follow())

    def bands_of(self, histories: Sequence[Sequence[Columns]], clock: str) -> Mapping[str, Columns]:
        """Bands of the entrants that have histories, by number; made once."""
        if self._bands[:2] != (id(histories), clock):
            found = {str(k): band(each, clock, self.metric.name) for k, each in enumerate(histories)}
            self._bands = id(histories), clock, {name: each for name, each in found.items() if len(each["x"])}
        return self._bands[2]


class RaceDifference(PictureFigure):
    """One figure; above 0 the first entrant is closer, below 0 the second."""

    def __init__(self) -> None:
        nothing = Difference(np.empty(0), np.empty(0), METRICS["tv"], ("", ""), "data")
        super().__init__("race-difference", difference_picture(nothing, "visited", 1.0), "width", height=HEIGHT)

    def show(self, found: Difference, clock: str, end: float) -> None:
        """Draw a difference against a clock whose axis goes to `end`."""
        self.draw_picture(difference_picture(found, clock, end))
