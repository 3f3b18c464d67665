"""The density of the shaped kernel: in every cluster kernels of its shape, which leave its mean and covariance alone.

Within a cluster of mean mu and covariance C the centres are drawn towards mu by a = sqrt(1 - h^2) and the kernels have
the covariance h^2 C. The cluster's part of q then has mean mu and covariance a^2 C + h^2 C = C, whatever h (West 1993;
Liu and West 2001): h near 1 is a mixture of Gaussians, a small h an ordinary kernel density estimate.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from pmdviz.densities.bandwidth import own_scale
from pmdviz.densities.density import KernelDensity, along, mixed, weighted_sum
from pmdviz.densities.grid import Grid
from pmdviz.densities.shapes import Shape
from pmdviz.kernels.clusters import moments
from pmdviz.kernels.factors import cholesky, inverse
from pmdviz.kernels.resampling import systematic

WIDEST = 0.95  # of h: beyond it the particles' own places would no longer be seen
THIN, FLAT = 1e-9, 1e-4  # smallest sd of a cluster, in prior sd; of one without a shape, as a share of its spread


@dataclass(frozen=True, eq=False)
class ShapedDensity:
    """q(theta) = sum_i w_i N(theta | centre_i, L_c L_c') with the kernel L_c of the particle's cluster c.

    Attributes
    ----------
    particles : array (m, d)
    log_weights : array (m,), logsumexp 0
    labels : array (m,), the clusters
    centres : array (m, d), where the kernels lie: nearer to the cluster's mean than the particles
    factors : array (K, d, d), lower triangular, in the units of theta
    few : bool, whether the particles are too few for a shape; `cov` is then theirs, without the kernels'
    """

    particles: np.ndarray
    log_weights: np.ndarray
    labels: np.ndarray
    centres: np.ndarray
    factors: np.ndarray
    few: bool = False

    @cached_property
    def weights(self) -> np.ndarray:
        """Weights (m,), sum 1."""
        return np.exp(self.log_weights)

    @cached_property
    def parts(self) -> list[KernelDensity]:
        """The clusters that have any weight, each with its share of it."""
        alive = [(self.labels == c) & (self.log_weights > -np.inf) for c in range(len(self.factors))]
        pairs = zip(alive, self.factors, strict=True)
        return [KernelDensity(self.centres[s], self.log_weights[s], L) for s, L in pairs if s.any()]

    def log_density(self, points: np.ndarray, single: bool = False) -> np.ndarray:
        """log q at points (n, d) -> (n,), in nats; with `single` off by up to 2e-5, in half the time."""
        return mixed(part.log_density(points, single) for part in self.parts)

    def on_grid(self, grid: Grid) -> np.ndarray:
        """q at the cell centres, shape `grid.shape`; each kernel is cut at 8.5 sd (below 1e-15 of its peak)."""
        first, *others = self.parts
        total = first.on_grid(grid)
        for part in others:
            total += part.on_grid(grid)
        return total

    def sample(self, rng: np.random.Generator, n: int) -> np.ndarray:
        """n draws (n, d): parents by systematic resampling, plus noise of their cluster's shape."""
        parents = systematic(self.weights, n, rng.random())
        return self.displaced(parents, rng.standard_normal((n, self.particles.shape[1])))

    def displaced(self, parents: np.ndarray, noise: np.ndarray) -> np.ndarray:
        """The parents' kernels at standard noise (n, d)."""
        points, of = self.centres[parents], self.labels[parents]
        for c, factor in enumerate(self.factors):
            points[of == c] += np.einsum("ij,kj->ik", noise[of == c], factor)  # not BLAS: see weighted_sum
        return points

    def in_kernels(self, parents: np.ndarray, noise: np.ndarray) -> np.ndarray:
        """The same in coordinates in which the kernels are round on average."""
        within = np.einsum("k,kij,klj->il", self._shares, self.factors, self.factors)
        return np.einsum("ij,kj->ik", self.displaced(parents, noise), inverse(cholesky(within)))

    @property
    def _shares(self) -> np.ndarray:
        return np.bincount(self.labels, self.weights, len(self.factors))

    @property
    def mean(self) -> np.ndarray:
        """E_q theta, (d,): that of the weighted particles."""
        return weighted_sum(self.weights, self.centres)

    @property
    def cov(self) -> np.ndarray:
        """Cov_q theta, (d, d): that of the weighted particles."""
        if self.few:
            return moments(self.particles, self.weights)[1]
        within = np.einsum("k,kij,klj->il", self._shares, self.factors, self.factors)
        return moments(self.centres, self.weights)[1] + within

    @property
    def choleskys(self) -> np.ndarray:
        """The kernel's Cholesky factor for every particle, (m, d, d)."""
        return self.factors[self.labels]

    @property
    def kernel_sds(self) -> np.ndarray:
        """The sd of the kernel along each coordinate for every particle, (m, d)."""
        return along(self.factors)[self.labels]

    @property
    def kernel_peak(self) -> float:
        """Density of the narrowest kernel at its centre."""
        return max(part.kernel_peak for part in self.parts)

    def narrowest(self, unit: np.ndarray) -> float:
        """The smallest sd of a kernel in any direction, coordinates divided by `unit` (d,)."""
        return min(part.narrowest(unit) for part in self.parts)

    def widened(self, smallest: float, unit: np.ndarray) -> ShapedDensity:
        """Same density with kernels of at least `smallest` sd (coordinates divided by `unit`) in every direction."""
        kernels = (KernelDensity(self.centres, self.log_weights, factor) for factor in self.factors)
        wide = np.array([kernel.widened(smallest, unit).cholesky for kernel in kernels])
        return replace(self, factors=wide)


def shaped_density(
    particles: np.ndarray, log_weights: np.ndarray, shape: Shape, factor: float, scale: np.ndarray
) -> ShapedDensity:
    """q of weighted particles (m, d) in clusters, with kernels `factor` times as wide as chosen, at most WIDEST.

    Fewer than d + 2 particles have no covariance: their kernels are as wide along each coordinate as the particles are
    spread. Along a coordinate without spread, as that of a lone particle, `scale` (d,) is used, the prior's sd.
    """
    h = min(shape.width * factor, WIDEST)
    weights, centres = np.exp(log_weights), particles.copy()
    insides = [shape.labels == c for c in range(shape.labels.max() + 1)]
    few = len(particles) < particles.shape[1] + 2
    found = [_cluster(particles[s], weights[s], scale, few) for s in insides]
    for inside, (mean, _) in zip(insides, found, strict=True):
        centres[inside] = mean + np.sqrt(1 - h * h) * (particles[inside] - mean)
    covariances = np.array([covariance for _, covariance in found])
    if shape.shared:
        shares = np.bincount(shape.labels, weights)
        covariances[:] = np.einsum("k,kij->ij", shares, covariances)
    return ShapedDensity(particles, log_weights, shape.labels, centres, h * _factors(covariances), few)


def _factors(covariances: np.ndarray) -> np.ndarray:
    """Cholesky factors (k, d, d); copies of few particles span no space, and get a share of their spread."""
    try:
        return cholesky(covariances)
    except np.linalg.LinAlgError:
        return cholesky(covariances + FLAT**2 * covariances * np.eye(covariances.shape[-1]))


def _cluster(particles: np.ndarray, weights: np.ndarray, scale: np.ndarray, few: bool) -> tuple[np.ndarray, np.ndarray]:
    """Mean (d,) and covariance (d, d), which is made solid where there are too few effective particles for one."""
    m, d = particles.shape
    share = weights.sum()
    w = weights / share if share > 0 else np.full(m, 1 / m)
    mean, covariance = moments(particles, w)
    if few:
        covariance = np.diag(own_scale(np.sqrt(np.diag(covariance)), scale) ** 2)
    elif (w * w).sum() * (d + 2) > 1:
        covariance = covariance + np.diag(FLAT**2 * np.diag(covariance))
    return mean, covariance + np.diag((THIN * scale) ** 2)
