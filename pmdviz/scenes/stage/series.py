"""A hidden path over time, and parameters of a series in their own units."""

from __future__ import annotations

from typing import Any

import numpy as np

from pmdviz.densities.bandwidth import local
from pmdviz.densities.density import KernelDensity
from pmdviz.densities.grid import Grid
from pmdviz.methods import Method
from pmdviz.metrics.distances import once
from pmdviz.scenes.columns import EMPTY_LINE, MAX_DRAWN, StageColumns, Tiling, Words, curve_columns, joined, placed
from pmdviz.scenes.stage import Pair, Ranges, Scene
from pmdviz.targets import Target

SHARES = 0.05, 0.5, 0.95  # of the points of a time that lie below each of the three lines
POINTS = 1000  # times at most
ROOM = 0.6  # above and below the exact band, in its height

Line = dict[str, np.ndarray]


class HiddenPathScene(Scene):
    """Median, 5 % and 95 % of the path at every time, under q and exactly; the path that the data were simulated from.

    Any target that says in which coordinates its path is (`path_columns`) has it. Of particles q is they themselves,
    without the smoothing of a density.
    """

    name = "hidden_path"
    title = "Hidden path"
    order = 3
    legend = {
        "prior": "true path",
        "exact": "exact median, 5 and 95 %",
        "approximate": "approximate median, 5 and 95 %",
    }

    def applies(self, target: Target, method: Method) -> bool:
        """To targets with a path."""
        return hasattr(target, "path_columns")

    def ranges(self, target: Target, pair: Pair, top: float) -> Ranges:
        """All times, and room around the exact band."""
        band = _exact_band(target)["y"]
        low, high = float(np.nanmin(band)), float(np.nanmax(band))
        room = ROOM * (high - low) or 1.0
        count = len(_times(target))
        side = 0.01 * target.num_data if count > 1 else 1.0
        return (1 - side, target.num_data + side), (low - room, high + room)

    def axis_labels(self, target: Target, pair: Pair) -> tuple[str, str]:
        """Time, and what the target calls its path."""
        return "t", target.path_title

    def columns(self, frame: Any, pair: Pair, limit: int = MAX_DRAWN) -> StageColumns:
        """Two bands and the true path."""
        target = frame.target
        true = EMPTY_LINE if target.true_path is None else _line(target, target.true_path[_times(target)])
        return StageColumns(_exact_band(target), _band(target, *points_of(frame)), prior=true)


def points_of(frame: Any) -> tuple[np.ndarray, np.ndarray]:
    """Points (n, d) with weights (n,): particles or draws of a chain, of a few Gaussians draws."""
    if frame.method.family == "parametric":
        return frame.draws, np.full(len(frame.draws), 1 / len(frame.draws))
    return frame.particles, frame.weights


def _times(target: Target) -> np.ndarray:
    """Which of the path's points are drawn, from 0."""
    count = target.num_data
    return np.unique(np.linspace(0, count - 1, min(count, POINTS)).astype(np.int64))


def _band(target: Target, points: np.ndarray, weights: np.ndarray) -> Line:
    paths = points[:, target.path_columns][:, _times(target)]
    return joined(_line(target, curve) for curve in weighted_quantiles(paths, weights, SHARES))


def _line(target: Target, y: np.ndarray) -> Line:
    return curve_columns(_times(target) + 1, y)


def weighted_quantiles(values: np.ndarray, weights: np.ndarray, shares: tuple[float, ...]) -> np.ndarray:
    """Of every column of values (n, k) the least value that weights (n,) of each share lie at or below: (shares, k)."""
    order = np.argsort(values, axis=0)
    below = np.cumsum(weights[order], axis=0)
    places = [np.minimum((below < share * below[-1]).sum(axis=0), len(values) - 1) for share in shares]
    columns = np.arange(values.shape[1])
    return np.array([values[order[place, columns], columns] for place in places])


def _exact_band(target: Target) -> Line:
    """The SAME arrays at every frame."""
    draws = target.reference().draws
    return once(target, "path", lambda: _band(target, draws, np.full(len(draws), 1 / len(draws))))


# What a target is asked for in its own units, such as a variance and not its log: marginals beside the exact ones.

CELLS, REACH = 160, 4.5  # of a curve; exact sds to either side
HIGH, TOP = 0.55, 0.97  # heights of the exact peak, and at most

