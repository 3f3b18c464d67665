"""Densities as cells of colour: how high q is, and where p and q differ."""

from __future__ import annotations

import numpy as np

from pmdviz.scenes.columns import Image

SIDE = 80  # cells of the picture, a side
SHADES = 127  # on either side of the neutral half
BRIGHTEN = 0.5  # power of q over its peak: its flanks are seen too
ROWS = 160  # cells of a picture of curves, upwards

HEAT = ("approximate", "particles")
DIFFERENCE = ("approximate", "exact")  # where q is above p, where p is above q

Span = tuple[float, float]
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
