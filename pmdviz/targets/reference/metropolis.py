"""Draws of a posterior without a gradient, by Metropolis chains whose proposals have the posterior's own shape."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from pmdviz.targets.base import Target

CHAINS, DRAWS = 8, 600
STARTS = 1024  # draws of the prior, of which those to start from are chosen by their likelihood
PILOTS = 200, 300  # steps, after each of which the shape is taken from the later half
BETWEEN = 2  # of the dimension: every so many steps a state is kept
LONGEST = 2.38  # over the root of the dimension: Gelman, Roberts, Gilks 1996
WALKS = 4  # every so many steps is a random walk's, the others do not depend on where the chain is
FREEDOM = 7.0  # degrees of it, of the t distribution that those are from
RIDGE = 1e-3  # of the prior's variance: a shape from few draws may be flat


class Shape(NamedTuple):
    """About where the posterior lies: its mean (d,), and the Cholesky factor (d, d) of its covariance."""

    mean: np.ndarray
    factor: np.ndarray


class Walkers(NamedTuple):
    """Where the chains stand, and the log joint there."""

    theta: np.ndarray  # (k, d)
    values: np.ndarray  # (k,) nats


def metropolis_chains(target: Target, chains: int = CHAINS, draws: int = DRAWS) -> np.ndarray:
    """Draws (k, n, d) of k Metropolis chains, side by side: each step evaluates k points together.

    Three steps of four propose from a t distribution with the posterior's mean and covariance C, the fourth from
    N(theta, (2.38^2 / d) C). Mean and C are first those of importance draws from the prior, from which the starts are
    resampled, then those of two pilot runs, which are thrown away; from there on they are fixed. Every (d / 2)-th
    state is a draw. With a Gaussian prior and a bounded likelihood the t distribution has the heavier tails, so that
    the chains forget their starts at a rate that is the same wherever they stand.
    """
    rng = np.random.default_rng([2019, target.dim])
    walkers, shape = _started(rng, target, chains)
    for steps, walks in zip(PILOTS, (1, WALKS), strict=True):
        walkers, path = _walked(rng, target, walkers, shape, steps, 1, walks)
        later = path[:, steps // 2 :].reshape(-1, target.dim)
        shape = _shape(later, np.full(len(later), 1 / len(later)), target.scale)
    return _walked(rng, target, walkers, shape, draws, max(1, target.dim // BETWEEN), WALKS)[1]


def _started(rng: np.random.Generator, target: Target, chains: int) -> tuple[Walkers, Shape]:
    """Chains at draws of the prior chosen by their likelihood, and the shape of all draws so weighted."""
    theta = target.sample_prior(rng, STARTS)
    log_weights = target.log_likelihood(theta, target.data_rows)
    weights = np.exp(log_weights - log_weights.max())
    weights /= weights.sum()
    starts = theta[rng.choice(STARTS, size=chains, p=weights)]
    return Walkers(starts, target.log_joint(starts)), _shape(theta, weights, target.scale)


def _shape(points: np.ndarray, weights: np.ndarray, scale: np.ndarray) -> Shape:
    """Mean and covariance of weighted points, that with a ridge."""
    mean = (weights[:, None] * points).sum(axis=0)
    cov = np.einsum("n,ni,nj->ij", weights, points - mean, points - mean) + np.diag(RIDGE * scale**2)
    return Shape(mean, np.linalg.cholesky(cov))


def _walked(
    rng: np.random.Generator, target: Target, walkers: Walkers, shape: Shape, draws: int, between: int, walks: int
) -> tuple[Walkers, np.ndarray]:
    """The chains after draws * between steps, and every `between`-th state (k, draws, d)."""
    (theta, values), (chains, dim) = walkers, walkers.theta.shape
    kept = np.empty((chains, draws, dim))
    for step in range(draws * between):
        noise = np.einsum("ni,ji->nj", rng.standard_normal((chains, dim)), shape.factor)
        if step % walks == 0:
            there, ratio = theta + LONGEST / np.sqrt(dim) * noise, np.zeros(chains)
        else:
            there = shape.mean + noise / np.sqrt(rng.chisquare(FREEDOM, (chains, 1)) / FREEDOM)
            ratio = _log_t(theta, shape) - _log_t(there, shape)
        found = target.log_joint(there)
        moved = np.log(rng.random(chains)) < found - values + ratio
        theta, values = np.where(moved[:, None], there, theta), np.where(moved, found, values)
        kept[:, step // between] = theta
    return Walkers(theta, values), kept


def _log_t(theta: np.ndarray, shape: Shape) -> np.ndarray:
    """Log density of the t distribution at theta (k, d), but for a constant: (k,)."""
    white = np.linalg.solve(shape.factor, (theta - shape.mean).T)
    return -0.5 * (FREEDOM + len(shape.mean)) * np.log1p((white**2).sum(axis=0) / FREEDOM)
