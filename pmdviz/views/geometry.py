"""The Geometry page's figures: paths in a triangle of three states, densities, and the forward KL step by step."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from bokeh.models import ColumnDataSource, CustomJS

from pmdviz.files import static_text
from pmdviz.pictures import Picture
from pmdviz.scenes import style
from pmdviz.scenes.geometry import Geometry, GeometryKnobs, density_picture, kl_picture, triangle_picture
from pmdviz.views.drawing import PictureFigure

AROUND = {"left": 16, "right": 16, "bottom": 8, "top": 32}  # px; the triangle has no axes
CHART = {**style.BORDERS, "right": 20, "top": 32}
ASPECT = 1.115  # of the triangle's figure, borders and legend included: so its sides are equal
HEIGHT = 240  # px of the two charts
TIGHT = {"glyph_width": 18, "spacing": 8, "label_standoff": 3}  # px: a phone is narrow
DRAG_JS = static_text(Path(__file__).with_name("static") / "figures.js", "drag_start")


class GeometryView(PictureFigure):
    """The figure of one of the three pictures."""

    def __init__(self, name: str, picture: Callable[[Geometry], Picture], borders: Any = CHART, **look: Any) -> None:
        self._of, self._borders = picture, borders
        first = picture(Geometry(GeometryKnobs()))
        super().__init__(f"geometry-{name}", first, css_classes=[f"pmdviz-geometry-{name}"], **look)
        self.legend.update(**TIGHT)

    def show(self, geometry: Geometry) -> None:
        """Draw a setting."""
        self.draw_picture(self._of(geometry))

    def set_theme(self, dark: bool = False, presenter: bool = False) -> None:
        """Colours of a theme; the borders stay."""
        super().set_theme(dark, presenter)
        self.figure.update(**{f"min_border_{side}": px for side, px in self._borders.items()})


class TriangleView(GeometryView):
    """Distributions over three states as points of a triangle, with both paths."""

    def __init__(self) -> None:
        super().__init__("triangle", triangle_picture, AROUND, aspect_ratio=ASPECT)
        self.figure.frame_align = False  # the charts' frames are in one column, this one has no axes
        self.figure.axis.visible = self.figure.grid.visible = False
        self.dragged = ColumnDataSource({"x": [], "y": []}, name="dragged")
        args = {"figure": self.figure, "start": self.sources["start"], "dragged": self.dragged}
        for event in ("panstart", "pan", "panend"):
            self.figure.js_on_event(event, CustomJS(args=args, code=DRAG_JS))

    def on_drag(self, act: Callable[[str, Any, Any], None]) -> None:
        """Have `act(attr, old, new)` called with the columns of the point that the start is dragged to."""
        self.dragged.on_change("data", act)

    def set_theme(self, dark: bool = False, presenter: bool = False) -> None:
        """Colours of a theme, without an outline."""
        super().set_theme(dark, presenter)
        self.figure.outline_line_color = None


class DensityView(GeometryView):
    """The same steps on a density over one parameter; "cut" is where the gradient's is 0."""

    def __init__(self) -> None:
        super().__init__("density", density_picture, height=HEIGHT)


class KLView(GeometryView):
    """The forward KL of both over three states against t, with the bound."""

    def __init__(self) -> None:
        super().__init__("kl", kl_picture, height=HEIGHT)
