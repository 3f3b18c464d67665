"""Discrete states as numbers, and sums over the coordinates of what depends on a pair of values."""

from __future__ import annotations

import numpy as np

from pmdviz.errors import InputError
from pmdviz.targets import Target
from pmdviz.targets.reference.enumeration import Enumeration, states_of
from pmdviz.targets.space import Discrete

MAX_STATES = 2**12  # that a test visits all of


def codes_of(space: Discrete, points: np.ndarray) -> np.ndarray:
    """The place of each coordinate's value among the values in ascending order, (n, d) -> (n, d)."""
    return np.searchsorted(np.sort(space.values), points)


def pair_sums(codes: np.ndarray, table: np.ndarray, factors: np.ndarray | None = None) -> np.ndarray:
    """sum_k f_ik table[c_ik, c_jk] for every pair, (n, n), from codes (n, d) and a table (K, K); f (n, d) or 1."""
    rows = np.eye(len(table))[codes]
    if factors is not None:
        rows = rows * factors[:, :, None]
    columns = table.T[codes]
    flat = len(codes), -1
    return np.einsum("ik,jk->ij", rows.reshape(flat), columns.reshape(flat))  # not BLAS: its bits depend on threads


def log_p(target: Target, points: np.ndarray) -> np.ndarray:
    """Unnormalised log probabilities (n,), in nats. Raises InputError where one is not finite."""
    values = target.log_joint(points)
    if not np.isfinite(values).all():
        bad = target.space.words(points[~np.isfinite(values)][0])
        raise InputError(f"the sample holds {bad}, at which log p of target {target.name!r} is not finite")
    return values


def inverse_weights(log_density: np.ndarray) -> np.ndarray:
    """1 / p, of mean 1 over the points, from log p (n,)."""
    weights = np.exp(log_density.min() - log_density)
    return weights / weights.mean()


def neighbour_ratios(target: Target, points: np.ndarray) -> np.ndarray:
    """p(z with coordinate k at its next value) / p(z), (n, d); after the largest value comes the smallest."""
    values, codes, own = np.sort(target.space.values), codes_of(target.space, points), log_p(target, points)
    following = values[(codes + 1) % len(values)]
    ratios = np.empty(points.shape)
    for k in range(points.shape[1]):
        moved = points.copy()
        moved[:, k] = following[:, k]
        ratios[:, k] = np.exp(target.log_joint(moved) - own)
    return ratios


def enumerated(target: Target) -> tuple[np.ndarray, np.ndarray]:
    """All states (S, d), and their probabilities (S,). Raises InputError where there are more than 4,096."""
    space = target.space
    if not isinstance(space, Discrete) or space.num_states > MAX_STATES:
        raise InputError(f"target {target.name!r} does not have {MAX_STATES:,} discrete states or fewer")
    exact = target.reference()
    known = exact if isinstance(exact, Enumeration) else Enumeration(space, target.log_joint)
    return states_of(space, np.arange(space.num_states)), known.probabilities
