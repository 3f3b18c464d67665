"""The ladder from prior to posterior: densities at nine temperatures, the particles on theirs, their log-weights."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from pmdviz.densities.bandwidth import local
from pmdviz.densities.density import KernelDensity
from pmdviz.densities.grid import Grid
from pmdviz.methods import Method
from pmdviz.methods.step import TEMPERATURE
from pmdviz.metrics.draws import once
from pmdviz.scenes.columns import EMPTY_LINE, MAX_DRAWN, StageColumns, Words, dot_sizes, drawn_rows
from pmdviz.scenes.stage.base import Pair, Ranges, Scene
from pmdviz.scenes.stage.marginal_columns import reference_marginal
from pmdviz.scenes.tiling import joined
from pmdviz.streams import stream
from pmdviz.targets import Target

ROWS, POWER = 8, 3.0  # row k is that of β = (k / 8)^3
HIGH = 0.85  # of a row, that a curve's peak takes
SIDE = {1: 512, 2: 160}  # cells, a side, of the grid that densities are summed on
WIDTH, SMOOTH = 0.75, 1.2  # factor c of the particles' kernel, and for many draws of the prior
BINS, REACH = 32, 8.0  # of the histogram of log m w_i, which ends so many nats from 0
GAP, SHARE = 0.12, 0.45  # to the histogram, and its width, in widths of the curves
LARGEST = 8.0  # px, of a dot

Line = dict[str, np.ndarray]


class Plane(NamedTuple):
    """log prior and log likelihood of a target in one or two dimensions on a grid over its box."""

    grid: Grid
    log_prior: np.ndarray  # of the grid's shape
    log_likelihood: np.ndarray

    def curve(self, coordinate: int, beta: float) -> Line:
        """prior x likelihood^beta of one coordinate, its peak at 1."""
        values = self.log_prior + (beta * self.log_likelihood if beta else 0.0)
        density = np.exp(values - values.max())
        if density.ndim == 2:  # rows of a grid are its second coordinate
            density = density.sum(axis=0 if coordinate == 0 else 1)
        return _line(self.grid.axes[coordinate], density / density.max())


class LadderScene(Scene):
    """One coordinate under prior x likelihood^β, from the prior (row 0) to the posterior (row 8), each as high as 1.

    The particles' density stands on the row of their own β, and rises with it. Above two dimensions only the first and
    the last row are known. At the right is the histogram of the log-weights, 0 being the mean weight.
    """

    name = "ladder"
    title = "Temperatures"
    numbered = False
    order = 12
    legend = {
        "prior": "exact at the present β",
        "exact": "prior × likelihood^β",
        "approximate": "weighted particles, and their log-weights",
        "particles": "particles",
    }

    def applies(self, target: Target, method: Method) -> bool:
        """To methods whose steps tell a temperature, in real coordinates."""
        return "reals" in target.offers and TEMPERATURE.name in {scalar.name for scalar in method.scalars}

    def choices(self, target: Target) -> dict[str, Any]:
        """Which coordinate."""
        return {"Coordinate": target.parameter_names} if target.dim > 1 else {}

    def ranges(self, target: Target, pair: Pair, top: float) -> Ranges:
        """The coordinate's box with the histogram beside it, and a row for each temperature."""
        low, high = target.view_box[_coordinate(target, pair)]
        width = high - low
        return (low - 0.16 * width, high + (GAP + SHARE + 0.04) * width), (-1.7, ROWS + 1.1)

    def axis_labels(self, target: Target, pair: Pair) -> tuple[str, str]:
        """The coordinate, and what a row is."""
        name = target.parameter_names[_coordinate(target, pair)]
        return f"{name} · log-weight of a particle (nats, mean weight at 0)", "temperature β"

    def columns(self, frame: Any, pair: Pair, limit: int = MAX_DRAWN) -> StageColumns:
        """Curves, particles, the histogram and the words beside them."""
        target, k = frame.target, _coordinate(frame.target, pair)
        beta = temperature_of(frame)
        points, log_weights = _walkers(frame)
        row = ROWS * beta ** (1 / POWER)
        exact, now = _exact(target, k, beta)
        curve = _of_particles(points[:, k], log_weights, target.view_box[k], target.scale[k])
        drawn = joined([_raised(curve, row), _histogram(log_weights, target.view_box[k])])
        dots = _dots(points[:, k], log_weights, row, limit)
        m = len(log_weights)
        return StageColumns(exact, drawn, dots, len(dots["x"]), m, prior=_raised(now, row), words=_words(target, k))


def temperature_of(frame: Any) -> float:
    """β that the last step told, 1 where its annealing is off; 0 before the first."""
    return float(frame.info.scalars.get(TEMPERATURE.name, 1.0)) if frame.info else 0.0


def _coordinate(target: Target, pair: Pair) -> int:
    return pair[0] if pair[0] < target.dim else 0


