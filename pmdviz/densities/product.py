"""Densities of many coordinates: products of marginals, of blocks and of topics; and marginals of any density.

The density of many coordinates at once, with kernels that are as wide along each as that coordinate is spread.

No covariance of the particles is asked for, which fewer of them than coordinates do not have: every marginal is an
ordinary kernel density estimate, of width m^(-1/5) in one dimension (Silverman 1986, section 3.4).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np

from pmdviz.cached import cached_property
from pmdviz.densities.bandwidth import WIDEST, own_scale, spread
from pmdviz.densities.density import (
    AT_PARTICLES,
    Density,
    GaussianMixture,
    Grid,
    KernelDensity,
    ShapedDensity,
    Weighted,
    columns_of,
    mixed,
    variances,
    weighted_sum,
)
from pmdviz.kernels.checks import Array, Rng
from pmdviz.kernels.kde import kde_log_density
from pmdviz.kernels.resampling import systematic

THIN = 1e-9  # smallest sd of a kernel, in prior sds: coincident particles have one too
MANY = 100  # coordinates beyond which no matrix of theirs is made for particles that have no covariance


@dataclass(frozen=True, eq=False)
class DiagonalDensity(Weighted):
    """q(theta) = sum_i w_i N(theta | centre_i, diag(sds_i^2)); all but `cov` and `choleskys` costs O(m d).

    Attributes
    ----------
    particles : array (m, d)
    log_weights : array (m,), logsumexp 0
    centres : array (m, d), the kernels' places
    sds : array (d,) of all kernels along each coordinate, or (m, d) of each kernel, in the units of theta
    few : bool, whether the particles are too few for a shape; `cov` is then theirs, without the kernels'
    """

    particles: Array
    log_weights: Array
    centres: Array
    sds: Array
    few: bool = False

    @property
    def choleskys(self) -> Array:
        """The kernel's Cholesky factor for every particle, (m, d, d), one array seen m times."""
        d = self.centres.shape[1]
        return np.broadcast_to(self.sds[..., None] * np.eye(d), (len(self.weights), d, d))

    @property
    def kernel_sds(self) -> Array:
        """The sd of every kernel along each coordinate, (m, d)."""
        return np.broadcast_to(self.sds, self.centres.shape)

    def marginal(self, coordinates: Sequence[int]) -> KernelDensity | GaussianMixture:
        """The density of some of the coordinates."""
        points, sds = columns_of(self.centres, coordinates), self.sds[..., list(coordinates)]
        if sds.ndim == 2:
            return GaussianMixture(points, self.log_weights, sds[..., None] * np.eye(len(coordinates)))
        return KernelDensity(points, self.log_weights, np.diag(sds))

    def displaced(self, parents: Array, noise: Array) -> Array:
        """The parents' kernels at standard noise (n, d)."""
        return self.centres[parents] + self.kernel_sds[parents] * noise

    def in_kernels(self, parents: Array, noise: Array) -> Array:
        """The same in coordinates in which the kernels, all of one shape, are round."""
        return self.displaced(parents, noise) / self.sds

    @property
    def _within(self) -> Array:
        """The kernels' part of the variances, (d,)."""
        return self.sds**2 if self.sds.ndim == 1 else weighted_sum(self.weights, self.sds**2)

    @property
    def variances(self) -> Array:
        """Var_q of every coordinate, (d,)."""
        if self.few:
            return spread(self.particles, self.weights) ** 2
        return weighted_sum(self.weights, (self.centres - self.mean) ** 2) + self._within

    @cached_property
    def cov(self) -> Array:
        """Cov_q theta, (d, d): the weighted centres' plus the kernel's."""
        centred = (self.particles if self.few else self.centres) - self.mean
        between = np.einsum("mi,mj->ij", self.weights[:, None] * centred, centred)
        return between if self.few else between + np.diag(self._within)

    @property
    def kernel_peak(self) -> float:
        """Density of the narrowest kernel at its centre; e^700 where it is beyond that, 0 where it is below e^-745."""
        volume = np.log(self.sds).sum(axis=-1).min()
        return float(np.exp(min(-0.5 * self.centres.shape[1] * np.log(2 * np.pi) - volume, 700.0)))

    def log_density(self, points: Array, single: bool = False) -> Array:
        """log q at points (n, d) -> (n,), in nats; with `single` off by up to 2e-5, in half the time."""
        if self.sds.ndim == 1 and len(self.sds) <= MANY:
            scaled = self.centres / self.sds, self.log_weights, np.eye(len(self.sds)), points / self.sds
            return kde_log_density(*scaled, single) - np.log(self.sds).sum()
        heights = self.log_weights - (np.log(self.kernel_sds) + 0.5 * np.log(2 * np.pi)).sum(axis=1)
        kernels = zip(heights, self.centres, self.kernel_sds, strict=True)
        return mixed(height - 0.5 * (((points - x) / sds) ** 2).sum(axis=1) for height, x, sds in kernels)

    def on_grid(self, grid: Grid) -> Array:
        """q at the cell centres, shape `grid.shape`, in one or two dimensions."""
        return self.marginal(range(self.centres.shape[1])).on_grid(grid)

    def narrowest(self, unit: Array) -> float:
        """The kernel's smallest sd along any coordinate, these divided by `unit` (d,)."""
        return float((self.sds / unit).min())

    def widened(self, smallest: float, unit: Array) -> DiagonalDensity:
        """Same density with a kernel of at least `smallest` sd along every coordinate, these divided by `unit`."""
        return replace(self, sds=np.maximum(self.sds, smallest * np.asarray(unit)))


