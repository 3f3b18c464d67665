"""Densities as pictures: regions of highest density as lines, marginal strips, cells of colour."""

from __future__ import annotations

from collections.abc import Sequence

import contourpy
import numpy as np

from pmdviz.scenes.columns import Image
from pmdviz.scenes.tiling import joined

MASSES = (0.5, 0.8, 0.95)


def density_levels(density: np.ndarray, masses: Sequence[float] = MASSES) -> np.ndarray:
    """Density values whose upper level sets hold the given shares of the density's own mass on the grid.

    Parameters
    ----------
    density : array, any shape, non-negative
        Values on cells of equal volume; only the cells' shares matter.
    masses : share of the mass inside, each in (0, 1)

    Returns
    -------
    array (len(masses),), in the units of `density`; empty where the grid holds no mass.
    """
    flat = density.ravel()
    flat = np.sort(flat[flat > flat.max() * 1e-6])[::-1]
    total = flat.sum()
    if not total > 0:
        return np.empty(0)
    inside = np.cumsum(flat, dtype=np.float64)
    rank = np.searchsorted(inside, np.asarray(masses) * inside[-1])
    return flat[np.minimum(rank, len(flat) - 1)]


def contour_line(gx: np.ndarray, gy: np.ndarray, density: np.ndarray, levels: np.ndarray) -> dict[str, np.ndarray]:
    """Columns x, y (float32) of the contours of `density` (len(gy), len(gx)), all levels joined by NaN rows.

    They are looked for only where the density reaches the lowest level: most of a grid is far below it.
    """
    rows, columns = _around(density >= np.min(levels, initial=np.inf))
    lines = contourpy.contour_generator(gx[columns], gy[rows], density[rows, columns], line_type="ChunkCombinedNan")
    gap, parts = np.full((1, 2), np.nan), []
    for level in levels:
        points = lines.lines(level)[0][0]
        if points is not None:
            parts += [points, gap]
    xy = np.concatenate(parts).astype(np.float32) if parts else np.empty((0, 2), np.float32)
    return {"x": np.ascontiguousarray(xy[:, 0]), "y": np.ascontiguousarray(xy[:, 1])}


def _around(inside: np.ndarray) -> tuple[slice, slice]:
    """The rows and columns that hold all that is true, and one more on each side; all where nothing is."""
    along = (np.flatnonzero(inside.any(axis=axis)) for axis in (1, 0))
    return tuple(slice(max(at[0] - 1, 0), at[-1] + 2) if at.size else slice(None) for at in along)  # type: ignore


def density_curve(gx: np.ndarray, density: np.ndarray) -> dict[str, np.ndarray]:
    """Columns x, y (float32) of a density in one dimension."""
    return {"x": gx.astype(np.float32), "y": density.astype(np.float32)}


def region_lines(axes: tuple[np.ndarray, ...], density: np.ndarray) -> dict[str, np.ndarray]:
    """The picture of a density on a grid: its curve in one dimension, its 50, 80 and 95 % regions in two."""
    if len(axes) == 1:
        return density_curve(axes[0], density)
    return contour_line(*axes, density, density_levels(density))


# Marginal curves on the two edges of a plane picture: thin strips that share its axes.

WIDE = 0.13  # of a strip, in sides of the picture without it
HIGH = 0.85  # of the highest exact curve, in strips

Span = tuple[float, float]
Two = tuple[np.ndarray, np.ndarray]  # of the first coordinate and of the second


def with_strips(x: Span, y: Span) -> tuple[Span, Span]:
    """The ranges of a picture with room for the strips above and to the right of it."""
    return (x[0], x[1] + WIDE * (x[1] - x[0])), (y[0], y[1] + WIDE * (y[1] - y[0]))


def marginals(axes: Two, density: np.ndarray) -> Two:
    """The densities of either coordinate alone, of a density (len(y), len(x)) on equal cells."""
    dx, dy = (float(axis[1] - axis[0]) for axis in axes)
    return density.sum(axis=0) * dy, density.sum(axis=1) * dx


def marginal_lines(axes: Two, curves: Two, box: tuple[Span, Span], tops: Span) -> dict[str, np.ndarray]:
    """Both curves as lines in the strips beyond a box; where they are as high as `tops` they fill `HIGH` of theirs.

    Higher ones are cut at the picture's edge.
    """
    shown = [(axis >= low) & (axis <= high) for axis, (low, high) in zip(axes, box, strict=True)]
    (x, y), (x0, x1), (y0, y1) = (axis[some] for axis, some in zip(axes, shown, strict=True)), *box
    high = [np.minimum(HIGH * c[some] / (top or 1.0), 1.0) for c, some, top in zip(curves, shown, tops, strict=True)]
    above = {"x": x, "y": y1 + WIDE * (y1 - y0) * high[0]}
    beside = {"x": x1 + WIDE * (x1 - x0) * high[1], "y": y}
    return {name: values.astype(np.float32) for name, values in joined([above, beside]).items()}


# Densities as cells of colour: how high q is, and where p and q differ.

SIDE = 80  # cells of the picture, a side
SHADES = 127  # on either side of the neutral half
BRIGHTEN = 0.5  # power of q over its peak: its flanks are seen too
ROWS = 160  # cells of a picture of curves, upwards

HEAT = ("approximate", "particles")
DIFFERENCE = ("approximate", "exact")  # where q is above p, where p is above q

Box = tuple[Span, ...]


def heat_image(q: np.ndarray, box: Box) -> Image:
    """A density of the plane, brightest at its own peak."""
    cells = _coarse(q)
    top = float(cells.max())
    return _image(-((cells / top) ** BRIGHTEN) if top > 0 else cells, box[0], box[1], HEAT)


def difference_image(p: np.ndarray, q: np.ndarray, box: Box) -> Image:
    """p - q in the plane, in units of the highest p: each colour's mass is the TV, but for what lies outside."""
    coarse_p, coarse_q = _coarse(p), _coarse(q)
    return _image((coarse_p - coarse_q) / coarse_p.max(), box[0], box[1], DIFFERENCE)


def area_image(p: np.ndarray, q: np.ndarray, across: Span, up: Span) -> Image:
    """The areas between two curves over `across`, of the heights `up`."""
    heights = up[0] + (up[1] - up[0]) * (np.arange(ROWS)[:, None] + 0.5) / ROWS
    between = (heights >= np.minimum(p, q)) & (heights <= np.maximum(p, q))
    return _image(np.where(between, np.sign(p - q), 0.0), across, up, DIFFERENCE)


def _coarse(values: np.ndarray) -> np.ndarray:
    """Means over blocks of cells, at most `SIDE` of them a side."""
    return _means(_means(values).T).T


def _means(values: np.ndarray) -> np.ndarray:
    """Over blocks of rows; where these are all alike, as of most grids, in a fifth of the time."""
    every, rest = divmod(len(values), SIDE)
    if every and not rest:
        return sum((values[k::every] for k in range(1, every)), values[::every]) / every
    edges = np.linspace(0, len(values), min(SIDE, len(values)) + 1).astype(np.int64)
    return np.add.reduceat(values, edges[:-1], axis=0) / np.diff(edges)[:, None]


def _image(signed: np.ndarray, x: Span, y: Span, ends: tuple[str, str]) -> Image:
    """Values in [-1, 1] as an image, in as many shades as its palette has: what repeats packs well."""
    shades = np.rint(SHADES * np.clip(signed, -1, 1)) / SHADES
    return Image((0.5 + 0.5 * shades).astype(np.float32), x, y, ends)
