"""Reference draws by long chains: Hamiltonian, Metropolis and Gibbs."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from pmdviz.kernels.chains import Trajectories, hamiltonian
from pmdviz.kernels.pool import run_blocks
from pmdviz.kernels.spins import block_gibbs

if TYPE_CHECKING:
    from pmdviz.targets.base import Target


REACH = 1e6  # prior sds
CHAINS, DRAWS, BURN_IN = 4, 2500, 200
LENGTHS = 4, 13  # leapfrog steps of a trajectory: from, below
FIRST_STEP, SHORTER, WANTED, PILOT = 0.4, 0.7, 0.85, 200  # time step in sds; share; acceptance; trajectories
MAX_NEWTON, CLOSE, SLACK = 50, 1e-6, 1e-9  # steps; of the prior's sd; nats
DIFFERENCE = 1e-4  # of the prior's sd, for the curvature at the peak


def peak(target: Target) -> tuple[np.ndarray, np.ndarray]:
    """Where log p is highest (d,), and the sds (d,) of the Gaussian with its curvature there; by damped Newton steps.

    For a log-concave posterior, from the prior's centre; a step is halved until log p does not fall.
    """
    theta = np.zeros(target.dim)
    height = float(target.log_joint(theta[None])[0])
    for _ in range(MAX_NEWTON):
        precision = curvature(target, theta)
        step = np.linalg.solve(precision, target.grad_log_joint(theta[None])[0])
        while (found := float(target.log_joint((theta + step)[None])[0])) < height - SLACK:
            step = 0.5 * step
        theta, height = theta + step, found
        if (np.abs(step) < CLOSE * target.scale).all():
            break
    return theta, np.sqrt(np.diag(np.linalg.inv(curvature(target, theta))))


def curvature(target: Target, theta: np.ndarray) -> np.ndarray:
    """-(second derivatives of log p) at theta (d,), by central differences of the gradient: (d, d)."""
    steps = np.diag(DIFFERENCE * target.scale)
    slopes = (target.grad_log_joint(theta + steps) - target.grad_log_joint(theta - steps)) / (2 * DIFFERENCE)
    precision = -slopes / target.scale[:, None]
    return 0.5 * (precision + precision.T)


def hamiltonian_chains(target: Target) -> np.ndarray:
    """Draws (4, 2500, d) of four chains of a target with a compiled model, each started at twice the peak's width.

    The time step is made shorter until 85 % of a pilot's proposals are accepted.
    """
    centre, sd = peak(target)
    time_step = FIRST_STEP
    while _chain(target, centre, sd, time_step, PILOT, seed=0).accepted.mean() < WANTED:
        time_step *= SHORTER
    chains = [_chain(target, centre, sd, time_step, BURN_IN + DRAWS, seed=k + 1) for k in range(CHAINS)]
    return np.array([chain.draws[BURN_IN:] for chain in chains])


def _chain(target: Target, centre: np.ndarray, sd: np.ndarray, time_step: float, num: int, seed: int) -> Trajectories:
    rng = np.random.default_rng([seed, 2016])
    theta = centre + 2.0 * sd * rng.standard_normal(target.dim)
    start = theta, float(target.log_joint(theta[None])[0]), target.grad_log_joint(theta[None])[0]
    momenta, lengths = rng.standard_normal((num, target.dim)), rng.integers(*LENGTHS, size=num)
    rest = rng.random(num), time_step, sd, REACH * target.scale, np.iinfo(np.int64).max
    return hamiltonian(target.model or (), target.data_rows, start, momenta, lengths, *rest)


# Draws of a posterior without a gradient, by Metropolis chains whose proposals have the posterior's own shape.

METROPOLIS_CHAINS, METROPOLIS_DRAWS = 8, 600
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


def metropolis_chains(target: Target, chains: int = METROPOLIS_CHAINS, draws: int = METROPOLIS_DRAWS) -> np.ndarray:
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


# Draws of a Bernoulli RBM by long Gibbs chains, for machines of which no layer's states can all be visited.

GIBBS_CHAINS_CHAINS, BLOCK = 500, 50  # and how many of them share a random stream
GIBBS_CHAINS_BURN_IN, GIBBS_CHAINS_DRAWS, THINNING = 1000, 20, 50  # sweeps; draws of each chain; sweeps between two
MOST = 2_500_000_000  # weights that are looked at: a larger machine makes fewer sweeps
FEWEST = 200  # sweeps
APART = 1.2  # R-hat of a coordinate above which chains have not forgotten where they began


def gibbs_chains(weights: np.ndarray, visible: np.ndarray, hidden: np.ndarray) -> np.ndarray:
    """Draws (500, 20, d) of as many independent chains, each from fair units; W (d, M), b (d,), c (M,).

    2,000 sweeps a chain of which the first half is dropped, or fewer, at least 200, where d M is above 2,500. The same
    bits for any number of threads.
    """
    shorter = max(
        FEWEST / (GIBBS_CHAINS_BURN_IN + GIBBS_CHAINS_DRAWS * THINNING),
        min(1.0, MOST / (GIBBS_CHAINS_CHAINS * weights.size * 2000)),
    )
    burn_in, thinning = round(shorter * GIBBS_CHAINS_BURN_IN), round(shorter * THINNING)
    found = np.empty((GIBBS_CHAINS_CHAINS, GIBBS_CHAINS_DRAWS, len(visible)))

    def work(start: int, stop: int) -> None:
        rng = np.random.default_rng([start, 2020])
        states = 2.0 * rng.integers(0, 2, size=(stop - start, len(visible))) - 1.0
        for draw in range(-(burn_in // thinning), GIBBS_CHAINS_DRAWS):
            uniforms = rng.random((thinning, stop - start, sum(weights.shape)))
            states = block_gibbs(states, weights, visible, hidden, uniforms)
            if draw >= 0:
                found[start:stop, draw] = states

    run_blocks(work, GIBBS_CHAINS_CHAINS, BLOCK, GIBBS_CHAINS_CHAINS * burn_in * weights.size)
    return found


def chains_disagree(chains: np.ndarray) -> bool:
    """Whether R-hat = sqrt((B/W + n - 1) / n) of a coordinate of chains (k, n, d) is above 1.2 (Gelman & Rubin 1992).

    B/n is the variance of the chains' means, and W the mean variance within them.
    """
    n = chains.shape[1]
    within, between = chains.var(axis=1, ddof=1).mean(axis=0), n * chains.mean(axis=1).var(axis=0, ddof=1)
    return bool((between + (n - 1) * within > APART**2 * n * within).any())
