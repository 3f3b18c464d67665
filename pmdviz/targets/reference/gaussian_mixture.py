"""A mixture of Gaussians, known in closed form: density, moments, draws, and marginals of its coordinates."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import numpy as np

from pmdviz.kernels.factors import cholesky, inverse
from pmdviz.kernels.likelihoods.gaussian_mixture import gaussian_mixture_log_density
from pmdviz.targets.reference.cells import MAX_BOXES, Box, merged
from pmdviz.targets.reference.exact import OnGrids

BOX_SDS = 8.0  # of a component, to either side: all but 1e-15 of it
MAX_COMPONENTS = 64  # whose boxes are told apart


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
        The same log density by another formula, for a mixture of so many components that a sum over them takes long.
    """

    def __init__(
        self,
        weights: np.ndarray,
        means: np.ndarray,
        cov: np.ndarray,
        log_z: float = 0.0,
        log_density: Callable[[np.ndarray], np.ndarray] | None = None,
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
        for array in (self.weights, self.means, self.covs, self.mean, self.cov, self.mean_error):
            array.flags.writeable = False

    def log_density(self, points: np.ndarray) -> np.ndarray:
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

    def sample(self, rng: np.random.Generator, n: int) -> np.ndarray:
        """n iid draws (n, d): a component by its weight, then a draw from it."""
        chosen = rng.choice(len(self.weights), size=n, p=self.weights)
        noise = rng.standard_normal((n, self.means.shape[1]))
        if self._shared:
            return self.means[chosen] + np.einsum("ni,ji->nj", noise, self._choleskys[0])
        draws = self.means[chosen]
        for k in np.unique(chosen):
            draws[chosen == k] += np.einsum("ni,ji->nj", noise[chosen == k], self._choleskys[k])
        return draws

    def marginal_log_density(self, coordinates: Sequence[int]) -> Callable[[np.ndarray], np.ndarray]:
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

    def narrowest(self, unit: np.ndarray) -> float:
        """Smallest sd of a component in any direction, coordinates divided by `unit` (d,)."""
        return float(np.linalg.svd(self._choleskys / np.asarray(unit)[:, None], compute_uv=False).min())

    @property
    def _correlated(self) -> bool:
        return bool((self._choleskys != self._choleskys * np.eye(self.means.shape[1])).any())

    def _whitened(self, points: np.ndarray, k: int) -> np.ndarray:
        """L_k^-1 x; not by BLAS, whose last bits depend on threads."""
        return np.einsum("ni,ji->nj", points, self._inverses[k])

    def _log_jacobian(self, k: int) -> float:
        return -float(np.log(np.diagonal(self._choleskys[k])).sum())

    def _moments(self) -> tuple[np.ndarray, np.ndarray]:
        """Mean (d,) and covariance (d, d): within the components and between them."""
        mean = (self.weights[:, None] * self.means).sum(axis=0)
        away = self.means - mean
        within = self.covs if self._shared else (self.weights[:, None, None] * self.covs).sum(axis=0)
        return mean, within + np.einsum("ki,kj->ij", self.weights[:, None] * away, away)

    def _boxes(self) -> tuple[Box, tuple[Box, ...]]:
        """The box that holds every component, and those of groups that stand apart, where a grid may ask for them."""
        reach = BOX_SDS * np.sqrt(np.diagonal(self.covs, axis1=-2, axis2=-1))
        low, high = self.means - reach, self.means + reach
        whole = _box(low.min(axis=0), high.max(axis=0))
        if self.means.shape[1] > 2 or len(self.means) > MAX_COMPONENTS:
            return whole, (whole,)
        apart = merged([_box(*ends) for ends in zip(low, high, strict=True)])
        return whole, tuple(apart) if len(apart) <= MAX_BOXES else (whole,)


def _box(low: np.ndarray, high: np.ndarray) -> Box:
    return tuple((float(a), float(b)) for a, b in zip(low, high, strict=True))


def normal_cdf(z: np.ndarray) -> np.ndarray:
    """Phi(z), element by element."""
    return _half_erfc(-np.asarray(z) / 2**0.5)


_half_erfc = np.vectorize(lambda u: 0.5 * math.erfc(u), otypes=[float])
