"""Parameters of a mixture of Gaussians, its density, draws from it, and the distance of two."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

LOG_2PI = np.log(2 * np.pi)


class Mixture(NamedTuple):
    """sum_c shares_c N(means_c, covs_c). Which component comes first says nothing."""

    shares: np.ndarray  # (c,), sum 1
    means: np.ndarray  # (c, d)
    covs: np.ndarray  # (c, d, d)

    def ordered(self, order: np.ndarray) -> Mixture:
        """The same with its components in another order."""
        return Mixture(*(part[order] for part in self))

    @property
    def moments(self) -> tuple[np.ndarray, np.ndarray]:
        """Mean (d,) and second moment E xx' (d, d)."""
        squares = self.covs + self.means[:, :, None] * self.means[:, None, :]
        return self.shares @ self.means, np.tensordot(self.shares, squares, 1)

    @property
    def fault(self) -> str:
        """Why this is no density, in words; "" for one that is."""
        if not all(np.isfinite(part).all() for part in self):
            return "a parameter is not finite"
        if self.shares.min() < 0:
            return "a component's share is negative"
        if np.linalg.eigvalsh(self.covs).min() <= 0:
            return "a covariance is not positive definite"
        return ""


def component_log_densities(points: np.ndarray, mixture: Mixture) -> np.ndarray:
    """log N(x | means_c, covs_c), (n, c), in nats. Raises LinAlgError for a covariance that is none."""
    found = np.empty((len(points), len(mixture.shares)))
    for c, (mean, root) in enumerate(zip(mixture.means, np.linalg.cholesky(mixture.covs), strict=True)):
        whitened = (points - mean) @ np.linalg.inv(root).T
        found[:, c] = -0.5 * np.einsum("nd,nd->n", whitened, whitened)
        found[:, c] -= np.log(np.diag(root)).sum() + 0.5 * len(mean) * LOG_2PI
    return found


def log_joint(points: np.ndarray, mixture: Mixture) -> np.ndarray:
    """log shares_c + log N(x | means_c, covs_c), (n, c); -inf where a share is 0."""
    with np.errstate(divide="ignore"):
        return component_log_densities(points, mixture) + np.log(mixture.shares)


def log_sum(log_terms: np.ndarray) -> np.ndarray:
    """log sum exp over the last axis, (n, c) -> (n,)."""
    top = log_terms.max(axis=-1)
    return top + np.log(np.exp(log_terms - top[..., None]).sum(axis=-1))


def sample(mixture: Mixture, rng: np.random.Generator, n: int) -> np.ndarray:
    """Independent draws (n, d), in random order of the components."""
    roots, d = np.linalg.cholesky(mixture.covs), mixture.means.shape[1]
    which = rng.choice(len(mixture.shares), n, p=mixture.shares / mixture.shares.sum())
    points = rng.standard_normal((n, d))
    for c, (mean, root) in enumerate(zip(mixture.means, roots, strict=True)):
        mine = which == c
        points[mine] = mean + points[mine] @ root.T
    return points


def symmetric_kl(one: Mixture, other: Mixture) -> np.ndarray:
    """KL(a || b) + KL(b || a) of every component a of one and b of the other, (c, c'), in nats.

    Half of tr(A^-1 B + B^-1 A) - 2 d + (m_a - m_b)' (A^-1 + B^-1) (m_a - m_b).
    """
    first, second = np.linalg.inv(one.covs), np.linalg.inv(other.covs)
    traces = np.einsum("aij,bji->ab", first, other.covs) + np.einsum("bij,aji->ab", second, one.covs)
    apart = one.means[:, None] - other.means[None]
    squares = np.einsum("abi,abij,abj->ab", apart, first[:, None] + second[None], apart)
    return 0.5 * (traces + squares) - one.means.shape[1]


def squared_distance(one: Mixture, other: Mixture) -> float:
    """Sum of squared differences of shares, means and covariances, each entry once, components as they are numbered."""
    rows, columns = np.tril_indices(one.means.shape[1])
    parts = (one.shares - other.shares, one.means - other.means, (one.covs - other.covs)[:, rows, columns])
    return float(sum((part**2).sum() for part in parts))
