"""The exact posterior of a target: in closed form for a Gaussian, by a grid sum in one and two dimensions."""

from __future__ import annotations

import math
import threading
from collections.abc import Callable
from typing import Protocol

import numpy as np

from pmdviz.errors import TargetError
from pmdviz.grids import Grid

Box = tuple[tuple[float, float], ...]
NATS_KEPT = 50.0  # cells whose log density is further below the peak hold no mass
COARSE_SIDE = {1: 2048, 2: 96}
FINE_SIDE = {1: 4096, 2: 256}
KEPT_GRIDS = 6


class Exact(Protocol):
    """What every exact posterior offers."""

    mean: np.ndarray  # (d,)
    cov: np.ndarray  # (d, d)
    box: Box  # holds all but 1e-9 of the mass

    def log_density(self, points: np.ndarray) -> np.ndarray:
        """log p(points | X), (n, d) -> (n,)."""

    def sample(self, rng: np.random.Generator, n: int) -> np.ndarray:
        """n iid draws (n, d)."""

    def on_grid(self, grid: Grid) -> np.ndarray:
        """log p at the cell centres, shape `grid.shape`."""

    def mass_in(self, box: Box) -> float:
        """At least so much of the posterior's mass lies in `box`."""

    def narrowest(self, unit: np.ndarray) -> float:
        """Smallest sd of a mode in any direction, coordinates divided by `unit` (d,)."""


class _OnGrids:
    """log p at the cells of the last few grids; computed once each, safe to ask from several threads."""

    def __init__(self) -> None:
        self._kept: dict[Grid, np.ndarray] = {}
        self._lock = threading.Lock()

    def on_grid(self, grid: Grid) -> np.ndarray:
        """log p at the cell centres, shape `grid.shape`."""
        with self._lock:
            if grid not in self._kept:
                while len(self._kept) >= KEPT_GRIDS:
                    self._kept.pop(next(iter(self._kept)))
                self._kept[grid] = self.log_density(grid.points).reshape(grid.shape)
            return self._kept[grid]


class GaussianExact(_OnGrids):
    """N(mean, cov), everything in closed form."""

    def __init__(self, mean: np.ndarray, cov: np.ndarray) -> None:
        super().__init__()
        self.mean, self.cov = np.asarray(mean, float), np.asarray(cov, float)
        self._cholesky = np.linalg.cholesky(self.cov)
        sd = np.sqrt(np.diag(self.cov))
        self.box = tuple((float(a), float(b)) for a, b in zip(self.mean - 8 * sd, self.mean + 8 * sd, strict=True))

    def log_density(self, points: np.ndarray) -> np.ndarray:
        """log N(points | mean, cov), (n, d) -> (n,)."""
        z = np.linalg.solve(self._cholesky, (np.asarray(points, float) - self.mean).T)
        constant = 0.5 * len(self.mean) * np.log(2 * np.pi) + np.log(np.diag(self._cholesky)).sum()
        return -0.5 * (z**2).sum(axis=0) - constant

    def sample(self, rng: np.random.Generator, n: int) -> np.ndarray:
        """n iid draws (n, d)."""
        return self.mean + rng.standard_normal((n, len(self.mean))) @ self._cholesky.T

    def mass_in(self, box: Box) -> float:
        """At least so much of the posterior's mass lies in `box` (exactly so much in one dimension)."""
        outside = 0.0
        for (low, high), mean, sd in zip(box, self.mean, np.sqrt(np.diag(self.cov)), strict=True):
            outside += 0.5 * math.erfc((mean - low) / (sd * 2**0.5)) + 0.5 * math.erfc((high - mean) / (sd * 2**0.5))
        return 1.0 - outside

    def narrowest(self, unit: np.ndarray) -> float:
        """Smallest sd in any direction, coordinates divided by `unit`."""
        return float(np.linalg.svd(self._cholesky / unit[:, None], compute_uv=False)[-1])


