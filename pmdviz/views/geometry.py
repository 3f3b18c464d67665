"""The Geometry page's figures: paths in a triangle of three states, densities, and the forward KL step by step."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
from bokeh.core.properties import value
from bokeh.models import (
    ColumnDataSource,
    CustomJS,
    GlyphRenderer,
    HoverTool,
    Legend,
    LegendItem,
    NumeralTickFormatter,
    Range1d,
)

from pmdviz.files import static_text
from pmdviz.scenes import style
from pmdviz.scenes.geometry import (
    CORNERS,
    GRID,
    KL_SPAN,
    MOST_STEPS,
    STATES,
    Geometry,
    density_columns,
    kl_columns,
    triangle_columns,
)
from pmdviz.views import figures

COLOURS = {  # of a layer -> of a theme
    "exact": "exact", "posterior": "exact", "start": "prior", "mirror": "approximate", "mirror_end": "approximate",
    "gradient": "first_path", "gradient_end": "first_path", "cut": "first_path", "infinite": "first_path",
    "bound": "floor", "contours": "floor", "edges": "floor",
}  # fmt: skip
COLOURED = ("line_color", "fill_color")
MARKS = {"mirror": "circle", "gradient": "square"}  # of the steps of a path
DASHES = {"gradient": (6, 4), "start": (2, 3), "bound": (4, 4)}
X_SPAN, Y_SPAN = (-0.12, 1.12), (-0.11, 0.97)  # of the triangle's plane, with room for the names of the corners
AROUND = {"left": 16, "right": 16, "bottom": 8, "top": 32}  # px; the triangle has no axes
CHART = {**style.BORDERS, "right": 20, "top": 32}
LETTERS = (("start", "q₀", 20, -2), ("posterior", "p", 0, 20))  # of a layer; px to the right and down
NAMES_AT = ((-18, 8), (18, 8), (0, -12))  # px from each corner to the middle of its name
ASPECT = 1.115  # of the triangle's figure, borders and legend included: so its sides are equal
HIGHEST = 1.0  # per unit of theta: the most peaked posterior reaches 0.8
TIGHT = {"glyph_width": 18, "spacing": 8, "label_standoff": 3}  # px: a phone is narrow
HEIGHT = 240  # px of the two charts
TIPS = [("step", "@t"), *((f"q({name})", f"@{name}{{0.000}}") for name in STATES)]
DRAG_JS = static_text(Path(__file__).with_name("static") / "figures.js", "drag_start")


class Layered:
    """A figure of layers, each with columns x and y of its own; subclasses add the layers."""

    what = ""  # of the picture, for who cannot see it
    borders = CHART
    most = 16  # letters of a legend in one line of a narrow figure

    def __init__(self, name: str, x_range: Range1d, y_range: Range1d, **parameters: Any) -> None:
        look: dict[str, Any] = {"x_range": x_range, "y_range": y_range, "css_classes": [f"pmdviz-{name}"], **parameters}
        self.figure = figures.make(name, **look)
        figures.describe(self.figure, self.what)
        self.sources: dict[str, ColumnDataSource] = {}
        self.drawn: dict[str, list[GlyphRenderer]] = {}

    def line(self, name: str, **look: Any) -> GlyphRenderer:
        """A line through the points of a layer."""
        usual = {"line_width": style.LINE_WIDTH, "line_dash": DASHES.get(name, "solid")}
        return self._drawn(name, self.figure.line("x", "y", source=self._source(name), **usual | look))

    def dots(self, name: str, **look: Any) -> GlyphRenderer:
        """A mark at each point of a layer."""
        return self._drawn(name, self.figure.scatter("x", "y", source=self._source(name), **look))

    def _source(self, name: str) -> ColumnDataSource:
        return self.sources.setdefault(name, ColumnDataSource({"x": [], "y": []}))

    def _drawn(self, name: str, renderer: GlyphRenderer) -> GlyphRenderer:
        self.drawn.setdefault(name, []).append(renderer)
        return renderer

    def add_legend(self, signs: Mapping[str, Iterable[GlyphRenderer]]) -> None:
        """Words with their signs above the figure."""
        items = [LegendItem(label=words, renderers=[*shown]) for words, shown in signs.items()]
        legend = Legend(items=items, **{**style.LEGEND, **TIGHT})
        self.figure.add_layout(legend, "above")
        figures.fold_legend(self.figure, legend, self.most)

    def put(self, columns: Mapping[str, Mapping[str, np.ndarray]]) -> None:
        """New columns for every layer named; what stays as it is is not sent."""
        for name, each in columns.items():
            before = self.sources[name].data
            if any(not np.array_equal(before.get(column, ()), each[column], equal_nan=True) for column in each):
                self.sources[name].data = dict(each)

    def set_theme(self, dark: bool) -> None:
        """Colours of a theme."""
        figures.apply_theme(self.figure, dark)
        self.figure.update(**{f"min_border_{side}": px for side, px in self.borders.items()})
        layers = style.theme(dark).layers
        for name, renderers in self.drawn.items():
            for renderer in renderers:
                colours = {part: layers[COLOURS[name]] for part in COLOURED}
                known = renderer.glyph.properties()
                renderer.glyph.update(**{part: colour for part, colour in colours.items() if part in known})


class TriangleView(Layered):
    """Distributions over three states as points of a triangle, with both paths."""

    what = "Triangle: three states, the steps of mirror descent and of gradient descent, and lines of equal KL(q‖p)"

    borders, most = AROUND, 28

    def __init__(self) -> None:
        super().__init__("geometry-triangle", Range1d(*X_SPAN), Range1d(*Y_SPAN), aspect_ratio=ASPECT)
        self.figure.frame_align = False  # the charts' frames stand under one another, this one has no axes
        self.figure.axis.visible = self.figure.grid.visible = False
        level = self.line("contours", line_width=1, line_alpha=0.55)
        self.line("edges", line_width=1.5)
        self.put({"edges": {"x": CORNERS[[0, 1, 2, 0], 0], "y": CORNERS[[0, 1, 2, 0], 1]}})
        paths = {name: [self.line(name), self.dots(name, size=6, marker=MARKS[name])] for name in MARKS}
        self.dots("start", size=15, marker="diamond", line_width=1.5)
        self.dots("posterior", size=16, marker="star", line_width=1)
        for name, marker in MARKS.items():
            self.dots(f"{name}_end", size=12, marker=marker, fill_alpha=0.0, line_width=2.5)
        self.letters = [self._name_corners(), *(self._letter(*each) for each in LETTERS)]
        self.add_legend({**paths, "equal KL(q‖p)": [level]})
        dots = [renderers[1] for renderers in paths.values()]
        self.figure.add_tools(HoverTool(renderers=dots, tooltips=TIPS, attachment="vertical"))
        self._let_drag()
        self.set_theme(False)

    def _letter(self, layer: str, letter: str, right: int, down: int) -> GlyphRenderer:
        """The name of the point of a layer, so many pixels from it."""
        at = {"x_offset": right, "y_offset": down, "text_align": "center", "text_baseline": "middle"}
        return self.figure.text("x", "y", text=value(letter), source=self._source(layer), **at)

    def _name_corners(self) -> GlyphRenderer:
        x_off, y_off = zip(*NAMES_AT, strict=True)
        names = ColumnDataSource(
            {"x": CORNERS[:, 0], "y": CORNERS[:, 1], "text": [*STATES], "right": [*x_off], "down": [*y_off]}
        )
        return self.figure.text(
            "x", "y", "text", source=names, x_offset="right", y_offset="down", text_align="center",
            text_baseline="middle",
        )  # fmt: skip

    def _let_drag(self) -> None:
        self.dragged = ColumnDataSource({"x": [], "y": []}, name="dragged")
        args = {"figure": self.figure, "start": self.sources["start"], "dragged": self.dragged}
        for event in ("panstart", "pan", "panend"):
            self.figure.js_on_event(event, CustomJS(args=args, code=DRAG_JS))

    def on_drag(self, act: Callable[[str, Any, Any], None]) -> None:
        """Have `act(attr, old, new)` called with the columns of the point that the start is dragged to."""
        self.dragged.on_change("data", act)

    def show(self, geometry: Geometry) -> None:
        """Draw a setting."""
        self.put(triangle_columns(geometry))

    def set_theme(self, dark: bool) -> None:
        """Colours of a theme."""
        super().set_theme(dark)
        self.figure.outline_line_color = None
        font = {"text_font": value(style.FONT), "text_font_size": "16px", "text_font_style": "bold"}
        for letter in self.letters:
            letter.glyph.update(text_color=style.theme(dark).text, **font)


class DensityView(Layered):
    """The same steps on a density over one parameter; "cut" is where the gradient's is 0."""

    what = "Curves: the exact posterior, the mirror steps and the gradient steps on a density"

    def __init__(self) -> None:
        super().__init__("geometry-density", Range1d(GRID[0], GRID[-1]), Range1d(0, HIGHEST), height=HEIGHT)
        self.figure.xaxis.axis_label, self.figure.yaxis.axis_label = "θ", "density"
        lines = {name: self.line(name) for name in ("exact", "start", "mirror", "gradient")}
        cut = self.line("cut", line_width=8, line_alpha=0.75)
        words = ("p", "q₀", "mirror", "gradient")
        signs = {said: [line] for said, line in zip(words, lines.values(), strict=True)}
        self.add_legend({**signs, "cut": [cut]})
        self.set_theme(False)

    def show(self, geometry: Geometry) -> None:
        """Draw a setting."""
        self.put(density_columns(geometry))


class KLView(Layered):
    """The forward KL of both over three states against t, with the bound."""

    what = "Chart: forward KL of both paths step by step, and the bound"

    def __init__(self) -> None:
        super().__init__("geometry-kl", Range1d(0, MOST_STEPS), Range1d(*KL_SPAN), y_axis_type="log", height=HEIGHT)
        self.figure.xaxis.axis_label, self.figure.yaxis.axis_label = "step t", "KL(p‖q), nats"
        self.figure.yaxis.formatter = NumeralTickFormatter(format="0.[0000]")
        paths = {name: [self.line(name), self.dots(name, size=5, marker=MARKS[name])] for name in MARKS}
        bound = self.line("bound")
        infinite = self.dots("infinite", size=9, marker="triangle")
        self.add_legend({**paths, "bound": [bound], "∞": [infinite]})
        self.set_theme(False)

    def show(self, geometry: Geometry) -> None:
        """Draw a setting."""
        self.put(kl_columns(geometry))
