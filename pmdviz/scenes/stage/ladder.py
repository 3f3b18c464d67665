"""The ladder from prior to posterior, an area that is added up, and a surrogate with its target."""

from __future__ import annotations

from functools import partial
from typing import Any, NamedTuple

import numpy as np

from pmdviz.densities.bandwidth import local
from pmdviz.densities.density import Grid, KernelDensity, effective_sample_size
from pmdviz.engine.frame import Frame
from pmdviz.methods import Method, optimisers
from pmdviz.methods.stein.steinis import PathIntegration
from pmdviz.methods.stein.svgd import GFSVGD, PriorSurrogate
from pmdviz.metrics.distances import once
from pmdviz.pictures import Axis
from pmdviz.scenes import columns as col
from pmdviz.scenes.stage import SCENES, Pair, Scene, bare_axes, posterior, square
from pmdviz.streams import stream
from pmdviz.targets import Target

ROWS, POWER = 8, 3.0  # row k is for β = (k / 8)^3
HIGH = 0.85  # of a row, that a curve's peak takes
SIDE = {1: 512, 2: 160}  # cells, a side, of the grid that densities are summed on
WIDTH, SMOOTH = 0.75, 1.2  # factor c of the particles' kernel, and for many draws from the prior
BINS, REACH = 32, 8.0  # of the histogram of log m w_i, which ends so many nats from 0
GAP, SHARE = 0.12, 0.45  # to the histogram, and its width, in widths of the curves
LARGEST = 8.0  # px, of a dot


class Plane(NamedTuple):
    """log prior and log likelihood of a target in one or two dimensions on a grid over its box."""

    grid: Grid
    log_prior: np.ndarray  # of the grid's shape
    log_likelihood: np.ndarray

    def curve(self, coordinate: int, beta: float) -> col.Columns:
        """prior x likelihood^beta of one coordinate, its peak at 1."""
        values = self.log_prior + (beta * self.log_likelihood if beta else 0.0)
        density = np.exp(values - values.max())
        if density.ndim == 2:  # rows of a grid are its second coordinate
            density = density.sum(axis=0 if coordinate == 0 else 1)
        return col.curve_columns(self.grid.axes[coordinate], density / density.max())


class LadderScene(Scene):
    """One coordinate under prior x likelihood^β, from the prior (row 0) to the posterior (row 8), each as high as 1.

    The particles' density is drawn on the row of their own β, and rises with it. Above two dimensions only the first
    and the last row are known. At the right is the histogram of the log-weights, 0 being the mean weight.
    """

    name = "ladder"
    title = "Temperatures"
    order = 12
    legend = {
        "prior": "exact at the present β",
        "exact": "prior × likelihood^β",
        "approximate": "weighted particles, and their log-weights",
        "particles": "particles",
    }

    def applies(self, target: Target, method: Method) -> bool:
        """To methods whose steps tell a temperature, in real coordinates."""
        return "reals" in target.offers and optimisers.TEMPERATURE.name in {scalar.name for scalar in method.scalars}

    def choices(self, target: Target) -> dict[str, Any]:
        """Which coordinate."""
        return {"Coordinate": target.parameter_names} if target.dim > 1 else {}

    def axes(self, target: Target, pair: Pair, top: float) -> tuple[Axis, Axis]:
        """The coordinate's box with the histogram next to it, and a row for each temperature."""
        k = _coordinate(target, pair)
        (low, high), name = target.view_box[k], target.parameter_names[k]
        across = low - 0.16 * (high - low), high + (GAP + SHARE + 0.04) * (high - low)
        words = f"{name} · log-weight of a particle (nats, mean weight at 0)", "inverse temperature β"
        return bare_axes(words, (across, (-1.7, ROWS + 1.1)))

    def columns(self, frame: Frame, pair: Pair, limit: int = col.MAX_DRAWN) -> col.StageColumns:
        """Curves, particles, the histogram and the words next to them."""
        target, k = frame.target, _coordinate(frame.target, pair)
        beta = temperature_of(frame)
        points, log_weights = _walkers(frame)
        row = ROWS * beta ** (1 / POWER)
        exact, now = _exact(target, k, beta)
        curve = _of_particles(points[:, k], log_weights, target.view_box[k], target.scale[k])
        drawn = col.joined([_raised(curve, row), _histogram(log_weights, target.view_box[k])])
        dots = _dots(points[:, k], log_weights, row, limit)
        m = len(log_weights)
        return col.StageColumns(exact, drawn, dots, len(dots["x"]), m, prior=_raised(now, row), words=_words(target, k))


