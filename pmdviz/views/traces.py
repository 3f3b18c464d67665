"""The traces: how far the approximation is from the exact posterior; other runs, other seeds and the cursor on them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from bokeh.models import (
    ColumnDataSource,
    CustomJSHover,
    FixedTicker,
    GlyphRenderer,
    Grid,
    HoverTool,
    Legend,
    LegendItem,
    LinearAxis,
    LinearScale,
    NumeralTickFormatter,
    Range1d,
)
from bokeh.plotting import figure as Figure

from pmdviz.experiments.seeds import SHARE, SeedRuns
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
    column,
    kinds_of,
    trace_columns,
    traces_axes,
    traces_picture,
)
from pmdviz.views import figures

NUMBER_JS = "return value >= {0} ? '> {0}' : Number(value).toPrecision(3)"
WAITING = "Press Play: {} will be drawn here"


class Standing(NamedTuple):
    """What traces show besides the run itself."""

    iteration: int | None = None  # where one stands; None at the end of what was run
    ghost: Callable[[Iterable[str]], Mapping[str, np.ndarray]] | None = None  # its history, a function of some metrics
    name: str = ""  # of the ghost, in the legend


AT_THE_END = Standing()


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
        self.seed_bands, self._seeds = SeedBands(self.figure), None
        self._bands: Bands = {}
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
        self._bands = bands_of(self._seeds, self.clock, tuple(chosen.metrics))
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
        self._set_legend(chosen, {name: each.title for name, each in chosen.metrics.items()})
        self._set_hover(chosen)
        self.follow()

    def _set_legend(self, chosen: Group, words: Mapping[str, str], kinds: Sequence[Kind] = (), ghost: str = "") -> None:
        """What there is to be seen; where that stays, so do the items: another legend is laid out anew."""
        seen = chosen.title, words, ghost, self._seeds if self._bands else None
        if seen == self._named:
            return
        self._named = seen
        items = []
        for key, (name, each) in zip(self.line_keys, chosen.metrics.items(), strict=False):
            key.glyph.update(line_dash=each.dash, line_color=self.lines[name].glyph.line_color)
            if name in words:
                items.append(LegendItem(label=words[name], renderers=[key]))
        if self.past is not None:
            items += self.past.items(ghost)
        if "floor" in words:
            items.append(LegendItem(label=words["floor"], renderers=[self.floor_key]))
        items += [LegendItem(label=kind.title, renderers=[self.mark_keys[kind]]) for kind in kinds]
        if self._seeds is not None and self._bands:
            items.append(LegendItem(label=seeds_words(self._seeds), renderers=[self.seed_bands.key]))
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
            self._bands = bands_of(runs, self.clock, tuple(self.groups[self.group].metrics))
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
        beside = self.past.values(chosen, standing) if self.past is not None else []
        beside += [band[edge] for band in self._bands.values() for edge in ("low", "high")]
        axes = traces_axes(history, chosen, self.clock, floors, budget, unit, beside)
        happened = {*expected, *(mark.kind for mark in marks)}  # of thousands of marks the newest are drawn below
        picture = traces_picture(history, chosen, self.clock, axes, floors, expected=happened)
        span, end = (picture.y.low, picture.y.high), picture.x.high
        (self.figure.y_range if chosen.log else self.figure.extra_y_ranges["linear"]).update(start=span[0], end=span[1])
        if chosen.log and picture.y.ticks != self.log_ticker.ticks:  # Bokeh's own overprint at the top
            self.log_ticker.ticks = picture.y.ticks
        self._set_x(end)
        self.seed_bands.place(end)
        columns = picture.marks[next(iter(chosen.metrics))].columns
        # Metrics of other groups keep a column, since renderers name it; the same array costs no extra bytes.
        self.put(self.source, {**dict.fromkeys(self.columns, columns["iteration"]), **columns})
        colours = {name: self.lines[name].glyph.line_color for name in self._bands}
        self.seed_bands.show(self._bands, chosen.log, span, colours)
        if self.past is not None:
            self.past.show(chosen, self.clock, history, span, standing)
        self._show_floors(picture.marks["floor"].columns["y"] if "floor" in picture.marks else [], end)
        self._show_marks(marks)
        self._set_legend(chosen, picture.legend, kinds_of((), happened), standing.name)
        middle = picture.middle
        if len(history["iteration"]) < 2:
            middle = "" if self._playing else WAITING.format(chosen.title)
        self._show_words(middle, "" if middle else picture.corner, end)

    def _set_x(self, end: float) -> None:
        x = self.figure.x_range
        if self._span_x is None or (x.start, x.end) == self._span_x:
            x.update(start=0.0, end=end)
            self._span_x = (0.0, end)

    def _show_floors(self, heights: Sequence[float], end: float) -> None:
        seen = self.floors.data
        if not np.array_equal(heights, seen["y"], equal_nan=True) or (len(heights) and seen["x"][1] < end):
            far = [0.0, end * 50, np.nan]  # an endless run asks for it seldom
            self.floors.data = {"x": np.array(far * (len(heights) // 3)), "y": np.array(heights)}

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

    def _show_words(self, text: str, over: str, end: float) -> None:
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
        figures.write(colours.muted, presenter, self.text, self.over_text, self.seed_bands.said)


def _figure() -> Figure:
    figure = figures.make("traces", zoom="width", y_axis_type="log")
    figure.extra_y_ranges = {"linear": Range1d(0, 1), "edge": Range1d(0, 1)}
    figure.extra_y_scales = {"linear": LinearScale(), "edge": LinearScale()}
    linear = LinearAxis(y_range_name="linear", name="linear_axis", visible=False)
    figure.add_layout(linear, "left")
    figure.add_layout(Grid(axis=linear, dimension=1, y_range_name="linear", visible=False))
    figure.xaxis.formatter = NumeralTickFormatter(format="0,0.[00]")
    figure.yaxis[0].formatter = NumeralTickFormatter(format="0,0.[0000]")
    return figure


# The run that a branch has left, in grey under the traces, and where one stands in the run so far.

CURSOR_PX = 1.5
NOWHERE = {"x": [], "y": []}


class PastOnTraces:
    """Grey traces of another run, and an upright line where one stands."""

    def __init__(self, figure: Figure) -> None:
        self.source, self.cursor_source = ColumnDataSource(NOWHERE), ColumnDataSource(NOWHERE)
        look: dict[str, Any] = {"line_width": style.LINE_WIDTH, "line_dash": style.DASHES["ghost"]}
        self.lines = {  # one on each axis: a renderer does not change its own
            log: figure.line("x", "y", source=self.source, name=f"ghost_{name}", y_range_name=name, **look)
            for log, name in ((True, "default"), (False, "linear"))
        }
        self.key = figure.line("x", "y", source=ColumnDataSource({"x": [np.nan], "y": [np.nan]}), **look)
        upright: dict[str, Any] = {"y_range_name": "edge", "line_width": CURSOR_PX, "name": "cursor"}
        self.cursor = figure.line("x", "y", source=self.cursor_source, **upright)
        figures.put_below(figure, figure.renderers[0].name, self.cursor, *self.lines.values())
        self._clock: tuple[np.ndarray, np.ndarray] | None = None  # of the run so far: a clock, and the iterations

    def values(self, group: Group, standing: Standing) -> list[np.ndarray]:
        """What the axis must have room for."""
        if standing.ghost is None:
            return []
        history = standing.ghost(group.metrics)
        return [column(history, name) for name in group.metrics]

    def show(
        self,
        group: Group,
        clock: str,
        history: Mapping[str, np.ndarray],
        span: tuple[float, float],
        standing: Standing,
    ) -> None:
        """Draw the ghost's traces and the cursor against `clock`, of which `history` has the run's own times."""
        self._clock = history[clock], history["iteration"]
        for log, line in self.lines.items():
            line.visible = log == group.log
        self._put(self.cursor_source, _cursor(self._clock, standing.iteration))
        self._put(self.source, _ghost(group, clock, span, standing) if standing.ghost else NOWHERE)

    def _put(self, source: ColumnDataSource, data: Mapping[str, Any]) -> None:
        same = (np.array_equal(data[name], source.data[name], equal_nan=True) for name in ("x", "y"))
        if not all(same):
            source.data = dict(data)

    def iteration_at(self, x: float) -> int | None:
        """The iteration of the run so far that is nearest to a place on the axis; None where nothing has been run."""
        if self._clock is None or len(self._clock[0]) < 2:
            return None
        return round(float(np.interp(x, *self._clock)))

    def items(self, name: str) -> list[LegendItem]:
        """What stands for the ghost in the legend, where there is little room."""
        return [LegendItem(label=name.removeprefix("the "), renderers=[self.key])] if name else []

    def set_theme(self, dark: bool) -> None:
        """The colours of the theme."""
        colours = style.theme(dark)
        for line in (*self.lines.values(), self.key):
            line.glyph.line_color = colours.layers["ghost"]
        self.cursor.glyph.line_color = colours.text


def _cursor(clock: tuple[np.ndarray, np.ndarray], iteration: int | None) -> Mapping[str, Any]:
    if iteration is None:
        return NOWHERE
    x = float(np.interp(iteration, clock[1], clock[0]))
    return {"x": [x, x], "y": [0.0, 1.0]}


def _ghost(group: Group, clock: str, span: tuple[float, float], standing: Standing) -> Mapping[str, Any]:
    """All of its lines in one, with gaps between them."""
    columns = trace_columns(standing.ghost(group.metrics), group, span)
    gap = np.full(1, np.nan, np.float32)
    return {
        "x": np.concatenate([part for _ in group.metrics for part in (columns[clock], gap)]),
        "y": np.concatenate([part for name in group.metrics for part in (columns[name], gap)]),
    }


# Bands over other seeds behind the traces: where the middle 80 % of them lie, and their median.

BAND_ALPHA, MEDIAN_ALPHA, MEDIAN_WIDTH = 0.2, 0.7, 1.2
BELOW_PX = 22  # the words below those on what is beyond the axis
NO_BAND = {"x": np.empty(0), "low": np.empty(0), "middle": np.empty(0), "high": np.empty(0)}
Bands = Mapping[str, Mapping[str, np.ndarray]]  # by the column that each is of


class _Band(NamedTuple):
    source: ColumnDataSource
    area: GlyphRenderer
    median: GlyphRenderer


class SeedBands:
    """Bands of one figure, each made when it is first needed: a renderer does not change its axis."""

    def __init__(self, figure: Figure) -> None:
        self._figure = figure
        self._made: dict[bool, list[_Band]] = {True: [], False: []}  # by whether its axis is logarithmic
        self._key: GlyphRenderer | None = None
        self._seen: tuple[Any, ...] = ()
        self.words = ColumnDataSource({"x": [1.0], "y": [1.0], "text": [""]})
        where: dict[str, Any] = {"y_range_name": "edge", "text_align": "right", "text_baseline": "top"}
        self.said = figure.text("x", "y", "text", source=self.words, x_offset=-6, y_offset=BELOW_PX, **where)

    def say(self, seeds_words: str) -> None:
        """A few words in the upper right corner; "" for none."""
        if seeds_words != self.words.data["text"][0]:
            self.words.data = {**self.words.data, "text": [seeds_words]}

    def place(self, end: float) -> None:
        """Keep the words where the x axis ends."""
        if end != self.words.data["x"][0]:
            self.words.data = {**self.words.data, "x": [end]}

    @property
    def key(self) -> GlyphRenderer:
        """What stands for them in the legend, with nothing in the picture."""
        if self._key is None:
            nowhere = ColumnDataSource({"x": [np.nan], "y": [np.nan]})
            self._key = self._figure.varea("x", "y", "y", source=nowhere, fill_alpha=BAND_ALPHA)
        return self._key

    def show(self, bands: Bands, log: bool, span: tuple[float, float], colours: Mapping[str, str]) -> None:
        """Draw these, inside the span of the axis; others are emptied. Costs nothing where nothing has changed."""
        seen = {name: id(band) for name, band in bands.items()}, log, span, colours
        if seen == self._seen:
            return
        self._seen = seen
        for axis, made in self._made.items():
            drawn = [(colours[name], band) for name, band in bands.items()] if axis == log else []
            while len(made) < len(drawn):
                made.append(self._add(axis))
            for k, band in enumerate(made):
                self._fill(band, *(drawn[k] if k < len(drawn) else (None, NO_BAND)), span)
        if bands:
            self.key.glyph.fill_color = next(iter(colours[name] for name in bands))

    def _fill(self, made: _Band, colour: str | None, band: Mapping[str, np.ndarray], span: tuple[float, float]) -> None:
        if len(band["x"]) or len(made.source.data["x"]):
            inside = {name: np.clip(band[name], *span) for name in ("low", "middle", "high")}
            made.source.data = {"x": band["x"], **inside}
        if colour is not None:
            made.area.glyph.fill_color = made.median.glyph.line_color = colour

    def _add(self, log: bool) -> _Band:
        source = ColumnDataSource(dict(NO_BAND))
        look: dict[str, Any] = {"source": source, "level": "underlay", "y_range_name": "default" if log else "linear"}
        area = self._figure.varea("x", "low", "high", fill_alpha=BAND_ALPHA, **look)
        line = {"line_alpha": MEDIAN_ALPHA, "line_width": MEDIAN_WIDTH, "line_dash": "dotted"}
        return _Band(source, area, self._figure.line("x", "middle", **line, **look))


def bands_of(runs: SeedRuns | None, clock: str, names: Sequence[str]) -> dict[str, dict[str, np.ndarray]]:
    """The bands of those columns that the runs have, against a clock."""
    found = {name: runs.band(clock, name) for name in names} if runs is not None and runs.whole else {}
    return {name: band for name, band in found.items() if len(band["x"])}


def seeds_words(runs: SeedRuns) -> str:
    """For the legend: "middle 80 % of 16 seeds"."""
    return f"middle {SHARE:.0%} of {len(runs.whole)} seeds".replace("%", "\u00a0%")
