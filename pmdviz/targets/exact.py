"""The exact posterior: in closed form, by a mixture, or by a sum over cells; and draws where it is not known.

The exact posterior of a target: in closed form for a Gaussian, by a grid sum in one and two dimensions.
"""

from __future__ import annotations

import math
import threading
from collections.abc import Callable, Sequence
from typing import Protocol, TypeGuard

import numpy as np

from pmdviz.densities.grid import Grid
from pmdviz.kernels.checks import Array, Rng
from pmdviz.kernels.factors import cholesky, inverse
from pmdviz.kernels.mixture import gaussian_mixture_log_density
from pmdviz.targets.mass import MAX_BOXES, Box, Cells, grown_cells, mass_cells, merged, mode_boxes

KEPT_GRIDS = 12


class Reference(Protocol):
    """The interface of a reference: in closed form, on a grid, by enumeration, or as draws."""

    mean: Array  # (d,)
    cov: Array  # (d, d)
    mean_error: Array  # (d,) Monte Carlo standard error of `mean`; 0 where it is exact
    log_z: float | None  # log of the normalising constant p(X), where it is known

    def sample(self, rng: Rng, n: int) -> Array:
        """n draws (n, d)."""


class Exact(Reference, Protocol):
    """The interface of an exact posterior, whose `mean_error` is 0."""

    box: Box  # holds all but 1e-9 of the mass
    boxes: tuple[Box, ...]  # so do these, which do not overlap: one for each mode that stands apart

    def log_density(self, points: Array) -> Array:
        """log p(points | X), (n, d) -> (n,)."""

    def on_grid(self, grid: Grid, everywhere: bool = True) -> Array:
        """log p at the cell centres, shape `grid.shape`; unless `everywhere`, -inf outside `boxes`."""

    def mass_in(self, box: Box) -> float:
        """At least so much of the posterior's mass lies in `box`."""

    def narrowest(self, unit: Array) -> float:
        """Smallest sd of a mode in any direction, coordinates divided by `unit` (d,)."""


class OnGrids:
    """log p at the cells of the last few grids; computed once each, safe to ask from several threads."""

    def __init__(self) -> None:
        self._kept: dict[tuple[Grid, bool], Array] = {}
        self._lock = threading.Lock()  # held while a grid is computed; a finished grid is read without it

    def on_grid(self, grid: Grid, everywhere: bool = True) -> Array:
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

    def __init__(self, mean: Array, cov: Array, log_z: float | None = None) -> None:
        super().__init__()
        self.mean, self.cov, self.log_z = np.array(mean, float), np.array(cov, float), log_z
        self.mean_error = np.zeros(len(self.mean))
        self._cholesky = np.linalg.cholesky(self.cov)
        sd = np.sqrt(np.diag(self.cov))
        self.box = tuple((float(a), float(b)) for a, b in zip(self.mean - 8 * sd, self.mean + 8 * sd, strict=True))
        self.boxes = (self.box,)
        read_only(self.mean, self.cov)

    def log_density(self, points: Array) -> Array:
        """log N(points | mean, cov), (n, d) -> (n,)."""
        z = np.linalg.solve(self._cholesky, (np.asarray(points, float) - self.mean).T)
        constant = 0.5 * len(self.mean) * np.log(2 * np.pi) + np.log(np.diag(self._cholesky)).sum()
        return -0.5 * (z**2).sum(axis=0) - constant

    def sample(self, rng: Rng, n: int) -> Array:
        """n iid draws (n, d)."""
        return self.mean + rng.standard_normal((n, len(self.mean))) @ self._cholesky.T

    def marginal_log_density(self, coordinates: Sequence[int]) -> Callable[[Array], Array]:
        """log p of some of the coordinates, (n, k) -> (n,)."""
        chosen = list(coordinates)
        return GaussianExact(self.mean[chosen], self.cov[np.ix_(chosen, chosen)]).log_density

    def mass_in(self, box: Box) -> float:
        """At least so much of the posterior's mass lies in `box` (exactly so much in one dimension)."""
        outside = 0.0
        for (low, high), mean, sd in zip(box, self.mean, np.sqrt(np.diag(self.cov)), strict=True):
            outside += 0.5 * math.erfc((mean - low) / (sd * 2**0.5)) + 0.5 * math.erfc((high - mean) / (sd * 2**0.5))
        return 1.0 - outside

    def narrowest(self, unit: Array) -> float:
        """Smallest sd in any direction, coordinates divided by `unit`."""
        return float(np.linalg.svd(self._cholesky / unit[:, None], compute_uv=False)[-1])


