"""Draws of a posterior without a gradient, by random walks whose steps have the posterior's own shape."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from pmdviz.targets.base import Target

CHAINS, DRAWS = 8, 1500
STARTS = 1024  # draws of the prior, of which those to start from are chosen by their likelihood
PILOTS = 200, 400  # steps, after each of which the steps' shape is taken from the later half
BETWEEN = 2  # of the dimension: every so many steps a draw is kept
LONGEST = 2.38  # over the root of the dimension: Gelman, Roberts, Gilks 1996
RIDGE = 1e-3  # of the prior's variance: a shape from few draws may be flat


class Walkers(NamedTuple):
    """Where the chains stand, and the log joint there."""

    theta: np.ndarray  # (k, d)
    values: np.ndarray  # (k,) nats


def random_walks(target: Target, chains: int = CHAINS, draws: int = DRAWS) -> np.ndarray:
    """Draws (k, n, d) of k chains of random-walk Metropolis, side by side: each step evaluates k points together.

    Steps are N(0, (2.38^2 / d) C): C is first the covariance of importance draws from the prior, from which the starts
    are resampled, then that of two pilot runs, which are thrown away; it is fixed from there on. Every (d / 2)-th
    state is a draw.
    """
    rng = np.random.default_rng([2019, target.dim])
    walkers, cov = _started(rng, target, chains)
    for steps in PILOTS:
        walkers, path = _walked(rng, target, walkers, cov, steps, 1)
        later = path[:, steps // 2 :].reshape(-1, target.dim)
        cov = _shape(later, np.full(len(later), 1 / len(later)), target.scale)
    return _walked(rng, target, walkers, cov, draws, max(1, target.dim // BETWEEN))[1]


def _started(rng: np.random.Generator, target: Target, chains: int) -> tuple[Walkers, np.ndarray]:
    """Chains at draws of the prior chosen by their likelihood, and the covariance of all draws so weighted."""
    theta = target.sample_prior(rng, STARTS)
    log_weights = target.log_likelihood(theta, target.data_rows)
    weights = np.exp(log_weights - log_weights.max())
    weights /= weights.sum()
    starts = theta[rng.choice(STARTS, size=chains, p=weights)]
    return Walkers(starts, target.log_joint(starts)), _shape(theta, weights, target.scale)


def _shape(points: np.ndarray, weights: np.ndarray, scale: np.ndarray) -> np.ndarray:
    """The covariance (d, d) of weighted points, with a ridge."""
    centred = points - (weights[:, None] * points).sum(axis=0)
    return np.einsum("n,ni,nj->ij", weights, centred, centred) + np.diag(RIDGE * scale**2)


def _walked(
    rng: np.random.Generator, target: Target, walkers: Walkers, cov: np.ndarray, draws: int, between: int
) -> tuple[Walkers, np.ndarray]:
    """The chains after draws * between steps, and every `between`-th state (k, draws, d)."""
    (theta, values), (chains, dim) = walkers, walkers.theta.shape
    factor, kept = LONGEST / np.sqrt(dim) * np.linalg.cholesky(cov), np.empty((chains, draws, dim))
    for step in range(draws * between):
        there = theta + np.einsum("ni,ji->nj", rng.standard_normal((chains, dim)), factor)
        found = target.log_joint(there)
        moved = np.log(rng.random(chains)) < found - values
        theta, values = np.where(moved[:, None], there, theta), np.where(moved, found, values)
        kept[:, step // between] = theta
    return Walkers(theta, values), kept