def temperature_of(frame: Frame) -> float:
    """β that the last step told, 1 where its annealing is off; 0 before the first."""
    return float(frame.info.scalars.get(optimisers.TEMPERATURE.name, 1.0)) if frame.info else 0.0


def _coordinate(target: Target, pair: Pair) -> int:
    return pair[0] if pair[0] < target.dim else 0


def _walkers(frame: Frame) -> tuple[np.ndarray, np.ndarray]:
    """Points and log-weights at the present temperature: of a way back those that take it, else the particles."""
    back = np.asarray(getattr(frame.state, "back_log_weights", ()))
    if len(back):
        return frame.state.walkers.points, back
    return frame.particles, np.log(np.maximum(frame.weights, 1e-300))


def _raised(line: col.Columns, row: float) -> col.Columns:
    """A curve with its peak at 1, on a row."""
    return col.curve_columns(line["x"], row + HIGH * line["y"])


def _exact(target: Target, k: int, beta: float) -> tuple[col.Columns, col.Columns]:
    """The rows' curves, the SAME arrays at every frame, and the curve at the present temperature (not yet raised)."""
    if target.dim > 2:
        return once(target, ("ends", k), partial(_ends, target, k)), col.EMPTY_LINE
    plane = once(target, "plane", partial(_plane, target))
    curves = (_raised(plane.curve(k, (row / ROWS) ** POWER), row) for row in range(ROWS + 1))
    return once(target, ("rows", k), lambda: col.joined(curves)), plane.curve(k, beta)


def _plane(target: Target) -> Plane:
    """The target on a grid over its view box, in one or two dimensions."""
    grid = Grid(target.view_box, SIDE[target.dim])
    log_prior = target.log_prior(grid.points)
    inside, log_likelihood = log_prior > -np.inf, np.full(len(log_prior), -np.inf)
    log_likelihood[inside] = target.log_likelihood(grid.points[inside], target.data_rows)
    return Plane(grid, log_prior.reshape(grid.shape), log_likelihood.reshape(grid.shape))


def _ends(target: Target, k: int) -> col.Columns:
    """Prior and posterior of one coordinate of many."""
    found = posterior.reference_marginal(target, (k,))
    draws = target.sample_prior(stream("pictures"), 5000)[:, k]
    equal = np.full(len(draws), -np.log(len(draws)))
    prior = _of_particles(draws, equal, target.view_box[k], target.scale[k], SMOOTH)
    lines = [_raised(prior, 0)]
    if found is not None:
        x, y = found.lines["x"], found.lines["y"]
        lines.append(_raised(col.curve_columns(x, y / np.nanmax(y)), ROWS))
    return col.joined(lines)


def _of_particles(
    x: np.ndarray, log_weights: np.ndarray, box: tuple[float, float], scale: float, width: float = WIDTH
) -> col.Columns:
    """Weighted density of one coordinate, its peak at 1."""
    points = np.ascontiguousarray(x[:, None])
    factor = local(points, np.exp(log_weights), width, np.array([scale]))
    grid = Grid((box,), SIDE[1])
    values = KernelDensity(points, log_weights, factor).on_grid(grid)
    return col.curve_columns(grid.axes[0], values / max(float(values.max()), 1e-300))


def _histogram(log_weights: np.ndarray, box: tuple[float, float]) -> col.Columns:
    """Steps: how many particles have which log m w_i; those beyond the ends, and of weight 0, are in the last bins."""
    low, high = box
    left, width = high + GAP * (high - low), SHARE * (high - low)
    values = np.clip(log_weights + np.log(len(log_weights)), -REACH, REACH)
    counts, edges = np.histogram(values, bins=BINS, range=(-REACH, REACH))
    x = left + width * (np.repeat(edges, 2) + REACH) / (2 * REACH)
    y = ROWS * np.r_[0, np.repeat(counts / max(counts.max(), 1), 2), 0]
    return col.curve_columns(x, y)


