"""The traces of a race: two metrics of every method against a clock, independent draws, and bands over seeds."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
from bokeh.models import (
    ColumnDataSource,
    FixedTicker,
    GlyphRenderer,
    HoverTool,
    Legend,
    LegendItem,
    NumeralTickFormatter,
    PanTool,
    Range1d,
    WheelZoomTool,
)
from bokeh.plotting import figure as Figure

from pmdviz.metrics import Metric
from pmdviz.scenes import style, words
from pmdviz.scenes.columns import set_data
from pmdviz.scenes.race import CLOCKS, Columns, band, clock_end, line_columns, spans
from pmdviz.views import figures

WAITING = "Press Play: {} will be drawn here"
UNKNOWN = "{} is unavailable: the exact posterior is unknown"
BAND_ALPHA = 0.18
SLOTS = ("first", "second")  # columns of the sources, whichever metrics they hold
TICKS, MANY, TICKS_OF_MANY = 5, 1e6, 3  # along x; numbers of eight digits are long
MAX_DECADES = 2.5  # that an axis of 1, 2, 5 times powers of ten may have


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
        end = clock_end(self.clock, [float(one[self.clock][-1]) for one in rows], budget, self.unit)
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
        end = clock_end(clock, [float(one[clock][-1]) for one in self._rows], self._budget, self.unit)
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
        self.figure = _figure(slot, metric)
        figures.describe(self.figure, f"Curves: {metric.title} of every method")
        f = self.figure
        empty: list[float] = []
        self.bands: list[ColumnDataSource] = []  # made when there are some: a quarter of the page's models
        self.areas: list[GlyphRenderer] = []
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
        """Bands of the entrants that have histories."""
        for _ in range(len(self.bands), len(histories)):
            self._add_band()
        for k, source in enumerate(self.bands):
            found = band(histories[k] if k < len(histories) else (), clock, self.metric.name)
            low, high = self.figure.y_range.start, self.figure.y_range.end
            clipped = {name: np.clip(found[name], low, high) for name in ("low", "middle", "high")}
            if len(found["x"]) or len(source.data["x"]):
                source.data = {"x": found["x"], **clipped}

    def _add_band(self) -> None:
        """Under the lines, in the colour of the next entrant."""
        empty: list[float] = []
        source = ColumnDataSource({"x": empty, "low": empty, "middle": empty, "high": empty})
        colour = style.entrant_colours(self._dark)[len(self.bands)]
        look: dict[str, Any] = {"fill_alpha": BAND_ALPHA, "fill_color": colour, "level": "underlay"}
        self.bands.append(source)
        self.areas.append(self.figure.varea("x", "low", "high", source=source, **look))

    def set_theme(self, dark: bool, presenter: bool) -> None:
        """Colours and label size."""
        self._dark, theme, colours = dark, style.theme(dark), style.entrant_colours(dark)
        figures.apply_theme(self.figure, dark, presenter)
        for line, colour in zip(self.lines, colours, strict=True):
            line.glyph.line_color = colour
        for area, colour in zip(self.areas, colours, strict=False):
            area.glyph.fill_color = colour
        for floor in (self.floor_line, self.floor_key):
            floor.glyph.line_color = theme.layers["floor"]
        self.fronts.data = {**self.fronts.data, "colour": list(colours[: len(self.fronts.data["x"])])}
        px = f"{style.PRESENTER_PX if presenter else style.TEXT_PX}px"
        self.text.glyph.update(text_color=theme.muted, text_font={"value": style.FONT}, text_font_size=px)


def _figure(slot: str, metric: Metric) -> Figure:
    kind: Any = "log" if metric.log else "linear"
    figure = Figure(
        name=f"race-{slot}", x_range=Range1d(0, 1), y_range=Range1d(*metric.limits), y_axis_type=kind,
        sizing_mode="stretch_width", height=250, **{f"min_border_{side}": px for side, px in style.BORDERS.items()},
        tools=[], toolbar_location=None, output_backend="canvas",
    )  # fmt: skip
    figure.xaxis.axis_label, figure.yaxis.axis_label = CLOCKS["visited"], metric.label
    figure.xaxis.formatter = NumeralTickFormatter(format="0,0.[00]")
    figure.yaxis.formatter = NumeralTickFormatter(format="0,0.[0000]")
    if metric.log:
        low, high = metric.limits
        steps = (1, 2, 5) if math.log10(high / low) < MAX_DECADES else (1,)
        figure.yaxis.ticker = FixedTicker(ticks=[step * 10.0**power for power in range(-6, 6) for step in steps])
    wheel = WheelZoomTool(dimensions="width", zoom_on_axis=False)
    figure.add_tools(PanTool(dimensions="width"), wheel)
    figure.toolbar.active_scroll = wheel
    figure.toolbar.logo = None
    return figure
