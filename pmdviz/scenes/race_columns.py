"""The plain arrays behind a race: tiles in one picture, clocks, thinned traces, bands over seeds."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from pmdviz.metrics import Metric
from pmdviz.scenes.columns import EMPTY_PATHS, Image, StageColumns
from pmdviz.scenes.stage import Pair, Scene
from pmdviz.scenes.stage.base import USUAL_WORDS
from pmdviz.scenes.tiling import Ranges, Tiling, joined, placed
from pmdviz.scenes.trace_columns import CLOCK_OF, GROUPS, column, extremes, nice, value_range
from pmdviz.scenes.trace_columns import CLOCKS as OF_RUNS

CLOCKS = {
    "visited": OF_RUNS["visited"],
    "gradient_evaluations": "gradient evaluations (pairs of θ and observation)",
    "density_evaluations": "density evaluations (pairs of θ and observation)",
    "evaluations": OF_RUNS["evaluations"],
    "seconds": "computing time of the steps (seconds)",
}
MAX_POINTS = 600  # of a trace
DOTS = 4_000  # of all tiles together
DOT_SCALE, MAX_DOT, SMALLEST_DOT = 0.55, 9.0, 1.2  # of the stage's dots; px
BAND_POINTS, QUANTILES = 60, (0.1, 0.5, 0.9)

Columns = Mapping[str, np.ndarray]
Place = tuple[Ranges, tuple[float, float]]  # of a tile: the ranges of its own axes, and its corner


def tile_columns(frame: Any, entrants: int, scene: Scene, pair: Pair) -> StageColumns:
    """What a tile shows of `frame` in a race of so many entrants."""
    drawn = scene.columns(frame, pair, max(100, DOTS // entrants))
    return drawn._replace(image=None) if scene.image_of else drawn


def tile_words(scene: Scene) -> dict[str, str]:
    """The layers of a scene that tiles show, and what they are called: the usual ones by short names."""
    short = {name: name if words == USUAL_WORDS.get(name) else words for name, words in scene.words().items()}
    return {name: words for name, words in short.items() if name != "prior"}


def places(scene: Scene, pair: Pair, target: Any, tiles: Sequence[StageColumns], tiling: Tiling) -> list[Place]:
    """Where each tile's own axes begin and end, and where it lies."""
    return [(scene.ranges(target, pair, tile.top), tiling.corner(k)) for k, tile in enumerate(tiles)]


def tile_lines(lines: Sequence[Columns], at: Sequence[Place]) -> dict[str, np.ndarray]:
    """One layer's lines of all tiles as one line with gaps."""
    moved = [placed(line["x"], line["y"], *place) for line, place in zip(lines, at, strict=True)]
    return joined({"x": x, "y": y} for x, y in moved)


def tile_points(points: Sequence[Columns], at: Sequence[Place]) -> dict[str, np.ndarray]:
    """Dots of one size of all tiles; those outside of their tile are left out."""
    nothing = np.empty(0, np.float32)
    moved = [placed(one["x"], one["y"], *place) for one, place in zip(points, at, strict=True)]
    x, y = (np.concatenate([nothing, *(one[side] for one in moved)]) for side in (0, 1))
    return {"x": x[np.isfinite(x)], "y": y[np.isfinite(x)]}


def tile_paths(paths: Sequence[Columns], at: Sequence[Place]) -> dict[str, np.ndarray]:
    """The paths of all tiles; what leaves its tile is left out."""
    moved = []
    for one, place in zip(paths, at, strict=True):
        ends = [placed(one[x], one[y], *place) for x, y in (("x0", "y0"), ("x1", "y1"))]
        inside = np.isfinite(ends[0][0]) & np.isfinite(ends[1][0])
        moved.append([column[inside] for column in (*ends[0], *ends[1], one["alpha"], one["kind"])])
    return {name: np.concatenate([EMPTY_PATHS[name], *(one[k] for one in moved)]) for k, name in enumerate(EMPTY_PATHS)}