def _dots(x: np.ndarray, log_weights: np.ndarray, row: float, limit: int) -> col.Columns:
    """The particles below their curve."""
    weights = np.exp(log_weights)
    rows = col.drawn_rows(weights, limit)
    return col.weighted_dots(x[rows], np.full(len(rows), row - 0.08), weights, rows, LARGEST)


def _words(target: Target, k: int) -> col.Words:
    """β of every second row at the left; below, the ends of both axes."""
    low, high = target.view_box[k]
    width = high - low
    left, side = high + GAP * width, SHARE * width
    rows = [(low - 0.07 * width, row + 0.1, f"{(row / ROWS) ** POWER:.2g}") for row in range(0, ROWS + 1, 2)]
    ends = [(x, -0.55, f"{x:.3g}") for x in (low, 0.5 * (low + high), high)]
    nats = [(left + side * share, -0.55, text) for share, text in ((0, f"-{REACH:g}"), (0.5, "0"), (1, f"{REACH:g}"))]
    return col.Words.at(*rows, *ends, *nats)


# An area that is added up step by step, with the number that it should come to.

POINTS = 500  # of a curve
DRAWS, FEWEST, MAX_PAIRS = 20_000, 200, 20_000_000  # of q0; pairs of draw and observation


class AreaScene(Scene):
    """The sum of step KSD^2 over the run so far, and KL(q0, p) where log Z is known.

    The axis is the share of the run: of its budget, or without one of the steps so far.
    """

    name = "area"
    title = "Area under KSD²"
    order = 9
    legend = {"exact": "KL(q₀, p), by draws from q₀", "approximate": "area under KSD²"}

    def applies(self, target: Target, method: Method) -> bool:
        """To methods that add one up."""
        return isinstance(method, PathIntegration)

    def axes(self, target: Target, pair: Pair, top: float) -> tuple[Axis, Axis]:
        """The whole run; from minus the level to twice that: an area that leaves the picture has missed it."""
        top = top if np.isfinite(top) and top > 0 else 1.0
        return Axis("share of the run", 0.0, 1.0), Axis("area under KSD² (nats)", -top, 2 * top)

    def columns(self, frame: Frame, pair: Pair, limit: int = col.MAX_DRAWN) -> col.StageColumns:
        """A curve, and a level."""
        areas = frame.state.areas
        rows = np.unique(np.linspace(0, len(areas) - 1, min(POINTS, len(areas))).astype(np.int64))
        done = min(frame.spent / frame.budget, 1.0) if frame.budget else 1.0
        shares = rows / max(len(areas) - 1, 1) * done
        curve = col.curve_columns(shares, areas[rows])
        level = once(frame.target, "start", partial(start_divergence, frame.target))
        if level is None or not np.isfinite(level):
            return col.StageColumns(approximate=curve, top=float(areas.max()) or np.nan)
        return col.StageColumns(col.curve_columns(np.array([0.0, 1.0]), np.full(2, level)), curve, top=level)


