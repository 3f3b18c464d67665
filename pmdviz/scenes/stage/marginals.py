"""The marginals of every coordinate, and pictures of one or two coordinates of many."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from pmdviz.densities.bandwidth import local
from pmdviz.densities.density import KernelDensity, variances
from pmdviz.densities.grid import Grid
from pmdviz.densities.marginals import marginal_on_grid
from pmdviz.methods import Method
from pmdviz.scenes.columns import EMPTY_DOTS, MAX_DRAWN, StageColumns
from pmdviz.scenes.contours import contour_line, density_curve, density_levels, region_lines
from pmdviz.scenes.stage.base import Pair, Ranges, Scene
from pmdviz.scenes.tiling import joined
from pmdviz.streams import stream
from pmdviz.targets import Target
from pmdviz.targets.reference.cells import Box

# Pictures of one or two coordinates of many: of the approximation, and of the reference, which is kept.

SIDE = {1: 256, 2: 72}  # cells of a picture, a side
REACH = 5.0  # sds to either side that it holds
HEAVY = 2.0  # of a view: where those sds reach further than so much of it, the tails are heavy
DRAWS = 10_000  # of a reference whose marginals are not known
WIDTH = 1.0  # factor c of the reference's kernel: its draws are many
KEPT = 64
OUTLINES = (0.5, 0.95)  # shares of the prior inside its outlines

Lines = dict[str, np.ndarray]
_lock = threading.Lock()
_kept: dict[tuple, Marginal] = {}


class Marginal(NamedTuple):
    """A density of one or two coordinates on a grid, and its curve or its 50, 80 and 95 % regions."""

    grid: Grid
    values: np.ndarray  # of the grid's shape
    lines: Lines


def approximate_marginal(density: Any, coordinates: Sequence[int], view: Box | None = None) -> Marginal:
    """Some coordinates of q; of heavy tails what lies in the view of all coordinates."""
    grid = _grid_about(density.mean, variances(density), coordinates, view)
    return _marginal(grid, marginal_on_grid(density, coordinates, grid))


def reference_marginal(target: Target, coordinates: Sequence[int]) -> Marginal | None:
    """The same of the target's reference; the SAME arrays at every call. None without a reference."""
    reference = target.reference()
    if reference is None:
        return None
    return _keep(("exact", target.key, *coordinates), lambda: _made(reference, coordinates, target.view_box))


def prior_lines(target: Target, coordinates: Sequence[int]) -> Lines:
    """The curve of one coordinate under the prior, or the outlines of two; of many from draws."""
    return _keep(("prior", target.key, *coordinates), lambda: _made_of_prior(target, coordinates)).lines


def _made_of_prior(target: Target, coordinates: Sequence[int]) -> Marginal:
    draws = target.sample_prior(stream("pictures"), DRAWS)
    grid = _grid_about(draws.mean(axis=0), draws.var(axis=0, ddof=1), coordinates)
    if target.dim > 2:
        density = _of_draws(draws[:, list(coordinates)], grid)
    else:
        density = np.exp(target.log_prior(grid.points)).reshape(grid.shape)
    lines = (
        density_curve(*grid.axes, density)
        if target.dim == 1
        else contour_line(*grid.axes, density, density_levels(density, OUTLINES))
    )
    return Marginal(grid, density, lines)


def _keep(key: tuple, make: Callable[[], Marginal]) -> Marginal:
    if key not in _kept:
        made = make()
        with _lock:
            while len(_kept) >= KEPT:
                del _kept[next(iter(_kept))]
            _kept[key] = made
    return _kept[key]


def _made(reference: Any, coordinates: Sequence[int], view: Box) -> Marginal:
    grid = _grid_about(reference.mean, np.diag(reference.cov), coordinates, view)
    if hasattr(reference, "marginal_log_density"):
        log_p = reference.marginal_log_density(coordinates)(grid.points)
        return _marginal(grid, np.exp(log_p).reshape(grid.shape))
    draws = reference.sample(stream("pictures"), DRAWS)[:, list(coordinates)]
    return _marginal(grid, _of_draws(draws, grid))


def _of_draws(draws: np.ndarray, grid: Grid) -> np.ndarray:
    draws = np.ascontiguousarray(draws)
    weights = np.full(len(draws), 1 / len(draws))
    factor = local(draws, weights, WIDTH, draws.std(axis=0))
    return KernelDensity(draws, np.log(weights), factor).on_grid(grid)


