"""The approximations q that methods show: kernel density estimates, mixtures of Gaussians, weighted points."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import reduce
from operator import attrgetter
from typing import TYPE_CHECKING, ClassVar, NamedTuple, TypeAlias

import numpy as np

from pmdviz.cached import cached_property
from pmdviz.kernels.checks import Array, Rng
from pmdviz.kernels.clusters import moments
from pmdviz.kernels.factors import cholesky, inverse
from pmdviz.kernels.grid import kde_on_grid, kde_on_line
from pmdviz.kernels.kde import kde_log_density
from pmdviz.kernels.resampling import systematic

if TYPE_CHECKING:
    from pmdviz.densities.product import DiagonalDensity, ProductDensity

# Grids of equal cells on which densities in one and two dimensions are compared and drawn.

CELLS_PER_SD = 1.0  # a cell is at most the narrowest sd: sums of Gaussians then err by 2 exp(-2 pi^2) = 5e-9
WIDEST_CELL = {1: 1.0, 2: 1.4}  # narrowest sds of q's kernels, by dimension: TV is then within 0.0003 of a fine grid's
Sides = dict[int, tuple[int, ...]]  # cells a side, by dimension
SIDES: Sides = {1: (512, 1024, 2048, 4096, 8192), 2: (160, 224, 320, 448, 640)}
FINER_SIDES: Sides = {1: (*SIDES[1], 32_768, 131_072), 2: (96, *SIDES[2], 900)}  # over one mode alone


@dataclass(frozen=True)
class Grid:
    """`side` equal cells along each edge of a box ((low, high), ...), one pair a dimension."""

    box: tuple[tuple[float, float], ...]
    side: int

    @cached_property
    def axes(self) -> tuple[Array, ...]:
        """Cell centres (side,) along each dimension, first coordinate first."""
        steps = (np.arange(self.side) + 0.5) / self.side
        return tuple(low + (high - low) * steps for low, high in self.box)

    @property
    def shape(self) -> tuple[int, ...]:
        """(side,) in one dimension, (rows along theta2, columns along theta1) in two."""
        return (self.side,) * len(self.box)

    @property
    def extent(self) -> Array:
        """Lengths of the box's edges (d,)."""
        return np.array([high - low for low, high in self.box])

    @property
    def cell_volume(self) -> float:
        """dA, the product of a cell's edges."""
        return float(np.prod(self.extent / self.side))

    def holds(self, points: Array) -> Array:
        """Which of the points (n, d) lie in the box, (n,)."""
        low, high = np.array(self.box).T
        return ((points >= low) & (points <= high)).all(axis=1)

    @cached_property
    def points(self) -> Array:
        """Cell centres (side^d, d) in the order of an array of `shape`."""
        mesh = np.meshgrid(*self.axes, indexing="xy")
        return np.stack([axis.ravel() for axis in mesh], axis=1)

    def points_at(self, cells: Array) -> Array:
        """Centres (n, d) of cells by their places (n,) in `points`."""
        places = np.unravel_index(cells, self.shape)[::-1]
        return np.stack([axis[at] for axis, at in zip(self.axes, places, strict=True)], axis=1)


def side_for(dim: int, narrowest: float, sides: Sides = SIDES, kernel: float = np.inf) -> int | None:
    """The smallest allowed side whose cells resolve sds of a posterior and of kernels; None if none does.

    `narrowest` and `kernel` are shares of the box.
    """
    least = min(narrowest, WIDEST_CELL[dim] * kernel)
    return next((side for side in sides[dim] if least * side >= CELLS_PER_SD), None)


def keep_sides(most: int) -> None:
    """Leave out, in this process and from now on, grids of more than `most` cells a side; the coarsest always stays."""
    for sides in (SIDES, FINER_SIDES):
        for dim, all_sides in sides.items():
            sides[dim] = tuple(side for side in all_sides if side <= most) or all_sides[:1]


def largest_side(dim: int) -> int:
    """Cells a side of the finest grid."""
    return SIDES[dim][-1]


def normalise(log_weights: Array) -> Array:
    """Log-weights (m,) shifted so that their logsumexp is 0; -inf is allowed, all -inf gives NaN."""
    below = log_weights - log_weights.max()  # first: at -1e5 nats the last bits are worth 1e-11
    return below - np.log(np.exp(below).sum())


