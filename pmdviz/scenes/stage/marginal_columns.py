"""Pictures of one or two coordinates of many: of the approximation, and of the reference, which is kept."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from typing import Any

import numpy as np

from pmdviz.densities.bandwidth import local
from pmdviz.densities.density import KernelDensity
from pmdviz.densities.grid import Grid
from pmdviz.densities.marginals import marginal_on_grid
from pmdviz.scenes.contours import region_lines
from pmdviz.targets import Target
from pmdviz.targets.reference.exact import GaussianExact

SIDE = {1: 256, 2: 72}  # cells of a picture, a side
REACH = 5.0  # sds to either side that it holds
DRAWS = 10_000  # of a reference that is not a Gaussian
WIDTH = 1.0  # factor c of the reference's kernel: its draws are many
KEPT = 64

Lines = dict[str, np.ndarray]
_lock = threading.Lock()
_kept: dict[tuple, Lines] = {}


def approximate_lines(density: Any, coordinates: Sequence[int]) -> Lines:
    """The curve of one coordinate of q, or the 50, 80 and 95 % regions of two."""
    grid = _grid_about(density.mean, density.cov, coordinates)
    return region_lines(grid.axes, marginal_on_grid(density, coordinates, grid))


def reference_lines(target: Target, coordinates: Sequence[int]) -> Lines | None:
    """The same of the target's reference; the SAME arrays at every call. None without a reference."""
    reference = target.reference()
    if reference is None:
        return None
    key = target.key, tuple(coordinates)
    if key not in _kept:
        lines = _made(reference, coordinates)
        with _lock:
            while len(_kept) >= KEPT:
                del _kept[next(iter(_kept))]
            _kept[key] = lines
    return _kept[key]


def _made(reference: Any, coordinates: Sequence[int]) -> Lines:
    chosen = list(coordinates)
    grid = _grid_about(reference.mean, reference.cov, coordinates)
    if isinstance(reference, GaussianExact):
        exact = GaussianExact(reference.mean[chosen], reference.cov[np.ix_(chosen, chosen)])
        return region_lines(grid.axes, np.exp(exact.log_density(grid.points)).reshape(grid.shape))
    draws = np.ascontiguousarray(reference.sample(np.random.default_rng(0), DRAWS)[:, chosen])
    weights = np.full(len(draws), 1 / len(draws))
    factor = local(draws, weights, WIDTH, draws.std(axis=0))
    return region_lines(grid.axes, KernelDensity(draws, np.log(weights), factor).on_grid(grid))


def _grid_about(mean: np.ndarray, cov: np.ndarray, coordinates: Sequence[int]) -> Grid:
    sds = np.sqrt(np.diag(cov))
    floor = 1e-9 * (1.0 + np.abs(mean))  # coincident particles have no spread
    box = tuple((float(mean[k] - h), float(mean[k] + h)) for k in coordinates for h in [REACH * sds[k] + floor[k]])
    return Grid(box, SIDE[len(box)])