def start_divergence(target: Target) -> float | None:
    """KL(q0, p) = E_q0 [log q0 - log p] + log Z in nats, by seeded draws of q0; None where log Z is unknown."""
    reference = target.reference()
    if reference is None or reference.log_z is None:
        return None
    num = int(np.clip(MAX_PAIRS // target.num_data, FEWEST, DRAWS))
    draws = target.sample_prior(stream("pictures"), num)
    return float(reference.log_z - target.log_likelihood(draws, target.data_rows).mean())


# A surrogate with the target: dashes against solid lines, particles by surrogate over target, targets in between.

SURROGATE_SIDE = {1: 512, 2: 96}  # cells of the surrogate's picture, a side
SMALLEST, SURROGATE_LARGEST = 2.0, 20.0  # px, of a dot: dots without weight are visible too


class SurrogateScene(posterior.OverPosterior):
    """Regions (50, 80, 95 %) of target and surrogate; the area of a dot is its weight ρ/p, at least 2 px.

    Of an annealed run the target at the present temperature is an outline; in one dimension the whole way from the
    prior to the posterior is there. Above two dimensions the densities are marginals of a pair of coordinates, and
    targets in between are not known.
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
        return "reals" in target.offers and isinstance(method, GFSVGD)

    def columns(self, frame: Frame, pair: Pair, limit: int = col.MAX_DRAWN) -> col.StageColumns:
        """The posterior's picture, with the surrogate instead of the approximation."""
        drawn = SCENES["posterior"].columns(frame, pair, limit)
        ratios = np.exp(frame.state.log_ratios)
        rows = col.drawn_rows(frame.weights, limit)
        sizes = np.maximum(col.dot_sizes(ratios[rows], len(ratios), SURROGATE_LARGEST), SMALLEST).astype(np.float32)
        return drawn._replace(
            approximate=_surrogate(frame, pair),
            prior=_on_the_way(frame, pair),
            particles={**drawn.particles, "size": sizes, "weight": ratios[rows].astype(np.float32)},
            image=None,
            words=_words_surrogate(frame, pair, drawn.top),
        )


def _surrogate(frame: Frame, pair: Pair) -> col.Columns:
    """Its regions with their marginals on the strips, or its curve; nothing where it is the same everywhere."""
    target, rho = frame.target, frame.method.surrogate(frame.state, frame.knobs, frame.target)
    if target.dim > 2:
        found = rho.marginal(pair)
        if found is None:
            return posterior.prior_lines(target, pair) if isinstance(rho, PriorSurrogate) else col.EMPTY_LINE
        rho, box = found, tuple(target.view_box[k] for k in pair)
    else:
        box = target.view_box
    grid = Grid(box, SURROGATE_SIDE[len(box)])
    logs = rho.log_density(grid.points)
    if np.ptp(logs) == 0:
        return col.EMPTY_LINE
    density = normalised(logs, grid)
    _, tops, _ = posterior.exact_regions(target, pair)  # the heights that the strips are drawn to
    return posterior.lines_with_strips(grid.axes, density, target, pair, tops)[0]


def normalised(logs: np.ndarray, grid: Grid) -> np.ndarray:
    """A density by its logs at the cells of a grid, with mass 1 there, of the grid's shape."""
    values = np.exp(logs - logs.max()).reshape(grid.shape)
    return values / (values.sum() * grid.cell_volume)


def _on_the_way(frame: Frame, pair: Pair) -> col.Columns:
    """The target at the present temperature, or in one dimension at nine of them; the prior of a run that has none."""
    target, annealed = frame.target, frame.knobs.annealing == "on"
    if target.dim > 2 or not annealed:
        return posterior.prior_lines(target, pair if target.dim > 1 else (0,))
    plane = once(target, "plane", partial(_plane, target))
    if target.dim == 1:
        curves = [_tempered(plane, (row / ROWS) ** POWER) for row in range(ROWS + 1)]
        return col.joined([col.curve_columns(plane.grid.axes[0], curve) for curve in curves])
    density = _tempered(plane, frame.method.temperature(frame.state, frame.knobs))
    return col.contour_line(*plane.grid.axes, density, col.density_levels(density, posterior.OUTLINES))


def _tempered(plane: Plane, beta: float) -> np.ndarray:
    return normalised(plane.log_prior + (beta * plane.log_likelihood if beta else 0.0), plane.grid)


def _words_surrogate(frame: Frame, pair: Pair, top: float) -> col.Words:
    """The ESS of the weights and the temperature, in the upper left corner."""
    ess, m = effective_sample_size(frame.state.log_ratios), len(frame.weights)
    text = f"ESS of ρ/p: {ess:.3g} of {m:,}"
    if frame.knobs.annealing == "on":
        text += f" · β = {frame.method.temperature(frame.state, frame.knobs):.2g}"
    if frame.target.dim == 1:
        (left, right), (low, high) = SCENES["posterior"].ranges(frame.target, pair, top)
    else:
        (left, right), (low, high) = square(frame.target.view_box, pair)
    return col.Words.at((left + 0.3 * (right - left), high - 0.04 * (high - low), text))
