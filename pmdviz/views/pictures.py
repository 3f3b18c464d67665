"""Any sequence of an experiment's pictures, each under its title and legend; figures stay while data come in."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from bokeh.models import Column, Div

from pmdviz.experiments.base import Chart, Ellipses, HeatMap, Histogram, Picture
from pmdviz.scenes.chart_columns import colour_numbers, legend_html
from pmdviz.views.chart import ChartView
from pmdviz.views.ellipses import EllipsesView
from pmdviz.views.heat_map import HeatMapView
from pmdviz.views.histogram import HistogramView
from pmdviz.views.picture import PictureView

VIEWS: dict[type, Callable[..., PictureView]] = {
    Chart: ChartView,
    HeatMap: HeatMapView,
    Histogram: HistogramView,
    Ellipses: EllipsesView,
}
Kind = tuple[Any, ...]
NO_NUMBERS: Mapping[str, int] = {}


def kind_of(picture: Picture) -> Kind:
    """What a figure cannot change: the kind of the picture, and of its axes."""
    scales = (picture.x_log, picture.y_log) if isinstance(picture, Chart) else ()
    return type(picture), *scales


def names_in(picture: Picture) -> list[str]:
    """Of its series or groups, each of which has a colour."""
    if isinstance(picture, Chart):
        return [one.name for one in picture.series]
    return [one.name for one in picture.groups] if isinstance(picture, Ellipses) else []


class PicturesView:
    """`layout` holds the pictures; `stylesheets` dress it (a grid) and the words over each of them."""

    def __init__(self, stylesheets: Sequence[str] = (), head_stylesheets: Sequence[str] = ()) -> None:
        self.layout = Column(
            children=[], sizing_mode="stretch_width", stylesheets=[*stylesheets], css_classes=["pmdviz-pictures"]
        )
        self._head_stylesheets = [*head_stylesheets]
        self.views: list[PictureView] = []
        self.heads: list[Div] = []
        self._kinds: list[Kind] = []
        self._shown: Sequence[Picture] = ()
        self.colours: dict[str, int] = {}
        self._dark = False

    def show(self, pictures: Sequence[Picture], known: Mapping[str, int] = NO_NUMBERS) -> None:
        """Draw them all. Only where their kinds are others than before are figures made.

        What has one name in several pictures has one colour; `known` are the numbers of colours of others.
        """
        self.colours = {**known, **self.colours}
        kinds = [kind_of(picture) for picture in pictures]
        if kinds != self._kinds:
            self._make(kinds)
        self._shown = tuple(pictures)
        for view, picture in zip(self.views, pictures, strict=True):
            view.colours = colour_numbers(names_in(picture), self.colours)
            self.colours |= view.colours
            view.show(picture)
        self._show_heads()

    def forget(self) -> None:
        """Other names are to come: colours are given out anew."""
        self.colours = {}

    def _make(self, kinds: list[Kind]) -> None:
        """Figures of these kinds; those at the front that stay the same are kept."""
        same = next((k for k, pair in enumerate(zip(kinds, self._kinds, strict=False)) if pair[0] != pair[1]), None)
        kept = min(len(kinds), len(self._kinds)) if same is None else same
        new = [VIEWS[kind[0]](*kind[1:]) for kind in kinds[kept:]]
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
        for head, view, picture in zip(self.heads, self.views, self._shown, strict=True):
            text = legend_html(picture.title, view.legend(picture), self._dark)
            if head.text != text:
                head.text = text

    def set_theme(self, dark: bool) -> None:
        """Put on the light or the dark theme."""
        self._dark = dark
        for view in self.views:
            view.set_theme(dark)
        self._show_heads()
