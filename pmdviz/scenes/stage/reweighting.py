"""Points that stay where they are and are weighed anew: a dot is the weight now, a ring the weight they came with."""

from __future__ import annotations

from typing import Any

import numpy as np

from pmdviz.methods import Method
from pmdviz.methods.stein.shown import Reweighting
from pmdviz.scenes.columns import EMPTY_LINE, MAX_DRAWN, StageColumns, drawn_rows
from pmdviz.scenes.stage.base import SCENES, Pair, Ranges, Scene
from pmdviz.scenes.tiling import joined
from pmdviz.targets import Target

INK, LARGEST = 8_000.0, 36.0  # px^2 of all squared diameters together; px, of one dot or ring
FRAME = 420.0  # px a side: of a picture as large as that a ring is as wide as the dot of the same weight
CORNERS = 24  # of a ring


class ReweightingScene(Scene):
    """The area of a dot is the weight that the method gives a point, that of the ring around it its importance weight.

    A dot that fills its ring has kept its weight. Rings are lines and grow with the picture, dots do not: they fit one
    another where it is about 420 px wide.
    """

    name = "reweighting"
    title = "Weights before and after"
    shows_theta = True
    order = 8
    legend = {"prior": "importance weights", "exact": "exact posterior", "particles": "new weights"}

    def applies(self, target: Target, method: Method) -> bool:
        """To methods that weigh given points anew."""
        return "reals" in target.offers and isinstance(method, Reweighting)

    def paired(self, target: Target) -> bool:
        """Above two dimensions."""
        return target.dim > 2

    def ranges(self, target: Target, pair: Pair, top: float) -> Ranges:
        """As the posterior's."""
        return SCENES["posterior"].ranges(target, pair, top)

    def axis_labels(self, target: Target, pair: Pair) -> tuple[str, str]:
        """As the posterior's."""
        return SCENES["posterior"].axis_labels(target, pair)

    def columns(self, frame: Any, pair: Pair, limit: int = MAX_DRAWN) -> StageColumns:
        """The posterior's picture without an approximation, with dots of their own size, and rings."""
        drawn = SCENES["posterior"].columns(frame, pair, limit)
        rows = drawn_rows(frame.weights, limit)
        dots = {**drawn.particles, "size": diameters(frame.weights[rows])}
        wide, high = (b - a for a, b in self.ranges(frame.target, pair, drawn.top))
        sizes = diameters(frame.method.before(frame.state)[rows])
        circles = rings(dots["x"], dots["y"], sizes * wide / FRAME, sizes * high / FRAME)
        return drawn._replace(approximate=EMPTY_LINE, image=None, particles=dots, prior=circles)


def diameters(weights: np.ndarray) -> np.ndarray:
    """In px, (n,) float32: the area is proportional to the weight, up to the largest."""
    return np.minimum(np.sqrt(weights * INK), LARGEST).astype(np.float32)


def rings(x: np.ndarray, y: np.ndarray, wide: np.ndarray, high: np.ndarray) -> dict[str, np.ndarray]:
    """One line (x, y with NaN gaps) of ellipses about points (n,) of such widths and heights; none of width 0."""
    angles = np.linspace(0, 2 * np.pi, CORNERS + 1)
    around = [
        {"x": (a + 0.5 * w * np.cos(angles)).astype(np.float32), "y": (b + 0.5 * h * np.sin(angles)).astype(np.float32)}
        for a, b, w, h in zip(x, y, wide, high, strict=True)
        if w > 0
    ]
    return joined(around) if around else EMPTY_LINE
