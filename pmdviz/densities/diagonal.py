"""The density of many coordinates at once, with kernels that are as wide along each as that coordinate is spread.

No covariance of the particles is asked for, which fewer of them than coordinates do not have: every marginal is an
ordinary kernel density estimate, of width m^(-1/5) in one dimension (Silverman 1986, section 3.4).
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from pmdviz.cached import cached_property
from pmdviz.densities.bandwidth import own_scale, spread
from pmdviz.densities.density import GaussianMixture, KernelDensity, mixed, weighted_sum
from pmdviz.densities.grid import Grid
from pmdviz.densities.shaped import WIDEST
from pmdviz.kernels.kde import kde_log_density
from pmdviz.kernels.resampling import systematic

THIN = 1e-9  # smallest sd of a kernel, in prior sds: coincident particles have one too
MANY = 100  # coordinates beyond which no matrix of theirs is made for particles that have no covariance


@dataclass(frozen=True, eq=False)
class DiagonalDensity:
    """q(theta) = sum_i w_i N(theta | centre_i, diag(sds_i^2)); all but `cov` and `choleskys` costs O(m d).

    Attributes
    ----------
    particles : array (m, d)
    log_weights : array (m,), logsumexp 0
    centres : array (m, d), the kernels' places
    sds : array (d,) of all kernels along each coordinate, or (m, d) of each kernel, in the units of theta
    few : bool, whether the particles are too few for a shape; `cov` is then theirs, without the kernels'
    """

    particles: np.ndarray
    log_weights: np.ndarray
    centres: np.ndarray
    sds: np.ndarray
    few: bool = False

    @cached_property
    def weights(self) -> np.ndarray:
        """Weights (m,), sum 1."""
        return np.exp(self.log_weights)

    @property
    def choleskys(self) -> np.ndarray:
        """The kernel's Cholesky factor for every particle, (m, d, d), one array seen m times."""
        d = self.centres.shape[1]
        return np.broadcast_to(self.sds[..., None] * np.eye(d), (len(self.weights), d, d))

    @property
    def kernel_sds(self) -> np.ndarray:
        """The sd of every kernel along each coordinate, (m, d)."""
        return np.broadcast_to(self.sds, self.centres.shape)

    def marginal(self, coordinates: list[int]) -> KernelDensity | GaussianMixture:
        """The density of some of the coordinates."""
        points = np.ascontiguousarray(self.centres[:, coordinates])
        if self.sds.ndim == 2:
            return GaussianMixture(points, self.log_weights, self.sds[:, coordinates, None] * np.eye(len(coordinates)))
        return KernelDensity(points, self.log_weights, np.diag(self.sds[coordinates]))

    def displaced(self, parents: np.ndarray, noise: np.ndarray) -> np.ndarray:
        """The parents' kernels at standard noise (n, d)."""
        return self.centres[parents] + self.kernel_sds[parents] * noise

    def in_kernels(self, parents: np.ndarray, noise: np.ndarray) -> np.ndarray:
        """The same in coordinates in which the kernels, all of one shape, are round."""
        return self.displaced(parents, noise) / self.sds

    @property
    def mean(self) -> np.ndarray:
        """E_q theta, (d,)."""
        return weighted_sum(self.weights, self.centres)

    @property
    def _within(self) -> np.ndarray:
        """The kernels' part of the variances, (d,)."""
        return self.sds**2 if self.sds.ndim == 1 else weighted_sum(self.weights, self.sds**2)

    @property
    def variances(self) -> np.ndarray:
        """Var_q of every coordinate, (d,)."""
        if self.few:
            return spread(self.particles, self.weights) ** 2
        return weighted_sum(self.weights, (self.centres - self.mean) ** 2) + self._within

    @cached_property
    def cov(self) -> np.ndarray:
        """Cov_q theta, (d, d): that of the weighted centres plus the kernel's."""
        centred = (self.particles if self.few else self.centres) - self.mean
        between = np.einsum("mi,mj->ij", self.weights[:, None] * centred, centred)
        return between if self.few else between + np.diag(self._within)

    @property
    def kernel_peak(self) -> float:
        """Density of the narrowest kernel at its centre; e^700 where it is beyond that, 0 where it is below e^-745."""
        volume = np.log(self.sds).sum(axis=-1).min()
        return float(np.exp(min(-0.5 * self.centres.shape[1] * np.log(2 * np.pi) - volume, 700.0)))

    def log_density(self, points: np.ndarray, single: bool = False) -> np.ndarray:
        """log q at points (n, d) -> (n,), in nats; with `single` off by up to 2e-5, in half the time."""
        if self.sds.ndim == 1 and len(self.sds) <= MANY:
            scaled = self.centres / self.sds, self.log_weights, np.eye(len(self.sds)), points / self.sds
            return kde_log_density(*scaled, single) - np.log(self.sds).sum()
        heights = self.log_weights - (np.log(self.kernel_sds) + 0.5 * np.log(2 * np.pi)).sum(axis=1)
        kernels = zip(heights, self.centres, self.kernel_sds, strict=True)
        return mixed(height - 0.5 * (((points - x) / sds) ** 2).sum(axis=1) for height, x, sds in kernels)

    def on_grid(self, grid: Grid) -> np.ndarray:
        """q at the cell centres, shape `grid.shape`, in one or two dimensions."""
        return self.marginal(list(range(self.centres.shape[1]))).on_grid(grid)

    def sample(self, rng: np.random.Generator, n: int) -> np.ndarray:
        """n draws (n, d): parents by systematic resampling, plus noise along every coordinate."""
        parents = systematic(self.weights, n, rng.random())
        return self.displaced(parents, rng.standard_normal((n, self.centres.shape[1])))

    def narrowest(self, unit: np.ndarray) -> float:
        """The kernel's smallest sd along any coordinate, these divided by `unit` (d,)."""
        return float((self.sds / unit).min())

    def widened(self, smallest: float, unit: np.ndarray) -> DiagonalDensity:
        """Same density with a kernel of at least `smallest` sd along every coordinate, these divided by `unit`."""
        return replace(self, sds=np.maximum(self.sds, smallest * np.asarray(unit)))