Box = tuple[float, float]


class ReportedScene(Scene):
    """A tile for each quantity: its marginal density exactly and under q, and both means and sds in words.

    The curves of a tile are scaled alike, the exact one to a little over half of its height; a higher one is cut off.
    Any target with `reported` (theta (m, d) -> (m, k)) and `reported_names` has it.
    """

    name = "reported"
    title = "Parameters"
    order = 4
    numbered = False
    legend = {"exact": "exact", "approximate": "approximate"}

    def applies(self, target: Target, method: Method) -> bool:
        """To targets with quantities of their own."""
        return hasattr(target, "reported")

    def ranges(self, target: Target, pair: Pair, top: float) -> Ranges:
        """All tiles."""
        return _tiling(target).ranges

    def axis_labels(self, target: Target, pair: Pair) -> tuple[str, str]:
        """What stands along the axes of a tile."""
        return f"{', '.join(target.reported_names)}: mean ± sd", "marginal densities"

    def columns(self, frame: Any, pair: Pair, limit: int = MAX_DRAWN) -> StageColumns:
        """Curves, and words over and under them."""
        target, (points, weights) = frame.target, points_of(frame)
        exact, scales, told = once(target, "reported", lambda: _exact_tiles(target))
        found = target.reported(points)
        lines, words = [], []
        for k, ((box, peak), name) in enumerate(zip(scales, target.reported_names, strict=True)):
            lines.append(_placed(target, k, *_curve(found[:, k], weights, box), box, peak))
            mean = float((weights * found[:, k]).sum())
            sd = float(np.sqrt((weights * (found[:, k] - mean) ** 2).sum()))
            words += [(k, 0.5, 1 + 0.16, f"{name}  exact {told[k]}"), (k, 0.5, 1 + 0.05, f"q {mean:.3g} ± {sd:.2g}")]
            words += [(k, place, 0.03, f"{box[0] + place * (box[1] - box[0]):.3g}") for place in (0.1, 0.5, 0.9)]
        return StageColumns(exact, joined(lines), words=_words(target, words))


def _tiling(target: Target) -> Tiling:
    return Tiling(len(target.reported_names), 2)


def _words(target: Target, words: list[tuple[int, float, float, str]]) -> Words:
    corners = [_tiling(target).corner(k) for k, *_ in words]
    x = [corner[0] + across for corner, (_, across, _, _) in zip(corners, words, strict=True)]
    y = [corner[1] + up for corner, (_, _, up, _) in zip(corners, words, strict=True)]
    return Words(np.array(x, np.float32), np.array(y, np.float32), tuple(text for *_, text in words))


def _curve(values: np.ndarray, weights: np.ndarray, box: Box) -> tuple[np.ndarray, np.ndarray]:
    """A kernel density estimate on the box."""
    alive = weights > 0
    values, weights = np.ascontiguousarray(values[alive, None]), weights[alive]
    grid = Grid((box,), CELLS)
    spread = max(float(values.std()), 1e-6 * (box[1] - box[0]))
    density = KernelDensity(values, np.log(weights), local(values, weights, 1.0, np.array([spread])))
    return grid.axes[0], density.on_grid(grid)


def _placed(target: Target, k: int, x: np.ndarray, density: np.ndarray, box: Box, peak: float) -> Line:
    """In tile k, the foot a little above its edge for the numbers below."""
    foot = 0.1
    height = np.minimum(foot + (HIGH - foot) * density / peak, TOP)
    return curve_columns(*placed(x, height, (box, (0.0, 1.0)), _tiling(target).corner(k)))


def _exact_tiles(target: Target) -> tuple[Line, list[tuple[Box, float]], list[str]]:
    """The exact curves, each tile's box and peak, and mean and sd in words."""
    found = target.reported(target.reference().draws)
    weights = np.full(len(found), 1 / len(found))
    lines, scales, told = [], [], []
    for k, values in enumerate(found.T):
        mean, sd = float(values.mean()), float(values.std())
        low, high = target.reported_bounds[k]
        box = max(mean - REACH * sd, low), min(mean + REACH * sd, high)
        curve = _curve(values, weights, box)
        scales.append((box, float(curve[1].max())))
        lines.append(_placed(target, k, *curve, *scales[-1]))
        told.append(f"{mean:.3g} ± {sd:.2g}")
    return joined(lines), scales, told
