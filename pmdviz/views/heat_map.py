"""A matrix as colours around 0, its first row at the top."""

from __future__ import annotations

from bokeh.models import (
    BasicTicker,
    ColorBar,
    ColumnDataSource,
    CustomJSHover,
    CustomJSTickFormatter,
    HoverTool,
    LinearColorMapper,
)

from pmdviz.experiments.base import HeatMap
from pmdviz.scenes import style
from pmdviz.scenes.chart_columns import Entry
from pmdviz.scenes.picture_columns import diverging, heat_columns, heat_legend
from pmdviz.views.picture import TICK_JS, PictureView, number_hover

CELL_JS = "return String(Math.round(special_vars.{axis}))"


class HeatMapView(PictureView):
    """One heat map with its colour bar."""

    what = "Heat map"

    def __init__(self) -> None:
        super().__init__()
        self.source = ColumnDataSource({"image": [], "width": [], "height": []})
        self.mapper = LinearColorMapper(palette=["#000000"], low=-1, high=1)
        self.image = self.figure.image(
            "image", x=-0.5, y=-0.5, dw="width", dh="height", source=self.source, color_mapper=self.mapper
        )
        self.bar = ColorBar(
            color_mapper=self.mapper,
            width=12,
            padding=4,
            label_standoff=4,
            formatter=CustomJSTickFormatter(code=TICK_JS),
        )
        self.figure.add_layout(self.bar, "right")
        for axis in (self.figure.xaxis[0], self.figure.yaxis[0]):
            axis.ticker = BasicTicker(min_interval=1)
        self.figure.grid.visible = False
        self.hover = HoverTool(renderers=[self.image], attachment="vertical")
        self.figure.add_tools(self.hover)
        self.set_theme(False)

    def draw(self, picture: HeatMap) -> None:
        """The matrix, and the ends of the colours."""
        found = heat_columns(picture)
        rows, columns = found.image.shape
        self.source.data = {"image": [found.image], "width": [columns], "height": [rows]}
        self.mapper.update(low=-found.top, high=found.top)
        self.figure.x_range.update(start=-0.5, end=columns - 0.5)
        self.figure.y_range.update(start=rows - 0.5, end=-0.5)
        tips = [
            (picture.y_label, "$y{custom}"),
            (picture.x_label, "$x{custom}"),
            (picture.value_label, "@image{custom}"),
        ]
        if self.hover.tooltips != tips:
            cells = {f"${axis}": CustomJSHover(code=CELL_JS.format(axis=axis)) for axis in "xy"}
            self.hover.update(tooltips=tips, formatters={**cells, "@image": number_hover()})

    def legend(self, picture: HeatMap) -> list[Entry]:
        """What the colours mean."""
        return heat_legend(picture)

    def paint(self) -> None:
        """Colours of a theme."""
        theme = style.theme(self.dark)
        palette = diverging(theme.paper, theme.layers["exact"], theme.layers["approximate"])
        self.mapper.update(palette=palette, nan_color=theme.grid)
        self.bar.update(
            background_fill_color=theme.paper,
            major_label_text_color=theme.muted,
            major_label_text_font=style.FONT,
            major_label_text_font_size=f"{style.TEXT_PX}px",
            major_tick_line_color=theme.muted,
        )
