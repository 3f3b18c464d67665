"""The plain arrays behind the stage, from one frame, and how they are packed for the browser."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

import numpy as np

MAX_DRAWN = 5_000  # a browser paints 5,000 dots in about 20 ms, 100,000 in 600 ms
STANDS_OUT = 8.0  # times the mean weight: of a run as it should be no particle has so much
HEAVIEST = 500  # so many of those (a tenth of a lower limit) at most: where weights collapse must be seen
GOLDEN = 0.6180339887498949
INK = 20_000.0  # px^2: sum of all squared dot diameters, so that the ink stays the same for any m
LARGEST_DOT = 20.0  # px: a heavier particle is not drawn larger, it would hide the others
OPACITY_DOTS, OPACITY_POWER, OPAQUE = 1_500, 0.15, 0.85  # few dots are denser, many are thinner
EMPTY_LINE = {"x": np.empty(0, np.float32), "y": np.empty(0, np.float32)}


EMPTY_PATHS = dict.fromkeys(("x0", "y0", "x1", "y1", "alpha", "kind"), EMPTY_LINE["x"])
EMPTY_DOTS = dict.fromkeys(("x", "y", "size", "weight", "log_density"), EMPTY_LINE["x"])


class Image(NamedTuple):
    """Cells of colour behind the lines: row 0 lies at the bottom."""

    values: np.ndarray  # (rows, columns) float32 in [0, 1]; a half is neutral
    x: tuple[float, float]  # its edges
    y: tuple[float, float]
    ends: tuple[str, str] = ("approximate", "particles")  # the layers whose colours 0 and 1 have


class Words(NamedTuple):
    """Words in the picture, each centred at its place."""

    x: np.ndarray  # float32
    y: np.ndarray
    text: tuple[str, ...]


NO_WORDS = Words(EMPTY_LINE["x"], EMPTY_LINE["x"], ())


class StageColumns(NamedTuple):
    """What the stage draws of a frame."""

    exact: dict[str, np.ndarray]  # x, y with NaN gaps
    approximate: dict[str, np.ndarray]
    particles: dict[str, np.ndarray]  # x, y, size (diameter, px), weight, log_density (nats)
    drawn: int
    num_particles: int
    top: float = np.nan  # highest density of the curves (1-D only)
    image: Image | None = None
    others: dict[str, np.ndarray] = EMPTY_LINE  # x, y of dots in ink
    prior: dict[str, np.ndarray] = EMPTY_LINE  # x, y with NaN gaps
    words: Words = NO_WORDS
    paths: dict[str, np.ndarray] = EMPTY_PATHS  # segments from x0, y0 to x1, y1: alpha, and kind as in `scenes.paths`


def drawn_rows(weights: np.ndarray, limit: int = MAX_DRAWN) -> np.ndarray:
    """Rows of the particles to draw: all, or every k-th (the same in every frame).

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


def dot_sizes(weights: np.ndarray, num_particles: int, largest: float = LARGEST_DOT) -> np.ndarray:
    """Diameters in px of the drawn dots: the area is proportional to the weight, up to a `largest` dot."""
    share = INK * num_particles / max(len(weights), 1)
    return np.minimum(np.sqrt(weights * share), largest).astype(np.float32)


def dot_opacity(usual: float, drawn: int) -> float:
    """Opacity of `drawn` dots, where `usual` is that of 1,500."""
    return min(OPAQUE, usual * (OPACITY_DOTS / max(drawn, 1)) ** OPACITY_POWER)


def dot_columns(
    frame: Any, pair: tuple[int, int], limit: int = MAX_DRAWN, largest: float = LARGEST_DOT
) -> dict[str, np.ndarray]:
    """The particles in two of their coordinates; what q is there is not known."""
    rows = drawn_rows(frame.weights, limit)
    points, weights = frame.particles[rows], frame.weights[rows]
    return {
        "x": points[:, pair[0]].astype(np.float32),
        "y": points[:, pair[1]].astype(np.float32),
        "size": dot_sizes(weights, len(frame.weights), largest),
        "weight": weights.astype(np.float32),
        "log_density": np.full(len(rows), np.nan, np.float32),
    }


def set_data(source: Any, data: dict[str, np.ndarray]) -> None:
    """Give a source its columns."""
    source.data = data


# Columns of several sources in one run of bytes: a frame is then one small message, not two a column.


def pack(parts: Iterable[tuple[int, Mapping[str, np.ndarray]]]) -> tuple[bytes, str]:
    """Bytes (float32) of all columns and their layout as JSON: [[source, [[column, start, length], ...]], ...].

    Starts and lengths count numbers, not bytes. An array that serves several columns is packed once.
    """
    arrays: list[np.ndarray] = []
    at: dict[int, int] = {}  # id of an array -> its start
    layout, end = [], 0
    for source, columns in parts:
        rows = []
        for name, column in columns.items():
            if id(column) not in at:
                arrays.append(np.asarray(column, "<f4"))
                at[id(column)] = end
                end += len(column)
            rows.append([name, at[id(column)], len(column)])
        layout.append([source, rows])
    return b"".join(array.tobytes() for array in arrays), json.dumps(layout, separators=(",", ":"))