class GridExact(OnGrids):
    """A posterior normalised by a sum over the small cells of `start_box` that hold its mass.

    The box `grows`, for a posterior with one mode, where that mode lies outside it.
    """

    def __init__(
        self,
        log_joint: Callable[[Array], Array],
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
        read_only(self.mean, self.cov)

    def log_density(self, points: Array) -> Array:
        """log p(points | X), (n, d) -> (n,)."""
        return self._log_joint(np.asarray(points, float)) - (self.log_z or 0.0)

    def sample(self, rng: Rng, n: int) -> Array:
        """n iid draws (n, d): a cell by its mass, uniform within the cell (cells are far below the posterior's sd)."""
        cells = rng.choice(len(self._probability), size=n, p=self._probability)
        return self._cells.centres[cells] + (rng.random((n, len(self.box))) - 0.5) * self._cells.width

    def mass_in(self, box: Box) -> float:
        """Share of the posterior's mass in `box`."""
        inside = np.ones(len(self._probability), dtype=bool)
        for values, (low, high) in zip(self._cells.centres.T, box, strict=True):
            inside &= (values >= low) & (values <= high)
        return float(self._probability[inside].sum())

    def narrowest(self, unit: Array) -> float:
        """Smallest sd of the highest mode in any direction, coordinates divided by `unit`."""
        return float(np.sqrt(np.linalg.eigvalsh(self._mode_cov / np.outer(unit, unit))[0]))


def read_only(*arrays: Array) -> None:
    """Forbid writing to arrays."""
    for array in arrays:
        array.flags.writeable = False


def _curvature_cov(log_p: Callable[[Array], Array], cells: Cells, cov: Array) -> Array:
    """Covariance of the Gaussian with the curvature of log p at its highest cell, by second differences.

    At the edge of the support, without curvature, it is `cov`.
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


# The reference of a run as draws, and its density where that is known.


def has_density(reference: Reference | None) -> TypeGuard[Exact]:
    """Whether the reference has a log density, and so is exact."""
    return hasattr(reference, "log_density")


class DrawsReference:
    """Draws (k, n, d) of k independent chains or estimates, with the standard errors of their means.

    `mean_error` is the sd of the chains' means over sqrt(k).
    """

    log_z: float | None = None

    def __init__(self, chains: Array) -> None:
        k, _, d = chains.shape
        self.draws = np.array(chains.reshape(-1, d), float)
        self.mean, centred = self.draws.mean(axis=0), self.draws - self.draws.mean(axis=0)
        self.cov = np.einsum("ni,nj->ij", centred, centred) / (len(self.draws) - 1)
        self.mean_error = chains.mean(axis=1).std(axis=0, ddof=1) / np.sqrt(k)
        read_only(self.draws, self.mean, self.cov, self.mean_error)

    def sample(self, rng: Rng, n: int) -> Array:
        """n of the draws (n, d), each at most once while there are enough."""
        return self.draws[rng.choice(len(self.draws), size=n, replace=n > len(self.draws))]


# A mixture of Gaussians, known in closed form: density, moments, draws, and marginals of its coordinates.

BOX_SDS = 8.0  # of a component, to either side: all but 1e-15 of it
MAX_COMPONENTS = 64  # with separate boxes


class GaussianMixtureExact(OnGrids):
    """sum_k w_k N(mean_k, C_k), everything in closed form.

    Parameters
    ----------
    weights : array (k,)
        At least 0; they are divided by their sum.
    means : array (k, d)
    cov : array (d, d), or (k, d, d)
        Of every component, or of each.
    log_z : float
        Log of the integral of the density that a run is given, in nats.
    log_density : function (n, d) -> (n,), optional
        The same log density by another formula, for a mixture whose sum over components is slow.
    """

    def __init__(
        self,
        weights: Array,
        means: Array,
        cov: Array,
        log_z: float = 0.0,
        log_density: Callable[[Array], Array] | None = None,
    ) -> None:
        super().__init__()
        self.weights, self.means, self.covs = np.array(weights, float), np.array(means, float), np.array(cov, float)
        self.weights /= self.weights.sum()
        self.log_z: float | None = log_z
        self._given = log_density
        self._shared = self.covs.ndim == 2
        self._choleskys = cholesky(self.covs.reshape(-1, *self.covs.shape[-2:]))  # (1 or k, d, d)
        self._inverses = np.array([inverse(factor) for factor in self._choleskys])
        self.mean, self.cov = self._moments()
        self.mean_error = np.zeros(self.means.shape[1])
        self.box, self.boxes = self._boxes()
        read_only(self.weights, self.means, self.covs, self.mean, self.cov, self.mean_error)

    def log_density(self, points: Array) -> Array:
        """log sum_k w_k N(points | mean_k, C_k), (n, d) -> (n,)."""
        points = np.asarray(points, float)
        if self._given is not None:
            return self._given(points)
        with np.errstate(divide="ignore"):
            log_weights = np.log(self.weights)
        kept = np.flatnonzero(self.weights)
        if self._shared:
            white, means = self._whitened(points, 0), self._whitened(self.means[kept], 0)
            return gaussian_mixture_log_density(white, means, log_weights[kept], 1.0) + self._log_jacobian(0)
        total = np.full(len(points), -np.inf)
        for k in kept:  # one after the other: the memory does not grow with their number
            squares = (self._whitened(points - self.means[k], k) ** 2).sum(axis=1)
            constant = log_weights[k] + self._log_jacobian(k) - 0.5 * self.means.shape[1] * np.log(2 * np.pi)
            total = np.logaddexp(total, constant - 0.5 * squares)
        return total

    def sample(self, rng: Rng, n: int) -> Array:
        """n iid draws (n, d): a component by its weight, then a draw from it."""
        chosen = rng.choice(len(self.weights), size=n, p=self.weights)
        noise = rng.standard_normal((n, self.means.shape[1]))
        if self._shared:
            return self.means[chosen] + np.einsum("ni,ji->nj", noise, self._choleskys[0])
        draws = self.means[chosen]
        for k in np.unique(chosen):
            draws[chosen == k] += np.einsum("ni,ji->nj", noise[chosen == k], self._choleskys[k])
        return draws

    def marginal_log_density(self, coordinates: Sequence[int]) -> Callable[[Array], Array]:
        """log p of some of the coordinates, (n, k) -> (n,): the mixture of theirs."""
        chosen = list(coordinates)
        covs = self.covs[..., np.array(chosen)[:, None], chosen]
        return GaussianMixtureExact(self.weights, self.means[:, chosen], covs).log_density

    def mass_in(self, box: Box) -> float:
        """The mass in `box`; at least so much lies there where coordinates are correlated within a component."""
        low, high = np.array(box).T
        sds = np.sqrt(np.diagonal(self.covs, axis1=-2, axis2=-1))
        inside = normal_cdf((high - self.means) / sds) - normal_cdf((low - self.means) / sds)  # (k, d)
        shares = np.maximum(1.0 - (1.0 - inside).sum(axis=1), 0.0) if self._correlated else inside.prod(axis=1)
        return float((self.weights * shares).sum())

    def narrowest(self, unit: Array) -> float:
        """Smallest sd of a component in any direction, coordinates divided by `unit` (d,)."""
        return float(np.linalg.svd(self._choleskys / np.asarray(unit)[:, None], compute_uv=False).min())

    @property
    def _correlated(self) -> bool:
        return bool((self._choleskys != self._choleskys * np.eye(self.means.shape[1])).any())

    def _whitened(self, points: Array, k: int) -> Array:
        """L_k^-1 x; not by BLAS, whose last bits depend on threads."""
        return np.einsum("ni,ji->nj", points, self._inverses[k])

    def _log_jacobian(self, k: int) -> float:
        return -float(np.log(np.diagonal(self._choleskys[k])).sum())

    def _moments(self) -> tuple[Array, Array]:
        """Mean (d,) and covariance (d, d): within the components and between them."""
        mean = (self.weights[:, None] * self.means).sum(axis=0)
        away = self.means - mean
        within = self.covs if self._shared else (self.weights[:, None, None] * self.covs).sum(axis=0)
        return mean, within + np.einsum("ki,kj->ij", self.weights[:, None] * away, away)

    def _boxes(self) -> tuple[Box, tuple[Box, ...]]:
        """The box that holds every component, and the boxes of separate groups, for a grid that needs them."""
        reach = BOX_SDS * np.sqrt(np.diagonal(self.covs, axis1=-2, axis2=-1))
        low, high = self.means - reach, self.means + reach
        whole = _box(low.min(axis=0), high.max(axis=0))
        if self.means.shape[1] > 2 or len(self.means) > MAX_COMPONENTS:
            return whole, (whole,)
        apart = merged([_box(*ends) for ends in zip(low, high, strict=True)])
        return whole, tuple(apart) if len(apart) <= MAX_BOXES else (whole,)


def _box(low: Array, high: Array) -> Box:
    return tuple((float(a), float(b)) for a, b in zip(low, high, strict=True))


def normal_cdf(z: Array) -> Array:
    """Phi(z), element by element."""
    return _half_erfc(-np.asarray(z) / 2**0.5)


_half_erfc = np.vectorize(lambda u: 0.5 * math.erfc(u), otypes=[float])
