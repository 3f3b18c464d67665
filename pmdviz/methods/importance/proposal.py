"""The proposal of adaptive importance sampling: Gaussians with diagonal covariances, and a share of the prior."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from pmdviz.densities.density import GaussianMixture, normalise
from pmdviz.densities.diagonal import MANY, DiagonalDensity
from pmdviz.kernels.components import component_shares
from pmdviz.kernels.resampling import systematic
from pmdviz.targets import Target


class Proposal(NamedTuple):
    """q(theta) = (1 - delta) sum_k a_k N(theta | mu_k, diag(s_k)^2) + delta p(theta), p the prior, or the q0."""

    log_shares: np.ndarray  # (K,) log a_k, logsumexp 0; -inf of a component that is gone
    means: np.ndarray  # (K, d)
    sds: np.ndarray  # (K, d)
    defensive: float  # delta in [0, 1)

    @property
    def alive(self) -> np.ndarray:
        """Which components have a share, (K,)."""
        return self.log_shares > -np.inf

    def living(self) -> Proposal:
        """The components that have a share, and no others."""
        rows = self.alive
        return self._replace(log_shares=self.log_shares[rows], means=self.means[rows], sds=self.sds[rows])

    def sample(self, rng: np.random.Generator, target: Target, n: int) -> np.ndarray:
        """n draws (n, d), each from q: of every component as many as its share says, the remainders at random."""
        shares = np.append((1 - self.defensive) * np.exp(self.log_shares), self.defensive)
        chosen = systematic(shares / shares.sum(), n, rng.random())
        noise, own = rng.standard_normal((n, self.means.shape[1])), chosen < len(self.means)
        draws = np.empty_like(noise)
        draws[own] = self.means[chosen[own]] + self.sds[chosen[own]] * noise[own]
        if not own.all():
            draws[~own] = target.sample_prior(rng, int((~own).sum()))
        return draws

    def at(self, points: np.ndarray, log_prior: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """log q (n,), in nats, and each component's share in it (n, K), at points (n, d) of known log prior (n,)."""
        rest = np.log(self.defensive) + log_prior if self.defensive > 0 else np.full(len(points), -np.inf)
        log_shares = np.log1p(-self.defensive) + self.log_shares
        return component_shares(points, log_shares, self.means, self.sds, rest)

    def density(self) -> GaussianMixture | DiagonalDensity:
        """The Gaussians alone: what was fitted to the target."""
        own, d = self.living(), self.means.shape[1]
        if d > MANY:
            return DiagonalDensity(own.means, normalise(own.log_shares), own.means, own.sds)
        return GaussianMixture(own.means, normalise(own.log_shares), own.sds[:, :, None] * np.eye(d))