def tile_images(images: Sequence[Image | None], at: Sequence[Place]) -> dict[str, list[Any]]:
    """The images of all tiles, a row each: cells, lower left corner, width and height."""
    rows: dict[str, list[Any]] = {name: [] for name in ("image", "x", "y", "dw", "dh")}
    for image, (((x0, x1), (y0, y1)), (left, bottom)) in zip(images, at, strict=True):
        if image is not None:
            (a, b), (c, d) = image.x, image.y
            rows["image"].append(image.values)
            rows["x"].append(left + (a - x0) / (x1 - x0))
            rows["y"].append(bottom + (c - y0) / (y1 - y0))
            rows["dw"].append((b - a) / (x1 - x0))
            rows["dh"].append((d - c) / (y1 - y0))
    return rows


def tile_dots(dots: Sequence[Columns], at: Sequence[Place]) -> dict[str, np.ndarray]:
    """The dots of all tiles; those outside of their tile are left out."""
    nothing = np.empty(0, np.float32)
    moved = [placed(one["x"], one["y"], *place) for one, place in zip(dots, at, strict=True)]
    sizes = [np.clip(one["size"] * DOT_SCALE, SMALLEST_DOT, MAX_DOT) for one in dots]
    x, y = (np.concatenate([nothing, *(one[side] for one in moved)]) for side in (0, 1))
    inside = np.isfinite(x)
    return {"x": x[inside], "y": y[inside], "size": np.concatenate([nothing, *sizes])[inside].astype(np.float32)}


def span(metric: Metric, values: Sequence[np.ndarray]) -> tuple[float, float]:
    """Where the axis of a metric begins and ends.

    A logarithmic one is fixed but for values below its usual lower end, another one holds all values.
    """
    if not metric.log:
        return value_range(GROUPS[metric.axis], values)
    flat = np.concatenate([np.empty(0), *(np.asarray(v, float) for v in values)])
    flat = flat[np.isfinite(flat) & (flat > 1e-6)]
    lowest, highest = metric.limits
    low = nice(0.9 * float(flat.min()), up=False) if len(flat) else lowest
    return min(lowest, low), highest


def spans(
    metrics: Iterable[Metric], rows: Sequence[Columns], floors: Mapping[str, float | None]
) -> dict[str, tuple[float, float]]:
    """The `span` of each metric that holds the rows of all entrants and what independent draws get."""
    return {
        metric.name: span(metric, [*(one[metric.name] for one in rows), np.array([floors[metric.name] or np.nan])])
        for metric in metrics
    }


def line_columns(rows: Columns, spans: Mapping[str, tuple[float, float]]) -> dict[str, np.ndarray]:
    """Columns of one entrant's traces: all clocks, and each metric inside its span; NaN (unavailable) is a gap."""
    chosen = extremes([rows[metric] for metric in spans], MAX_POINTS)
    columns = {clock: np.asarray(rows[clock], np.float32)[chosen] for clock in CLOCKS}
    for metric, limits in spans.items():
        columns[metric] = np.clip(np.asarray(rows[metric], np.float32)[chosen], *limits)
    return columns


def clock_end(clock: str, ends: Sequence[float], budget: int | None, unit: str = "data") -> float:
    """Where the x axis ends: the budget where the clock counts it, else a round number that nobody has passed."""
    last = max(ends, default=0.0)
    if clock == CLOCK_OF[unit] and budget and last <= 1.05 * budget:
        return 1.02 * budget
    return nice(max(1.02 * last, 1e-9))


def band(histories: Sequence[Columns], clock: str, metric: str) -> dict[str, np.ndarray]:
    """x and the 10 %, 50 % and 90 % quantiles over runs of a metric, between clock values that all runs have reached.

    Of each run the value is interpolated between its measured frames. Empty where it is unavailable.
    """
    nothing = dict.fromkeys(("x", "low", "middle", "high"), np.empty(0))
    if not histories or any(np.isnan(column(h, metric)).all() or h[clock][-1] <= 0 for h in histories):
        return nothing
    end = min(float(h[clock][-1]) for h in histories)
    x = np.linspace(0.0, end, BAND_POINTS)
    known = [np.isfinite(column(h, metric)) for h in histories]
    pairs = [(column(h, clock)[k], column(h, metric)[k]) for h, k in zip(histories, known, strict=True)]
    values = [np.interp(x, *pair) for pair in pairs]
    low, middle, high = np.quantile(values, QUANTILES, axis=0)
    return {"x": x, "low": low, "middle": middle, "high": high}
