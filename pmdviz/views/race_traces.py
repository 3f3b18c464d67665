"""The traces of a race: two metrics of every method against a clock, and the difference between two entrants."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
from bokeh.models import (
    CDSView,
    ColumnDataSource,
    FixedTicker,
    HoverTool,
    IndexFilter,
    Legend,
    LegendItem,
    Range1d,
    Span,
)
from bokeh.plotting import figure as Figure

from pmdviz.metrics import Metric
from pmdviz.pictures import ticks
from pmdviz.scenes import style, words
from pmdviz.scenes.columns import set_data
from pmdviz.scenes.race import CLOCKS, Columns, Difference, band, line_columns, spans
from pmdviz.scenes.trace_columns import UNKNOWN, clock_end
from pmdviz.views import figures
from pmdviz.views.traces import WAITING, Bands, SeedBands

SLOTS = ("first", "second")  # columns of the sources, whichever metrics they hold
TICKS, MANY, TICKS_OF_MANY = 5, 1e6, 3  # along x; numbers of eight digits are long


class RaceTraces:
    """A figure for each of at most two metrics, with one clock and the entrants' sources; each zooms by itself."""

    def __init__(self, metrics: Sequence[Metric]) -> None:
        empty = np.empty(0, np.float32)
        self.sources = [ColumnDataSource({name: empty for name in (*CLOCKS, *SLOTS)}) for _ in style.ENTRANTS_LIGHT]
        self.put: Callable[[ColumnDataSource, dict[str, np.ndarray]], None] = set_data
        self.clock, self.unit, self._look = "visited", "data", (False, False)
        self._rows: Sequence[Columns] = ()
        self._histories: Sequence[Sequence[Columns]] = ()
        self._floors: Mapping[str, float | None] = {}
        self._budget: int | None = None
        self._drawn = 0
        self.metrics: tuple[Metric, ...] = ()
        self.panels: dict[str, _Panel] = {}
        self.measure(metrics)

    def measure(self, metrics: Sequence[Metric]) -> bool:
        """Have figures of these metrics: new ones where they are others. Returns whether they are."""
        if self.metrics == tuple(metrics):
            return False
        self.metrics, self._rows, self._histories = tuple(metrics), (), ()
        pairs = zip(SLOTS, self.metrics, strict=False)
        self.panels = {slot: _Panel(slot, metric, self.sources) for slot, metric in pairs}
        for panel in self.panels.values():
            panel.choose(self.clock, 1.0)
        self.set_theme(*self._look)
        return True

    def show(self, rows: Sequence[Columns], floors: Mapping[str, float | None], budget: int | None) -> None:
        """Draw the entrants' measured frames (columns of clocks and metrics) and the floors of the metrics."""
        self._rows, self._budget, self._floors = rows, budget, floors
        limits = spans(self.metrics, rows, floors)
        nothing = dict.fromkeys((*CLOCKS, *SLOTS), np.empty(0, np.float32))
        for k, source in enumerate(self.sources):
            if k < len(rows):
                self.put(source, self._slotted(line_columns(rows[k], limits)))
            elif len(source.data["visited"]) or self._drawn > k:
                self.put(source, nothing)
        self._drawn = len(rows)
        end = clock_end(self.clock, max((float(one[self.clock][-1]) for one in rows), default=0.0), budget, self.unit)
        for panel in self.panels.values():
            panel.show(rows, self.clock, end, limits[panel.metric.name], floors[panel.metric.name])

    def _slotted(self, columns: Columns) -> dict[str, np.ndarray]:
        """The columns of the metrics under the names that the figures know; an empty slot has nothing but gaps."""
        names = dict(zip(SLOTS, (metric.name for metric in self.metrics), strict=False))
        gaps = np.full(len(columns["visited"]), np.nan, np.float32)
        found = {slot: columns[names[slot]] if slot in names else gaps for slot in SLOTS}
        return {clock: columns[clock] for clock in CLOCKS} | found

    def choose(self, clock: str) -> None:
        """Put all traces against another clock (a key of CLOCKS)."""
        self.clock = clock
        end = clock_end(clock, max((float(one[clock][-1]) for one in self._rows), default=0.0), self._budget, self.unit)
        for panel in self.panels.values():
            panel.choose(clock, end)
        if self._rows:
            self.show(self._rows, self._floors, self._budget)
        self.show_bands(self._histories)

    def show_bands(self, histories: Sequence[Sequence[Columns]]) -> None:
        """Bands over the seeds of each entrant; none for an empty list."""
        self._histories = histories
        for panel in self.panels.values():
            panel.show_bands(histories, self.clock)

    def set_theme(self, dark: bool = False, presenter: bool = False) -> None:
        """Colours of the light or the dark theme; label size for a screen or a lecture hall."""
        self._look = dark, presenter
        for panel in self.panels.values():
            panel.set_theme(dark, presenter)


