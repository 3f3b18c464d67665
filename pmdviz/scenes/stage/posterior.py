"""Posterior and approximation over two coordinates or one, and their difference."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

import numpy as np

from pmdviz.methods import Method
from pmdviz.scenes.columns import (
    EMPTY_DOTS,
    EMPTY_LINE,
    GOLDEN,
    LARGEST_DOT,
    MAX_DRAWN,
    Image,
    StageColumns,
    dot_columns,
    dot_sizes,
    drawn_rows,
)
from pmdviz.scenes.contours import (
    area_image,
    difference_image,
    heat_image,
    marginal_lines,
    marginals,
    region_lines,
    with_strips,
)
from pmdviz.scenes.paths import newest_draws, path_columns, path_words
from pmdviz.scenes.stage.base import SCENES, Pair, Ranges, Scene, square
from pmdviz.scenes.stage.marginals import approximate_marginal, prior_lines, reference_marginal
from pmdviz.scenes.tiling import joined
from pmdviz.targets import Target

# Regions of a plane density with its marginal curves beside them; those of the exact posterior are kept.

Lines = dict[str, np.ndarray]
Tops = tuple[float, float]  # the highest marginal densities of the exact posterior
Drawn = tuple[Lines, Tops | None]

NOTHING: Drawn = (EMPTY_LINE, None)
KEPT = 16
_lock = threading.Lock()
_kept: dict[tuple[int, Pair], tuple[Any, Drawn]] = {}  # by identity: it changes only with target and grid


def lines_on_grid(picture: Any, target: Target) -> Drawn:
    """What is drawn of the exact posterior on a grid of its own coordinates, and how high its marginals are."""
    make = lambda: lines_with_strips(picture.grid.axes, picture.p, target, (0, 1))  # noqa: E731
    return _keep(picture.log_p, (0, 1), make)


def reference_lines(target: Target, pair: Pair) -> Drawn:
    """The same of two coordinates of many."""
    found = reference_marginal(target, pair)
    if found is None:
        return NOTHING
    return _keep(found.values, pair, lambda: lines_with_strips(found.grid.axes, found.values, target, pair))


def lines_with_strips(
    axes: tuple[np.ndarray, ...], density: np.ndarray, target: Target, pair: Pair, tops: Tops | None = None
) -> Drawn:
    """The regions of a density on a grid, and its marginals; `tops` are their heights, by default its own.

    In one dimension it is a curve, and there are none.
    """
    lines = region_lines(axes, density)
    if len(axes) == 1:
        return lines, None
    across, up = marginals((axes[0], axes[1]), density)
    tops = tops or (float(across.max()), float(up.max()))
    curves = marginal_lines((axes[0], axes[1]), (across, up), square(target.view_box, pair), tops)
    return joined([lines, curves]), tops


def _keep(key: Any, pair: Pair, make: Callable[[], Drawn]) -> Drawn:
    """The SAME arrays while what they are made of is the same array, so that views can tell."""
    if key is None:
        return NOTHING
    kept = _kept.get((id(key), pair))
    if kept is None or kept[0] is not key:
        kept = key, make()
        with _lock:  # sessions draw in several threads
            while len(_kept) >= KEPT:
                del _kept[next(iter(_kept))]
            _kept[id(key), pair] = kept
    return kept[1]


LARGEST = {"particles": LARGEST_DOT, "chain": 5.0, "parametric": 7.0, "structured": 7.0}  # px, of a dot, by family
DOTS = {"chain": "draws", "parametric": "means", "structured": "means"}  # what dots are that are no particles


class PosteriorScene(Scene):
    """Highest-density regions (50, 80, 95 %) of the exact posterior and of the approximation, over the particles.

    Above two dimensions of a pair of coordinates, each density's regions being those of its marginal. q is a soft
    heat map besides, the prior an outline, and both coordinates have their marginals on strips at the edges.
    """

    name = "posterior"
    title = "Posterior"
    shows_theta = True
    order = 10
    legend = {"prior": "prior", **Scene.legend, "paths": "paths"}
    image_of = "approximate"

    def applies(self, target: Target, method: Method) -> bool:
        """Wherever coordinates are real."""
        return "reals" in target.offers

    def words(self, method: Method | None = None) -> dict[str, str]:
        """The dots and the paths are called as the method's family has them."""
        if method is None:
            return dict(self.legend)
        own = {"particles": DOTS.get(method.family, "particles"), "paths": path_words(method)}
        newest = {"others": "newest draw"} if method.family == "chain" else {}
        return {name: word for name, word in {**self.legend, **own, **newest}.items() if word}

    def paired(self, target: Target) -> bool:
        """Above two dimensions."""
        return target.dim > 2

    def ranges(self, target: Target, pair: Pair, top: float) -> Ranges:
        """The target's box, of equal aspect, and the strips; of a curve as high as the exact density."""
        if target.dim > 1:
            return with_strips(*square(target.view_box, pair))
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
        target = frame.target
        drawn = _of_a_pair(frame, pair, limit) if target.dim > 2 else _of_all(frame, limit)
        if target.dim == 1:
            return drawn._replace(prior=prior_lines(target, (0,)))
        (left, right), _ = square(target.view_box, pair)
        return drawn._replace(
            prior=prior_lines(target, pair),
            paths=path_columns(frame, pair, right - left),
            others=newest_draws(frame, pair),
        )


