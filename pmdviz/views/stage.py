"""The stage: exact posterior, approximation and particles of one frame."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from bokeh.models import (
    ColumnDataSource,
    HoverTool,
    Label,
    Legend,
    LegendItem,
    PanTool,
    Range1d,
    WheelZoomTool,
)
from bokeh.plotting import figure as Figure

from pmdviz.scenes import style
from pmdviz.scenes.columns import EMPTY_LINE, StageColumns, set_data, stage_columns
from pmdviz.scenes.stage import DRAWN, LAYERS, axis_labels, particles_label, ranges
from pmdviz.views import figures

TIPS = [("weight", "@weight{0.000000}"), ("log q", "@log_density{0.00} nats")]


class StageView:
    """One Bokeh figure, built once; `show(frame)` changes its data and nothing else.

    Contours are the 50, 80 and 95 % highest-density regions of each density's own mass; in one dimension the
    densities are curves and the particles a rug under them. The ranges belong to the user: only `fit` sets them.
    """

    def __init__(self, target: Any) -> None:
        self.sources = {name: ColumnDataSource(_empty(name)) for name in LAYERS}
        self.figure = _figure()
        figures.describe(self.figure, "Picture: exact posterior, approximation and particles")
        made = {name: _LAYER_GLYPHS[name](self.figure, self.sources[name], name) for name in DRAWN}
        self.layers = {name: made[name] for name in LAYERS}
        self.legend = Legend(
            items=[LegendItem(label=name, renderers=[self.layers[name]]) for name in LAYERS],
            **style.LEGEND,
        )  # fmt: skip
        self.figure.add_layout(self.legend, "above")
        figures.fold_legend(self.figure, self.legend)
        self.note = Label(x=8, y=6, x_units="screen", y_units="screen", text="", text_font=style.FONT)
        self.figure.add_layout(self.note)
        self.hover = HoverTool(renderers=[self.layers["particles"]], attachment="vertical")
        self.figure.add_tools(self.hover)
        self.put: Callable[[ColumnDataSource, dict[str, np.ndarray]], None] = set_data  # a live page has a shorter way
        self._shown: dict[str, Any] = {}
        self.look_at(target)

    def look_at(self, target: Any) -> None:
        """Take ranges, axis names and the hover's words from a target."""
        names = target.parameter_names
        flat = target.dim == 1
        self.target, self._top = target, np.nan
        self.figure.xaxis.axis_label, self.figure.yaxis.axis_label = axis_labels(target)
        theta = [(names[0], "@x{0.000}")] + ([] if flat else [(names[1], "@y{0.000}")])
        self.hover.tooltips = theta + TIPS
        self.fit()

    def fit(self) -> None:
        """Set the ranges to the target's box; the only place that touches them."""
        x, y = ranges(self.target, self._top)
        for span, (low, high) in ((self.figure.x_range, x), (self.figure.y_range, y)):
            span.update(start=low, end=high, reset_start=low, reset_end=high)

    def show(self, frame: Any) -> None:
        """Draw `frame`; drawing it twice changes nothing."""
        reason = frame.info.rejuvenated if frame.info else ""
        self.draw(stage_columns(frame), f"rejuvenated: {reason}" if reason else frame.caveat.partition(":")[0])

    def draw(self, columns: StageColumns, note: str = "") -> None:
        """Draw columns that were computed elsewhere (in a worker thread), with a note in the corner."""
        for name, data in zip(LAYERS, columns[:3], strict=True):
            if self._shown.get(name) is not data:
                self.put(self.sources[name], data)
                self._shown[name] = data
        if np.isfinite(columns.top) and not np.isfinite(self._top):
            self._top = columns.top
            self.fit()
        self._label(columns, note)

    def _label(self, columns: StageColumns, note: str) -> None:
        label = particles_label(columns)
        if self.legend.items[2].label.value != label:
            self.legend.items[2].label = {"value": label}
        if self.note.text != note:
            self.note.text = note

    def toggle(self, names: Any) -> None:
        """Show only the layers in `names`."""
        for name, renderer in self.layers.items():
            renderer.visible = name in names

    def set_theme(self, dark: bool = False, presenter: bool = False) -> None:
        """Colours of the light or the dark theme; label size for a screen or a lecture hall."""
        figures.apply_theme(self.figure, dark, presenter)
        colours = style.theme(dark)
        for name in ("exact", "approximate"):
            self.layers[name].glyph.line_color = colours.layers[name]
        dots = self.layers["particles"].glyph
        dots.update(fill_color=colours.layers["particles"], fill_alpha=colours.dots)
        self.note.text_color = colours.text
        self.note.text_font_size = f"{style.PRESENTER_PX if presenter else style.TEXT_PX}px"


def _empty(name: str) -> dict[str, np.ndarray]:
    nothing = EMPTY_LINE["x"]
    return dict.fromkeys(("x", "y", "size", "weight", "log_density"), nothing) if name == "particles" else EMPTY_LINE


def _figure() -> Figure:
    """A figure whose frame is as wide as high when its outside is (equal borders), with ranges of its own."""
    figure = Figure(
        name="stage", x_range=Range1d(-1, 1), y_range=Range1d(-1, 1), sizing_mode="stretch_width", height=480,
        **{f"min_border_{side}": px for side, px in style.BORDERS.items()},
        tools=[], toolbar_location=None, output_backend="canvas",
    )  # fmt: skip
    wheel = WheelZoomTool(zoom_on_axis=False)
    figure.add_tools(PanTool(), wheel)
    figure.toolbar.active_scroll = wheel
    figure.toolbar.logo = None
    return figure


def _line(figure: Figure, source: ColumnDataSource, name: str) -> Any:
    return figure.line("x", "y", source=source, line_width=style.LINE_WIDTH, line_dash=style.DASHES[name], name=name)


def _dots(figure: Figure, source: ColumnDataSource, name: str) -> Any:
    return figure.scatter(
        "x", "y", size="size", source=source, fill_alpha=style.LIGHT.dots, line_color=None, name=name
    )  # no outline: it would double the cost of a dot


_LAYER_GLYPHS = {"exact": _line, "approximate": _line, "particles": _dots}
