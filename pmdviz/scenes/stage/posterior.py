"""Posterior and approximation over two coordinates or one, their difference, and the marginals of every coordinate."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from pmdviz.densities.bandwidth import local
from pmdviz.densities.density import Grid, KernelDensity, variances
from pmdviz.engine.frame import Frame
from pmdviz.methods import Method
from pmdviz.metrics.distances import once
from pmdviz.metrics.divergences import exact_picture
from pmdviz.pictures import Axis
from pmdviz.scenes import columns as col
from pmdviz.scenes.stage import Pair, Scene, square
from pmdviz.streams import stream
from pmdviz.targets import Target
from pmdviz.targets.exact import Box

# Pictures of one or two coordinates of many: of the approximation, and of the reference, which is kept.

SIDE = {1: 256, 2: 72}  # cells of a picture, a side
REACH = 5.0  # sds to either side that it holds
HEAVY = 2.0  # of a view: where those sds reach further than so much of it, the tails are heavy
DRAWS = 10_000  # of a reference whose marginals are not known
WIDTH = 1.0  # factor c of the reference's kernel: its draws are many
OUTLINES = (0.5, 0.95)  # shares of the prior inside its outlines


class Marginal(NamedTuple):
    """A density of one or two coordinates on a grid, and its curve or its 50, 80 and 95 % regions."""

    grid: Grid
    values: np.ndarray  # of the grid's shape
    lines: col.Columns


def approximate_marginal(density: Any, coordinates: Sequence[int], view: Box | None = None) -> Marginal:
    """Some coordinates of q; of heavy tails what lies in the view of all coordinates."""
    grid = _grid_about(density.mean, variances(density), coordinates, view)
    return _marginal(grid, density.marginal(coordinates).on_grid(grid))


def reference_marginal(target: Target, coordinates: Sequence[int]) -> Marginal | None:
    """The same of the target's reference; the SAME arrays at every call, or None."""
    reference = target.reference()
    if reference is None:
        return None
    return once(target, ("marginal", *coordinates), lambda: _made(reference, coordinates, target.view_box))


def prior_lines(target: Target, coordinates: Sequence[int]) -> col.Columns:
    """The curve of one coordinate under the prior, or the outlines of two; of many from draws."""
    return once(target, ("prior", *coordinates), lambda: _made_of_prior(target, coordinates)).lines


def _made_of_prior(target: Target, coordinates: Sequence[int]) -> Marginal:
    draws = target.sample_prior(stream("pictures"), DRAWS)
    grid = _grid_about(draws.mean(axis=0), draws.var(axis=0, ddof=1), coordinates)
    if target.dim > 2:
        density = _of_draws(draws[:, list(coordinates)], grid)
    else:
        density = np.exp(target.log_prior(grid.points)).reshape(grid.shape)
    return Marginal(grid, density, col.region_lines(grid.axes, density, OUTLINES))


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
    return Marginal(grid, values, col.region_lines(grid.axes, values))


def _grid_about(mean: np.ndarray, variance: np.ndarray, coordinates: Sequence[int], view: Box | None = None) -> Grid:
    sds = np.sqrt(variance)
    floor = 1e-9 * (1.0 + np.abs(mean))  # coincident particles have no spread
    box = tuple((float(mean[k] - h), float(mean[k] + h)) for k in coordinates for h in [REACH * sds[k] + floor[k]])
    if view is not None:
        box = tuple(_seen(edge, view[k]) for edge, k in zip(box, coordinates, strict=True))
    return Grid(box, SIDE[len(box)])


def _seen(edge: tuple[float, float], view: tuple[float, float]) -> tuple[float, float]:
    """The view instead of an edge that is far longer, with its middle there: few of its cells would hold the body."""
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

    def axes(self, target: Target, pair: Pair, top: float) -> tuple[Axis, Axis]:
        """A row of height 1 for each coordinate."""
        names, rows = target.parameter_names, _rows(target)
        some = "" if rows == target.dim else f", the first {rows} of {target.dim}"
        up = Axis(f"marginal densities, {names[0]} on top to {names[rows - 1]}{some}", -0.1, rows + 0.1)
        return Axis("distance from the exact mean (exact sds)", -WIDE, WIDE), up

    def columns(self, frame: Frame, pair: Pair, limit: int = col.MAX_DRAWN) -> col.StageColumns:
        """Curves."""
        target, reference = frame.target, frame.target.reference()
        rows, sds = range(_rows(target)), np.sqrt(np.diag(reference.cov))
        exact = [reference_marginal(target, (k,)).lines for k in rows]

        def placed(lines: list[col.Columns]) -> col.Columns:
            """The rows' curves one above the other, the first one on top."""
            shares = [line["y"] / float(e["y"].max()) for line, e in zip(lines, exact, strict=True)]
            x = [(line["x"] - reference.mean[k]) / sds[k] for k, line in enumerate(lines)]
            y = [rows.stop - 1 - k + HIGH * np.minimum(share, 4.0) for k, share in enumerate(shares)]
            return col.joined(map(col.curve_columns, x, y))

        lines = [approximate_marginal(frame.density, (k,), target.view_box).lines for k in rows]
        return col.StageColumns(once(target, "marginals", lambda: placed(exact)), placed(lines))


