"""SplitMix64 (Steele, Lea, Flood 2014): a stream of uniforms from any seed, for documents that threads share."""

from collections.abc import Callable, Iterator

import numpy as np

from pmdviz.kernels.jit import jit

GOLDEN, FIRST, SECOND = np.uint64(0x9E3779B97F4A7C15), np.uint64(0xBF58476D1CE4E5B9), np.uint64(0x94D049BB133111EB)
S30, S27, S31, S11 = np.uint64(30), np.uint64(27), np.uint64(31), np.uint64(11)
UNIT = 2.0**-53


@jit
def next_bits(state):
    """64 bits, and the state (1,) uint64 one further."""
    state[0] += GOLDEN
    z = state[0]
    z = (z ^ (z >> S30)) * FIRST
    z = (z ^ (z >> S27)) * SECOND
    return z ^ (z >> S31)


@jit
def uniform(state):
    """In [0, 1)."""
    return np.float64(next_bits(state) >> S11) * UNIT


@jit
def chosen(shares, total, state):
    """An index with probability shares / total; the last one where rounding would lead beyond it."""
    left = uniform(state) * total
    for k in range(shares.size - 1):
        left -= shares[k]
        if left < 0.0:
            return k
    return shares.size - 1


def warm_up_calls() -> Iterator[tuple[str, str, Callable[[], object]]]:
    """One call of each kernel."""
    yield "topics", "random streams", lambda: chosen(np.ones(2), 2.0, np.zeros(1, np.uint64))
