"""Where the approximation has too much and where too little: p - q in two colours, whose area is the TV."""

from __future__ import annotations

from typing import Any

import numpy as np

from pmdviz.methods import Method
from pmdviz.scenes.columns import EMPTY_DOTS, EMPTY_LINE, MAX_DRAWN, Image, StageColumns
from pmdviz.scenes.contours import region_lines
from pmdviz.scenes.heat import area_image, difference_image
from pmdviz.scenes.stage.base import SCENES, Pair, Ranges, Scene, square
from pmdviz.scenes.stage.exact_lines import lines_on_grid
from pmdviz.targets import Target


class DifferenceScene(Scene):
    """Where p is above q in the colour of the exact posterior, where q is above p in that of the approximation.

    In one dimension the areas between the curves, in the plane the strength of the colour: the mass of each is the
    total variation, but for what lies outside the picture.
    """

    name = "difference"
    title = "Where they differ"
    order = 15
    legend = {"exact": "exact posterior (blue: q too low)", "approximate": "approximation (orange: too high)"}

    def applies(self, target: Target, method: Method) -> bool:
        """In one and two dimensions, where the exact posterior is known."""
        return "reals" in target.offers and target.planar is not None

    def ranges(self, target: Target, pair: Pair, top: float) -> Ranges:
        """The target's box; of curves as high as the exact density."""
        if target.dim > 1:
            return square(target.view_box)
        return SCENES["posterior"].ranges(target, pair, top)

    def axis_labels(self, target: Target, pair: Pair) -> tuple[str, str]:
        """The coordinates' names."""
        return SCENES["posterior"].axis_labels(target, pair)

    def columns(self, frame: Any, pair: Pair, limit: int = MAX_DRAWN) -> StageColumns:
        """The image, and the lines of both."""
        picture, m = frame.grid, len(frame.weights)
        if picture is None or picture.p is None:
            return StageColumns(EMPTY_LINE, EMPTY_LINE, EMPTY_DOTS, m, m)
        exact, _ = lines_on_grid(picture, frame.target)
        image, top = _image(picture)
        lines = region_lines(picture.grid.axes, picture.q)
        return StageColumns(exact, lines, EMPTY_DOTS, m, m, top, image)


def _image(picture: Any) -> tuple[Image, float]:
    if len(picture.grid.axes) == 2:
        return difference_image(picture.p, picture.q, picture.grid.box), np.nan
    top = float(picture.p.max())
    return area_image(picture.p, picture.q, picture.grid.box[0], (0.0, 1.12 * top)), top
