"""Regions of a plane density with its marginal curves beside them; those of the exact posterior are kept."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

import numpy as np

from pmdviz.scenes.columns import EMPTY_LINE
from pmdviz.scenes.contours import region_lines
from pmdviz.scenes.stage.base import Pair, square
from pmdviz.scenes.stage.marginal_columns import reference_marginal
from pmdviz.scenes.strips import marginal_lines, marginals
from pmdviz.scenes.tiling import joined
from pmdviz.targets import Target

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