def _rows(target: Target) -> int:
    return min(target.dim, MOST)


# Regions of a plane density with its marginal curves next to them; the exact posterior's are kept.

Tops = tuple[float, float]  # the highest marginal densities of the exact posterior
Drawn = tuple[col.Columns, Tops | None]
Exact = tuple[col.Columns, Tops | None, col.Columns]


def exact_regions(target: Target, pair: Pair) -> Exact:
    """The exact posterior's regions or curve, how high its marginals are, and the areas to be filled.

    It is on the coarsest grid that resolves it, or of many coordinates the marginal of a pair. The SAME arrays at every
    frame; empty ones where it is not known.
    """
    seen = pair if target.dim > 2 else (0, 1)

    def made() -> Exact:
        if target.dim > 2:
            found = reference_marginal(target, pair)
            grid, values = (found.grid, found.values) if found is not None else (None, None)
        else:
            grid, values = exact_picture(target.exact, target.view_box) if target.exact is not None else (None, None)
        if grid is None or values is None:
            return col.EMPTY_LINE, None, col.EMPTY_AREAS
        return *lines_with_strips(grid.axes, values, target, seen), col.region_areas(grid.axes, values)

    return once(target, ("exact regions", *seen), made)


def lines_with_strips(
    axes: tuple[np.ndarray, ...],
    density: np.ndarray,
    target: Target,
    pair: Pair,
    tops: Tops | None = None,
    masses: Sequence[float] = col.MASSES,
) -> Drawn:
    """The regions of a density on a grid, and its marginals; `tops` are their heights, by default its own.

    In one dimension it is a curve, and there are none.
    """
    lines = col.region_lines(axes, density, masses)
    if len(axes) == 1:
        return lines, None
    across, up = col.marginals((axes[0], axes[1]), density)
    tops = tops or (float(across.max()), float(up.max()))
    curves = col.marginal_lines((axes[0], axes[1]), (across, up), square(target.view_box, pair), tops)
    return col.joined([lines, curves]), tops


LARGEST = {"particles": col.LARGEST_DOT, "chain": 5.0, "parametric": 7.0, "structured": 7.0}  # px, of a dot, by family
DOTS = {"chain": "draws", "parametric": "means", "structured": "means"}  # the name of dots that are not particles


class OverPosterior(Scene):
    """In the frame of the posterior's picture, above two dimensions of a chosen pair of coordinates."""

    shows_theta = True
    pairs = True
    seen = staticmethod(col.with_strips)  # of the square: with room for the marginals

    def words(self, method: Method | None = None) -> dict[str, str]:
        """Dots and paths without words of the scene's own are called as the method has them; none where it has none."""
        if method is None:
            return dict(self.legend)
        own = {"particles": DOTS.get(method.family, "particles"), "paths": col.path_words(method)}
        found = {name: own.get(name, said) if said == name else said for name, said in self.legend.items()}
        return {name: words for name, words in found.items() if words}

    def axes(self, target: Target, pair: Pair, top: float) -> tuple[Axis, Axis]:
        """The target's box, of equal aspect, and the strips; of a curve as high as the exact density."""
        names = target.parameter_names
        if target.dim > 1:
            x, y = self.seen(*square(target.view_box, pair))
            return Axis(names[pair[0]], *x), Axis(names[pair[1]], *y)
        top = top if np.isfinite(top) else 1.0
        return Axis(names[0], *target.view_box[0]), Axis(f"density (1 / unit of {names[0]})", -0.1 * top, 1.12 * top)


