"""The exact posterior of a target: in closed form for a Gaussian, by a grid sum in one and two dimensions."""

from __future__ import annotations

import math
import threading
from collections.abc import Callable, Sequence
from typing import Protocol, TypeGuard

import numpy as np

from pmdviz.densities.grid import Grid
from pmdviz.targets.reference.cells import Box, Cells, grown_cells, mass_cells, mode_boxes

KEPT_GRIDS = 12


class Exact(Protocol):
    """What every exact posterior offers."""

    mean: np.ndarray  # (d,)
    cov: np.ndarray  # (d, d)
    mean_error: np.ndarray  # (d,) 0: it is exact
    log_z: float | None  # log p(X), where it is known
    box: Box  # holds all but 1e-9 of the mass
    boxes: tuple[Box, ...]  # so do these, which do not overlap: one for each mode that stands apart

    def log_density(self, points: np.ndarray) -> np.ndarray:
        """log p(points | X), (n, d) -> (n,)."""

    def sample(self, rng: np.random.Generator, n: int) -> np.ndarray:
        """n iid draws (n, d)."""

    def on_grid(self, grid: Grid, everywhere: bool = True) -> np.ndarray:
        """log p at the cell centres, shape `grid.shape`; unless `everywhere`, -inf outside `boxes`."""

    def mass_in(self, box: Box) -> float:
        """At least so much of the posterior's mass lies in `box`."""

    def narrowest(self, unit: np.ndarray) -> float:
        """Smallest sd of a mode in any direction, coordinates divided by `unit` (d,)."""


class OnGrids:
    """log p at the cells of the last few grids; computed once each, safe to ask from several threads."""

    def __init__(self) -> None:
        self._kept: dict[tuple[Grid, bool], np.ndarray] = {}
        self._lock = threading.Lock()  # held while a grid is computed; what is there is read without it

    def on_grid(self, grid: Grid, everywhere: bool = True) -> np.ndarray:
        """log p at the cell centres, shape `grid.shape`, read-only; unless `everywhere`, -inf outside `boxes`."""
        key = grid, everywhere
        found = self._kept.get(key)
        if found is not None:
            return found
        with self._lock:
            if key not in self._kept:
                points = grid.points
                asked = everywhere | np.any([Grid(box, 1).holds(points) for box in self.boxes], axis=0)
                values = np.full(len(points), -np.inf)
                values[asked] = self.log_density(points[asked])
                values.flags.writeable = False
                newest = list(self._kept.items())[1 - KEPT_GRIDS :]
                self._kept = {**dict(newest), key: values.reshape(grid.shape)}  # a new table: readers hold no lock
            return self._kept[key]


class GaussianExact(OnGrids):
    """N(mean, cov), everything in closed form; `log_z` = log p(X) where it is given."""

    def __init__(self, mean: np.ndarray, cov: np.ndarray, log_z: float | None = None) -> None:
        super().__init__()
        self.mean, self.cov, self.log_z = np.array(mean, float), np.array(cov, float), log_z
        self.mean_error = np.zeros(len(self.mean))
        self._cholesky = np.linalg.cholesky(self.cov)
        sd = np.sqrt(np.diag(self.cov))
        self.box = tuple((float(a), float(b)) for a, b in zip(self.mean - 8 * sd, self.mean + 8 * sd, strict=True))
        self.boxes = (self.box,)
        _close(self.mean, self.cov)

    def log_density(self, points: np.ndarray) -> np.ndarray:
        """log N(points | mean, cov), (n, d) -> (n,)."""
        z = np.linalg.solve(self._cholesky, (np.asarray(points, float) - self.mean).T)
        constant = 0.5 * len(self.mean) * np.log(2 * np.pi) + np.log(np.diag(self._cholesky)).sum()
        return -0.5 * (z**2).sum(axis=0) - constant

    def sample(self, rng: np.random.Generator, n: int) -> np.ndarray:
        """n iid draws (n, d)."""
        return self.mean + rng.standard_normal((n, len(self.mean))) @ self._cholesky.T

    def marginal_log_density(self, coordinates: Sequence[int]) -> Callable[[np.ndarray], np.ndarray]:
        """log p of some of the coordinates, (n, k) -> (n,)."""
        chosen = list(coordinates)
        return GaussianExact(self.mean[chosen], self.cov[np.ix_(chosen, chosen)]).log_density

    def mass_in(self, box: Box) -> float:
        """At least so much of the posterior's mass lies in `box` (exactly so much in one dimension)."""
        outside = 0.0
        for (low, high), mean, sd in zip(box, self.mean, np.sqrt(np.diag(self.cov)), strict=True):
            outside += 0.5 * math.erfc((mean - low) / (sd * 2**0.5)) + 0.5 * math.erfc((high - mean) / (sd * 2**0.5))
        return 1.0 - outside

    def narrowest(self, unit: np.ndarray) -> float:
        """Smallest sd in any direction, coordinates divided by `unit`."""
        return float(np.linalg.svd(self._cholesky / unit[:, None], compute_uv=False)[-1])