def diagonal_density(particles: Array, log_weights: Array, width: float, scale: Array) -> DiagonalDensity:
    """The density whose kernels are `width` m^(-1/5) times as wide as each coordinate's spread, and keep its variance.

    Particles (m, d) are drawn towards their mean by sqrt(1 - h^2), as with a shaped kernel; `scale` (d,) are the
    prior's sds.
    """
    weights, h = np.exp(log_weights), min(width * len(particles) ** -0.2, WIDEST)
    sds = np.maximum(h * spread(particles, weights), THIN * scale)
    return DiagonalDensity(particles, log_weights, _drawn_in(particles, weights, h), sds)


def few_density(particles: Array, log_weights: Array, h: float, scale: Array) -> DiagonalDensity:
    """The density of particles (m, d) too few for a covariance: kernels as wide along each coordinate as they spread.

    Along a coordinate without spread the prior's sd `scale` (d,) is used. With h < 1 the particles are drawn towards
    their mean by sqrt(1 - h^2), as with a shaped kernel.
    """
    weights = np.exp(log_weights)
    sds = np.sqrt(own_scale(spread(particles, weights), scale) ** 2 + (THIN * scale) ** 2)
    return DiagonalDensity(particles, log_weights, _drawn_in(particles, weights, h), h * sds, few=True)


def _drawn_in(particles: Array, weights: Array, h: float) -> Array:
    """The particles (m, d), drawn towards their mean by sqrt(1 - h^2)."""
    mean = weighted_sum(weights, particles)
    return mean + np.sqrt(max(1 - h * h, 0.0)) * (particles - mean)


Smoothed = KernelDensity | ShapedDensity | DiagonalDensity  # of weighted particles


# Products: densities of blocks of coordinates, and of topics.


@dataclass(frozen=True, eq=False)
class ProductDensity:
    """q(theta) = prod_b q_b(theta_b), each q_b the density of equally weighted particles of a block of coordinates.

    The m particles of a block have no partners in the others. Row i of `particles` pairs the i-th of all blocks: a draw
    of q, as any other pairing would be.

    Attributes
    ----------
    blocks : tuple of tuples, the coordinates of each block; together all, each once
    parts : tuple of densities, one a block, of m particles each
    """

    blocks: tuple[tuple[int, ...], ...]
    parts: tuple[Density, ...]

    @property
    def few(self) -> bool:
        """Whether the particles of any block are too few for its shape."""
        return any(part.few for part in self.parts)

    @property
    def dim(self) -> int:
        """d."""
        return sum(map(len, self.blocks))

    @cached_property
    def particles(self) -> Array:
        """The particles of all blocks side by side, (m, d)."""
        return self._joined([part.particles for part in self.parts])

    @cached_property
    def centres(self) -> Array:
        """The kernels' centres side by side, (m, d)."""
        return self._joined([part.centres for part in self.parts])

    @property
    def log_weights(self) -> Array:
        """Equal, (m,)."""
        return self.parts[0].log_weights

    @property
    def weights(self) -> Array:
        """Equal, (m,)."""
        return self.parts[0].weights

    @cached_property
    def choleskys(self) -> Array:
        """The factor of the kernel of every pairing, (m, d, d); one array seen m times where each block has one.

        It is large in many coordinates, and only the plane's pictures use it.
        """
        one = all(isinstance(part, (KernelDensity, DiagonalDensity)) for part in self.parts)
        factors = np.zeros((1 if one else len(self.weights), self.dim, self.dim))
        for columns, part in zip(self.blocks, self.parts, strict=True):
            factors[:, np.array(columns)[:, None], np.array(columns)] = part.choleskys[: len(factors)]
        return np.broadcast_to(factors, (len(self.weights), self.dim, self.dim))

    @cached_property
    def kernel_sds(self) -> Array:
        """The sd of the kernel of every pairing along each coordinate, (m, d)."""
        return self._joined([part.kernel_sds for part in self.parts])

    @cached_property
    def mean(self) -> Array:
        """E_q theta, (d,)."""
        return self._joined([part.mean[None] for part in self.parts])[0]

    @cached_property
    def cov(self) -> Array:
        """Cov_q theta, (d, d): nothing but zeros between the blocks."""
        found = np.zeros((self.dim, self.dim))
        for columns, part in zip(self.blocks, self.parts, strict=True):
            found[np.ix_(columns, columns)] = part.cov  # of many coordinates m d^2: kept
        return found

    @property
    def variances(self) -> Array:
        """Var_q of every coordinate, (d,)."""
        return self._joined([variances(part)[None] for part in self.parts])[0]

    @property
    def kernel_peak(self) -> float:
        """Density of the narrowest kernel of a pairing at its centre."""
        return float(np.prod([part.kernel_peak for part in self.parts]))

    def log_density(self, points: Array, single: bool = False) -> Array:
        """log q at points (n, d) -> (n,), in nats; with `single` off by up to 2e-5 a block, in half the time."""
        total = np.zeros(len(points))
        for columns, part in zip(self.blocks, self.parts, strict=True):
            total += part.log_density(np.ascontiguousarray(points[:, columns]), single)
        return total

    def on_grid(self, grid: Grid) -> Array:
        """q at the cell centres, shape `grid.shape`, in one or two dimensions."""
        if len(self.parts) == 1:
            return self.parts[0].on_grid(grid)
        lines = {}
        for (k,), part in zip(self.blocks, self.parts, strict=True):
            lines[k] = part.on_grid(Grid((grid.box[k],), grid.side))
        return lines[1][:, None] * lines[0]

    def sample(self, rng: Rng, n: int) -> Array:
        """n draws (n, d): of every block on its own, in an order of its own."""
        return self._joined([rng.permutation(part.sample(rng, n)) for part in self.parts])

    def narrowest(self, unit: Array) -> float:
        """The smallest sd of a kernel in any direction, coordinates divided by `unit` (d,)."""
        pairs = zip(self.blocks, self.parts, strict=True)
        return min(part.narrowest(unit[list(columns)]) for columns, part in pairs)

    def widened(self, smallest: float, unit: Array) -> ProductDensity:
        """Same density with kernels of at least `smallest` sd (coordinates divided by `unit`) in every direction."""
        pairs = zip(self.blocks, self.parts, strict=True)
        parts = tuple(part.widened(smallest, unit[list(columns)]) for columns, part in pairs)
        return ProductDensity(self.blocks, parts)

    def marginal(self, coordinates: Sequence[int]) -> Density:
        """The density of some of the coordinates; different blocks are independent."""
        blocks, parts = [], []
        for columns, part in zip(self.blocks, self.parts, strict=True):
            places = tuple(place for place, k in enumerate(coordinates) if k in columns)
            if places:
                blocks.append(places)
                parts.append(part.marginal([columns.index(coordinates[place]) for place in places]))
        return ProductDensity(tuple(blocks), tuple(parts)) if len(parts) > 1 else parts[0]

    def _joined(self, each: Sequence[Array]) -> Array:
        """Columns of the blocks (n, k_b), put where they belong, (n, d)."""
        found = np.empty((len(each[0]), self.dim))
        for columns, values in zip(self.blocks, each, strict=True):
            found[:, columns] = values
        return found


