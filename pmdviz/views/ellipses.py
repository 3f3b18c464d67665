"""Gaussians of the plane as ellipses that hold 68 % of each, over points; a unit is as long across as upwards."""

from __future__ import annotations

from bokeh.models import BasicTicker, ColumnDataSource, GlyphRenderer

from pmdviz.experiments.base import Ellipses
from pmdviz.scenes import style
from pmdviz.scenes.chart_columns import Entry, colour_of
from pmdviz.scenes.picture_columns import ellipse_legend, ellipse_points, outlines, square
from pmdviz.views.picture import PictureView

SIDE = 560  # px at most
THIN, THICK = 1.2, 3.0  # px
BORDERS = {"left": 64, "right": 12, "bottom": 48, "top": 28}  # alike in sum: a square outside is a square inside


class EllipsesView(PictureView):
    """One picture of ellipses, square."""

    what = "Ellipses"

    def __init__(self) -> None:
        borders = {f"min_border_{side}": px for side, px in BORDERS.items()}
        super().__init__(sizing_mode="scale_width", width=SIDE, height=SIDE, max_width=SIDE, **borders)
        self.points = ColumnDataSource({"x": [], "y": []})
        self.dots = self.figure.scatter("x", "y", source=self.points, size=4, fill_alpha=0.35, line_alpha=0.0)
        self.groups: list[GlyphRenderer] = []
        self.numbers: list[int] = []  # of their colours
        for axis in (self.figure.xaxis[0], self.figure.yaxis[0]):
            axis.ticker = BasicTicker(desired_num_ticks=7)
        self.set_theme(False)

    def draw(self, picture: Ellipses) -> None:
        """The points, and a line with gaps for each group."""
        points = ellipse_points(picture)
        drawn = [outlines(group.means, group.covs) for group in picture.groups]
        self.points.data = points
        for _ in range(len(self.groups), len(drawn)):
            self.groups.append(self.figure.line("x", "y", source=ColumnDataSource({"x": [], "y": []})))
        for k, group in enumerate(self.groups):
            group.data_source.data = drawn[k] if k < len(drawn) else {"x": [], "y": []}
        self.numbers = [self.number(one.name, k) for k, one in enumerate(picture.groups)]
        for group, one in zip(self.groups, picture.groups, strict=False):
            group.glyph.update(line_width=THICK if one.bold else THIN, line_alpha=1.0 if one.bold else 0.75)
        self.paint()
        x, y = square([points, *drawn])
        self.figure.x_range.update(start=x[0], end=x[1])
        self.figure.y_range.update(start=y[0], end=y[1])

    def legend(self, picture: Ellipses) -> list[Entry]:
        """The groups."""
        return ellipse_legend(picture, self.colours)

    def paint(self) -> None:
        """Colours of a theme."""
        self.dots.glyph.fill_color = style.theme(self.dark).muted
        for number, group in zip(self.numbers, self.groups, strict=False):
            group.glyph.line_color = colour_of(number, self.dark)

    def set_theme(self, dark: bool) -> None:
        """Colours of the light or the dark theme; the borders keep the figure square."""
        super().set_theme(dark)
        self.figure.update(**{f"min_border_{side}": px for side, px in BORDERS.items()})