class GridExact(_OnGrids):
    """A posterior normalised by a grid sum over the part of `start_box` that holds its mass."""

    def __init__(self, log_joint: Callable[[np.ndarray], np.ndarray], start_box: Box) -> None:
        super().__init__()
        self._log_joint = log_joint
        self.box = _mass_box(log_joint, start_box)
        self._grid = Grid(self.box, FINE_SIDE[len(start_box)])
        values = _checked(log_joint, self._grid)
        peak = values.max()
        mass = np.exp(values - peak)
        self.log_evidence = float(peak + np.log(mass.sum() * self._grid.cell_volume))
        self._probability = mass / mass.sum()
        self.mean = self._probability @ self._grid.points
        centred = self._grid.points - self.mean
        self.cov = (centred * self._probability[:, None]).T @ centred
        self._mode_cov = _curvature_cov(values.reshape(self._grid.shape), self._grid)

    def log_density(self, points: np.ndarray) -> np.ndarray:
        """log p(points | X), (n, d) -> (n,)."""
        return self._log_joint(np.asarray(points, float)) - self.log_evidence

    def sample(self, rng: np.random.Generator, n: int) -> np.ndarray:
        """n iid draws (n, d): a cell by its mass, uniform within the cell (cells are far below the posterior's sd)."""
        cells = rng.choice(len(self._probability), size=n, p=self._probability)
        jitter = (rng.random((n, len(self.box))) - 0.5) * self._grid.extent / self._grid.side
        return self._grid.points[cells] + jitter

    def mass_in(self, box: Box) -> float:
        """Share of the posterior's mass in `box`."""
        inside = np.ones(len(self._probability), dtype=bool)
        for values, (low, high) in zip(self._grid.points.T, box, strict=True):
            inside &= (values >= low) & (values <= high)
        return float(self._probability[inside].sum())

    def narrowest(self, unit: np.ndarray) -> float:
        """Smallest sd of the highest mode in any direction, coordinates divided by `unit`."""
        return float(np.sqrt(np.linalg.eigvalsh(self._mode_cov / np.outer(unit, unit))[0]))


def _mass_box(log_joint: Callable[[np.ndarray], np.ndarray], box: Box) -> Box:
    """`box` shrunk, in a few passes, to the cells within NATS_KEPT of the peak and two cells around them."""
    side = COARSE_SIDE[len(box)]
    for _ in range(6):
        grid = Grid(box, side)
        kept = _checked(log_joint, grid).reshape(grid.shape)
        kept = kept > kept.max() - NATS_KEPT
        smaller = []
        for k, axis in enumerate(grid.axes):
            others = tuple(i for i in range(kept.ndim) if i != kept.ndim - 1 - k)
            inside = np.flatnonzero(kept.any(axis=others))
            margin = 2.5 * (axis[1] - axis[0])
            smaller.append((float(axis[inside[0]] - margin), float(axis[inside[-1]] + margin)))
        smaller = tuple((max(a, c), min(b, d)) for (a, b), (c, d) in zip(smaller, box, strict=True))
        shrunk = np.prod([b - a for a, b in smaller]) / np.prod([b - a for a, b in box])
        box = smaller
        if shrunk > 0.5:
            return box
    return box


def _checked(log_joint: Callable[[np.ndarray], np.ndarray], grid: Grid) -> np.ndarray:
    """log_joint at the cells; raises TargetError for NaN, +inf, or a density that is 0 in every cell."""
    values = log_joint(grid.points)
    bad = np.isnan(values) | (values == np.inf)
    if bad.any():
        theta, value = grid.points[bad][0], values[bad][0]
        words = f"log_prior + log_likelihood is {value} at theta = {theta}, where the exact posterior is computed"
        raise TargetError(words, theta)
    if values.max() == -np.inf:
        words = "the prior times the likelihood is 0 in every cell of the box"
        raise TargetError(f"{words} {grid.box}; give bounds that hold the posterior", grid.points[0])
    return values


def _curvature_cov(log_p: np.ndarray, grid: Grid) -> np.ndarray:
    """Covariance of the Gaussian with the curvature of log p at its highest cell, by second differences."""
    d = log_p.ndim
    at = np.clip(np.unravel_index(log_p.argmax(), log_p.shape), 1, np.array(log_p.shape) - 2)
    step = grid.extent / grid.side
    precision = np.empty((d, d))
    for i in range(d):
        for j in range(d):
            ei, ej = np.eye(d, dtype=int)[[d - 1 - i, d - 1 - j]]  # array axes run last coordinate first
            if i == j:
                second = log_p[tuple(at + ei)] - 2 * log_p[tuple(at)] + log_p[tuple(at - ei)]
            else:
                corners = (ei + ej, ei - ej, ej - ei, -ei - ej)
                a, b, c, e = (log_p[tuple(at + corner)] for corner in corners)
                second = (a - b - c + e) / 4
            precision[i, j] = -second / (step[i] * step[j])
    values, vectors = np.linalg.eigh(precision)
    values = np.maximum(values, 1.0 / grid.extent.max() ** 2)
    return (vectors / values) @ vectors.T