class PosteriorScene(OverPosterior):
    """Regions of 50, 80 and 95 % of the exact posterior as areas; q as the outline of its 95 % region, and particles.

    Above two dimensions of a pair of coordinates, each density's regions being its marginal's. Where no
    particles show it, q is a soft heat map besides. The prior is an outline. Both coordinates have their marginals on
    strips at the edges.
    """

    name = "posterior"
    title = "Posterior"
    order = 10
    legend = {"prior": "prior", **Scene.legend, "paths": "paths"}
    image_of = "approximate"

    def applies(self, target: Target, method: Method) -> bool:
        """Wherever coordinates are real."""
        return "reals" in target.offers

    def words(self, method: Method | None = None) -> dict[str, str]:
        """With the newest draw of a chain."""
        newest = {"others": "newest draw"} if method is not None and method.family == "chain" else {}
        return {**super().words(method), **newest}

    def columns(self, frame: Frame, pair: Pair, limit: int = col.MAX_DRAWN) -> col.StageColumns:
        """Contours of each density's own mass, and dots."""
        target, picture, top = frame.target, frame.grid, np.nan
        rows, seen = col.drawn_rows(frame.weights, limit), pair if target.dim > 2 else (0, 1)
        points, family = frame.particles[rows], frame.method.family
        if target.dim == 1 and picture is not None:  # the exact posterior's peak: fixed while the approximation moves
            top = float(np.max(picture.q if picture.p is None else picture.p))
        high = points[:, seen[1]] if target.dim > 1 else _rug(rows, top if np.isfinite(top) else 1.0)
        dots = col.weighted_dots(points[:, seen[0]], high, frame.weights, rows, LARGEST[family])
        dots["log_density"] = _log_density(picture, points)
        drawn = col.StageColumns(particles=dots, drawn=len(rows), num_particles=len(frame.weights), top=top)
        drawn = drawn._replace(prior=prior_lines(target, pair if target.dim > 1 else (0,)))
        if target.dim > 1:
            (left, right), _ = square(target.view_box, pair)
            paths, others = col.path_columns(frame, pair, right - left), col.newest_draws(frame, pair)
            drawn = drawn._replace(paths=paths, others=others)
        if target.dim > 2:
            found = approximate_marginal(frame.density, pair, target.view_box)
            grid, q = found.grid, found.values
        elif picture is not None:
            grid, q = picture.grid, picture.q
        else:
            return drawn
        exact, tops, areas = exact_regions(target, pair)
        approximate, _ = lines_with_strips(grid.axes, q, target, seen, tops, col.OUTLINE)
        image = col.heat_image(q, grid.box) if target.dim > 1 and family != "particles" else None
        return drawn._replace(exact=exact, approximate=approximate, image=image, areas=areas)


def _interpolated(axes: tuple[np.ndarray, ...], values: np.ndarray, points: np.ndarray) -> np.ndarray:
    """`values` on the grid's cell centres, linear between them, at points (n, d) for d of 1 or 2; NaN outside."""
    if len(axes) == 1:
        return np.interp(points[:, 0], axes[0], values, np.nan, np.nan)
    sizes = np.array([len(axis) for axis in axes])
    at = (points - [axis[0] for axis in axes]) / [axis[1] - axis[0] for axis in axes]
    low = np.clip(at.astype(np.int64), 0, sizes - 2)
    (x, y), first = (at - low).T, low[:, 1] * sizes[0] + low[:, 0]
    flat = values.ravel()
    below, above = ((1 - x) * flat[start] + x * flat[start + 1] for start in (first, first + sizes[0]))
    return np.where(((at >= 0) & (at <= sizes - 1)).all(axis=1), (1 - y) * below + y * above, np.nan)


def _log_density(picture: Any, points: np.ndarray) -> np.ndarray:
    if picture is None or len(picture.grid.axes) != points.shape[1]:
        return np.full(len(points), np.nan, np.float32)
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.log(_interpolated(picture.grid.axes, picture.q, points)).astype(np.float32)


def _rug(rows: np.ndarray, top: float) -> np.ndarray:
    """Second coordinate of dots below the curves of one dimension, spread by the row."""
    return (-top * (0.02 + 0.06 * ((rows * col.GOLDEN) % 1.0))).astype(np.float32)


# Where the approximation has too much and where too little: p - q in two colours, whose area is the TV.


class DifferenceScene(OverPosterior):
    """Where p is above q in the colour of the exact posterior, where q is above p in the colour of the approximation.

    In one dimension the areas between the curves, in the plane the strength of the colour: the mass of each is the
    total variation, but for what lies outside the picture.
    """

    name = "difference"
    title = "Where they differ"
    shows_theta = pairs = False
    seen = staticmethod(lambda x, y: (x, y))
    order = 15
    legend = {"exact": "exact posterior (blue: q too low)", "approximate": "approximation (orange: too high)"}

    def applies(self, target: Target, method: Method) -> bool:
        """In one and two dimensions, where the exact posterior is known."""
        return "reals" in target.offers and target.planar is not None

    def columns(self, frame: Frame, pair: Pair, limit: int = col.MAX_DRAWN) -> col.StageColumns:
        """The image, and the lines of both."""
        picture = frame.grid
        if picture is None or picture.p is None:
            return col.StageColumns()
        exact, *_ = exact_regions(frame.target, pair)
        image, top = _image(picture)
        lines = col.region_lines(picture.grid.axes, picture.q)
        return col.StageColumns(exact, lines, top=top, image=image)


def _image(picture: Any) -> tuple[col.Image, float]:
    if len(picture.grid.axes) == 2:
        return col.difference_image(picture.p, picture.q, picture.grid.box), np.nan
    top = float(picture.p.max())
    return col.area_image(picture.p, picture.q, picture.grid.box[0], (0.0, 1.12 * top)), top