# Topics as weighted products of Dirichlet densities, one a topic.

SMALLEST = 1e-300  # a drawn probability that would vanish


@dataclass(frozen=True, eq=False)
class DirichletMixture(Weighted):
    """q(Φ) = sum_i w_i prod_k Dir(φ_k | natural_i[:, k]); a point is Φ (K, W) in one row.

    Attributes
    ----------
    natural : array (m, W, K)
    log_weights : array (m,), logsumexp 0
    """

    natural: Array
    log_weights: Array
    few: ClassVar[bool] = False

    @cached_property
    def topics(self) -> Array:
        """Mean topics of each component, (m, W, K)."""
        return self.natural / self.natural.sum(axis=1, keepdims=True)

    @cached_property
    def particles(self) -> Array:
        """The same as points (m, K W)."""
        return np.ascontiguousarray(self.topics.transpose(0, 2, 1)).reshape(len(self.natural), -1)

    centres = AT_PARTICLES

    def log_density(self, points: Array) -> Array:
        """log q at points (n, K W) -> (n,), per unit of each topic's first W - 1 entries, in nats."""
        m, words, topics = self.natural.shape
        logs = np.log(np.maximum(points, SMALLEST)).reshape(len(points), topics, words)
        terms = np.einsum("nkw,mwk->nm", logs, self.natural - 1.0)
        log_gamma = np.vectorize(math.lgamma, otypes=[float])
        constants = (log_gamma(self.natural.sum(axis=1)) - log_gamma(self.natural).sum(axis=1)).sum(axis=1)
        return np.logaddexp.reduce(terms + constants + self.log_weights, axis=1)

    def sample(self, rng: Rng, n: int) -> Array:
        """n draws (n, K W): components by systematic resampling, and topics of each one's Dirichlet densities."""
        chosen = systematic(self.weights, n, rng.random())
        return dirichlet(rng, self.natural.transpose(0, 2, 1)[chosen]).reshape(n, -1)


def dirichlet(rng: Rng, parameters: Array) -> Array:
    """One draw for every vector of parameters (..., W), none of its entries below 1e-300.

    By logs: x = Γ(a + 1) U^(1/a) is Γ(a), and vanishes in floating point where a is small.
    """
    logs = np.log(rng.gamma(parameters + 1.0)) + np.log1p(-rng.random(parameters.shape)) / parameters
    drawn = np.maximum(np.exp(logs - logs.max(axis=-1, keepdims=True)), SMALLEST)
    return drawn / drawn.sum(axis=-1, keepdims=True)