def weighted_sum(weights: Array, values: Array) -> Array:
    """sum_i w_i values_i, (m,) and (m, d) -> (d,). Not by BLAS, whose last bits depend on its number of threads."""
    return (weights[:, None] * values).sum(axis=0)


def effective_sample_size(log_weights: Array) -> float:
    """ESS = 1 / sum w^2 in [1, m] for normalised log-weights (m,)."""
    return float(1.0 / np.exp(2.0 * log_weights).sum())


def along(factors: Array) -> Array:
    """Sds along the coordinates of Gaussians by their Cholesky factors, (..., d, d) -> (..., d)."""
    return np.sqrt((factors**2).sum(axis=-1))


def variances(density: Density) -> Array:
    """Var_q of every coordinate, (d,): no covariance is made where the kernels have none."""
    own = getattr(density, "variances", None)
    return np.diag(density.cov) if own is None else own


def columns_of(points: Array, coordinates: Sequence[int]) -> Array:
    """Some of the coordinates of points (n, d)."""
    return np.ascontiguousarray(points[:, list(coordinates)])


def _of_rows(factor: Array, coordinates: Sequence[int]) -> Array:
    """The Cholesky factor of some of the coordinates of a Gaussian with this one (d, d)."""
    rows = factor[list(coordinates)]
    return np.linalg.cholesky(rows @ rows.T)


def mixed(parts: Iterable[Array]) -> Array:
    """log of the sum of densities given by their logs, each (n,)."""
    return reduce(np.logaddexp, parts)


# q(theta) = sum_i w_i N(theta | centre_i, L_i L_i'): what methods give, and metrics and pictures take.
Density: TypeAlias = "KernelDensity | ShapedDensity | DiagonalDensity | ProductDensity"


AT_PARTICLES = property(attrgetter("particles"), doc="The particles.")


class Weighted:
    """What densities have in common whose parts have weights: by `log_weights`, `centres` and `displaced`."""

    log_weights: Array  # (m,) logsumexp 0

    @cached_property
    def weights(self) -> Array:
        """Weights (m,), sum 1."""
        return np.exp(self.log_weights)

    @cached_property
    def mean(self) -> Array:
        """E_q theta, (d,)."""
        return weighted_sum(self.weights, self.centres)

    def sample(self, rng: Rng, n: int) -> Array:
        """n draws (n, d): parents by systematic resampling, plus noise of each one's kernel."""
        parents = systematic(self.weights, n, rng.random())
        return self.displaced(parents, rng.standard_normal((n, self.centres.shape[1])))