class GridExact(OnGrids):
    """A posterior normalised by a sum over the small cells of `start_box` that hold its mass.

    The box `grows`, for a posterior with one mode, where that mode lies outside it.
    """

    def __init__(
        self,
        log_joint: Callable[[np.ndarray], np.ndarray],
        start_box: Box,
        enough: int | None = None,
        grows: bool = False,
    ) -> None:
        super().__init__()
        self._log_joint = log_joint
        self._cells = (grown_cells if grows else mass_cells)(log_joint, start_box, enough)
        self.box, self.boxes = self._cells.box, mode_boxes(self._cells)
        peak = self._cells.values.max()
        mass = np.exp(self._cells.values - peak)
        self.log_z: float | None = float(peak + np.log(mass.sum() * np.prod(self._cells.width)))
        self._probability = mass / mass.sum()
        self.mean = self._probability @ self._cells.centres
        self.mean_error = np.zeros(len(self.mean))
        centred = self._cells.centres - self.mean
        self.cov = (centred * self._probability[:, None]).T @ centred
        self._mode_cov = _curvature_cov(log_joint, self._cells, self.cov)
        _close(self.mean, self.cov)

    def log_density(self, points: np.ndarray) -> np.ndarray:
        """log p(points | X), (n, d) -> (n,)."""
        return self._log_joint(np.asarray(points, float)) - (self.log_z or 0.0)

    def sample(self, rng: np.random.Generator, n: int) -> np.ndarray:
        """n iid draws (n, d): a cell by its mass, uniform within the cell (cells are far below the posterior's sd)."""
        cells = rng.choice(len(self._probability), size=n, p=self._probability)
        return self._cells.centres[cells] + (rng.random((n, len(self.box))) - 0.5) * self._cells.width

    def mass_in(self, box: Box) -> float:
        """Share of the posterior's mass in `box`."""
        inside = np.ones(len(self._probability), dtype=bool)
        for values, (low, high) in zip(self._cells.centres.T, box, strict=True):
            inside &= (values >= low) & (values <= high)
        return float(self._probability[inside].sum())

    def narrowest(self, unit: np.ndarray) -> float:
        """Smallest sd of the highest mode in any direction, coordinates divided by `unit`."""
        return float(np.sqrt(np.linalg.eigvalsh(self._mode_cov / np.outer(unit, unit))[0]))


def _close(*arrays: np.ndarray) -> None:
    for array in arrays:
        array.flags.writeable = False


def _curvature_cov(log_p: Callable[[np.ndarray], np.ndarray], cells: Cells, cov: np.ndarray) -> np.ndarray:
    """Covariance of the Gaussian with the curvature of log p at its highest cell, by second differences.

    At the edge of the support, where there is no curvature, it is `cov`.
    """
    peak, steps = cells.centres[cells.values.argmax()], np.diag(cells.width)
    precision = np.empty_like(cov)
    for i, a in enumerate(steps):
        for j, b in enumerate(steps):
            values = log_p(np.array([peak + a + b, peak + a - b, peak - a + b, peak - a - b]))
            if not np.isfinite(values).all():
                return cov
            precision[i, j] = -(values[0] - values[1] - values[2] + values[3]) / (4 * cells.width[i] * cells.width[j])
    eigenvalues, vectors = np.linalg.eigh(precision)
    widest = np.max([high - low for low, high in cells.box])
    return (vectors / np.maximum(eigenvalues, 1.0 / widest**2)) @ vectors.T


# What a run is judged by: moments and draws of the posterior, and its density where that is known.


class Reference(Protocol):
    """What every reference offers: in closed form, on a grid, by enumeration, or as draws."""

    mean: np.ndarray  # (d,)
    cov: np.ndarray  # (d, d)
    mean_error: np.ndarray  # (d,) Monte Carlo standard error of `mean`; 0 where it is exact
    log_z: float | None  # log of the normalising constant p(X), where it is known

    def sample(self, rng: np.random.Generator, n: int) -> np.ndarray:
        """n draws (n, d)."""


def has_density(reference: Reference | None) -> TypeGuard[Exact]:
    """Whether the reference has a log density, and so is exact."""
    return hasattr(reference, "log_density")


class DrawsReference:
    """Draws (k, n, d) of k independent chains or estimates, with the standard errors of their means.

    `mean_error` is the sd of the chains' means over sqrt(k).
    """

    log_z: float | None = None

    def __init__(self, chains: np.ndarray) -> None:
        k, _, d = chains.shape
        self.draws = np.array(chains.reshape(-1, d), float)
        self.mean, centred = self.draws.mean(axis=0), self.draws - self.draws.mean(axis=0)
        self.cov = np.einsum("ni,nj->ij", centred, centred) / (len(self.draws) - 1)
        self.mean_error = chains.mean(axis=1).std(axis=0, ddof=1) / np.sqrt(k)
        for array in (self.draws, self.mean, self.cov, self.mean_error):
            array.flags.writeable = False

    def sample(self, rng: np.random.Generator, n: int) -> np.ndarray:
        """n of the draws (n, d), each at most once while there are enough."""
        return self.draws[rng.choice(len(self.draws), size=n, replace=n > len(self.draws))]
