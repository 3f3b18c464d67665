"""The difference between two entrants as a figure: around 0, in the colour of who is closer."""

from __future__ import annotations

from typing import Any

import numpy as np
from bokeh.models import (
    CDSView,
    ColumnDataSource,
    HoverTool,
    IndexFilter,
    NumeralTickFormatter,
    PanTool,
    Range1d,
    Span,
    WheelZoomTool,
)
from bokeh.plotting import figure as Figure

from pmdviz.scenes import style
from pmdviz.scenes.race import CLOCKS, Difference
from pmdviz.views import figures

FILL_ALPHA, LETTERS, EDGE_PX = 0.25, 44, 4
WAITING = "Press Play: the difference will be drawn here"


class RaceDifference:
    """One figure; above 0 the first entrant is closer, below 0 the second."""

    def __init__(self) -> None:
        nothing = np.empty(0)
        self.source = ColumnDataSource(dict.fromkeys(("x", "y", "zero", "above", "below"), nothing))
        self.words = ColumnDataSource({"x": [1.0, 1.0], "y": [1.0, 0.0], "text": ["", ""]})
        self.waiting = ColumnDataSource({"x": [0.5], "y": [0.75], "text": [""]})
        self.figure = f = _figure()
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
        _set(self.waiting, {"x": [end / 2], "y": [0.75], "text": ["" if len(y) > 1 else WAITING]})

    def set_theme(self, dark: bool = False, presenter: bool = False) -> None:
        """Colours of the light or the dark theme; label size for a screen or a lecture hall."""
        figures.apply_theme(self.figure, dark, presenter)
        theme = style.theme(dark)
        for area, colour in zip(self.areas, style.entrant_colours(dark), strict=False):
            area.glyph.fill_color = colour
        self.line.glyph.line_color = self.zero.line_color = theme.layers["ink"]
        px = f"{style.PRESENTER_PX if presenter else style.TEXT_PX}px"
        for text in (*self.said, self.wait):
            text.glyph.update(text_color=theme.muted, text_font={"value": style.FONT}, text_font_size=px)


def _short(title: str) -> str:
    return title if len(title) <= LETTERS else title[: LETTERS - 1].rstrip(", ") + "…"


def _set(source: ColumnDataSource, data: dict[str, list[Any]]) -> None:
    if dict(source.data) != data:
        source.data = data


def _row(k: int) -> Any:
    return CDSView(filter=IndexFilter([k]))


def _figure() -> Figure:
    figure = Figure(
        name="race-difference", x_range=Range1d(0, 1), y_range=Range1d(-1, 1), sizing_mode="stretch_width", height=250,
        **{f"min_border_{side}": px for side, px in style.BORDERS.items()},
        tools=[], toolbar_location=None, output_backend="canvas",
    )  # fmt: skip
    figure.extra_y_ranges = {"edge": Range1d(0, 1)}
    figure.xaxis.formatter = NumeralTickFormatter(format="0,0.[00]")
    figure.yaxis.formatter = NumeralTickFormatter(format="0,0.[0000]")
    wheel = WheelZoomTool(dimensions="width", zoom_on_axis=False)
    figure.add_tools(PanTool(dimensions="width"), wheel)
    figure.toolbar.active_scroll = wheel
    figure.toolbar.logo = None
    return figure
