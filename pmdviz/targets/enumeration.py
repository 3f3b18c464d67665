"""Exact distributions of discrete states: by enumeration, over hidden units, and by the transfer matrix."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import NamedTuple

import numpy as np

from pmdviz.kernels.spins import column_states, drawn_columns, pair_sums, through_bonds
from pmdviz.targets.space import Discrete

MAX_STATES = 2**20  # 4 x 4 spins have 2^16
BLOCK = 2**14  # states that are asked for at once


class Enumeration:
    """p over all states of a `Discrete` space, normalised by their sum; draws by the inverse of its running sum."""

    def __init__(self, space: Discrete, log_p: Callable[[np.ndarray], np.ndarray]) -> None:
        self._space, values = space, [log_p(states) for states in _blocks(space)]
        flat = np.concatenate(values)
        peak = flat.max()
        mass = np.exp(flat - peak)
        self.log_z: float | None = float(peak + np.log(mass.sum()))
        self.probabilities = mass / mass.sum()
        parts = list(zip(_blocks(space), np.split(self.probabilities, _cuts(space)), strict=True))
        self.mean = sum((p[:, None] * states).sum(axis=0) for states, p in parts)
        self.cov = sum(((states - self.mean) * p[:, None]).T @ (states - self.mean) for states, p in parts)
        self.mean_error = np.zeros(space.dim)
        self._log_p = log_p
        for array in (self.probabilities, self.mean, self.cov, self.mean_error):
            array.flags.writeable = False

    def log_density(self, points: np.ndarray) -> np.ndarray:
        """log p(points), (n, d) -> (n,)."""
        return self._log_p(np.asarray(points, float)) - (self.log_z or 0.0)

    def sample(self, rng: np.random.Generator, n: int) -> np.ndarray:
        """n iid draws (n, d)."""
        return states_of(self._space, rng.choice(len(self.probabilities), size=n, p=self.probabilities))


def states_of(space: Discrete, numbers: np.ndarray) -> np.ndarray:
    """The states with these numbers, (n,) -> (n, d): the last coordinate counts fastest."""
    base, d = len(space.values), space.dim
    powers = base ** np.arange(d - 1, -1, -1, dtype=np.int64)
    return np.array(space.values)[(np.asarray(numbers)[:, None] // powers) % base]


def numbers_of(space: Discrete, states: np.ndarray) -> np.ndarray:
    """The numbers of states (n, d) -> (n,), as `states_of` counts them."""
    order = np.argsort(space.values)
    digits = order[np.searchsorted(np.array(space.values)[order], states)]
    powers = len(space.values) ** np.arange(space.dim - 1, -1, -1, dtype=np.int64)
    return (digits * powers).sum(axis=1)


def _cuts(space: Discrete) -> range:
    return range(BLOCK, space.num_states, BLOCK)


def _blocks(space: Discrete) -> Iterator[np.ndarray]:
    for start in range(0, space.num_states, BLOCK):
        yield states_of(space, np.arange(start, min(start + BLOCK, space.num_states)))


# The exact distribution of a Bernoulli RBM's visible units, by a visit of every state of its hidden ones.


class HiddenEnumeration:
    """p(z) = sum_h p(h) prod_i p(z_i | h), all units -1 or 1, with p(h) proportional to e^(c'h) prod_i 2 cosh(a_i).

    a = b + W h are the fields that the d visible units feel, and E(z_i | h) = tanh(a_i): moments and draws are exact.
    W (d, M), b (d,), c (M,); log_p (m, d) -> (m,) gives the unnormalised log p of visible states.
    """

    def __init__(
        self, weights: np.ndarray, visible: np.ndarray, hidden: np.ndarray, log_p: Callable[[np.ndarray], np.ndarray]
    ) -> None:
        units = Discrete((-1, 1), len(hidden))
        states = states_of(units, np.arange(units.num_states))
        fields = visible + np.einsum("sk,ik->si", states, weights)
        flat = np.einsum("sk,k->s", states, hidden) + log_2_cosh(fields).sum(axis=1)
        peak = flat.max()
        mass = np.exp(flat - peak)
        self.log_z: float | None = float(peak + np.log(mass.sum()))
        self._probabilities, self._means, self._log_p = mass / mass.sum(), np.tanh(fields), log_p
        self.mean = np.einsum("s,si->i", self._probabilities, self._means)
        centred = self._means - self.mean
        between = np.einsum("si,sj->ij", centred * self._probabilities[:, None], centred)
        self.cov = between + np.diag(1 - np.einsum("s,si->i", self._probabilities, self._means**2))
        self.mean_error = np.zeros(len(visible))
        for array in (self.mean, self.cov, self.mean_error):
            array.flags.writeable = False

    def log_density(self, points: np.ndarray) -> np.ndarray:
        """log p(points), (n, d) -> (n,)."""
        return self._log_p(np.asarray(points, float)) - (self.log_z or 0.0)

    def sample(self, rng: np.random.Generator, n: int) -> np.ndarray:
        """n iid draws (n, d): hidden states, and visible ones given them."""
        means = self._means[rng.choice(len(self._probabilities), size=n, p=self._probabilities)]
        return np.where(rng.random(means.shape) < 0.5 * (1 + means), 1.0, -1.0)


def log_2_cosh(x: np.ndarray) -> np.ndarray:
    """log(2 cosh x) = log(e^x + e^-x), of any size."""
    return np.abs(x) + np.log1p(np.exp(-2 * np.abs(x)))


# The exact distribution of spins on a square lattice, by the transfer matrix from column to column.

MAX_SIDE = 10  # 2^10 states of a column, and 2^20 numbers for a pair of them
STARTS = 128  # first columns whose sums are held at once


class Scaled(NamedTuple):
    """values * e^log_scale."""

    values: np.ndarray
    log_scale: float


class TransferMatrix:
    """p(s) proportional to exp(b sum over neighbours s_i s_j + sum_i h_i s_i) on n x n spins, `closed` or open.

    With K the bonds between two columns, D_c the weights exp(its own bonds and fields) of the states of column c, and
    G_{c -> c'} = K D_{c+1} K ... D_{c'-1} K the sum over all columns between c and c', around the lattice if need be,

        P(y_c = x, y_c' = y) = D_c(x) G_{c -> c'}(x, y) D_c'(y) G_{c' -> c}(y, x) / Z   (Kramers & Wannier 1941).

    All second moments come from such pairs; an open lattice is one whose last bond is of strength 0. fields (n, n);
    log_p (m, n^2) -> (m,) is the unnormalised log density. The memory that is needed for ten columns is 100 MB for
    as long as it computes.
    """

    def __init__(
        self, coupling: float, fields: np.ndarray, closed: bool, log_p: Callable[[np.ndarray], np.ndarray]
    ) -> None:
        self._size, self._coupling, self._closed, self._log_p = len(fields), coupling, closed, log_p
        self._spins = column_states(self._size)
        self._columns = [self._column(fields[:, c]) for c in range(self._size)]
        self._alike = closed and bool((fields == fields[:, :1]).all())
        self._every, self._no_weights = np.eye(len(self._spins)), Scaled(np.ones(len(self._spins)), 0.0)
        self.log_z: float | None = None
        self._moments()
        self.mean_error = np.zeros(self._size**2)
        for array in (self.mean, self.cov, self.mean_error):
            array.flags.writeable = False

    def log_density(self, points: np.ndarray) -> np.ndarray:
        """log p(points), (n, d) -> (n,)."""
        return self._log_p(np.asarray(points, float)) - (self.log_z or 0.0)

    def sample(self, rng: np.random.Generator, n: int) -> np.ndarray:
        """n iid draws (n, d): the first column by its marginal, each next one given the first and the one before."""
        uniforms, size = rng.random((n, self._size)), self._size
        first = np.searchsorted(np.cumsum(self._first), uniforms[:, 0], side="right").clip(0, len(self._first) - 1)
        known, starts = np.unique(first, return_inverse=True)
        columns = np.empty((n, size), np.int64)
        for start in range(0, len(known), STARTS):
            mine = (starts >= start) & (starts < start + STARTS)
            chosen = known[start : start + STARTS]
            found = dict(self._back(0, self._every[:, chosen]))
            weights = [(self._columns[c].values[:, None] * found[c].values).T for c in range(1, size)]
            parts = first[mine], starts[mine] - start, np.array(weights), self._coupling
            columns[mine] = drawn_columns(*parts, uniforms[mine, 1:])
        return self._spins[columns].transpose(0, 2, 1).reshape(n, size**2)

    def _column(self, fields: np.ndarray) -> Scaled:
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

    def _back(self, c: int, start: np.ndarray) -> Iterator[tuple[int, Scaled]]:
        """G_{c' -> c} @ start as (state of c', ...), for c' = c - 1, c - 2, ... around to c + 1."""
        found = self._through(Scaled(start, 0.0), self._no_weights, c - 1)
        yield (c - 1) % self._size, found
        for other in range(c - 2, c - self._size, -1):
            found = self._through(found, self._columns[(other + 1) % self._size], other)
            yield other % self._size, found

    def _forth(self, c: int) -> Iterator[tuple[int, Scaled]]:
        """G_{c -> c'} as (state of c', state of c), for c' = c + 1, ... to the last column."""
        found = self._through(Scaled(self._every, 0.0), self._no_weights, c)
        for other in range(c + 1, self._size):
            yield other, found
            if other < self._size - 1:
                found = self._through(found, self._columns[other], other)

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

    def _pairs(self, c: int) -> Iterator[tuple[int, np.ndarray, np.ndarray, np.ndarray]]:
        """For all columns c' right of c: P(state of c'), P(state of c), and E(spins of c' times spins of c)."""
        back = {other: found for other, found in self._back(c, self._every) if other > c}
        own = self._columns[c]
        for other, forth in self._forth(c):
            around, its = back.pop(other), self._columns[other]
            peak = forth.values.max()
            sums = pair_sums(forth.values, around.values, its.values / peak, own.values / around.values.max())
            total = float(sums.rows.sum())
            if self.log_z is None:
                peaks = np.log(peak) + np.log(around.values.max())
                scales = forth.log_scale + around.log_scale + own.log_scale + its.log_scale
                self.log_z = float(np.log(total) + peaks + scales)
            yield other, sums.rows / total, sums.columns / total, sums.products / total
