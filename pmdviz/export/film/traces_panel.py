"""The traces of a film frame: the whole run's axes from the first frame on, lines that grow."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from pmdviz.export.film.film import Scene
from pmdviz.export.film.layout import MARKERS, Box, FigureLayout, dash, line, round_ticks, set_ticks
from pmdviz.export.options import shown_group
from pmdviz.scenes.trace_columns import (
    CLOCKS,
    GROUPS,
    KINDS,
    OTHER,
    Kind,
    budget_drawn,
    clock_end,
    column,
    floor_words,
    kinds_of,
    log_ticks,
    names_in,
    over_words,
    trace_columns,
    usual_clock,
    value_range,
)
from pmdviz.views.traces import UNKNOWN

MARK_PX = 7.0


class TracesPanel:
    """The chosen group of traces against the chosen clock, with floors and marks."""

    def __init__(self, paper: FigureLayout, box: Box, run: Any, floors: dict[str, float | None], last: Scene) -> None:
        self.paper, self.clock = paper, paper.look.clock or usual_clock(run.final.method, run.recipe.budget_unit)
        self.group = GROUPS[shown_group(run.target, run.final.method, paper.look.traces)]
        self.room, self.axes = box, paper.axes(box)
        self.floors = {name: floors[name] for name in self.group.floors if floors[name] is not None}
        values = [column(run.history, name) for name in self.group.metrics]
        self.span = value_range(self.group, values, [*self.floors.values()])
        self._set_axes(run)
        self.lines = {
            name: line(self.axes, each.dash, paper.colours.layers[each.colour], zorder=4)
            for name, each in self.group.metrics.items()
        }
        self.had = names_in(run.history, self.group)
        self._draw_floors()
        self._add_marks()
        self._add_legend(kinds_of(last.marks))
        self.over = paper.text(self.axes, 0.99, 0.99, "", transform=self.axes.transAxes, ha="right", va="top")
        self.moving = [*self.lines.values(), *self.marks.values(), self.over]

    def _set_axes(self, run: Any) -> None:
        clock = run.history[self.clock]
        budget = budget_drawn(run.final, run.recipe.budget)
        self.end = clock_end(self.clock, float(clock[-1]), budget, run.recipe.budget_unit)
        if self.group.log:
            self.axes.set_yscale("log")
        self.axes.set(xlim=(0, self.end), ylim=self.span)
        ticks = round_ticks(0, self.end)
        set_ticks(self.axes.xaxis, ticks if len(ticks) <= 5 or self.end < 1e4 else ticks[::2])
        set_ticks(self.axes.yaxis, (log_ticks if self.group.log else round_ticks)(*self.span))
        self.paper.label(self.axes, CLOCKS[self.clock], self.group.axis_label)

    def _draw_floors(self) -> None:
        """The dashed lines of independent draws; they do not move."""
        look = {"color": self.paper.colours.layers["floor"], "linewidth": 1.5, "linestyle": dash("floor", 1.5)}
        for value in self.floors.values():
            self.floor_line = self.axes.axhline(value, **look, zorder=3)

    def _add_legend(self, kinds: Sequence[Kind]) -> None:
        """The lines, and as many kinds of marks as there is room for: large type has none for all."""
        for count in range(len(kinds), -1, -1):
            box = self._legend(kinds[:count]).get_window_extent()
            if box.x0 >= self.room.x * self.paper.scale and box.x1 <= self.axes.figure.bbox.x1:
                return

    def _legend(self, kinds: Sequence[Kind]) -> Any:
        entries = {self.group.metrics[name].title: self.lines[name] for name in self.had}
        if self.floors:
            entries[floor_words(self.group, self.floors)] = self.floor_line
        entries |= {kind.title: self.marks[kind] for kind in kinds}
        return self.paper.legend(self.axes, [*entries.values()], [*entries])

    def _add_marks(self) -> None:
        on_edge = self.axes.get_xaxis_transform()
        look = {"linestyle": "none", "markersize": MARK_PX, "color": self.paper.colours.muted, "zorder": 6}
        self.marks = {
            kind: self.axes.plot([], [], marker=MARKERS[kind.marker], transform=on_edge, **look)[0]
            for kind in (*KINDS.values(), OTHER)
        }

    def show(self, scene: Scene) -> None:
        """Take the data of a scene."""
        columns = trace_columns(scene.history, self.group, self.span)
        for metric, drawn in self.lines.items():
            drawn.set_data(columns[self.clock], columns[metric])
        for kind, drawn in self.marks.items():
            shown = [mark for mark in scene.marks if mark.look == kind]
            drawn.set_data([getattr(mark, self.clock) for mark in shown], [kind.height for _ in shown])
        self.over.set_text(self._said(scene))

    def _said(self, scene: Scene) -> str:
        known = [np.isfinite(column(scene.history, m)).any() for m in self.group.metrics]
        return over_words(scene.history, self.group) if any(known) else UNKNOWN.format(self.group.title)
