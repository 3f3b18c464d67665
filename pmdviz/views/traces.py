"""The traces: how far the approximation is from the exact posterior, against the observations used."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import numpy as np
from bokeh.models import (
    ColumnDataSource,
    CustomJSHover,
    FixedTicker,
    Grid,
    HoverTool,
    Legend,
    LegendItem,
    LinearAxis,
    LinearScale,
    NumeralTickFormatter,
    PanTool,
    Range1d,
    WheelZoomTool,
)
from bokeh.plotting import figure as Figure

from pmdviz.experiments.seeds import SeedRuns
from pmdviz.scenes import style
from pmdviz.scenes.columns import set_data
from pmdviz.scenes.trace_columns import (
    CLOCKS,
    GROUPS,
    KINDS,
    OTHER,
    Group,
    Kind,
    Mark,
    clock_end,
    column,
    floor_words,
    kinds_of,
    log_ticks,
    names_in,
    over_words,
    trace_columns,
    value_range,
)
from pmdviz.views import figures, seed_bands
from pmdviz.views.past import AT_THE_END, PastOnTraces, Standing

NUMBER_JS = "return value >= {0} ? '> {0}' : Number(value).toPrecision(3)"
WAITING = "Press Play: {} will be drawn here"
UNKNOWN = "{} is unavailable: the exact posterior is unknown"


class TracesView:
    """One Bokeh figure with all traces; `show` changes data, ranges and words, never the user's zoom along x.

    With a `past` it also shows where one stands in the run so far, and another run beside it.
    """

    def __init__(self, group: str = "tv", others: bool = True, past: bool = False) -> None:
        self.group, self.clock = group, "visited"
        self.groups = dict(GROUPS) if others else {group: GROUPS[group]}
        self.columns = tuple(name for each in self.groups.values() for name in each.metrics)
        self.source = ColumnDataSource({name: np.empty(0, np.float32) for name in (*CLOCKS, *self.columns)})
        self.put: Callable[[ColumnDataSource, dict[str, np.ndarray]], None] = set_data  # a live page has a shorter way
        self.floors = ColumnDataSource({"x": [], "y": []})
        self.marks = ColumnDataSource({"x": [], "y": [], "text": [], "marker": [], "iteration": []})
        self.middle = ColumnDataSource({"x": [0.5], "y": [0.5], "text": [""]})
        self.over = ColumnDataSource({"x": [], "y": [], "text": []})
        self.figure = _figure()
        figures.describe(self.figure, "Curves: how far approximation and posterior are apart, step by step")
        self.linear_axis = next(axis for axis in self.figure.left if axis.name == "linear_axis")
        self.log_ticker = self.figure.yaxis[0].ticker = FixedTicker(ticks=[])
        self.lines = {name: self._line(name, each) for each in self.groups.values() for name in each.metrics}
        look: dict[str, Any] = {"line_dash": style.DASHES["floor"], "line_width": 1.5}
        self.floor_lines = {  # one on each axis: a renderer does not change its own
            log: self.figure.line("x", "y", source=self.floors, name=f"floor_{name}", y_range_name=name, **look)
            for log, name in ((True, "default"), (False, "linear"))
        }
        edge = {"y_range_name": "edge"}
        self.mark_dots = self.figure.scatter("x", "y", source=self.marks, marker="marker", size=9, **edge)
        self._add_keys()
        self.text = self.figure.text(
            "x", "y", "text", source=self.middle, text_align="center", text_baseline="middle", **edge
        )
        self.over_text = self.figure.text(
            "x", "y", "text", source=self.over, text_align="right", text_baseline="top", y_offset=3, x_offset=-6, **edge
        )
        self._add_legend()
        self._add_hovers()
        figures.float_above(self.figure, [*self.lines.values(), self.mark_dots])
        self.seed_bands, self._seeds = seed_bands.SeedBands(self.figure), None
        self._bands: seed_bands.Bands = {}
        self.past = PastOnTraces(self.figure) if past else None
        self._named: tuple[Any, ...] = ()  # what the legend says
        self._last: tuple[Any, ...] | None = None
        self._playing = False
        self._span_x: tuple[float, float] | None = None
        self.figure.on_event("doubletap", lambda event: self.follow())
        self.choose()

    def _line(self, name: str, group: Any) -> Any:
        where = {} if group.log else {"y_range_name": "linear"}
        look = {"line_width": style.LINE_WIDTH, "line_dash": group.metrics[name].dash}
        return self.figure.line("visited", name, source=self.source, name=name, **look, **where)

    def _add_keys(self) -> None:
        """What stands for lines and marks in the legend, with nothing in the picture.

        Were it the lines themselves, BokehJS would build the whole legend anew, several times, for every new point.
        """
        most = max(len(group.metrics) for group in self.groups.values())
        nowhere = ColumnDataSource({"x": [np.nan], "y": [np.nan]})
        key: dict[str, Any] = {"x": "x", "y": "y", "source": nowhere}
        floor: dict[str, Any] = {"line_dash": style.DASHES["floor"], "line_width": 1.5}
        self.line_keys = [self.figure.line(line_width=style.LINE_WIDTH, **key) for _ in range(most)]
        self.floor_key = self.figure.line(**floor, **key)
        self.mark_keys = {
            kind: self.figure.scatter(marker=kind.marker, size=9, **key) for kind in (*KINDS.values(), OTHER)
        }

    def _add_legend(self) -> None:
        self.legend = Legend(**style.LEGEND)
        self.figure.add_layout(self.legend, "above")
        figures.fold_legend(self.figure, self.legend)

    def _add_hovers(self) -> None:
        self.hover = HoverTool(renderers=[], mode="vline", attachment="vertical", line_policy="nearest")
        self.mark_hover = HoverTool(renderers=[self.mark_dots], tooltips="@text", attachment="vertical")
        self.figure.add_tools(self.hover, self.mark_hover)

    def begin(self, on: bool) -> None:
        """Whether it plays: then an empty picture no longer says to press Play."""
        self._playing = on
        if on:
            self.middle.data = {**self.middle.data, "text": [""]}

    def choose(self, group: str | None = None, clock: str | None = None) -> None:
        """Show another group of traces (a key of GROUPS) or another x axis (a key of CLOCKS)."""
        self.group, self.clock = group or self.group, clock or self.clock
        chosen = self.groups[self.group]
        self._bands = seed_bands.bands_of(self._seeds, self.clock, tuple(chosen.metrics))
        for metric, line in self.lines.items():
            line.visible = metric in chosen.metrics
            line.glyph.x = self.clock
        for log, floor in self.floor_lines.items():
            floor.visible = log == chosen.log
        self.figure.xaxis.axis_label = CLOCKS[self.clock]
        log_axis = self.figure.yaxis[0]
        log_axis.visible, self.linear_axis.visible = chosen.log, not chosen.log
        for grid in self.figure.ygrid:
            grid.visible = grid.axis.visible
        (log_axis if chosen.log else self.linear_axis).axis_label = chosen.axis_label
        self._set_legend(chosen, tuple(chosen.metrics), {}, [])
        self._set_hover(chosen)
        self.follow()

    def _set_legend(
        self,
        chosen: Group,
        present: tuple[str, ...],
        known: Mapping[str, float],
        kinds: Sequence[Kind],
        ghost: str = "",
    ) -> None:
        """What there is to be seen; where that stays, so do the items: another legend is laid out anew."""
        seen = chosen.title, present, known, kinds, ghost, self._seeds if self._bands else None
        if seen == self._named:
            return
        self._named = seen
        items = []
        for key, (name, each) in zip(self.line_keys, chosen.metrics.items(), strict=False):
            key.glyph.update(line_dash=each.dash, line_color=self.lines[name].glyph.line_color)
            if name in present:
                items.append(LegendItem(label=each.title, renderers=[key]))
        if self.past is not None:
            items += self.past.items(ghost)
        if known:
            items.append(LegendItem(label=floor_words(chosen, known), renderers=[self.floor_key]))
        items += [LegendItem(label=kind.title, renderers=[self.mark_keys[kind]]) for kind in kinds]
        if self._seeds is not None and self._bands:
            items.append(LegendItem(label=seed_bands.words(self._seeds), renderers=[self.seed_bands.key]))
        self.legend.items = items

    def _set_hover(self, chosen: Any) -> None:
        first = next(iter(chosen.metrics))
        self.hover.renderers = [self.lines[first]]
        counted = [
            ("observations used", "visited"),
            ("likelihood evaluations", "evaluations"),
            ("iteration", "iteration"),
        ]
        self.hover.tooltips = [(words, f"@{clock}{{0,0}}") for words, clock in counted] + [
            (each.title, f"@{name}{{custom}}") for name, each in chosen.metrics.items()
        ]
        code = NUMBER_JS.format("Infinity" if np.isinf(chosen.ceiling) else f"{chosen.ceiling:.0f}")
        self.hover.formatters = {f"@{name}": CustomJSHover(code=code) for name in chosen.metrics}

    def show_seeds(self, runs: SeedRuns | None) -> None:
        """Have a band over the same run with other seeds behind each trace; None for no bands."""
        if runs is not self._seeds:
            self._seeds = runs
            self._bands = seed_bands.bands_of(runs, self.clock, tuple(self.groups[self.group].metrics))
            if self._last is not None:
                self.show(*self._last)

    def say_seeds(self, words: str) -> None:
        """A few words on the other seeds, in the upper right corner."""
        self.seed_bands.say(words)

    def follow(self) -> None:
        """Let the x axis follow the run again after the user's zoom."""
        self._span_x = None
        if self._last is not None:
            self.show(*self._last)

    def show(
        self,
        history: Mapping[str, np.ndarray] | Callable[[Iterable[str]], Mapping[str, np.ndarray]],
        floors: Mapping[str, float | None],
        marks: Sequence[Mark] = (),
        budget: int | None = None,
        unit: str = "data",
        expected: Sequence[str] = (),
        standing: Standing = AT_THE_END,
    ) -> None:
        """Draw a history (equal-length columns), the floors (floor_tv, floor_kl) and the marks of a run.

        The history may be a function of some metrics, where not every row has each of them.
        Kinds of marks that are `expected` are in the legend from the start: it does not move while the run plays.
        """
        self._last = history, floors, marks, budget, unit, expected, standing
        chosen = self.groups[self.group]
        history = history(chosen.metrics) if callable(history) else history
        known = {name: floors.get(name) for name in chosen.floors if floors.get(name) is not None}
        beside = self.past.values(chosen, standing) if self.past is not None else []
        values = [*beside, *(column(history, m) for m in chosen.metrics), *self._band_edges()]
        span = value_range(chosen, values, list(known.values()))
        (self.figure.y_range if chosen.log else self.figure.extra_y_ranges["linear"]).update(start=span[0], end=span[1])
        if chosen.log:
            self._set_log_ticks(span)
        end = self._set_x(history, budget, unit)
        self.seed_bands.place(end)
        self.put(self.source, self._padded(trace_columns(history, chosen, span)))
        self._show_bands(chosen, span)
        if self.past is not None:
            self.past.show(chosen, self.clock, history, span, standing)
        self._show_floors(known, end)
        self._show_marks(marks)
        self._set_legend(chosen, names_in(history, chosen), known, kinds_of(marks, expected), standing.name)
        self._show_words(history, chosen, end)

    def _band_edges(self) -> list[np.ndarray]:
        return [band[edge] for band in self._bands.values() for edge in ("low", "high")]

    def _show_bands(self, chosen: Group, span: tuple[float, float]) -> None:
        colours = {name: self.lines[name].glyph.line_color for name in self._bands}
        self.seed_bands.show(self._bands, chosen.log, span, colours)

    def _set_log_ticks(self, span: tuple[float, float]) -> None:
        """Those of a logarithm: within two decades Bokeh's own are evenly spaced, and overprint at the top."""
        ticks = log_ticks(*span).tolist()
        if ticks != self.log_ticker.ticks:
            self.log_ticker.ticks = ticks

    def _set_x(self, history: Mapping[str, np.ndarray], budget: int | None, unit: str) -> float:
        clock = history[self.clock]
        end = clock_end(self.clock, float(clock[-1]) if len(clock) else 0.0, budget, unit)
        x = self.figure.x_range
        if self._span_x is None or (x.start, x.end) == self._span_x:
            x.update(start=0.0, end=end)
            self._span_x = (0.0, end)
        return end

    def _padded(self, columns: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
        """Metrics of other groups keep a column (their renderers name it); the same array costs no extra bytes."""
        spare = columns["iteration"]
        return {**columns, **{name: spare for name in self.columns if name not in columns}}

    def _show_floors(self, known: Mapping[str, float], end: float) -> None:
        xs, ys = [], []
        for value in known.values():
            xs += [0.0, end * 50, np.nan]  # far: an endless run asks for it seldom
            ys += [value, value, np.nan]
        seen = self.floors.data
        if not np.array_equal(ys, seen["y"], equal_nan=True) or (len(ys) and seen["x"][1] < end):
            self.floors.data = {"x": np.array(xs), "y": np.array(ys)}

    def _show_marks(self, marks: Sequence[Mark]) -> None:
        shown = marks[-500:]
        xs = [getattr(mark, self.clock) for mark in shown]
        texts = [mark.text for mark in shown]
        if xs == list(self.marks.data["x"]) and texts == list(self.marks.data["text"]):
            return
        self.marks.data = {
            "x": xs,
            "y": [mark.look.height for mark in shown],
            "text": texts,
            "marker": [mark.look.marker for mark in shown],
            "iteration": [mark.iteration for mark in shown],
        }

    def _show_words(self, history: Mapping[str, np.ndarray], chosen: Any, end: float) -> None:
        text, over = "", ""
        if len(history["iteration"]) < 2:
            text = "" if self._playing else WAITING.format(chosen.title)
        elif all(np.isnan(column(history, m)).all() for m in chosen.metrics):
            text = UNKNOWN.format(chosen.title)
        else:
            over = over_words(history, chosen)
        middle = {"x": [end / 2], "y": [0.5], "text": [text]}
        if text != self.middle.data["text"][0] or (text and middle != self.middle.data):
            self.middle.data = middle
        if [over] != list(self.over.data["text"]):
            self.over.data = {"x": [end], "y": [1.0], "text": [over]}

    def set_theme(self, dark: bool = False, presenter: bool = False) -> None:
        """Colours of the light or the dark theme; label size for a screen or a lecture hall."""
        figures.apply_theme(self.figure, dark, presenter)
        colours = style.theme(dark)
        for group in self.groups.values():
            for name, trace in group.metrics.items():
                self.lines[name].glyph.line_color = colours.layers[trace.colour]
        for name, key in zip(self.groups[self.group].metrics, self.line_keys, strict=False):
            key.glyph.line_color = self.lines[name].glyph.line_color
        if self._last is not None and self._bands:
            self.show(*self._last)
        for floor in (*self.floor_lines.values(), self.floor_key):
            floor.glyph.line_color = colours.layers["floor"]
        if self.past is not None:
            self.past.set_theme(dark)
        for marks in (self.mark_dots, *self.mark_keys.values()):
            marks.glyph.update(fill_color=colours.muted, line_color=colours.muted)
        px = f"{style.PRESENTER_PX if presenter else style.TEXT_PX}px"
        for renderer in (self.text, self.over_text, self.seed_bands.said):
            renderer.glyph.update(text_color=colours.muted, text_font={"value": style.FONT}, text_font_size=px)


def _figure() -> Figure:
    figure = Figure(
        name="traces", x_range=Range1d(0, 1), y_range=Range1d(0.05, 10), y_axis_type="log",
        sizing_mode="stretch_width", height=480,
        **{f"min_border_{side}": px for side, px in style.BORDERS.items()},
        tools=[], toolbar_location=None, output_backend="canvas",
    )  # fmt: skip
    figure.extra_y_ranges = {"linear": Range1d(0, 1), "edge": Range1d(0, 1)}
    figure.extra_y_scales = {"linear": LinearScale(), "edge": LinearScale()}
    linear = LinearAxis(y_range_name="linear", name="linear_axis", visible=False)
    figure.add_layout(linear, "left")
    figure.add_layout(Grid(axis=linear, dimension=1, y_range_name="linear", visible=False))
    figure.xaxis.formatter = NumeralTickFormatter(format="0,0.[00]")
    figure.yaxis[0].formatter = NumeralTickFormatter(format="0,0.[0000]")
    wheel = WheelZoomTool(dimensions="width", zoom_on_axis=False)
    figure.add_tools(PanTool(dimensions="width"), wheel)
    figure.toolbar.active_scroll = wheel
    figure.toolbar.logo = None
    return figure
