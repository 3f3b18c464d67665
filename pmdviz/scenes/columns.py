"""The plain arrays behind the stage, from one frame; Bokeh and the film draw from the same ones."""

from __future__ import annotations

import threading
from typing import Any, NamedTuple

import numpy as np

from pmdviz.scenes.contours import region_lines

MAX_DRAWN = 5_000  # a browser paints 5,000 dots in about 20 ms, 100,000 in 600 ms
STANDS_OUT = 8.0  # times the mean weight: of a run as it should be no particle has so much
HEAVIEST = 500  # so many of those (a tenth of a lower limit) at most: where weights collapse must be seen
GOLDEN = 0.6180339887498949
INK = 20_000.0  # px^2: sum of all squared dot diameters, so that the ink stays the same for any m
EMPTY_LINE = {"x": np.empty(0, np.float32), "y": np.empty(0, np.float32)}


class StageColumns(NamedTuple):
    """What the stage draws of a frame."""

    exact: dict[str, np.ndarray]  # x, y with NaN gaps
    approximate: dict[str, np.ndarray]
    particles: dict[str, np.ndarray]  # x, y, size (diameter, px), weight, log_density (nats)
    drawn: int
    num_particles: int
    top: float  # highest density of the curves (1-D only, else NaN)


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


def drawn_rows(weights: np.ndarray, limit: int = MAX_DRAWN) -> np.ndarray:
    """Rows of the particles to draw: all, or every so many-th (the same in every frame).

    The heaviest that stand out, and are not among those, take the places of some. Rows of equal weight are chosen
    evenly: neighbours in the array are neighbours in space.
    """
    m = len(weights)
    if m <= limit:
        return np.arange(m)
    spread = np.linspace(0, m - 1, limit).astype(np.int64)
    heavy = np.flatnonzero(weights * m > STANDS_OUT)
    missing = np.setdiff1d(heavy, spread, assume_unique=True)
    missing = missing[_evenly(len(missing))]
    missing = missing[np.argsort(-weights[missing], kind="stable")[: min(HEAVIEST, limit // 10)]]
    light = np.flatnonzero(~np.isin(spread, heavy))
    in_favour = light[_evenly(len(light))[: len(missing)]]
    return np.sort(np.concatenate([np.delete(spread, in_favour), missing]))


def _evenly(n: int) -> np.ndarray:
    """0 .. n-1 in an order of which any first part is spread evenly (Weyl's sequence of the golden ratio)."""
    return np.argsort((np.arange(n) * GOLDEN) % 1.0)


def dot_sizes(weights: np.ndarray, num_particles: int) -> np.ndarray:
    """Diameters in px of the drawn dots: the area is proportional to the weight."""
    share = INK * num_particles / max(len(weights), 1)
    return np.sqrt(weights * share).astype(np.float32)


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


def stage_columns(frame: Any, limit: int = MAX_DRAWN) -> StageColumns:
    """All arrays (float32) that the stage draws of `frame`; computing them changes nothing in the frame.

    Of more than `limit` particles a part is drawn.
    """
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


def set_data(source: Any, data: dict[str, np.ndarray]) -> None:
    """Give a source its columns."""
    source.data = data
