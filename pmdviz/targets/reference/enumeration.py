"""The exact distribution of a target with few states: every one of them is visited."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np

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