@dataclass(frozen=True, eq=False)
class KernelDensity(Weighted):
    """q(theta) = sum_i w_i N(theta | theta_i, L L') with L the kernel's Cholesky factor.

    Attributes
    ----------
    particles : array (m, d)
    log_weights : array (m,), logsumexp 0
    cholesky : array (d, d), lower triangular, in the units of theta
    few : bool, whether the particles are too few for a shape; `cov` is then theirs, without the kernel's
    """

    particles: Array
    log_weights: Array
    cholesky: Array
    few: bool = False

    centres = AT_PARTICLES

    def log_density(self, points: Array, single: bool = False) -> Array:
        """log q at points (n, d) -> (n,), in nats; with `single` off by up to 2e-5, in half the time."""
        return kde_log_density(self.particles, self.log_weights, self.cholesky, points, single)

    def on_grid(self, grid: Grid) -> Array:
        """q at the cell centres, shape `grid.shape`; each kernel is cut at 8 sd (below 2e-14 of its peak)."""
        evaluate = kde_on_line if len(grid.axes) == 1 else kde_on_grid
        return evaluate(self.particles, self.log_weights, self.cholesky, *grid.axes)

    def marginal(self, coordinates: Sequence[int]) -> KernelDensity:
        """The density of some of the coordinates c: the kernels N(theta_i, L L') become N(theta_i[c], (L L')[c, c])."""
        particles, factor = columns_of(self.particles, coordinates), _of_rows(self.cholesky, coordinates)
        return KernelDensity(particles, self.log_weights, factor, self.few)

    def displaced(self, parents: Array, noise: Array) -> Array:
        """The parents' kernels at standard noise (n, d)."""
        return self.particles[parents] + np.einsum("ij,kj->ik", noise, self.cholesky)  # not BLAS: see weighted_sum

    def in_kernels(self, parents: Array, noise: Array) -> Array:
        """The same in coordinates in which the kernel is round."""
        return np.einsum("ij,kj->ik", self.particles[parents], inverse(self.cholesky)) + noise

    @property
    def cov(self) -> Array:
        """Cov_q theta, (d, d): the weighted particles' plus the kernel's."""
        centred = self.particles - self.mean
        own = (centred * self.weights[:, None]).T @ centred
        return own if self.few else own + self.cholesky @ self.cholesky.T

    @property
    def choleskys(self) -> Array:
        """The kernel's Cholesky factor for every particle, (m, d, d), one array seen m times."""
        return np.broadcast_to(self.cholesky, (len(self.particles), *self.cholesky.shape))

    @property
    def kernel_sds(self) -> Array:
        """The sd of the kernel along each coordinate for every particle, (m, d), one array seen m times."""
        return np.broadcast_to(along(self.cholesky), self.particles.shape)

    @property
    def kernel_peak(self) -> float:
        """Density of one kernel at its centre."""
        return float((2 * np.pi) ** (-len(self.cholesky) / 2) / np.prod(np.diag(self.cholesky)))

    def narrowest(self, unit: Array) -> float:
        """The kernel's smallest sd in any direction, coordinates divided by `unit` (d,)."""
        return float(np.linalg.svd(self.cholesky / unit[:, None], compute_uv=False)[-1])

    def widened(self, smallest: float, unit: Array) -> KernelDensity:
        """Same density with a kernel of at least `smallest` sd (coordinates divided by `unit`) in every direction."""
        scaled = self.cholesky / unit[:, None]
        values, vectors = np.linalg.eigh(scaled @ scaled.T)
        wide = (vectors * np.maximum(values, smallest**2)) @ vectors.T
        return replace(self, cholesky=np.linalg.cholesky(wide) * unit[:, None])


START = 4  # place of a shape's width where the search begins; with more clusters it is often wider, seldom narrower


class Shape(NamedTuple):
    """Which cluster each particle belongs to, h, and whether the clusters share one covariance."""

    labels: Array  # (m,) int64, from 0 on without gaps
    width: float  # h in (0, 1)
    shared: bool = False
    place: int = START  # in WIDTHS, of the width for the usual number of particles


