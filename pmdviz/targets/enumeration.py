"""Exact distributions of discrete states: by enumeration, over hidden units, and by the transfer matrix."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from pmdviz.kernels.chains import Trajectories, hamiltonian
from pmdviz.kernels.checks import Array, Rng
from pmdviz.kernels.pool import run_blocks
from pmdviz.kernels.spins import block_gibbs, column_states, drawn_columns, pair_sums, through_bonds
from pmdviz.targets.exact import Normalised, probabilities
from pmdviz.targets.space import Discrete

if TYPE_CHECKING:
    from pmdviz.targets.base import Target


MAX_STATES = 2**20  # 4 x 4 spins have 2^16
BLOCK = 2**14  # states that are asked for at once


class Enumeration(Normalised):
    """p over all states of a `Discrete` space, normalised by their sum; draws by the inverse of its running sum."""

    def __init__(self, space: Discrete, log_p: Callable[[Array], Array]) -> None:
        self._space, self._log_p = space, log_p
        self.probabilities, self.log_z = probabilities(np.concatenate([log_p(states) for states in _blocks(space)]))
        cuts = range(BLOCK, space.num_states, BLOCK)
        parts = list(zip(_blocks(space), np.split(self.probabilities, cuts), strict=True))
        self.mean = sum((p[:, None] * states).sum(axis=0) for states, p in parts)
        self.cov = sum(((states - self.mean) * p[:, None]).T @ (states - self.mean) for states, p in parts)
        self.mean_error = np.zeros(space.dim)

    def sample(self, rng: Rng, n: int) -> Array:
        """n iid draws (n, d)."""
        return states_of(self._space, rng.choice(len(self.probabilities), size=n, p=self.probabilities))


def states_of(space: Discrete, numbers: Array) -> Array:
    """The states with these numbers, (n,) -> (n, d): the last coordinate counts fastest."""
    digits = np.unravel_index(numbers, (len(space.values),) * space.dim)
    return np.array(space.values)[np.stack(digits, axis=1)]


def numbers_of(space: Discrete, states: Array) -> Array:
    """The numbers of states (n, d) -> (n,), as `states_of` counts them."""
    order = np.argsort(space.values)
    digits = order[np.searchsorted(np.array(space.values)[order], states)]
    return np.asarray(np.ravel_multi_index(tuple(digits.T), (len(space.values),) * space.dim))


def _blocks(space: Discrete) -> Iterator[Array]:
    for start in range(0, space.num_states, BLOCK):
        yield states_of(space, np.arange(start, min(start + BLOCK, space.num_states)))


# The exact distribution of a Bernoulli RBM's visible units, by a visit of every state of its hidden ones.


class HiddenEnumeration(Normalised):
    """p(z) = sum_h p(h) prod_i p(z_i | h), all units -1 or 1, with p(h) proportional to e^(c'h) prod_i 2 cosh(a_i).

    a = b + W h are the fields that the d visible units feel, and E(z_i | h) = tanh(a_i): moments and draws are exact.
    W (d, M), b (d,), c (M,); log_p (m, d) -> (m,) gives the unnormalised log p of visible states.
    """

    def __init__(self, weights: Array, visible: Array, hidden: Array, log_p: Callable[[Array], Array]) -> None:
        units = Discrete((-1, 1), len(hidden))
        states = states_of(units, np.arange(units.num_states))
        fields = visible + np.einsum("sk,ik->si", states, weights)
        flat = np.einsum("sk,k->s", states, hidden) + log_2_cosh(fields).sum(axis=1)
        self._probabilities, self.log_z = probabilities(flat)
        self._means, self._log_p = np.tanh(fields), log_p
        self.mean = np.einsum("s,si->i", self._probabilities, self._means)
        centred = self._means - self.mean
        between = np.einsum("si,sj->ij", centred * self._probabilities[:, None], centred)
        self.cov = between + np.diag(1 - np.einsum("s,si->i", self._probabilities, self._means**2))
        self.mean_error = np.zeros(len(visible))

    def sample(self, rng: Rng, n: int) -> Array:
        """n iid draws (n, d): hidden states, and visible ones given them."""
        means = self._means[rng.choice(len(self._probabilities), size=n, p=self._probabilities)]
        return np.where(rng.random(means.shape) < 0.5 * (1 + means), 1.0, -1.0)


def log_2_cosh(x: Array) -> Array:
    """log(2 cosh x) = log(e^x + e^-x), of any size."""
    return np.abs(x) + np.log1p(np.exp(-2 * np.abs(x)))


# The exact distribution of spins on a square lattice, by the transfer matrix from column to column.

MAX_SIDE = 10  # 2^10 states of a column, and 2^20 numbers for a pair of them
STARTS = 128  # first columns whose sums are held at once


class Scaled(NamedTuple):
    """values * e^log_scale."""

    values: Array
    log_scale: float


class TransferMatrix(Normalised):
    """p(s) proportional to exp(b sum over neighbours s_i s_j + sum_i h_i s_i) on n x n spins, `closed` or open.

    With K the bonds between two columns, D_c the weights exp(its own bonds and fields) of the states of column c, and
    G_{c -> c'} = K D_{c+1} K ... D_{c'-1} K the sum over all columns between c and c', around the lattice if need be,

        P(y_c = x, y_c' = y) = D_c(x) G_{c -> c'}(x, y) D_c'(y) G_{c' -> c}(y, x) / Z   (Kramers & Wannier 1941).

    All second moments come from such pairs; an open lattice is one whose last bond is of strength 0. fields (n, n);
    log_p (m, n^2) -> (m,) is the unnormalised log density. The memory that is needed for ten columns is 100 MB for
    as long as it computes.
    """

    _first: Array  # (2^n,) probabilities of the states of the first column

    def __init__(self, coupling: float, fields: Array, closed: bool, log_p: Callable[[Array], Array]) -> None:
        self._size, self._coupling, self._closed, self._log_p = len(fields), coupling, closed, log_p
        self._spins = column_states(self._size)
        self._columns = [self._column(fields[:, c]) for c in range(self._size)]
        self._alike = closed and bool((fields == fields[:, :1]).all())
        self._every, self._no_weights = np.eye(len(self._spins)), Scaled(np.ones(len(self._spins)), 0.0)
        self.log_z: float | None = None
        self._moments()
        self.mean_error = np.zeros(self._size**2)

    def sample(self, rng: Rng, n: int) -> Array:
        """n iid draws (n, d): the first column by its marginal, each next one given the first and the one before."""
        uniforms, size = rng.random((n, self._size)), self._size
        first = np.searchsorted(np.cumsum(self._first), uniforms[:, 0], side="right").clip(0, len(self._first) - 1)
        known, starts = np.unique(first, return_inverse=True)
        columns = np.empty((n, size), np.int64)
        for start in range(0, len(known), STARTS):
            mine = (starts >= start) & (starts < start + STARTS)
            chosen = known[start : start + STARTS]
            found = dict(self._away(0, self._every[:, chosen], -1, size - 1))
            weights = [(self._columns[c].values[:, None] * found[c].values).T for c in range(1, size)]
            parts = first[mine], starts[mine] - start, np.array(weights), self._coupling
            columns[mine] = drawn_columns(*parts, uniforms[mine, 1:])
        return self._spins[columns].transpose(0, 2, 1).reshape(n, size**2)

    def _column(self, fields: Array) -> Scaled:
        """D of a column (2^n,)."""
        below = np.roll(self._spins, -1, axis=1)
        bonds = (self._spins * below)[:, : self._size if self._closed else -1].sum(axis=1)
        log_weights = self._coupling * bonds + np.einsum("yr,r->y", self._spins, fields)
        peak = log_weights.max()
        return Scaled(np.exp(log_weights - peak), float(peak))

    def _through(self, known: Scaled, weights: Scaled, left: int) -> Scaled:
        """K (weights * known), by the bonds between the columns `left` and left + 1."""
        bond = self._coupling if self._closed or left % self._size < self._size - 1 else 0.0
        peak = float(known.values.max())
        found = through_bonds(known.values, weights.values / peak, bond)
        return Scaled(found, known.log_scale + weights.log_scale + np.log(peak) + self._size * abs(bond))

    def _away(self, c: int, start: Array, way: int, count: int) -> Iterator[tuple[int, Scaled]]:
        """G between c and so many columns c' to its right (way 1) or left (-1), @ start as (state of c', ...).

        To the left they go on around the lattice.
        """
        found, weights = Scaled(start, 0.0), self._no_weights
        for k in range(1, count + 1):
            found = self._through(found, weights, c - k if way < 0 else c + k - 1)
            yield (other := (c + way * k) % self._size), found
            weights = self._columns[other]

    def _moments(self) -> None:
        """Mean (d,), covariance (d, d), log Z, and the marginal (2^n,) of the first column."""
        n = self._size
        second, means = np.empty((n, n, n, n)), np.empty((n, n))  # [row, column, row, column]
        for c in range(1 if self._alike else n - 1):
            for other, rows, columns, products in self._pairs(c):
                second[:, other, :, c], second[:, c, :, other] = products, products.T
                for column, p in ((c, columns), (other, rows)):
                    means[:, column] = np.einsum("x,xr->r", p, self._spins)
                    second[:, column, :, column] = np.einsum("x,xr,xs->rs", p, self._spins, self._spins)
                self._first = columns if c == 0 else self._first
        for c in range(1, n) if self._alike else ():
            second[:, c] = np.roll(second[:, 0], c, axis=2)
        self.mean = means.ravel()
        self.cov = second.reshape(n * n, n * n) - self.mean[:, None] * self.mean

    def _pairs(self, c: int) -> Iterator[tuple[int, Array, Array, Array]]:
        """For all columns c' right of c: P(state of c'), P(state of c), and E(spins of c' times spins of c)."""
        back = {other: found for other, found in self._away(c, self._every, -1, self._size - 1) if other > c}
        own = self._columns[c]
        for other, forth in self._away(c, self._every, 1, self._size - 1 - c):
            around, its = back.pop(other), self._columns[other]
            peak = forth.values.max()
            sums = pair_sums(forth.values, around.values, its.values / peak, own.values / around.values.max())
            total = float(sums.rows.sum())
            if self.log_z is None:
                peaks = np.log(peak) + np.log(around.values.max())
                scales = forth.log_scale + around.log_scale + own.log_scale + its.log_scale
                self.log_z = float(np.log(total) + peaks + scales)
            yield other, sums.rows / total, sums.columns / total, sums.products / total


# Reference draws by long chains: Hamiltonian, Metropolis and Gibbs.

REACH = 1e6  # prior sds
CHAINS, DRAWS, BURN_IN = 4, 2500, 200
LENGTHS = 4, 13  # leapfrog steps of a trajectory: from, below
FIRST_STEP, SHORTER, WANTED, PILOT = 0.4, 0.7, 0.85, 200  # time step in sds; share; acceptance; trajectories
MAX_NEWTON, CLOSE, SLACK = 50, 1e-6, 1e-9  # steps; of the prior's sd; nats
DIFFERENCE = 1e-4  # of the prior's sd, for the curvature at the peak


def peak(target: Target) -> tuple[Array, Array]:
    """Where log p is highest (d,), and the sds (d,) of the Gaussian with its curvature there; by damped Newton steps.

    For a log-concave posterior, from the prior's centre; a step is halved until log p does not fall.
    """
    theta = np.zeros(target.dim)
    height = float(target.log_joint(theta[None])[0])
    for _ in range(MAX_NEWTON):
        step = np.linalg.solve(curvature(target, theta), target.grad_log_joint(theta[None])[0])
        while (found := float(target.log_joint((theta + step)[None])[0])) < height - SLACK:
            step = 0.5 * step
        theta, height = theta + step, found
        if (np.abs(step) < CLOSE * target.scale).all():
            break
    return theta, np.sqrt(np.diag(np.linalg.inv(curvature(target, theta))))


def curvature(target: Target, theta: Array) -> Array:
    """-(second derivatives of log p) at theta (d,), by central differences of the gradient: (d, d)."""
    steps = np.diag(DIFFERENCE * target.scale)
    slopes = (target.grad_log_joint(theta + steps) - target.grad_log_joint(theta - steps)) / (2 * DIFFERENCE)
    precision = -slopes / target.scale[:, None]
    return 0.5 * (precision + precision.T)


def hamiltonian_chains(target: Target) -> Array:
    """Draws (4, 2500, d) of four chains of a target with a compiled model, each started at twice the peak's width.

    The time step is made shorter until 85 % of a pilot's proposals are accepted.
    """
    centre, sd = peak(target)
    time_step = FIRST_STEP
    while _chain(target, centre, sd, time_step, PILOT, seed=0).accepted.mean() < WANTED:
        time_step *= SHORTER
    chains = [_chain(target, centre, sd, time_step, BURN_IN + DRAWS, seed=k + 1) for k in range(CHAINS)]
    return np.array([chain.draws[BURN_IN:] for chain in chains])


def _chain(target: Target, centre: Array, sd: Array, time_step: float, num: int, seed: int) -> Trajectories:
    rng = np.random.default_rng([seed, 2016])
    theta = centre + 2.0 * sd * rng.standard_normal(target.dim)
    start = theta, float(target.log_joint(theta[None])[0]), target.grad_log_joint(theta[None])[0]
    momenta, lengths = rng.standard_normal((num, target.dim)), rng.integers(*LENGTHS, size=num)
    rest = rng.random(num), time_step, sd, REACH * target.scale, np.iinfo(np.int64).max
    return hamiltonian(target.model or (), target.data_rows, start, momenta, lengths, *rest)


# Draws of a posterior without a gradient, by Metropolis chains whose proposals have the posterior's own shape.

METROPOLIS_CHAINS, METROPOLIS_DRAWS = 8, 600
CHAINS_STARTS = 1024  # draws from the prior; the starts are chosen among them by their likelihood
PILOTS = 200, 300  # steps, after each of which the shape is taken from the later half
BETWEEN = 2  # the dimension over this: steps from one kept state to the next
LONGEST = 2.38  # over the root of the dimension: Gelman, Roberts, Gilks 1996
WALKS = 4  # every fourth step is a random walk; the others do not depend on the state of the chain
FREEDOM = 7.0  # degrees of it, of the t distribution that those are from
RIDGE = 1e-3  # of the prior's variance: a shape from few draws may be flat


class Shape(NamedTuple):
    """About where the posterior lies: its mean (d,), and the Cholesky factor (d, d) of its covariance."""

    mean: Array
    factor: Array


Walkers = tuple[Array, Array]  # where the chains are (k, d), and the log joint there (k,), nats


def metropolis_chains(target: Target) -> Array:
    """Draws (k, n, d) of k Metropolis chains, side by side: each step evaluates k points together.

    Three steps of four propose from a t distribution with the posterior's mean and covariance C, the fourth from
    N(theta, (2.38^2 / d) C). Mean and C come first from importance draws from the prior, from which the starts are
    resampled, then from two pilot runs, which are thrown away; from there on they are fixed. Every (d / 2)-th
    state is a draw. With a Gaussian prior and a bounded likelihood the t distribution has the heavier tails: the
    chains forget their starts at a rate that is the same wherever they stand.
    """
    rng = np.random.default_rng([2019, target.dim])
    walkers, shape = _started(rng, target, METROPOLIS_CHAINS)
    for steps, walks in zip(PILOTS, (1, WALKS), strict=True):
        walkers, path = _walked(rng, target, walkers, shape, steps, 1, walks)
        later = path[:, steps // 2 :].reshape(-1, target.dim)
        shape = _shape(later, np.full(len(later), 1 / len(later)), target.scale)
    return _walked(rng, target, walkers, shape, METROPOLIS_DRAWS, max(1, target.dim // BETWEEN), WALKS)[1]


def _started(rng: Rng, target: Target, chains: int) -> tuple[Walkers, Shape]:
    """Chains at draws from the prior chosen by their likelihood, and the shape of all draws so weighted."""
    theta = target.sample_prior(rng, CHAINS_STARTS)
    log_weights = target.log_likelihood(theta, target.data_rows)
    weights = np.exp(log_weights - log_weights.max())
    weights /= weights.sum()
    starts = theta[rng.choice(CHAINS_STARTS, size=chains, p=weights)]
    return (starts, target.log_joint(starts)), _shape(theta, weights, target.scale)


def _shape(points: Array, weights: Array, scale: Array) -> Shape:
    """Mean and covariance of weighted points, that with a ridge."""
    mean = (weights[:, None] * points).sum(axis=0)
    cov = np.einsum("n,ni,nj->ij", weights, points - mean, points - mean) + np.diag(RIDGE * scale**2)
    return Shape(mean, np.linalg.cholesky(cov))


def _walked(
    rng: Rng, target: Target, walkers: Walkers, shape: Shape, draws: int, between: int, walks: int
) -> tuple[Walkers, Array]:
    """The chains after draws * between steps, and every `between`-th state (k, draws, d)."""
    (theta, values), (chains, dim) = walkers, walkers[0].shape
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
    return (theta, values), kept


def _log_t(theta: Array, shape: Shape) -> Array:
    """Log density of the t distribution at theta (k, d), but for a constant: (k,)."""
    white = np.linalg.solve(shape.factor, (theta - shape.mean).T)
    return -0.5 * (FREEDOM + len(shape.mean)) * np.log1p((white**2).sum(axis=0) / FREEDOM)


# Draws of a Bernoulli RBM by long Gibbs chains, for machines with too many states in both layers.

GIBBS_CHAINS_CHAINS, CHAINS_BLOCK = 500, 50  # and how many of them share a random stream
GIBBS_CHAINS_BURN_IN, GIBBS_CHAINS_DRAWS, THINNING = 1000, 20, 50  # sweeps; draws of each chain; sweeps between two
MOST = 2_500_000_000  # weights that are looked at: a larger machine makes fewer sweeps
FEWEST = 200  # sweeps
APART = 1.2  # R-hat of a coordinate above which chains have not forgotten where they began


def gibbs_chains(weights: Array, visible: Array, hidden: Array) -> Array:
    """Draws (500, 20, d) of as many independent chains, each from fair units; W (d, M), b (d,), c (M,).

    2,000 sweeps per chain, whose first half is dropped, or fewer, at least 200, where d M is above 2,500. The
    bits are the same for any number of threads.
    """
    wanted = min(1.0, MOST / (GIBBS_CHAINS_CHAINS * weights.size * 2000))
    shorter = max(FEWEST / (GIBBS_CHAINS_BURN_IN + GIBBS_CHAINS_DRAWS * THINNING), wanted)
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

    run_blocks(work, GIBBS_CHAINS_CHAINS, CHAINS_BLOCK, GIBBS_CHAINS_CHAINS * burn_in * weights.size)
    return found


def chains_disagree(chains: Array) -> bool:
    """Whether R-hat = sqrt((B/W + n - 1) / n) of a coordinate of chains (k, n, d) is above 1.2 (Gelman & Rubin 1992).

    B/n is the variance of the chains' means, and W the mean variance within them.
    """
    n = chains.shape[1]
    within, between = chains.var(axis=1, ddof=1).mean(axis=0), n * chains.mean(axis=1).var(axis=0, ddof=1)
    return bool((between + (n - 1) * within > APART**2 * n * within).any())
