"""The density of many coordinates at once, with kernels that are as wide along each as that coordinate is spread.

No covariance of the particles is asked for, which fewer of them than coordinates do not have: every marginal is an
ordinary kernel density estimate, of width m^(-1/5) in one dimension (Silverman 1986, section 3.4).
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar

import numpy as np

from pmdviz.densities.density import KernelDensity, weighted_sum
from pmdviz.densities.grid import Grid
from pmdviz.densities.shaped import WIDEST
from pmdviz.kernels.kde import kde_log_density
from pmdviz.kernels.resampling import systematic

THIN = 1e-9  # smallest sd of a kernel, in prior sds: coincident particles have one too


@dataclass(frozen=True, eq=False)
class DiagonalDensity:
    """q(theta) = sum_i w_i N(theta | centre_i, diag(sds^2)); all but `cov` and `choleskys` costs O(m d).

    Attributes
    ----------
    particles : array (m, d)
    log_weights : array (m,), logsumexp 0
    centres : array (m, d), the kernels' places
    sds : array (d,), of a kernel along each coordinate, in the units of theta
    """

    particles: np.ndarray
    log_weights: np.ndarray
    centres: np.ndarray
    sds: np.ndarray
    few: ClassVar[bool] = False  # every coordinate has a width of its own

    @cached_property
    def weights(self) -> np.ndarray:
        """Weights (m,), sum 1."""
        return np.exp(self.log_weights)

    @property
    def choleskys(self) -> np.ndarray:
        """The kernel's Cholesky factor for every particle, (m, d, d), one array seen m times."""
        return np.broadcast_to(np.diag(self.sds), (len(self.weights), *2 * self.sds.shape))

    @property
    def kernel_sds(self) -> np.ndarray:
        """The sd of every kernel along each coordinate, (m, d)."""
        return np.broadcast_to(self.sds, self.centres.shape)

    def marginal(self, coordinates: list[int]) -> KernelDensity:
        """The density of some of the coordinates."""
        points = np.ascontiguousarray(self.centres[:, coordinates])
        return KernelDensity(points, self.log_weights, np.diag(self.sds[coordinates]))

    @property
    def mean(self) -> np.ndarray:
        """E_q theta, (d,)."""
        return weighted_sum(self.weights, self.centres)

    @property
    def variances(self) -> np.ndarray:
        """Var_q of every coordinate, (d,)."""
        return weighted_sum(self.weights, (self.centres - self.mean) ** 2) + self.sds**2

    @cached_property
    def cov(self) -> np.ndarray:
        """Cov_q theta, (d, d): that of the weighted centres plus the kernel's."""
        centred = self.centres - self.mean
        return np.einsum("mi,mj->ij", self.weights[:, None] * centred, centred) + np.diag(self.sds**2)

    @property
    def kernel_peak(self) -> float:
        """Density of one kernel at its centre; e^700 where it is beyond that, and 0 where it is below e^-745."""
        return float(np.exp(min(-0.5 * len(self.sds) * np.log(2 * np.pi) - np.log(self.sds).sum(), 700.0)))

    def log_density(self, points: np.ndarray, single: bool = False) -> np.ndarray:
        """log q at points (n, d) -> (n,), in nats; with `single` off by up to 2e-5, in half the time."""
        scaled = self.centres / self.sds, self.log_weights, np.eye(len(self.sds)), points / self.sds
        return kde_log_density(*scaled, single) - np.log(self.sds).sum()

    def on_grid(self, grid: Grid) -> np.ndarray:
        """q at the cell centres, shape `grid.shape`, in one or two dimensions."""
        return self.marginal(list(range(len(self.sds)))).on_grid(grid)

    def sample(self, rng: np.random.Generator, n: int) -> np.ndarray:
        """n draws (n, d): parents by systematic resampling, plus noise along every coordinate."""
        parents = systematic(self.weights, n, rng.random())
        return self.centres[parents] + self.sds * rng.standard_normal((n, len(self.sds)))

    def narrowest(self, unit: np.ndarray) -> float:
        """The kernel's smallest sd along any coordinate, these divided by `unit` (d,)."""
        return float((self.sds / unit).min())

    def widened(self, smallest: float, unit: np.ndarray) -> DiagonalDensity:
        """Same density with a kernel of at least `smallest` sd along every coordinate, these divided by `unit`."""
        return DiagonalDensity(
            self.particles, self.log_weights, self.centres, np.maximum(self.sds, smallest * np.asarray(unit))
        )


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
