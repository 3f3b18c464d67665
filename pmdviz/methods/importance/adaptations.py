"""The proposal of adaptive importance sampling, and how weighted draws change it: by weighted EM, or down chi^2."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from pmdviz.densities.bandwidth import local_scale, neighbourhood_covariance
from pmdviz.densities.density import GaussianMixture, effective_sample_size, normalise
from pmdviz.densities.diagonal import MANY, DiagonalDensity
from pmdviz.kernels.components import component_shares, weighted_sums
from pmdviz.kernels.resampling import systematic
from pmdviz.methods.shared import optimisers
from pmdviz.targets import Target

GONE = 1e-12  # a component with less of the weight is dropped
NARROWEST, WIDEST = np.log(1e-3), 1.5  # of log sds, in the prior's
HALVINGS = 50  # of the interval that holds the power of the weights
TRACE = 1e-6  # of the prior's sd: no component is narrower, whatever the particles

Moments = tuple[np.ndarray, np.ndarray]  # Adam's, (K, 2 d + 1) each


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


def power_of_weights(log_weights: np.ndarray, wanted: float) -> float:
    """The largest power in [0, 1] with which weights w^power have an ESS of `wanted`; 0 where none has.

    The tempered weights of Koblents and Miguez 2015, the power being found by bisection.
    """
    if effective_sample_size(log_weights) >= wanted:
        return 1.0
    low, high = 0.0, 1.0
    for _ in range(HALVINGS):
        middle = 0.5 * (low + high)
        enough = effective_sample_size(tempered(log_weights, middle)) >= wanted
        low, high = (middle, high) if enough else (low, middle)
    return low


def tempered(log_weights: np.ndarray, power: float) -> np.ndarray:
    """log of w^power (m,), logsumexp 0; what has no weight gets none."""
    return normalise(np.where(log_weights > -np.inf, power * np.maximum(log_weights, -1e300), -np.inf))


def m_pmc(
    proposal: Proposal, particles: np.ndarray, log_weights: np.ndarray, shares: np.ndarray, knobs: Any, unit: np.ndarray
) -> tuple[Proposal, float]:
    """One weighted step of EM (Cappe et al. 2008, Eq. 12-14), and the power of the weights that it used.

        a_k = sum_i w_i r_ik,   mu_k = sum_i w_i r_ik x_i / a_k,   s_k^2 = sum_i w_i r_ik (x_i - mu_k)^2 / a_k

    with r (m, K) each component's share in q at the particles (m, d). Covariances are diagonal, and a variance is at
    least `variance_floor` times that of the weighted particles within neighbourhoods (ours: it follows the posterior's
    own scale, as a fixed one would not). `unit` (d,) is the prior's sd.
    """
    power = power_of_weights(log_weights, knobs.smallest_ess * len(log_weights))
    weights = np.exp(tempered(log_weights, power))
    total, first, second = weighted_sums(particles, proposal.means, proposal.sds, shares, weights)
    kept = total > GONE * total.sum()
    share = np.where(kept, total, 1.0)[:, None]
    shift = first / share  # in sds, as the second moments are
    means = np.where(kept[:, None], proposal.means + proposal.sds * shift, proposal.means)
    variances = proposal.sds**2 * (second / share - shift**2)
    least = knobs.variance_floor * np.diag(neighbourhood_covariance(particles, weights, unit)) / local_scale(len(unit))
    variances = np.maximum(variances, np.maximum(least, (TRACE * unit) ** 2))
    sds = np.where(kept[:, None], np.sqrt(variances), proposal.sds)
    log_shares = np.where(kept, np.log(np.where(kept, total, 1.0)), -np.inf)
    return Proposal(normalise(log_shares), means, sds, proposal.defensive), power


def chi2(
    proposal: Proposal, moments: Moments, t: int, gradient: np.ndarray, learning_rate: float, unit: np.ndarray
) -> tuple[Proposal, Moments]:
    """One step of Adam down the gradient (K, 2 d + 1) of log chi^2; means and sds in units (d,) of the prior's sd."""
    direction, *moments = optimisers.adam(gradient, *moments, t)
    step, d = learning_rate * direction, len(unit)
    log_sds = np.log(proposal.sds / unit) - step[:, 1 + d :]
    sds = unit * np.exp(np.clip(log_sds, NARROWEST, WIDEST))
    means = proposal.means - unit * step[:, 1 : 1 + d]
    changed = Proposal(normalise(proposal.log_shares - step[:, 0]), means, sds, proposal.defensive)
    return changed, (moments[0], moments[1])


def chi2_gradient(
    proposal: Proposal,
    particles: np.ndarray,
    log_weights: np.ndarray,
    shares: np.ndarray,
    clamp: float,
    unit: np.ndarray,
) -> np.ndarray:
    """Gradient (K, 2 d + 1) of log E_q w^2 in log a_k (before they are normalised), mu_k / unit, log s_k.

        -(1/m) sum_i c_i grad log q(x_i),   c_i = w_i^2 / mean_j w_j^2 - 1

    From E_q w^2 = 1 + chi^2(p, q) for normalised w, whose gradient is -E_q w^2 grad log q; the -1 is a control variate.
    """
    m, c = len(particles), coefficients(log_weights, clamp)
    total, first, second = weighted_sums(particles, proposal.means, proposal.sds, shares, c / m)
    own = float((c * shares.sum(axis=1)).sum()) / m  # all but the prior's part
    in_shares = total - np.exp(proposal.log_shares) * own
    in_means, in_log_sds = unit * first / proposal.sds, second - total[:, None]
    return -np.concatenate([in_shares[:, None], in_means, in_log_sds], axis=1)


def coefficients(log_weights: np.ndarray, clamp: float) -> np.ndarray:
    """c (m,) of log weights (m,); log w^2 is at most its median plus `clamp` nats, 0 for no such limit."""
    logs = 2 * log_weights
    if clamp > 0:
        logs = np.minimum(logs, np.median(logs[logs > -np.inf]) + clamp)
    squares = np.exp(logs - logs.max())
    return squares / squares.mean() - 1
