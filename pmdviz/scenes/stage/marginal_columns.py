"""Pictures of one or two coordinates of many: of the approximation, and of the reference, which is kept."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from typing import Any, NamedTuple

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
_kept: dict[tuple, Marginal] = {}


class Marginal(NamedTuple):
    """A density of one or two coordinates on a grid, and its curve or its 50, 80 and 95 % regions."""

    grid: Grid
    values: np.ndarray  # of the grid's shape
    lines: Lines


def approximate_marginal(density: Any, coordinates: Sequence[int]) -> Marginal:
    """Some coordinates of q."""
    grid = _grid_about(density.mean, density.cov, coordinates)
    return _marginal(grid, marginal_on_grid(density, coordinates, grid))


def reference_marginal(target: Target, coordinates: Sequence[int]) -> Marginal | None:
    """The same of the target's reference; the SAME arrays at every call. None without a reference."""
    reference = target.reference()
    return None if reference is None else _keep(("exact", target.key, *coordinates), reference, coordinates)


def prior_marginal(target: Target, coordinates: Sequence[int]) -> Marginal:
    """The same of the prior, from draws of it."""
    return _keep(("prior", target.key, *coordinates), PriorDraws(target), coordinates)


class PriorDraws:
    """The prior as what draws say of it."""

    def __init__(self, target: Target) -> None:
        self.target = target
        draws = self.sample(np.random.default_rng(0), DRAWS)
        self.mean, self.cov = draws.mean(axis=0), np.cov(draws.T).reshape(2 * (draws.shape[1],))

    def sample(self, rng: np.random.Generator, n: int) -> np.ndarray:
        """n draws (n, d)."""
        return self.target.sample_prior(rng, n)


def _keep(key: tuple, reference: Any, coordinates: Sequence[int]) -> Marginal:
    if key not in _kept:
        made = _made(reference, coordinates)
        with _lock:
            while len(_kept) >= KEPT:
                del _kept[next(iter(_kept))]
            _kept[key] = made
    return _kept[key]


def _made(reference: Any, coordinates: Sequence[int]) -> Marginal:
    chosen = list(coordinates)
    grid = _grid_about(reference.mean, reference.cov, coordinates)
    if isinstance(reference, GaussianExact):
        exact = GaussianExact(reference.mean[chosen], reference.cov[np.ix_(chosen, chosen)])
        return _marginal(grid, np.exp(exact.log_density(grid.points)).reshape(grid.shape))
    draws = np.ascontiguousarray(reference.sample(np.random.default_rng(0), DRAWS)[:, chosen])
    weights = np.full(len(draws), 1 / len(draws))
    factor = local(draws, weights, WIDTH, draws.std(axis=0))
    return _marginal(grid, KernelDensity(draws, np.log(weights), factor).on_grid(grid))


def _marginal(grid: Grid, values: np.ndarray) -> Marginal:
    return Marginal(grid, values, region_lines(grid.axes, values))


def _grid_about(mean: np.ndarray, cov: np.ndarray, coordinates: Sequence[int]) -> Grid:
    sds = np.sqrt(np.diag(cov))
    floor = 1e-9 * (1.0 + np.abs(mean))  # coincident particles have no spread
    box = tuple((float(mean[k] - h), float(mean[k] + h)) for k in coordinates for h in [REACH * sds[k] + floor[k]])
    return Grid(box, SIDE[len(box)])
