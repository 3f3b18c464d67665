"""Highest-density regions as lines: all levels of a density in ONE array pair, separated by NaN."""

from __future__ import annotations

from collections.abc import Sequence

import contourpy
import numpy as np

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
