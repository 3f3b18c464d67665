"""A surrogate beside the target: dashes against solid lines, particles by surrogate over target, targets on the way."""

from __future__ import annotations

from typing import Any

import numpy as np

from pmdviz.densities.density import effective_sample_size
from pmdviz.densities.grid import Grid
from pmdviz.methods import Method
from pmdviz.methods.stein.shown import WithSurrogate
from pmdviz.methods.stein.surrogates import PriorSurrogate
from pmdviz.scenes.columns import EMPTY_LINE, MAX_DRAWN, StageColumns, Words, dot_sizes, drawn_rows
from pmdviz.scenes.contours import contour_line, density_curve, density_levels
from pmdviz.scenes.paths import path_words
from pmdviz.scenes.stage.base import SCENES, Pair, square
from pmdviz.scenes.stage.exact_lines import Tops, lines_on_grid, lines_with_strips, reference_lines
from pmdviz.scenes.stage.ladder import Plane, plane_of
from pmdviz.scenes.stage.marginal_columns import OUTLINES, prior_lines
from pmdviz.scenes.stage.over_posterior import OverPosterior
from pmdviz.scenes.tiling import joined
from pmdviz.targets import Target

SIDE = {1: 512, 2: 96}  # cells of the surrogate's picture, a side
SMALLEST, LARGEST = 2.0, 20.0  # px, of a dot: those of no weight are seen too
ROWS, POWER = 8, 3.0  # curves of the way in one dimension: β = (k / 8)^3
Line = dict[str, np.ndarray]


class SurrogateScene(OverPosterior):
    """Regions (50, 80, 95 %) of target and surrogate; the area of a dot is its weight ρ/p, those of none have 2 px.

    Of an annealed run the target at the present temperature is an outline; in one dimension the whole way from the
    prior to the posterior is there. Above two dimensions the densities are marginals of a pair of coordinates, and
    targets on the way are not known.
    """

    name = "surrogate"
    title = "Surrogate"
    order = 8
    legend = {
        "prior": "prior (annealed: at β)",
        "exact": "exact posterior",
        "approximate": "surrogate ρ",
        "particles": "particles, by ρ/p",
        "paths": "paths",
    }

    def applies(self, target: Target, method: Method) -> bool:
        """To methods with a surrogate."""
        return "reals" in target.offers and isinstance(method, WithSurrogate)

    def words(self, method: Method | None = None) -> dict[str, str]:
        """With the two parts of the force."""
        return {**self.legend, "paths": path_words(method) if method is not None else self.legend["paths"]}

    def columns(self, frame: Any, pair: Pair, limit: int = MAX_DRAWN) -> StageColumns:
        """The posterior's picture, with the surrogate in place of the approximation."""
        drawn = SCENES["posterior"].columns(frame, pair, limit)
        ratios = frame.method.ratios(frame.state)
        rows = drawn_rows(frame.weights, limit)
        sizes = np.maximum(dot_sizes(ratios[rows], len(ratios), LARGEST), SMALLEST).astype(np.float32)
        return drawn._replace(
            approximate=_surrogate(frame, pair),
            prior=_on_the_way(frame, pair),
            particles={**drawn.particles, "size": sizes, "weight": ratios[rows].astype(np.float32)},
            image=None,
            words=_words(frame, pair, drawn.top),
        )


def _surrogate(frame: Any, pair: Pair) -> Line:
    """Its regions with their marginals on the strips, or its curve; nothing where it is the same everywhere."""
    target, rho = frame.target, frame.method.surrogate(frame.state, frame.knobs, frame.target)
    if target.dim > 2:
        found = rho.marginal(pair)
        if found is None:
            return prior_lines(target, pair) if isinstance(rho, PriorSurrogate) else EMPTY_LINE
        rho, box = found, tuple(target.view_box[k] for k in pair)
    else:
        box = target.view_box
    grid = Grid(box, SIDE[len(box)])
    logs = rho.log_density(grid.points)
    if np.ptp(logs) == 0:
        return EMPTY_LINE
    density = normalised(logs, grid)
    return lines_with_strips(grid.axes, density, target, pair, _tops(frame, pair))[0]


def normalised(logs: np.ndarray, grid: Grid) -> np.ndarray:
    """A density by its logs at the cells of a grid, with mass 1 there, of the grid's shape."""
    values = np.exp(logs - logs.max()).reshape(grid.shape)
    return values / (values.sum() * grid.cell_volume)


def _tops(frame: Any, pair: Pair) -> Tops | None:
    """How high the marginals of the exact posterior are, which the strips are drawn to."""
    if frame.target.dim > 2:
        return reference_lines(frame.target, pair)[1]
    picture = frame.grid
    return None if picture is None or picture.p is None else lines_on_grid(picture, frame.target)[1]


def _on_the_way(frame: Any, pair: Pair) -> Line:
    """The target at the present temperature, or in one dimension at nine of them; the prior of a run that has none."""
    target, annealed = frame.target, frame.knobs.annealing == "on"
    if target.dim > 2 or not annealed:
        return prior_lines(target, pair if target.dim > 1 else (0,))
    plane = plane_of(target)
    if target.dim == 1:
        curves = [_tempered(plane, (row / ROWS) ** POWER) for row in range(ROWS + 1)]
        return joined([density_curve(plane.grid.axes[0], curve) for curve in curves])
    density = _tempered(plane, frame.method.temperature(frame.state, frame.knobs))
    return contour_line(*plane.grid.axes, density, density_levels(density, OUTLINES))


def _tempered(plane: Plane, beta: float) -> np.ndarray:
    return normalised(plane.log_prior + (beta * plane.log_likelihood if beta else 0.0), plane.grid)


def _words(frame: Any, pair: Pair, top: float) -> Words:
    """The ESS of the weights and the temperature, in the upper left corner."""
    ess, m = effective_sample_size(np.log(np.maximum(frame.method.ratios(frame.state), 1e-300))), len(frame.weights)
    text = f"ESS of ρ/p: {ess:.3g} of {m:,}"
    if frame.knobs.annealing == "on":
        text += f" · β = {frame.method.temperature(frame.state, frame.knobs):.2g}"
    if frame.target.dim == 1:
        (left, right), (low, high) = SCENES["posterior"].ranges(frame.target, pair, top)
    else:
        (left, right), (low, high) = square(frame.target.view_box, pair)
    x, y = left + 0.3 * (right - left), high - 0.04 * (high - low)
    return Words(np.array([x], np.float32), np.array([y], np.float32), (text,))