def stage_columns(frame: Any, limit: int = MAX_DRAWN) -> StageColumns:
    """The picture of a frame's first two coordinates."""
    return SCENES[PosteriorScene.name].columns(frame, (0, 1), limit)


def _of_all(frame: Any, limit: int) -> StageColumns:
    """One coordinate, or two."""
    picture, weights, target = frame.grid, frame.weights, frame.target
    rows = drawn_rows(weights, limit)
    points, drawn_weights = frame.particles[rows], weights[rows]
    top = np.nan
    if target.dim == 1 and picture is not None:  # the exact posterior's peak: fixed while the approximation moves
        top = float(np.max(picture.q if picture.p is None else picture.p))
    particles = {
        "x": points[:, 0].astype(np.float32),
        "y": _heights(points, rows, top if np.isfinite(top) else 1.0),
        "size": dot_sizes(drawn_weights, len(weights), LARGEST[frame.method.family]),
        "weight": drawn_weights.astype(np.float32),
        "log_density": _log_density(picture, points),
    }
    drawn = StageColumns(EMPTY_LINE, EMPTY_LINE, particles, len(rows), len(weights), top)
    if picture is None:
        return drawn
    exact, tops = lines_on_grid(picture, target)
    approximate, _ = lines_with_strips(picture.grid.axes, picture.q, target, (0, 1), tops)
    image = heat_image(picture.q, picture.grid.box) if target.dim == 2 else None
    return drawn._replace(exact=exact, approximate=approximate, image=image)


def _of_a_pair(frame: Any, pair: Pair, limit: int) -> StageColumns:
    """The marginals of two coordinates of many."""
    target, m = frame.target, len(frame.weights)
    dots = dot_columns(frame, pair, limit, LARGEST[frame.method.family])
    exact, tops = reference_lines(target, pair)
    found = approximate_marginal(frame.density, pair, target.view_box)
    approximate, _ = lines_with_strips(found.grid.axes, found.values, target, pair, tops)
    image = heat_image(found.values, found.grid.box)
    return StageColumns(exact, approximate, dots, len(dots["x"]), m, image=image)


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


# What scenes share that draw something of their own over the posterior's picture.


class OverPosterior(Scene):
    """In the frame of the scene `posterior`, above two dimensions of a chosen pair of coordinates."""

    shows_theta = True

    def paired(self, target: Target) -> bool:
        """Above two dimensions."""
        return target.dim > 2

    def ranges(self, target: Target, pair: Pair, top: float) -> Ranges:
        """As the posterior's."""
        return SCENES["posterior"].ranges(target, pair, top)

    def axis_labels(self, target: Target, pair: Pair) -> tuple[str, str]:
        """As the posterior's."""
        return SCENES["posterior"].axis_labels(target, pair)


# Where the approximation has too much and where too little: p - q in two colours, whose area is the TV.


class DifferenceScene(Scene):
    """Where p is above q in the colour of the exact posterior, where q is above p in that of the approximation.

    In one dimension the areas between the curves, in the plane the strength of the colour: the mass of each is the
    total variation, but for what lies outside the picture.
    """

    name = "difference"
    title = "Where they differ"
    order = 15
    legend = {"exact": "exact posterior (blue: q too low)", "approximate": "approximation (orange: too high)"}

    def applies(self, target: Target, method: Method) -> bool:
        """In one and two dimensions, where the exact posterior is known."""
        return "reals" in target.offers and target.planar is not None

    def ranges(self, target: Target, pair: Pair, top: float) -> Ranges:
        """The target's box; of curves as high as the exact density."""
        if target.dim > 1:
            return square(target.view_box)
        return SCENES["posterior"].ranges(target, pair, top)

    def axis_labels(self, target: Target, pair: Pair) -> tuple[str, str]:
        """The coordinates' names."""
        return SCENES["posterior"].axis_labels(target, pair)

    def columns(self, frame: Any, pair: Pair, limit: int = MAX_DRAWN) -> StageColumns:
        """The image, and the lines of both."""
        picture, m = frame.grid, len(frame.weights)
        if picture is None or picture.p is None:
            return StageColumns(EMPTY_LINE, EMPTY_LINE, EMPTY_DOTS, m, m)
        exact, _ = lines_on_grid(picture, frame.target)
        image, top = _image(picture)
        lines = region_lines(picture.grid.axes, picture.q)
        return StageColumns(exact, lines, EMPTY_DOTS, m, m, top, image)


def _image(picture: Any) -> tuple[Image, float]:
    if len(picture.grid.axes) == 2:
        return difference_image(picture.p, picture.q, picture.grid.box), np.nan
    top = float(picture.p.max())
    return area_image(picture.p, picture.q, picture.grid.box[0], (0.0, 1.12 * top)), top
