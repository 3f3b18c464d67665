"""The pictures of experiments: charts, heat maps, histograms and ellipses, each under its title and legend."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from bokeh.models import Column, Div

from pmdviz.experiments.base import Chart, Ellipses, HeatMap, Picture
from pmdviz.scenes import style
from pmdviz.scenes.chart_columns import colour_numbers, legend_html, legend_of, names_in, picture_of
from pmdviz.views.drawing import PictureFigure

HEIGHT, TOP, SIDE = 380, 12, 560  # px, of a figure, above its frame, and of a square at most
BORDERS = {**style.BORDERS, "top": TOP}  # the legend is not part of the figure
SQUARE = {"left": 64, "right": 12, "bottom": 48, "top": 28}  # alike in sum: a square outside is a square inside
Kind = tuple[Any, ...]
NO_NUMBERS: Mapping[str, int] = {}


class ExperimentFigure(PictureFigure):
    """The figure of one picture."""

    def __init__(self, picture: Picture, numbers: Mapping[str, int]) -> None:
        self._borders = SQUARE if isinstance(picture, Ellipses) else BORDERS
        wide = {"sizing_mode": "scale_width", "width": SIDE, "height": SIDE, "max_width": SIDE}
        look: dict[str, Any] = wide if isinstance(picture, Ellipses) else {"height": HEIGHT}
        name = f"picture-{type(picture).__name__.lower()}"
        super().__init__(name, picture_of(picture, numbers), legend=False, borders=self._borders, **look)
        if isinstance(picture, HeatMap):
            self.figure.grid.visible = False

    def show(self, picture: Picture, numbers: Mapping[str, int]) -> None:
        """Draw a picture of the same kind; drawing twice changes nothing."""
        self.draw_picture(picture_of(picture, numbers))

    def set_theme(self, dark: bool = False, presenter: bool = False) -> None:
        """Colours of a theme; the borders stay."""
        super().set_theme(dark, presenter)
        self.figure.update(**{f"min_border_{side}": px for side, px in self._borders.items()})


def kind_of(picture: Picture) -> Kind:
    """What a figure cannot change: the kind of the picture, and of its axes."""
    scales = (picture.x_log, picture.y_log) if isinstance(picture, Chart) else ()
    return type(picture), *scales


class PicturesView:
    """`layout` holds the pictures; `stylesheets` dress it (a grid) and the words over each of them."""

    def __init__(self, stylesheets: Sequence[str] = (), head_stylesheets: Sequence[str] = ()) -> None:
        self.layout = Column(
            children=[], sizing_mode="stretch_width", stylesheets=[*stylesheets], css_classes=["pmdviz-pictures"]
        )
        self._head_stylesheets = [*head_stylesheets]
        self.views: list[ExperimentFigure] = []
        self.heads: list[Div] = []
        self._kinds: list[Kind] = []
        self._shown: Sequence[Picture] = ()
        self.colours: dict[str, int] = {}
        self._dark = False

    def show(self, pictures: Sequence[Picture], known: Mapping[str, int] = NO_NUMBERS) -> None:
        """Draw them all. Only where their kinds are others than before are figures made.

        A name has the same colour in all pictures; `known` are the numbers of colours of others.
        """
        self.colours = {**known, **self.colours}
        kinds = [kind_of(picture) for picture in pictures]
        if kinds != self._kinds:
            self._make(kinds, pictures)
        self._shown = tuple(pictures)
        for view, picture in zip(self.views, pictures, strict=True):
            self.colours |= colour_numbers(names_in(picture), self.colours)
            view.show(picture, self.colours)
        self._show_heads()

    def forget(self) -> None:
        """Other names are to come: colours are assigned again."""
        self.colours = {}

    def _make(self, kinds: list[Kind], pictures: Sequence[Picture]) -> None:
        """Figures of these kinds; those at the front that stay the same are kept."""
        same = next((k for k, pair in enumerate(zip(kinds, self._kinds, strict=False)) if pair[0] != pair[1]), None)
        kept = min(len(kinds), len(self._kinds)) if same is None else same
        new = [ExperimentFigure(picture, self.colours) for picture in pictures[kept:]]
        for view in new:
            view.set_theme(self._dark)
        self.views, self._kinds = [*self.views[:kept], *new], kinds
        heads = [Div(text="", stylesheets=self._head_stylesheets, sizing_mode="stretch_width") for _ in new]
        self.heads = [*self.heads[:kept], *heads]
        boxes = [
            Column(children=[head, view.figure], sizing_mode="stretch_width", css_classes=["pmdviz-picture"])
            for head, view in zip(heads, new, strict=True)
        ]
        self.layout.children = [*self.layout.children[:kept], *boxes]

    def _show_heads(self) -> None:
        for head, picture in zip(self.heads, self._shown, strict=True):
            text = legend_html(picture.title, legend_of(picture, self.colours), self._dark)
            if head.text != text:
                head.text = text

    def set_theme(self, dark: bool) -> None:
        """Put on the light or the dark theme."""
        self._dark = dark
        for view in self.views:
            view.set_theme(dark)
        self._show_heads()