class _Panel:
    """The figure of one metric."""

    def __init__(self, slot: str, metric: Metric, sources: Sequence[ColumnDataSource]) -> None:
        self.metric = metric
        self.figure = _traces_figure(slot, metric)
        figures.describe(self.figure, f"Curves: {metric.title} of every method")
        f = self.figure
        empty: list[float] = []
        self.lines = [
            f.line("visited", slot, source=one, line_width=style.LINE_WIDTH, line_dash=list(dash))
            for one, dash in zip(sources, style.ENTRANT_DASHES, strict=True)
        ]
        self.fronts = ColumnDataSource({"x": empty, "y": empty, "marker": [], "colour": []})
        self.marks = f.scatter(
            "x", "y", source=self.fronts, marker="marker", size=8, fill_color="colour", line_color="colour"
        )
        self.floor = ColumnDataSource({"x": empty, "y": empty})
        self.floor_line = f.line("x", "y", source=self.floor, line_dash=style.DASHES["floor"], line_width=1.5)
        self.said = ColumnDataSource({"x": [0.5], "y": [0.5], "text": [""]})
        f.extra_y_ranges = {"edge": Range1d(0, 1)}
        self.bands: SeedBands | None = None  # made when there are some: a quarter of the page's models
        self._bands: Bands = {}
        self.text = f.text(
            "x", "y", "text", source=self.said, text_align="center", text_baseline="middle", y_range_name="edge"
        )
        key = ColumnDataSource({"x": [np.nan], "y": [np.nan]})  # a sign of its own, as in `TracesView`
        self.floor_key = f.line("x", "y", source=key, line_dash=style.DASHES["floor"], line_width=1.5)
        self.legend = Legend(items=[], **style.LEGEND)
        f.add_layout(self.legend, "above")
        figures.fold_legend(f, self.legend)
        figures.float_above(f, [*self.lines, self.marks])
        counted = [("observations used", "@visited{0,0}"), ("likelihood evaluations", "@evaluations{0,0}")]
        tooltips = [("", f"@{slot}{{0.000}}"), *counted]
        f.add_tools(HoverTool(renderers=self.lines, tooltips=tooltips, attachment="vertical"))
        self._span_x: tuple[float, float] | None = None
        self._dark = False
        f.on_event("doubletap", lambda event: self._follow())

    def _follow(self) -> None:
        """Let the x axis follow the race again after the user's zoom."""
        self._span_x = None

    def show(
        self, rows: Sequence[Columns], clock: str, end: float, y: tuple[float, float], floor: float | None
    ) -> None:
        """Ranges, front markers, floor and words; the lines share the sources of all panels."""
        self.figure.y_range.update(start=y[0], end=y[1])
        if self.metric.log:
            self.figure.yaxis[0].ticker.ticks = ticks(*y, log=True)
        self._set_end(end)
        n, fronts = len(rows), [(float(one[clock][-1]), float(one[self.metric.name][-1])) for one in rows]
        self.fronts.data = {
            "x": [x for x, _ in fronts],
            "y": [min(max(value, y[0]), y[1]) for _, value in fronts],
            "marker": list(style.ENTRANT_MARKERS[:n]),
            "colour": list(style.entrant_colours(self._dark)[:n]),
        }
        self._show_floor(floor, end)
        self._say(rows, end)

    def _set_end(self, end: float) -> None:
        x, ticker = self.figure.x_range, self.figure.xaxis[0].ticker
        ticker.desired_num_ticks = TICKS if end < MANY else TICKS_OF_MANY
        if self._span_x is None or (x.start, x.end) == self._span_x:
            x.update(start=0.0, end=end)
            self._span_x = (0.0, end)

    def _show_floor(self, floor: float | None, end: float) -> None:
        known = [] if floor is None else [floor]
        data = {"x": [0.0, end] if known else [], "y": known * 2}
        if dict(self.floor.data) != data:
            self.floor.data = data
            self._name_floor(known)

    def _name_floor(self, known: Sequence[float]) -> None:
        """In the legend: beside its line the traces would cross it."""
        said = [f"{words.INDEPENDENT_DRAWS}: {words.number(value)}" for value in known]
        if said != [item.label.value for item in self.legend.items]:
            self.legend.items = [LegendItem(label=each, renderers=[self.floor_key]) for each in said]

    def _say(self, rows: Sequence[Columns], end: float) -> None:
        title, text = self.metric.title, ""
        if all(len(one["visited"]) < 2 for one in rows):
            text = WAITING.format(title) if rows else ""
        elif all(np.isnan(np.asarray(one[self.metric.name], float)).all() for one in rows):
            text = UNKNOWN.format(title)
        said = {"x": [end / 2], "y": [0.5], "text": [text]}
        if said != dict(self.said.data):
            self.said.data = said

    def choose(self, clock: str, end: float) -> None:
        """Another clock; the zoom along the old one means nothing any more."""
        self._span_x = None
        self._set_end(end)
        self.figure.xaxis.axis_label = CLOCKS[clock]
        for line in self.lines:
            line.glyph.x = clock

    def show_bands(self, histories: Sequence[Sequence[Columns]], clock: str) -> None:
        """Bands of the entrants that have histories, each in its colour."""
        found = {str(k): band(each, clock, self.metric.name) for k, each in enumerate(histories)}
        self._bands = {name: each for name, each in found.items() if len(each["x"])}
        self._draw_bands()

    def _draw_bands(self) -> None:
        colours = {str(k): colour for k, colour in enumerate(style.entrant_colours(self._dark))}
        if self._bands and self.bands is None:
            self.bands = SeedBands(self.figure)
        if self.bands is not None:
            self.bands.show(self._bands, True, (self.figure.y_range.start, self.figure.y_range.end), colours)

    def set_theme(self, dark: bool, presenter: bool) -> None:
        """Colours and label size."""
        self._dark, theme, colours = dark, style.theme(dark), style.entrant_colours(dark)
        figures.apply_theme(self.figure, dark, presenter)
        for line, colour in zip(self.lines, colours, strict=True):
            line.glyph.line_color = colour
        self._draw_bands()
        for floor in (self.floor_line, self.floor_key):
            floor.glyph.line_color = theme.layers["floor"]
        self.fronts.data = {**self.fronts.data, "colour": list(colours[: len(self.fronts.data["x"])])}
        figures.write(theme.muted, presenter, self.text)