def diagonal_density(
    particles: np.ndarray, log_weights: np.ndarray, width: float, scale: np.ndarray
) -> DiagonalDensity:
    """The density whose kernels are `width` m^(-1/5) times as wide as each coordinate's spread, and keep its variance.

    Particles (m, d) are drawn towards their mean by sqrt(1 - h^2), as those of a shaped kernel; `scale` (d,) are the
    prior's sds.
    """
    weights = np.exp(log_weights)
    mean = weighted_sum(weights, particles)
    sds = np.sqrt(weighted_sum(weights, (particles - mean) ** 2))
    h = min(width * len(particles) ** -0.2, WIDEST)
    centres = mean + np.sqrt(1 - h * h) * (particles - mean)
    return DiagonalDensity(particles, log_weights, centres, np.maximum(h * sds, THIN * scale))


def few_density(particles: np.ndarray, log_weights: np.ndarray, h: float, scale: np.ndarray) -> DiagonalDensity:
    """The density of particles (m, d) too few for a covariance: kernels as wide along each coordinate as they spread.

    Along a coordinate without spread the prior's sd `scale` (d,) is used. With h < 1 the particles are drawn towards
    their mean by sqrt(1 - h^2), as those of a shaped kernel.
    """
    weights = np.exp(log_weights)
    mean = weighted_sum(weights, particles)
    sds = np.sqrt(own_scale(spread(particles, weights), scale) ** 2 + (THIN * scale) ** 2)
    centres = mean + np.sqrt(max(1 - h * h, 0.0)) * (particles - mean)
    return DiagonalDensity(particles, log_weights, centres, h * sds, few=True)
