"""The Ising model on a square lattice that closes on itself: log p(s) = b sum over neighbours s_i s_j + h sum s_i."""

from collections.abc import Callable, Iterator

import numpy as np

from pmdviz.kernels.checks import matrix, vector
from pmdviz.kernels.jit import jit


def ising_log_density(states: np.ndarray, size: int, coupling: float, field: float) -> np.ndarray:
    """Unnormalised log p of states (m, size^2) of -1 and +1, as (m,); a pair of neighbours counts once.

    On 2 x 2 a pair is joined twice, as the lattice closes on itself. ValueError for shapes that do not fit.
    """
    states = matrix(states, "states", size * size)
    return _log_density(states, size, float(coupling), float(field))


def ising_sweep(state: np.ndarray, size: int, coupling: float, field: float, uniforms: np.ndarray) -> np.ndarray:
    """A new state (size^2,): each spin in turn from its conditional, P(+1) = 1 / (1 + exp(-2 (b sum + h)))."""
    state = vector(state, "state", size * size).copy()
    _sweep(state, size, float(coupling), float(field), vector(uniforms, "uniforms", size * size))
    return state


@jit
def _log_density(states, size, coupling, field):
    out = np.empty(states.shape[0])
    for i in range(out.size):
        pairs, total = 0.0, 0.0
        for r in range(size):
            for c in range(size):
                spin = states[i, r * size + c]
                total += spin
                pairs += spin * (states[i, r * size + (c + 1) % size] + states[i, (r + 1) % size * size + c])
        out[i] = coupling * pairs + field * total
    return out


@jit
def _sweep(state, size, coupling, field, uniforms):
    for r in range(size):
        for c in range(size):
            near = state[r * size + (c + 1) % size] + state[r * size + (c - 1) % size]
            near += state[(r + 1) % size * size + c] + state[(r - 1) % size * size + c]
            up = 1.0 / (1.0 + np.exp(-2.0 * (coupling * near + field)))
            state[r * size + c] = 1.0 if uniforms[r * size + c] < up else -1.0


def warm_up_calls() -> Iterator[tuple[str, Callable[[], object]]]:
    """One call of each kernel."""
    spins = np.ones((1, 4))
    yield "Ising energy", lambda: ising_log_density(spins, 2, 0.3, 0.0)
    yield "Ising sweep", lambda: ising_sweep(spins[0], 2, 0.3, 0.0, np.full(4, 0.5))
