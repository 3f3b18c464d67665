"""A histogram with vertical marks, whose words stand in the legend."""

from __future__ import annotations

from bokeh.models import BasicTicker, ColumnDataSource, GlyphRenderer, HoverTool

from pmdviz.experiments.base import Histogram
from pmdviz.scenes import style
from pmdviz.scenes.chart_columns import Entry, colour_of
from pmdviz.scenes.picture_columns import bars, histogram_legend, histogram_spans, mark_dash, marks
from pmdviz.views.picture import PictureView, number_hover


class HistogramView(PictureView):
    """One histogram."""

    what = "Histogram"

    def __init__(self) -> None:
        super().__init__()
        self.source = ColumnDataSource({"left": [], "right": [], "top": []})
        self.bars = self.figure.quad(
            left="left", right="right", bottom=0, top="top", source=self.source, fill_alpha=0.55, line_width=1
        )
        self.marks: list[GlyphRenderer] = []
        for axis in (self.figure.xaxis[0], self.figure.yaxis[0]):
            axis.ticker = BasicTicker(desired_num_ticks=7)
        number = dict.fromkeys(("@left", "@right", "@top"), number_hover())
        tips = [("from", "@left{custom}"), ("to", "@right{custom}"), ("", "@top{custom}")]
        self.figure.add_tools(HoverTool(renderers=[self.bars], tooltips=tips, formatters=number, attachment="vertical"))
        self.set_theme(False)

    def draw(self, picture: Histogram) -> None:
        """Bars and marks."""
        self.source.data = bars(picture)
        found = marks(picture)
        for k in range(len(self.marks), len(found)):
            source, dash = ColumnDataSource({"x": [], "y": []}), list(mark_dash(k))
            self.marks.append(self.figure.line("x", "y", source=source, line_width=2.5, line_dash=dash))
        for k, mark in enumerate(self.marks):
            mark.data_source.data = found[k] if k < len(found) else {"x": [], "y": []}
        self.paint()
        x, y = histogram_spans(picture)
        self.figure.x_range.update(start=x[0], end=x[1])
        self.figure.y_range.update(start=y[0], end=y[1])

    def legend(self, picture: Histogram) -> list[Entry]:
        """The marks."""
        return histogram_legend(picture)

    def paint(self) -> None:
        """Colours of a theme."""
        colour = colour_of(0, self.dark)
        self.bars.glyph.update(fill_color=colour, line_color=style.theme(self.dark).paper)
        for k, mark in enumerate(self.marks):
            mark.glyph.line_color = colour_of(k + 1, self.dark)
