"""The picture of the data: all rows, the batch of the last step lit, and what q and the exact posterior predict."""

from __future__ import annotations

from typing import Any

import numpy as np
from bokeh.models import ColumnDataSource, Legend, LegendItem, NumeralTickFormatter, Range1d
from bokeh.plotting import figure as Figure

from pmdviz.scenes import style
from pmdviz.scenes.data_columns import NO_BARS, Columns, DataGround, DataMoment
from pmdviz.views import figures

ALL, LIT = 0.3, 0.85  # opacity of the data, and of those of this step
WORDS = {
    "data": "data",
    "batch": "batch of this step",
    "exact": "predicted: exact posterior",
    "approximate": "predicted: approximation",
}


class DataView:
    """One Bokeh figure; what changes with the frame lies in the overlay."""

    def __init__(self) -> None:
        none: list[float] = []
        self.bars, self.lit_bars = (ColumnDataSource(dict(NO_BARS)) for _ in range(2))
        self.dots, self.lit_dots, self.exact, self.approximate = (
            ColumnDataSource({"x": none, "y": none}) for _ in range(4)
        )
        self.figure = f = _figure()
        figures.describe(f, "The data, the batch of this step, and what approximation and exact posterior predict")
        self.data_marks = [self._quads(self.bars), f.scatter("x", "y", source=self.dots, size=7, line_color=None)]
        self.batch_marks = [
            self._quads(self.lit_bars),
            f.scatter("x", "y", source=self.lit_dots, size=7, line_color=None),
        ]
        self.lines = {
            name: f.line("x", "y", source=source, line_width=style.LINE_WIDTH, line_dash=style.DASHES[name])
            for name, source in (("exact", self.exact), ("approximate", self.approximate))
        }
        self.rug_source = ColumnDataSource({"x": none, "y": none})
        self.rug = f.scatter("x", "y", source=self.rug_source, size=5, line_color=None, name="rug")
        self._add_legend()
        figures.float_above(f, [*self.batch_marks, *self.lines.values()])
        self._ground: DataGround | None = None

    def _quads(self, source: ColumnDataSource) -> Any:
        return self.figure.quad("left", "right", "top", 0, source=source, line_color=None)

    def _add_legend(self) -> None:
        """Signs of their own stand for what moves: see `TracesView`."""
        key: dict[str, Any] = {"x": "x", "y": "y", "source": ColumnDataSource({"x": [np.nan], "y": [np.nan]})}
        squares = [self.figure.scatter(marker="square", size=9, line_color=None, **key) for _ in range(2)]
        lines = [self.figure.line(line_width=style.LINE_WIDTH, line_dash=style.DASHES[n], **key) for n in self.lines]
        self.keys = dict(zip(WORDS, [*squares, *lines], strict=True))
        self.legend = Legend(**style.LEGEND)
        self.figure.add_layout(self.legend, "above")
        figures.fold_legend(self.figure, self.legend)

    def show(self, moment: DataMoment) -> None:
        """Draw the data as the step of a frame saw them; what stands still is sent once."""
        if moment.ground is not self._ground:
            self._show_ground(moment.ground)
        self.lit_bars.data, self.lit_dots.data = moment.bars, moment.dots
        self.approximate.data = moment.approximate

    def show_rug(self, columns: Columns) -> None:
        """Dots at the foot of a histogram, one for each datum; none while nobody edits the data."""
        if len(columns["x"]) or len(self.rug_source.data["x"]):
            self.rug_source.data = dict(columns)

    def _show_ground(self, ground: DataGround) -> None:
        self._ground, f = ground, self.figure
        self.bars.data, self.dots.data, self.exact.data = ground.bars, ground.dots, ground.exact
        f.xaxis.axis_label, f.yaxis.axis_label = ground.labels
        (x0, x1), (y0, y1) = ground.ranges
        f.x_range.update(start=x0, end=x1)
        f.y_range.update(start=y0, end=y1)
        names = [name for name in WORDS if name not in self.lines or len(ground.exact["x"])]
        self.legend.items = [LegendItem(label=WORDS[name], renderers=[self.keys[name]]) for name in names]

    def set_theme(self, dark: bool = False, presenter: bool = False) -> None:
        """Colours of the light or the dark theme; label size for a screen or a lecture hall."""
        figures.apply_theme(self.figure, dark, presenter)
        colours = style.theme(dark)
        for name, line in self.lines.items():
            line.glyph.line_color = self.keys[name].glyph.line_color = colours.layers[name]
        for name, marks, alpha in (("data", self.data_marks, ALL), ("batch", self.batch_marks, LIT)):
            for mark in (*marks, self.keys[name]):
                mark.glyph.update(fill_color=colours.muted, fill_alpha=alpha)
        self.rug.glyph.update(fill_color=colours.text, fill_alpha=LIT)


def _figure() -> Figure:
    figure = Figure(
        name="data", x_range=Range1d(0, 1), y_range=Range1d(0, 1), sizing_mode="stretch_width", height=480,
        **{f"min_border_{side}": px for side, px in style.BORDERS.items()},
        tools=[], toolbar_location=None, output_backend="canvas",
    )  # fmt: skip
    figure.yaxis.formatter = NumeralTickFormatter(format="0,0.[0000]")
    figure.toolbar.logo = None
    return figure
