"""Many steps of random-walk Metropolis in one compiled call, on any model of `kernels.models`.

All randomness is drawn beforehand, so a chain cut into calls of any lengths has the same bits as one in a single call.
"""

from collections.abc import Callable, Iterator
from typing import NamedTuple

import numpy as np

from pmdviz.kernels.checks import plain
from pmdviz.kernels.jit import jit
from pmdviz.kernels.models import log_joint


class Walk(NamedTuple):
    """What became of the proposals of a chain."""

    draws: np.ndarray  # (T, d) where the chain stood after each
    log_joint: float  # nats, where it stands in the end
    chances: np.ndarray  # (T,) of being accepted
    accepted: np.ndarray  # (T,)


def metropolis(
    model: tuple, data: np.ndarray, theta: np.ndarray, value: float, jumps: np.ndarray, uniforms: np.ndarray
) -> Walk:
    """theta (d,) of log joint `value`, moved by each of the jumps (T, d) with probability min(1, p(there) / p(here)).

    A move is made where its uniform (T,) lies below the chance; never where the log joint is -inf or NaN.
    """
    draws, chances, accepted = np.empty(jumps.shape), np.empty(len(jumps)), np.empty(len(jumps), np.bool_)
    arrays = plain(data), plain(theta).copy(), plain(jumps), plain(uniforms)
    value = _metropolis(model, *arrays, float(value), draws, chances, accepted)
    return Walk(draws, value, chances, accepted)


@jit
def _metropolis(model, data, theta, jumps, uniforms, value, draws, chances, accepted):
    proposal = theta.copy()
    for t in range(uniforms.size):
        for k in range(theta.size):
            proposal[k] = theta[k] + jumps[t, k]
        found, chances[t] = log_joint(model, proposal, data), 0.0
        if found > -np.inf:
            chances[t] = np.exp(min(0.0, found - value))
        accepted[t] = uniforms[t] < chances[t]
        if accepted[t]:
            value = found
        for k in range(theta.size):
            if accepted[t]:
                theta[k] = proposal[k]
            draws[t, k] = theta[k]
    return value


def warm_up_calls_on(model: tuple, x: np.ndarray, dim: int) -> Iterator[tuple[str, str, Callable[[], object]]]:
    """One call on a model, with data for it and theta of this dimension."""
    once, words = np.zeros((1, dim)), f"random walk, {type(model).__name__}"
    yield words, words, lambda: metropolis(model, x, once[0], 0.0, once, np.ones(1))