@dataclass(frozen=True, eq=False)
class ShapedDensity(Weighted):
    """q(theta) = sum_i w_i N(theta | centre_i, L_c L_c') with the kernel L_c of the particle's cluster c.

    Attributes
    ----------
    particles : array (m, d)
    log_weights : array (m,), logsumexp 0
    labels : array (m,), the clusters
    centres : array (m, d), where the kernels lie: nearer to the cluster's mean than the particles
    factors : array (K, d, d), lower triangular, in the units of theta
    few : bool, whether the particles are too few for a shape; `cov` is then theirs, without the kernels'
    shape : Shape or None, the choice that the labels and factors are made by
    """

    particles: Array
    log_weights: Array
    labels: Array
    centres: Array
    factors: Array
    few: bool = False
    shape: Shape | None = None

    @cached_property
    def parts(self) -> list[KernelDensity]:
        """The clusters that have any weight, each with its share of it."""
        alive = [(self.labels == c) & (self.log_weights > -np.inf) for c in range(len(self.factors))]
        pairs = zip(alive, self.factors, strict=True)
        return [KernelDensity(self.centres[s], self.log_weights[s], L) for s, L in pairs if s.any()]

    def log_density(self, points: Array, single: bool = False) -> Array:
        """log q at points (n, d) -> (n,), in nats; with `single` off by up to 2e-5, in half the time."""
        return mixed(part.log_density(points, single) for part in self.parts)

    def on_grid(self, grid: Grid) -> Array:
        """q at the cell centres, shape `grid.shape`; each kernel is cut at 8 sd (below 2e-14 of its peak)."""
        first, *others = self.parts
        total = first.on_grid(grid)
        for part in others:
            total += part.on_grid(grid)
        return total

    def marginal(self, coordinates: Sequence[int]) -> ShapedDensity:
        """The density of some of the coordinates."""
        particles, centres = (columns_of(points, coordinates) for points in (self.particles, self.centres))
        factors = np.array([_of_rows(factor, coordinates) for factor in self.factors])
        return ShapedDensity(particles, self.log_weights, self.labels, centres, factors, self.few)

    def displaced(self, parents: Array, noise: Array) -> Array:
        """The parents' kernels at standard noise (n, d)."""
        points, of = self.centres[parents], self.labels[parents]
        for c in np.unique(of):
            points[of == c] += np.einsum("ij,kj->ik", noise[of == c], self.factors[c])  # not BLAS: see weighted_sum
        return points

    def in_kernels(self, parents: Array, noise: Array) -> Array:
        """The same in coordinates in which the kernels are round on average."""
        within = np.einsum("k,kij,klj->il", self._shares, self.factors, self.factors)
        return np.einsum("ij,kj->ik", self.displaced(parents, noise), inverse(cholesky(within)))

    @property
    def _shares(self) -> Array:
        return np.bincount(self.labels, self.weights, len(self.factors))

    @property
    def cov(self) -> Array:
        """Cov_q theta, (d, d): the weighted particles' covariance."""
        if self.few:
            return moments(self.particles, self.weights)[1]
        within = np.einsum("k,kij,klj->il", self._shares, self.factors, self.factors)
        return moments(self.centres, self.weights)[1] + within

    @property
    def choleskys(self) -> Array:
        """The kernel's Cholesky factor for every particle, (m, d, d)."""
        return self.factors[self.labels]

    @property
    def kernel_sds(self) -> Array:
        """The sd of the kernel along each coordinate for every particle, (m, d)."""
        return along(self.factors)[self.labels]

    @property
    def kernel_peak(self) -> float:
        """Density of the narrowest kernel at its centre."""
        return max(part.kernel_peak for part in self.parts)

    def narrowest(self, unit: Array) -> float:
        """The smallest sd of a kernel in any direction, coordinates divided by `unit` (d,)."""
        return min(part.narrowest(unit) for part in self.parts)

    def widened(self, smallest: float, unit: Array) -> ShapedDensity:
        """Same density with kernels of at least `smallest` sd (coordinates divided by `unit`) in every direction."""
        return replace(self, factors=self._widened_factors(smallest, unit))

    def _widened_factors(self, smallest: float, unit: Array) -> Array:
        kernels = (KernelDensity(self.centres, self.log_weights, factor) for factor in self.factors)
        return np.array([kernel.widened(smallest, unit).cholesky for kernel in kernels])


class GaussianMixture(ShapedDensity):
    """q(theta) = sum_k w_k N(theta | mu_k, L_k L_k'), every component with a covariance of its own.

    Each of the means mu_k (K, d) is a cluster by itself; the factors L_k are (K, d, d), in the units of theta.
    """

    def __init__(self, means: Array, log_weights: Array, choleskys: Array) -> None:
        super().__init__(means, log_weights, np.arange(len(means)), means, choleskys)

    def widened(self, smallest: float, unit: Array) -> GaussianMixture:
        """Same density with components of at least `smallest` sd (coordinates divided by `unit`)."""
        return GaussianMixture(self.particles, self.log_weights, self._widened_factors(smallest, unit))


# Weighted points as an approximation: of discrete states, which have no density.


@dataclass(frozen=True, eq=False)
class Points(Weighted):
    """sum_i w_i delta(theta_i).

    Attributes
    ----------
    particles : array (m, d)
    log_weights : array (m,), logsumexp 0
    """

    particles: Array
    log_weights: Array
    few: ClassVar[bool] = False  # states have no shape
    centres = AT_PARTICLES

    @cached_property
    def cov(self) -> Array:
        """Cov theta, (d, d)."""
        centred = self.particles - self.mean
        return np.einsum("m,mi,mj->ij", self.weights, centred, centred)  # not BLAS, whose bits depend on its threads

    def sample(self, rng: Rng, n: int) -> Array:
        """n of the points (n, d), by systematic resampling."""
        return self.particles[systematic(self.weights, n, rng.random())]