def _walkers(frame: Any) -> tuple[np.ndarray, np.ndarray]:
    """Points and log-weights at the present temperature: of a way back those that take it, else the particles."""
    back = getattr(frame.state, "back_log_weights", ())
    if len(back):
        return frame.state.points, back
    return frame.particles, np.log(np.maximum(frame.weights, 1e-300))


def _line(x: np.ndarray, y: np.ndarray) -> Line:
    return {"x": np.asarray(x, np.float32), "y": np.asarray(y, np.float32)}


def _raised(line: Line, row: float) -> Line:
    """A curve with its peak at 1, on a row."""
    return _line(line["x"], row + HIGH * line["y"])


def _exact(target: Target, k: int, beta: float) -> tuple[Line, Line]:
    """The rows' curves, the SAME arrays at every frame, and the curve at the present temperature (not yet raised)."""
    if target.dim > 2:
        return _ends(target, k), EMPTY_LINE
    plane = plane_of(target)
    return once(target, ("rows", k), lambda: _rows(plane, k)), plane.curve(k, beta)


def _rows(plane: Plane, k: int) -> Line:
    return joined(_raised(plane.curve(k, (row / ROWS) ** POWER), row) for row in range(ROWS + 1))


def plane_of(target: Target) -> Plane:
    """The target on a grid over its view box, in one or two dimensions; the same for every frame."""
    return once(target, "plane", lambda: _plane(target))


def _plane(target: Target) -> Plane:
    grid = Grid(target.view_box, SIDE[target.dim])
    log_prior = target.log_prior(grid.points)
    inside, log_likelihood = log_prior > -np.inf, np.full(len(log_prior), -np.inf)
    log_likelihood[inside] = target.log_likelihood(grid.points[inside], target.data_rows)
    return Plane(grid, log_prior.reshape(grid.shape), log_likelihood.reshape(grid.shape))


def _ends(target: Target, k: int) -> Line:
    """Prior and posterior of one coordinate of many, the SAME arrays at every frame."""
    return once(target, ("ends", k), lambda: _both_ends(target, k))


def _both_ends(target: Target, k: int) -> Line:
    found = reference_marginal(target, (k,))
    draws = target.sample_prior(stream("pictures"), 5000)[:, k]
    equal = np.full(len(draws), -np.log(len(draws)))
    prior = _of_particles(draws, equal, target.view_box[k], target.scale[k], SMOOTH)
    last = [] if found is None else [_raised(_scaled(found.lines), ROWS)]
    return joined([_raised(prior, 0), *last])


def _scaled(line: Line) -> Line:
    return _line(line["x"], line["y"] / np.nanmax(line["y"]))


def _of_particles(
    x: np.ndarray, log_weights: np.ndarray, box: tuple[float, float], scale: float, width: float = WIDTH
) -> Line:
    """Weighted density of one coordinate, its peak at 1."""
    points = np.ascontiguousarray(x[:, None])
    factor = local(points, np.exp(log_weights), width, np.array([scale]))
    grid = Grid((box,), SIDE[1])
    values = KernelDensity(points, log_weights, factor).on_grid(grid)
    return _line(grid.axes[0], values / max(float(values.max()), 1e-300))


def _histogram(log_weights: np.ndarray, box: tuple[float, float]) -> Line:
    """Steps: how many particles have which log m w_i; those beyond the ends, and of weight 0, are in the last bins."""
    low, high = box
    left, width = high + GAP * (high - low), SHARE * (high - low)
    values = np.clip(log_weights + np.log(len(log_weights)), -REACH, REACH)
    counts, edges = np.histogram(values, bins=BINS, range=(-REACH, REACH))
    x = left + width * (np.repeat(edges, 2) + REACH) / (2 * REACH)
    y = ROWS * np.r_[0, np.repeat(counts / max(counts.max(), 1), 2), 0]
    return _line(x, y)


def _dots(x: np.ndarray, log_weights: np.ndarray, row: float, limit: int) -> Line:
    """The particles below their curve."""
    weights = np.exp(log_weights)
    rows = drawn_rows(weights, limit)
    nan, y = np.full(len(rows), np.nan, np.float32), np.full(len(rows), row - 0.08, np.float32)
    size = dot_sizes(weights[rows], len(weights), LARGEST)
    known = {"weight": weights[rows].astype(np.float32), "log_density": nan}
    return {"x": x[rows].astype(np.float32), "y": y, "size": size, **known}


def _words(target: Target, k: int) -> Words:
    """β of every second row at the left; below, the ends of both axes."""
    low, high = target.view_box[k]
    width = high - low
    left, side = high + GAP * width, SHARE * width
    rows = [(low - 0.07 * width, row + 0.1, f"{(row / ROWS) ** POWER:.2g}") for row in range(0, ROWS + 1, 2)]
    ends = [(x, -0.55, f"{x:.3g}") for x in (low, 0.5 * (low + high), high)]
    nats = [(left + side * share, -0.55, text) for share, text in ((0, f"-{REACH:g}"), (0.5, "0"), (1, f"{REACH:g}"))]
    x, y, text = zip(*rows, *ends, *nats, strict=True)
    return Words(np.array(x, np.float32), np.array(y, np.float32), text)
