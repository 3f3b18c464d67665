"""Lines of descent: from the first particles that still have descendants to these, where they are now."""

from __future__ import annotations

from typing import Any

import numpy as np

from pmdviz.methods import Method
from pmdviz.scenes.columns import EMPTY_LINE, MAX_DRAWN, StageColumns, drawn_rows
from pmdviz.scenes.paths import OF_STEP, Segments, segment_columns
from pmdviz.scenes.stage.base import SCENES, Pair
from pmdviz.scenes.stage.over_posterior import OverPosterior
from pmdviz.targets import Target

MAX_LINES = 400
FAINTEST = 0.15  # opacity of the line of a family that has almost no weight


class DescentScene(OverPosterior):
    """After each resampling fewer of the first particles have descendants; the ESS is high again, and blind to that.

    A line is the darker the more weight all descendants of its ancestor have together.
    """

    name = "descent"
    title = "Lines of descent"
    order = 12
    legend = {
        "exact": "exact posterior",
        "particles": "particles",
        "paths": "lines of descent",
        "others": "first particles with descendants",
    }

    def applies(self, target: Target, method: Method) -> bool:
        """To particles in two or more dimensions that are drawn from one another."""
        return method.resamples and method.family == "particles" and "reals" in target.offers and target.dim > 1

    def columns(self, frame: Any, pair: Pair, limit: int = MAX_DRAWN) -> StageColumns:
        """The posterior's picture without q, with the ancestors and the lines from them."""
        drawn = SCENES["posterior"].columns(frame, pair, limit)
        plain = drawn._replace(approximate=EMPTY_LINE, image=None)
        if frame.ancestry is None:
            return plain
        first, chosen = frame.ancestry.first[:, list(pair)], drawn_rows(frame.weights, MAX_LINES)
        chosen = chosen[frame.weights[chosen] > 0]
        ancestors = frame.ancestry.rows[chosen]
        lines = np.stack([first[ancestors], frame.particles[chosen][:, list(pair)]], axis=1)
        opacity = line_opacity(frame.ancestry.rows, frame.weights, len(first))[ancestors]
        alive = first[np.unique(ancestors)].astype(np.float32)
        return plain._replace(
            paths=segment_columns([Segments(lines, OF_STEP, opacity)]),
            others={"x": alive[:, 0].copy(), "y": alive[:, 1].copy()},
        )


def line_opacity(ancestors: np.ndarray, weights: np.ndarray, number: int) -> np.ndarray:
    """For each of the first particles (`number`,) the opacity of its lines, by the weight of its descendants (n,)."""
    shares = np.bincount(ancestors, weights, minlength=number)
    return FAINTEST + (1 - FAINTEST) * np.sqrt(shares / max(shares.max(), 1e-300))