def _traces_figure(slot: str, metric: Metric) -> Figure:
    kind = "log" if metric.log else "linear"
    figure = figures.make(f"race-{slot}", 250, "width", y_range=Range1d(*metric.limits), y_axis_type=kind)
    figure.xaxis.axis_label, figure.yaxis.axis_label = CLOCKS["visited"], metric.label
    figures.number_axes(figure, "0,0.[00]", "0,0.[0000]")
    if metric.log:
        figure.yaxis.ticker = FixedTicker(ticks=[])
    return figure


# The difference between two entrants as a figure: around 0, in the colour of who is closer.

FILL_ALPHA, LETTERS, EDGE_PX = 0.25, 44, 4
DIFFERENCE_WAITING = "Press Play: the difference will be drawn here"


class RaceDifference:
    """One figure; above 0 the first entrant is closer, below 0 the second."""

    def __init__(self) -> None:
        nothing = np.empty(0)
        self.source = ColumnDataSource(dict.fromkeys(("x", "y", "zero", "above", "below"), nothing))
        self.words = ColumnDataSource({"x": [1.0, 1.0], "y": [1.0, 0.0], "text": ["", ""]})
        self.waiting = ColumnDataSource({"x": [0.5], "y": [0.75], "text": [""]})
        self.figure = f = _difference_figure()
        figures.describe(f, "Curve: the difference between the two, step by step")
        self.areas = [
            f.varea("x", "zero", side, source=self.source, fill_alpha=FILL_ALPHA) for side in ("above", "below")
        ]
        self.zero = Span(location=0, dimension="width", line_width=1)
        f.add_layout(self.zero)
        self.line = f.line("x", "y", source=self.source, line_width=style.LINE_WIDTH)
        edge: dict[str, Any] = {"y_range_name": "edge"}
        corner: dict[str, Any] = {"text_align": "right", "x_offset": -6, **edge}
        self.said = [  # above and below: a glyph has one baseline
            f.text("x", "y", "text", source=self.words, view=_row(k), text_baseline=baseline, y_offset=offset, **corner)
            for k, (baseline, offset) in enumerate((("top", EDGE_PX), ("bottom", -EDGE_PX)))
        ]
        middle: dict[str, Any] = {"text_align": "center", "text_baseline": "middle", **edge}
        self.wait = f.text("x", "y", "text", source=self.waiting, **middle)
        f.add_tools(HoverTool(renderers=[self.line], tooltips=[("difference", "@y{0.0000}")], attachment="vertical"))

    def show(self, found: Difference, clock: str, end: float) -> None:
        """Draw a difference against a clock whose axis goes to `end`."""
        reach, y = found.reach, found.y
        inside = np.clip(y, -reach, reach)
        self.source.data = {
            "x": found.x, "y": inside, "zero": np.zeros(len(y)),
            "above": np.maximum(inside, 0), "below": np.minimum(inside, 0),
        }  # fmt: skip
        self.figure.x_range.update(start=0.0, end=end)
        self.figure.y_range.update(start=-reach, end=reach)
        self.figure.xaxis.axis_label = CLOCKS[clock]
        self.figure.yaxis.axis_label = f"difference of {found.metric.short or found.metric.title}"
        words = [f"{_short(title)} closer" for title in found.titles]
        _set(self.words, {"x": [end, end], "y": [1.0, 0.0], "text": words})
        _set(self.waiting, {"x": [end / 2], "y": [0.75], "text": ["" if len(y) > 1 else DIFFERENCE_WAITING]})

    def set_theme(self, dark: bool = False, presenter: bool = False) -> None:
        """Colours of the light or the dark theme; label size for a screen or a lecture hall."""
        figures.apply_theme(self.figure, dark, presenter)
        theme = style.theme(dark)
        for area, colour in zip(self.areas, style.entrant_colours(dark), strict=False):
            area.glyph.fill_color = colour
        self.line.glyph.line_color = self.zero.line_color = theme.layers["ink"]
        figures.write(theme.muted, presenter, *self.said, self.wait)


def _short(title: str) -> str:
    return title if len(title) <= LETTERS else title[: LETTERS - 1].rstrip(", ") + "…"


def _set(source: ColumnDataSource, data: dict[str, list[Any]]) -> None:
    if dict(source.data) != data:
        source.data = data


def _row(k: int) -> Any:
    return CDSView(filter=IndexFilter([k]))


def _difference_figure() -> Figure:
    figure = figures.make("race-difference", 250, "width", y_range=Range1d(-1, 1))
    figure.extra_y_ranges = {"edge": Range1d(0, 1)}
    figures.number_axes(figure, "0,0.[00]", "0,0.[0000]")
    return figure