def _marginal(grid: Grid, values: np.ndarray) -> Marginal:
    return Marginal(grid, values, region_lines(grid.axes, values))


def _grid_about(mean: np.ndarray, variance: np.ndarray, coordinates: Sequence[int], view: Box | None = None) -> Grid:
    sds = np.sqrt(variance)
    floor = 1e-9 * (1.0 + np.abs(mean))  # coincident particles have no spread
    box = tuple((float(mean[k] - h), float(mean[k] + h)) for k in coordinates for h in [REACH * sds[k] + floor[k]])
    if view is not None:
        box = tuple(_seen(edge, view[k]) for edge, k in zip(box, coordinates, strict=True))
    return Grid(box, SIDE[len(box)])


def _seen(edge: tuple[float, float], view: tuple[float, float]) -> tuple[float, float]:
    """The view in place of an edge that is far longer, with its middle there: few of its cells would hold the body."""
    (low, high), middle = view, 0.5 * (edge[0] + edge[1])
    heavy = edge[1] - edge[0] > HEAVY * (high - low) and low < middle < high
    return view if heavy else edge


MOST = 12  # coordinates that are drawn
WIDE = 6.0  # reference sds to either side
HIGH = 0.85  # of a row, that the reference's peak takes


class MarginalsScene(Scene):
    """Marginal densities of the first 12 coordinates, one above the other, in units of the reference's sds.

    Each row is scaled so that the reference's curve is as high as the row; the approximation's by the same number.
    """

    name = "marginals"
    title = "Marginals"
    order = 20
    legend = {"exact": "exact", "approximate": "approximate"}

    def applies(self, target: Target, method: Method) -> bool:
        """To real coordinates, more than one, with something to compare them with."""
        return "reals" in target.offers and target.dim > 1 and target.reference() is not None

    def ranges(self, target: Target, pair: Pair, top: float) -> Ranges:
        """A row of height 1 for each coordinate."""
        return (-WIDE, WIDE), (-0.1, _rows(target) + 0.1)

    def axis_labels(self, target: Target, pair: Pair) -> tuple[str, str]:
        """What a row is."""
        names, rows = target.parameter_names, _rows(target)
        some = "" if rows == target.dim else f", the first {rows} of {target.dim}"
        return (
            "distance from the exact mean (exact sds)",
            f"marginal densities, {names[0]} on top to {names[rows - 1]}{some}",
        )

    def columns(self, frame: Any, pair: Pair, limit: int = MAX_DRAWN) -> StageColumns:
        """Curves."""
        target, reference = frame.target, frame.target.reference()
        exact = [reference_marginal(target, (k,)).lines for k in range(_rows(target))]
        placed = _placing(reference.mean, np.sqrt(np.diag(reference.cov)), exact)
        lines = [approximate_marginal(frame.density, (k,), target.view_box).lines for k in range(_rows(target))]
        return StageColumns(_kept_marginals(target, exact, placed), placed(lines), EMPTY_DOTS, 0, len(frame.weights))


def _rows(target: Target) -> int:
    return min(target.dim, MOST)


def _placing(mean: np.ndarray, sds: np.ndarray, exact: list[Lines]) -> Callable[[list[Lines]], Lines]:
    """A function of the rows' curves that puts them one above the other, the first one on top."""
    peaks = [float(line["y"].max()) for line in exact]
    number = len(exact)

    def placed(lines: list[Lines]) -> Lines:
        found = joined(
            {"x": (line["x"] - mean[k]) / sds[k], "y": number - 1 - k + HIGH * np.minimum(line["y"] / peaks[k], 4.0)}
            for k, line in enumerate(lines)
        )
        return {name: values.astype(np.float32) for name, values in found.items()}

    return placed


_drawn: dict[tuple, Lines] = {}


def _kept_marginals(target: Target, exact: list[Lines], placed: Callable[[list[Lines]], Lines]) -> Lines:
    """The reference's curves: the SAME arrays at every frame."""
    if target.key not in _drawn:
        while len(_drawn) >= 16:
            _drawn.pop(next(iter(_drawn)), None)
        _drawn[target.key] = placed(exact)
    return _drawn[target.key]
