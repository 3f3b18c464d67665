"""The traces of a film frame: the whole run's axes from the first frame on, lines that grow."""

from __future__ import annotations

from typing import Any

import numpy as np

from pmdviz.export.film.film import Scene
from pmdviz.export.film.layout import FONT, Box, FigureLayout, dash, line, log_ticks, round_ticks, set_ticks
from pmdviz.scenes import words
from pmdviz.scenes.trace_columns import CLOCKS, GROUPS, clock_end, over_words, trace_columns, value_range
from pmdviz.views.traces import FLOOR_WORDS, MARK_HEIGHTS, UNKNOWN

MARKERS = {"rejuvenation": "^", "limited": "v", "knob": "D"}
MARK_PX = 7.0


class TracesPanel:
    """The chosen group of traces against the chosen clock, with floors and marks."""

    def __init__(self, paper: FigureLayout, box: Box, run: Any, floors: dict[str, float | None]) -> None:
        self.paper, self.clock = paper, paper.look.clock
        self.group = GROUPS[paper.look.traces]
        self.axes = paper.axes(box)
        self.floors = {name: floors[name] for name in self.group.floors if floors[name] is not None}
        self.span = value_range(self.group, [run.history[m] for m in self.group.metrics], [*self.floors.values()])
        self._set_axes(run)
        self.lines = {
            metric: line(self.axes, metric, paper.colours.layers[metric], zorder=4) for metric in self.group.metrics
        }
        self._draw_floors()
        handles = [*self.lines.values()] + ([self.floor_line] if self.floors else [])
        names = [*self.group.metrics.values()] + (["perfect draws"] if self.floors else [])
        paper.legend(self.axes, handles, names)
        self._add_marks()
        self.over = paper.text(self.axes, 0.99, 0.99, "", transform=self.axes.transAxes, ha="right", va="top")
        self.moving = [*self.lines.values(), *self.marks.values(), self.over]

    def _set_axes(self, run: Any) -> None:
        clock = run.history[self.clock]
        self.end = clock_end(self.clock, float(clock[-1]), run.recipe.budget)
        if self.group.log:
            self.axes.set_yscale("log")
        self.axes.set(xlim=(0, self.end), ylim=self.span)
        ticks = round_ticks(0, self.end)
        set_ticks(self.axes.xaxis, ticks if len(ticks) <= 5 or self.end < 1e4 else ticks[::2])
        set_ticks(self.axes.yaxis, (log_ticks if self.group.log else round_ticks)(*self.span))
        self.paper.label(self.axes, CLOCKS[self.clock], self.group.axis_label)

    def _draw_floors(self) -> None:
        """The dashed lines of perfect draws with their words; they do not move."""
        look = {"color": self.paper.colours.layers["floor"], "linewidth": 1.5, "linestyle": dash("floor", 1.5)}
        for name, value in self.floors.items():
            self.floor_line = self.axes.axhline(value, **look, zorder=3)
            text = f"{FLOOR_WORDS[name]}: {words.number(value)}"
            place = {"textcoords": "offset points", "xytext": (6, 3), "va": "bottom", "zorder": 5}
            font = {"fontsize": self.paper.text_px, "fontfamily": FONT, "color": self.paper.colours.muted}
            self.axes.annotate(text, (0, value), **place, **font)

    def _add_marks(self) -> None:
        on_edge = self.axes.get_xaxis_transform()
        look = {"linestyle": "none", "markersize": MARK_PX, "color": self.paper.colours.muted, "zorder": 6}
        self.marks = {
            kind: self.axes.plot([], [], marker=marker, transform=on_edge, **look)[0]
            for kind, marker in MARKERS.items()
        }

    def show(self, scene: Scene) -> None:
        """Take the data of a scene."""
        columns = trace_columns(scene.history, self.group, self.span)
        for metric, drawn in self.lines.items():
            drawn.set_data(columns[self.clock], columns[metric])
        for kind, drawn in self.marks.items():
            at = [getattr(mark, self.clock) for mark in scene.marks if mark.kind == kind]
            drawn.set_data(at, np.full(len(at), MARK_HEIGHTS[kind]))
        self.over.set_text(self._said(scene))

    def _said(self, scene: Scene) -> str:
        known = [np.isfinite(np.asarray(scene.history[m], float)).any() for m in self.group.metrics]
        return over_words(scene.history, self.group) if any(known) else UNKNOWN.format(self.group.title)
