"""Where the posterior lies and where the approximation: contours and particles of two coordinates, a curve of one."""

from __future__ import annotations

import threading
from typing import Any

import numpy as np

from pmdviz.methods import Method
from pmdviz.scenes.columns import (
    EMPTY_LINE,
    GOLDEN,
    MAX_DRAWN,
    StageColumns,
    dot_columns,
    dot_sizes,
    drawn_rows,
)
from pmdviz.scenes.contours import region_lines
from pmdviz.scenes.stage.base import SCENES, Pair, Ranges, Scene, square
from pmdviz.scenes.stage.marginal_columns import approximate_lines, reference_lines
from pmdviz.targets import Target


class PosteriorScene(Scene):
    """Highest-density regions (50, 80, 95 %) of the exact posterior and of the approximation, over the particles.

    Above two dimensions of a pair of coordinates, each density's regions being those of its marginal.
    """

    name = "posterior"
    title = "Posterior"
    shows_theta = True
    order = 10

    def applies(self, target: Target, method: Method) -> bool:
        """Wherever coordinates are real."""
        return "reals" in target.offers

    def paired(self, target: Target) -> bool:
        """Above two dimensions."""
        return target.dim > 2

    def ranges(self, target: Target, pair: Pair, top: float) -> Ranges:
        """The target's box, of equal aspect; of a curve as high as the exact density."""
        if target.dim > 1:
            return square(target.view_box, pair)
        top = top if np.isfinite(top) else 1.0
        return target.view_box[0], (-0.1 * top, 1.12 * top)

    def axis_labels(self, target: Target, pair: Pair) -> tuple[str, str]:
        """The coordinates' names."""
        names = target.parameter_names
        if target.dim == 1:
            return names[0], f"density (1 / unit of {names[0]})"
        return names[pair[0]], names[pair[1]]

    def columns(self, frame: Any, pair: Pair, limit: int = MAX_DRAWN) -> StageColumns:
        """Contours of each density's own mass, and dots."""
        if frame.target.dim > 2:
            return _of_a_pair(frame, pair, limit)
        picture, weights = frame.grid, frame.weights
        axes = () if picture is None else picture.grid.axes
        rows = drawn_rows(weights, limit)
        points, drawn_weights = frame.particles[rows], weights[rows]
        top = np.nan
        if len(axes) == 1:  # the exact posterior's peak: fixed while the approximation moves
            top = float(np.max(picture.q if picture.p is None else picture.p))
        particles = {
            "x": points[:, 0].astype(np.float32),
            "y": _heights(points, rows, top if np.isfinite(top) else 1.0),
            "size": dot_sizes(drawn_weights, len(weights)),
            "weight": drawn_weights.astype(np.float32),
            "log_density": _log_density(picture, points),
        }
        exact = EMPTY_LINE if picture is None else _exact_lines(picture)
        approximate = EMPTY_LINE if picture is None else region_lines(axes, picture.q)
        return StageColumns(exact, approximate, particles, len(rows), len(weights), top)


def stage_columns(frame: Any, limit: int = MAX_DRAWN) -> StageColumns:
    """The picture of a frame's first two coordinates."""
    return SCENES[PosteriorScene.name].columns(frame, (0, 1), limit)


def _of_a_pair(frame: Any, pair: Pair, limit: int) -> StageColumns:
    """The marginals of two coordinates of many."""
    dots = dot_columns(frame, pair, limit)
    exact = reference_lines(frame.target, pair) or EMPTY_LINE
    return StageColumns(exact, approximate_lines(frame.density, pair), dots, len(dots["x"]), len(frame.weights))


_EXACT_KEPT = 16
_exact_lock = threading.Lock()
_exact: dict[int, tuple[np.ndarray, dict[str, np.ndarray]]] = {}  # by identity: it changes only with target and grid


def _exact_lines(picture: Any) -> dict[str, np.ndarray]:
    """The lines of the exact posterior: the SAME arrays while its log density is the same array, so views can tell."""
    key = picture.log_p
    if key is None:
        return EMPTY_LINE
    kept = _exact.get(id(key))
    if kept is None or kept[0] is not key:
        kept = key, region_lines(picture.grid.axes, picture.p)
        with _exact_lock:  # sessions draw in several threads
            while len(_exact) >= _EXACT_KEPT:
                del _exact[next(iter(_exact))]
            _exact[id(key)] = kept
    return kept[1]


def _bilinear(axes: tuple[np.ndarray, ...], values: np.ndarray, points: np.ndarray) -> np.ndarray:
    """`values` on the grid's cell centres, interpolated at points (n, d); NaN outside the grid."""
    total = np.zeros(len(points))
    inside = np.ones(len(points), bool)
    corners = [((), np.ones(len(points)))]
    for axis, x in zip(axes, points.T, strict=False):
        at = (x - axis[0]) / (axis[1] - axis[0])
        inside &= (at >= 0) & (at <= len(axis) - 1)
        low = np.clip(at.astype(np.int64), 0, len(axis) - 2)
        share = at - low
        corners = [
            (index + (low + step,), weight * (share if step else 1 - share))
            for index, weight in corners
            for step in (0, 1)
        ]
    for index, weight in corners:
        total += weight * values[tuple(reversed(index))]
    return np.where(inside, total, np.nan)


def _log_density(picture: Any, points: np.ndarray) -> np.ndarray:
    if picture is None or len(picture.grid.axes) != points.shape[1]:
        return np.full(len(points), np.nan, np.float32)
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.log(_bilinear(picture.grid.axes, picture.q, points)).astype(np.float32)


def _heights(points: np.ndarray, rows: np.ndarray, top: float) -> np.ndarray:
    """Second coordinate of the dots: theta2, or in one dimension a rug below the curves (spread by the row)."""
    if points.shape[1] > 1:
        return points[:, 1].astype(np.float32)
    return (-top * (0.02 + 0.06 * ((rows * GOLDEN) % 1.0))).astype(np.float32)
