"""Measured error against m, T or N on log axes, with the law fitted to all points and the slopes of the bounds."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from bokeh.models import (
    ColumnDataSource,
    CustomJSHover,
    FixedTicker,
    HoverTool,
    Label,
    Legend,
    LegendItem,
    NumeralTickFormatter,
    Range1d,
)
from bokeh.plotting import figure as Figure

from pmdviz.scenes import style
from pmdviz.scenes.picture_columns import groups, line, ticks, triangle, usable
from pmdviz.views import figures

EMPTY: dict[str, list[Any]] = {"x": [], "y": []}
MARGIN = 1.4  # factor of room around the points
NUMBER_JS = "return Number(value).toPrecision(3)"


class TheoryView:
    """One Bokeh figure; `show` changes data, ranges and words."""

    def __init__(self) -> None:
        self.points, self.means, self.fit = (ColumnDataSource(data=dict(EMPTY)) for _ in range(3))
        self.means.data = {"x": [], "mean": [], "low": [], "high": []}
        self.triangles = ColumnDataSource({"xs": [], "ys": []})
        self.labels = ColumnDataSource({"x": [], "y": [], "text": []})
        self.figure = _figure("theory", "")
        figures.describe(self.figure, "Chart: measured errors and the slopes of the bounds")
        self.band = self.figure.varea("x", "low", "high", source=self.means, fill_alpha=0.18)
        self.dots = self.figure.scatter("x", "y", source=self.points, size=5, fill_alpha=0.5, line_alpha=0.0)
        self.mean = self.figure.line("x", "mean", source=self.means, line_width=style.LINE_WIDTH)
        self.law = self.figure.line("x", "y", source=self.fit, line_width=style.LINE_WIDTH, line_dash=(8, 3))
        self.bounds = self.figure.multi_line("xs", "ys", source=self.triangles, line_width=1.5, line_dash=(2, 3))
        self.words = self.figure.text("x", "y", "text", source=self.labels, x_offset=4, y_offset=2, text_baseline="top")
        self.middle = Label(x=12, y=12, x_units="screen", y_units="screen", text="")
        self.figure.add_layout(self.middle)
        self._add_legend()
        self._add_hover()
        self._reach((50.0, 2000.0), (0.02, 0.5))
        self.set_theme()

    def _add_legend(self) -> None:
        items = {"one run": [self.dots], "mean": [self.mean], "80 % of the runs": [self.band], "fit": [self.law]}
        items["slope of the bound"] = [self.bounds]
        signs = [LegendItem(label=text, renderers=r) for text, r in items.items()]
        self.legend = Legend(items=signs, visible=False, **style.LEGEND)  # without data its words would have no signs
        self.figure.add_layout(self.legend, "above")
        figures.fold_legend(self.figure, self.legend)

    def _add_hover(self) -> None:
        number = {"@x": CustomJSHover(code=NUMBER_JS), "@y": CustomJSHover(code=NUMBER_JS)}
        tips = [("x", "@x{custom}"), ("error", "@y{custom}")]
        self.figure.add_tools(HoverTool(renderers=[self.dots], tooltips=tips, formatters=number, attachment="vertical"))

    def empty(self, words: str) -> None:
        """Nothing has been measured yet; `words` say what will be here."""
        self.middle.text, self.legend.visible = words, False

    def axes(self, x: str, y: str) -> None:
        """Name the axes."""
        self.figure.xaxis.axis_label, self.figure.yaxis.axis_label = x, y

    def show(self, x: Sequence[float], y: Sequence[float], fit: Any, bounds: Sequence[tuple[str, float]]) -> None:
        """Draw all points, their mean and band, the `fit` (or None), and a triangle for each (words, slope)."""
        xs, ys = usable(x, y)
        if not len(xs):
            return
        self.middle.text, self.legend.visible = "", True
        self.points.data = {"x": xs, "y": ys}
        means = groups(xs, ys)
        self.means.data = means
        self.fit.data = line(xs, fit.intercept, fit.slope) if fit is not None else dict(EMPTY)
        drawn = [triangle(means["x"], means["mean"], slope, k) for k, (_, slope) in enumerate(bounds)]
        drawn = drawn if len(means["x"]) > 1 else []
        self.triangles.data = {key: [shape[key] for shape in drawn] for key in ("xs", "ys")}
        self.labels.data = {
            "x": [shape["xs"][0] for shape in drawn],
            "y": [shape["ys"][1] for shape in drawn],
            "text": [words for words, _ in bounds][: len(drawn)],
        }
        lowest = min([float(ys.min()), *(float(shape["ys"][1]) / 1.5 for shape in drawn)])
        self._reach((float(xs.min()), float(xs.max())), (lowest, float(ys.max())))

    def _reach(self, x: tuple[float, float], y: tuple[float, float]) -> None:
        """Ranges with room around x and y, and ticks that a log axis of less than two decades has too few of."""
        figure = self.figure
        for span, axis, (low, high) in ((figure.x_range, figure.xaxis, x), (figure.y_range, figure.yaxis, y)):
            span.update(start=low / MARGIN, end=high * MARGIN)
            axis.ticker = FixedTicker(ticks=ticks(low / MARGIN, high * MARGIN))

    def clear(self, words: str) -> None:
        """Forget what is drawn."""
        for source, data in ((self.points, EMPTY), (self.fit, EMPTY), (self.labels, {**EMPTY, "text": []})):
            source.data = dict(data)
        self.means.data = {"x": [], "mean": [], "low": [], "high": []}
        self.triangles.data = {"xs": [], "ys": []}
        self.empty(words)

    def set_theme(self, dark: bool = False, presenter: bool = False) -> None:
        """Colours of a theme and size of the labels."""
        figures.apply_theme(self.figure, dark, presenter)
        colours = style.theme(dark)
        self.dots.glyph.fill_color = colours.layers["particles"]
        self.band.glyph.fill_color = self.mean.glyph.line_color = colours.layers["exact"]
        self.law.glyph.line_color = colours.layers["approximate"]
        self.bounds.glyph.line_color = colours.muted
        px = f"{style.PRESENTER_PX if presenter else style.TEXT_PX}px"
        self.words.glyph.update(text_color=colours.muted, text_font={"value": style.FONT}, text_font_size=px)
        self.middle.update(text_color=colours.muted, text_font=style.FONT, text_font_size=px)


TERMS = {
    "proved": "allowed, as proved",
    "bound": "allowed, as printed",
    "noise": "γ²/2 ‖g‖²",
    "kept": "(1−γ) KL",
    "proved_inexactness": "εₜ, as proved",
    "measured": "measured",
}
TERM_DASHES = {
    "proved": (7, 3),
    "bound": (3, 5),
    "noise": (2, 3),
    "kept": (8, 3, 2, 3),
    "proved_inexactness": (2, 6),
    "measured": "solid",
}
TERM_COLOURS = {
    "proved": "approximate",
    "bound": "approximate",
    "noise": "floor",
    "kept": "exact",
    "proved_inexactness": "particles",
    "measured": "ink",
}
SMALLEST = 1e-5  # nats; what is smaller has no place on the log axis


class RecurrenceView:
    """Theorem 2 step by step: its terms and what was measured, on a log axis."""

    def __init__(self) -> None:
        self.source = ColumnDataSource({name: [] for name in ("t", *TERMS)})
        self.figure = _figure("recurrence", "nats", x_log=False)
        figures.describe(self.figure, "Chart: Theorem 2, term by term")
        self.lines = {
            name: self.figure.line("t", name, source=self.source, line_width=style.LINE_WIDTH, line_dash=dash)
            for name, dash in TERM_DASHES.items()
        }
        items = [LegendItem(label=TERMS[name], renderers=[line]) for name, line in self.lines.items()]
        legend = Legend(items=items, **style.LEGEND)
        self.figure.add_layout(legend, "above")
        figures.fold_legend(self.figure, legend)
        self.figure.xaxis.axis_label = "step t"
        self.set_theme()

    def show(self, rows: Sequence[Any]) -> None:
        """Draw the terms of each step."""
        columns = {name: np.array([getattr(row, name) for row in rows], float) for name in TERMS}
        columns = {name: np.where(values > SMALLEST, values, np.nan) for name, values in columns.items()}
        self.source.data = {"t": np.array([row.t for row in rows]), **columns}
        values = np.concatenate([*columns.values()])
        values = values[np.isfinite(values)]
        self.figure.x_range.update(start=0.5, end=len(rows) + 0.5)
        self.figure.y_range.update(start=float(values.min()) / 2, end=float(values.max()) * 2)

    def set_theme(self, dark: bool = False, presenter: bool = False) -> None:
        """Colours of a theme and size of the labels."""
        figures.apply_theme(self.figure, dark, presenter)
        colours = style.theme(dark)
        for name, each in self.lines.items():
            each.glyph.line_color = colours.layers[TERM_COLOURS[name]]


def _figure(name: str, y_label: str, x_log: bool = True) -> Figure:
    figure = Figure(
        name=name, x_range=Range1d(1, 10), y_range=Range1d(0.01, 1), y_axis_type="log",
        x_axis_type="log" if x_log else "linear", sizing_mode="stretch_width", height=420, tools=[],
        toolbar_location=None, output_backend="canvas", y_axis_label=y_label,
        **{f"min_border_{side}": px for side, px in style.BORDERS.items()},
    )  # fmt: skip
    figure.yaxis.formatter = NumeralTickFormatter(format="0,0.[00000]")
    figure.xaxis.formatter = NumeralTickFormatter(format="0,0")
    figure.toolbar.logo = None
    return figure
