"""One palette for all frames of an animation: it follows from the style table, so that nothing flickers.

A film frame has few colours: the theme's own, the particles' at any number of dots over one another, and what smooth
edges make between a line and what lies under it. A race's has lines and dots of each method's colour.
"""

from __future__ import annotations

from functools import lru_cache

import numpy as np

from pmdviz.scenes import style
from pmdviz.scenes.style import STRENGTH

TRANSPARENT = 127  # the index that is no colour
INKS, DOTS, EDGE, FINE = 20, 16, 6, 3  # shades of text, of dots, of edges of lines and paths
CELLS = (7, 20)  # shades of an image in the colour of either line
ON_CELLS = (0.4, 0.8)  # of its strongest shade: there dots lie over it, in so many shades each
DOTS_ON_CELLS, COVER = 4, 0.6
OF_METHOD = 9  # shades of a method's dots and lines, of which there may be 8
LINES, PATHS = ("exact", "approximate"), ("first_path", "second_path")


def rgb(colour: str) -> np.ndarray:
    """Red, green and blue, 0 to 255, of "#rrggbb"."""
    return np.array([int(colour[k : k + 2], 16) for k in (1, 3, 5)], float)


def _ramp(under: np.ndarray, over: np.ndarray, steps: int) -> list[np.ndarray]:
    """Shades between two colours, without the first one."""
    return [under + (over - under) * k / steps for k in range(1, steps + 1)]


@lru_cache(maxsize=16)
def palette(dark: bool, lines: tuple[str, ...] = ()) -> np.ndarray:
    """At most 127 colours (n, 3), uint8; `lines` are the colours of the at most 8 methods of a race."""
    theme = style.theme(dark)
    paper, ink = rgb(theme.paper), rgb(theme.layers["ink"])
    colours = [paper, rgb(theme.grid), *_ramp(paper, rgb(theme.text), INKS), rgb(theme.muted), *_ramp(paper, ink, EDGE)]
    colours += _of_race(theme, lines) if lines else _of_stage(theme)
    return np.unique(np.rint(colours).astype(np.uint8), axis=0)[:TRANSPARENT]


def _of_stage(theme: style.Theme) -> list[np.ndarray]:
    """Particles, the edges of both densities' lines on whatever lies under them, paths, and an image's shades."""
    paper, dots = rgb(theme.paper), rgb(theme.layers["particles"])
    first, second = (rgb(theme.layers[name]) for name in LINES)
    colours = _ramp(paper, dots, DOTS)
    for ink in (first, second):
        for under in (paper, (paper + dots) / 2, dots):
            colours += _ramp(under, ink, EDGE)
    colours += [*_ramp(first, second, EDGE), rgb(theme.layers["prior"])]
    for path in PATHS:
        colours += _ramp(paper, rgb(theme.layers[path]), FINE)
    for end, shades in ((first, CELLS[0]), (second, CELLS[1])):
        colours += _ramp(paper, paper + STRENGTH * (end - paper), shades)
    for share in ON_CELLS:
        under = paper + share * STRENGTH * (second - paper)
        colours += _ramp(under, under + COVER * (dots - under), DOTS_ON_CELLS)
    return colours


def _of_race(theme: style.Theme, methods: tuple[str, ...]) -> list[np.ndarray]:
    """Each method's dots and lines, and the exact posterior's edge on them."""
    paper, exact = rgb(theme.paper), rgb(theme.layers["floor"])
    colours = [rgb(colour) for colour in theme.layers.values()]
    for own in (rgb(colour) for colour in methods):
        colours += [*_ramp(paper, own, OF_METHOD), (own + exact) / 2]
    return colours


@lru_cache(maxsize=16)
def nearest(dark: bool, lines: tuple[str, ...] = ()) -> np.ndarray:
    """Index of the nearest colour for each of 65,536 cells of 5, 6 and 5 bits of red, green and blue."""
    cell = np.arange(65_536)
    centres = np.stack([(cell >> 11) * 8 + 4, ((cell >> 5) & 63) * 4 + 2, (cell & 31) * 8 + 4], axis=1)
    colours = palette(dark, lines).astype(np.float32)
    square = (colours**2).sum(axis=1) - 2.0 * centres.astype(np.float32) @ colours.T  # up to the cell's own square
    found = square.argmin(axis=1).astype(np.uint8)
    found[cell_of(pack(colours))] = np.arange(len(colours), dtype=np.uint8)
    return found


def pack(colours: np.ndarray) -> np.ndarray:
    """Colours (n, 3) as the 32-bit words of an RGBA picture."""
    r, g, b = colours.astype(np.uint32).T
    return r | g << 8 | b << 16


def cell_of(words: np.ndarray) -> np.ndarray:
    """The cell of each 32-bit word (red lowest, alpha highest) of an RGBA picture."""
    return ((words & 0xF8) << 8) | ((words >> 5) & 0x7E0) | ((words >> 19) & 0x1F)
