"""Points that stay where they are and are weighed anew: a dot is the weight now, a ring the weight they came with."""

from __future__ import annotations

from typing import Any

import numpy as np

from pmdviz.methods import Method
from pmdviz.methods.stein.shown import Reweighting
from pmdviz.scenes.columns import EMPTY_LINE, EMPTY_PATHS, MAX_DRAWN, StageColumns, drawn_rows
from pmdviz.scenes.stage.base import SCENES, Pair
from pmdviz.scenes.stage.over_posterior import OverPosterior
from pmdviz.targets import Target

INK, LARGEST = 8_000.0, 36.0  # px^2 of all squared diameters together; px, of one dot or ring
FRAME = 420.0  # px a side: of a picture as large as that a ring is as wide as the dot of the same weight
CORNERS, OPACITY = 20, 0.7  # of a ring


class ReweightingScene(OverPosterior):
    """The area of a dot is the weight that the method gives a point, that of the ring around it its importance weight.

    A dot that fills its ring has kept its weight. Rings grow with the picture, dots do not: they fit one
    another where it is about 420 px wide.
    """

    name = "reweighting"
    title = "Reweighting"
    order = 8
    legend = {"exact": "exact posterior", "particles": "new weights", "paths": "importance weights"}

    def applies(self, target: Target, method: Method) -> bool:
        """To methods that weigh given points anew."""
        return "reals" in target.offers and isinstance(method, Reweighting)

    def columns(self, frame: Any, pair: Pair, limit: int = MAX_DRAWN) -> StageColumns:
        """The posterior's picture without an approximation, with dots of their own size, and rings."""
        drawn = SCENES["posterior"].columns(frame, pair, limit)
        rows = drawn_rows(frame.weights, limit)
        dots = {**drawn.particles, "size": diameters(frame.weights[rows])}
        wide, high = (b - a for a, b in self.ranges(frame.target, pair, drawn.top))
        sizes = diameters(frame.method.before(frame.state)[rows])
        circles = rings(dots["x"], dots["y"], sizes * wide / FRAME, sizes * high / FRAME)
        return drawn._replace(approximate=EMPTY_LINE, image=None, particles=dots, prior=EMPTY_LINE, paths=circles)


def diameters(weights: np.ndarray) -> np.ndarray:
    """In px, (n,) float32: the area is proportional to the weight, up to the largest."""
    return np.minimum(np.sqrt(weights * INK), LARGEST).astype(np.float32)


def rings(x: np.ndarray, y: np.ndarray, wide: np.ndarray, high: np.ndarray) -> dict[str, np.ndarray]:
    """Ellipses about points (n,) of such widths and heights, as segments of `StageColumns.paths`; none of width 0."""
    some = wide > 0
    if not some.any():
        return EMPTY_PATHS
    angles = np.linspace(0, 2 * np.pi, CORNERS + 1)
    across = x[some, None] + 0.5 * wide[some, None] * np.cos(angles)
    up = y[some, None] + 0.5 * high[some, None] * np.sin(angles)
    corners = {"x0": across[:, :-1], "y0": up[:, :-1], "x1": across[:, 1:], "y1": up[:, 1:]}
    number = CORNERS * int(some.sum())
    look = {"alpha": np.full(number, OPACITY, np.float32), "kind": np.zeros(number, np.float32)}
    return {**{name: values.ravel().astype(np.float32) for name, values in corners.items()}, **look}
