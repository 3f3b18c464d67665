"""The traces of a race on a film frame: one metric of all entrants, the whole race's axes from the first frame on."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from pmdviz.export.film.layout import FONT, LINE, Box, FigureLayout, dash, dashes, round_ticks, set_ticks
from pmdviz.export.film.tiles_panel import LETTER, MARK_PX, MARKERS
from pmdviz.export.options import traced
from pmdviz.scenes import style, words
from pmdviz.scenes.race import CLOCK_OF, CLOCKS, Columns, RaceScene, clock_end, line_columns, spans
from pmdviz.scenes.trace_columns import log_ticks
from pmdviz.views.race_traces import UNKNOWN

TOP = 14.0  # px above the axes: there is no legend, the tiles' titles bear the lines


class RaceTracesPanel:
    """The chosen metric against the chosen clock, with the floor."""

    def __init__(self, paper: FigureLayout, box: Box, first: RaceScene, histories: Sequence[Columns]) -> None:
        recipe = first.recipe
        self.paper, self.clock = paper, paper.look.clock or CLOCK_OF[recipe.budget_unit]
        self.metric = traced(recipe, paper.look.traces)
        room = box.width - paper.borders["left"] - paper.borders["right"]
        self.label = CLOCKS[self.clock]
        if len(self.label) * LETTER * paper.text_px > room:
            self.label = self.label.replace(" (", "\n(")
        self.axes = paper.axes(
            box, top=TOP, bottom=paper.borders["bottom"] + LINE * paper.text_px * ("\n" in self.label)
        )
        self.spans = spans(dict.fromkeys([*recipe.shown, self.metric]), histories, first.floors)
        ends = [float(one[self.clock][-1]) for one in histories]
        self._set_axes(clock_end(self.clock, ends, first.budget, recipe.budget_unit))
        self._draw_floor(first.floors[self.metric.name])
        self._add_lines(len(first.tiles))
        if all(np.isnan(history[self.metric.name]).all() for history in histories):
            middle: dict[str, Any] = {"transform": self.axes.transAxes, "ha": "center", "wrap": True}
            paper.text(self.axes, 0.5, 0.5, UNKNOWN.format(self.metric.title), **middle)

    def _set_axes(self, end: float) -> None:
        low, high = self.spans[self.metric.name]
        self.axes.set_yscale("log" if self.metric.log else "linear")
        self.axes.set(xlim=(0, end), ylim=(low, high))
        ticks = round_ticks(0, end)
        letters = max(len(words.short(tick)) for tick in ticks) + 2
        most = self.axes.bbox.width / self.paper.scale / (letters * LETTER * self.paper.text_px)
        set_ticks(self.axes.xaxis, ticks[:: math.ceil(len(ticks) / max(most, 1))])
        set_ticks(self.axes.yaxis, (log_ticks if self.metric.log else round_ticks)(low, high))
        self.paper.label(self.axes, self.label, self.metric.label)

    def _draw_floor(self, floor: float | None) -> None:
        if floor is None:
            return
        look = {"color": self.paper.colours.layers["floor"], "linewidth": 1.5, "linestyle": dash("floor", 1.5)}
        self.axes.axhline(floor, **look, zorder=3)
        place = {"textcoords": "offset points", "xytext": (6, 3), "va": "bottom", "zorder": 5}
        font = {"fontsize": self.paper.text_px, "fontfamily": FONT, "color": self.paper.colours.muted}
        self.axes.annotate(f"{words.INDEPENDENT_DRAWS}: {words.number(floor)}", (0, floor), **place, **font)

    def _add_lines(self, entrants: int) -> None:
        colours, width = style.entrant_colours(self.paper.look.dark), style.LINE_WIDTH
        self.lines, self.fronts = [], []
        for k in range(entrants):
            look: dict[str, Any] = {"color": colours[k], "zorder": 4 + k / 100}
            dashed: dict[str, Any] = {"linestyle": dashes(style.ENTRANT_DASHES[k], width), "dash_capstyle": "butt"}
            (drawn,) = self.axes.plot([], [], linewidth=width, **dashed, **look)
            marker = MARKERS[style.ENTRANT_MARKERS[k]]
            (front,) = self.axes.plot([], [], marker=marker, markersize=MARK_PX, clip_on=False, **look)
            self.lines.append(drawn)
            self.fronts.append(front)
        self.moving = [*self.lines, *self.fronts]

    def show(self, scene: RaceScene) -> None:
        """Take the data of a scene."""
        for tile, drawn, front in zip(scene.tiles, self.lines, self.fronts, strict=True):
            columns = line_columns(tile.trace, self.spans)
            x, y = columns[self.clock], columns[self.metric.name]
            drawn.set_data(x, y)
            front.set_data(x[-1:], y[-1:])
