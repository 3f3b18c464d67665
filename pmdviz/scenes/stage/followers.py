"""Leaders and the followers that they move: these by their log weight, over how much the last step stretched space."""

from __future__ import annotations

from typing import Any

import numpy as np

from pmdviz.methods import Method
from pmdviz.methods.stein.shown import Leading
from pmdviz.scenes.columns import EMPTY_LINE, MAX_DRAWN, Image, StageColumns
from pmdviz.scenes.paths import path_words
from pmdviz.scenes.stage.base import SCENES, Pair, square
from pmdviz.scenes.stage.over_posterior import OverPosterior
from pmdviz.targets import Target

SIDE = 48  # cells of the picture, a side
SMALLEST, LARGEST = 2.0, 12.0  # px, of a dot
NATS = 6.0  # below the heaviest: there and below it dots are the smallest
SHADES = 127  # of a colour


class FollowersScene(OverPosterior):
    """The diameter of a follower falls with its log weight, by 10 px over 6 nats, so that those of no weight are seen.

    In two dimensions the cells behind them say by how much the map of the last step changes volumes: where space is
    squeezed (orange) the followers' density rises, and their weight falls.
    """

    name = "followers"
    title = "Leaders and followers"
    order = 8
    legend = {
        "exact": "exact posterior",
        "particles": "followers, by log weight",
        "others": "leaders",
        "paths": "paths",
    }

    def applies(self, target: Target, method: Method) -> bool:
        """To methods with leaders."""
        return "reals" in target.offers and isinstance(method, Leading)

    def words(self, method: Method | None = None) -> dict[str, str]:
        """With the force of the leaders."""
        return {**self.legend, "paths": path_words(method) if method is not None else self.legend["paths"]}

    def columns(self, frame: Any, pair: Pair, limit: int = MAX_DRAWN) -> StageColumns:
        """The posterior's picture, with dots and cells of its own."""
        drawn = SCENES["posterior"].columns(frame, pair, limit)
        sizes = log_sizes(drawn.particles["weight"])
        return drawn._replace(
            approximate=EMPTY_LINE,
            prior=EMPTY_LINE,
            particles={**drawn.particles, "size": sizes},
            others=_leaders(frame, pair),
            image=_stretches(frame),
        )


def log_sizes(weights: np.ndarray) -> np.ndarray:
    """Diameters in px (n,) float32, linear in log w from the heaviest down to 6 nats less."""
    with np.errstate(divide="ignore"):
        below = np.log(weights.astype(float)) - np.log(weights.max(initial=1e-300).astype(float))
    return (SMALLEST + (LARGEST - SMALLEST) * np.clip(1 + below / NATS, 0, 1)).astype(np.float32)


def _leaders(frame: Any, pair: Pair) -> dict[str, np.ndarray]:
    """Where they stand; in one dimension on the axis."""
    points = frame.method.leaders(frame.state)
    x = points[:, pair[0]] if frame.target.dim > 1 else points[:, 0]
    y = points[:, pair[1]] if frame.target.dim > 1 else np.zeros(len(points))
    return {"x": x.astype(np.float32), "y": y.astype(np.float32)}


def _stretches(frame: Any) -> Image | None:
    """log |det| of the last step's map in units of its largest: 0 where squeezed most, a half where nothing moves."""
    if frame.target.dim != 2 or frame.iteration == 0:
        return None
    (left, right), (low, high) = square(frame.target.view_box)
    x, y = (a + (b - a) * (np.arange(SIDE) + 0.5) / SIDE for a, b in ((left, right), (low, high)))
    points = np.stack([np.tile(x, SIDE), np.repeat(y, SIDE)], axis=1)
    logs = frame.method.stretch(frame.state, frame.knobs, frame.target, points)
    shares = np.clip(logs / max(float(np.abs(logs).max(initial=0.0, where=np.isfinite(logs))), 1e-300), -1, 1)
    values = 0.5 + 0.5 * np.rint(SHADES * shares) / SHADES
    return Image(values.reshape(SIDE, SIDE).astype(np.float32), (left, right), (low, high))
