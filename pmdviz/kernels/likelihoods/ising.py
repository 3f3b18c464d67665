"""The Ising model on a square lattice: log p(s) = b sum over neighbours s_i s_j + sum_i (h + o_i) s_i.

The lattice closes on itself, or is open: then a spin at an edge has no neighbour beyond it. A factor of 1 and an offset
of 0 leave every bit as it is, so that one loop serves all.
"""

from collections.abc import Callable, Iterator

import numpy as np

from pmdviz.kernels.checks import matrix, vector
from pmdviz.kernels.jit import jit


def ising_log_density(
    states: np.ndarray,
    size: int,
    coupling: float,
    field: float,
    offsets: np.ndarray | None = None,
    closed: bool = True,
) -> np.ndarray:
    """Unnormalised log p of states (m, size^2) as (m,); a pair of neighbours counts once.

    States of -1 and +1, or points between them: it is a quadratic form. `offsets` (size^2,) are added to the field,
    spin by spin. On 2 x 2 a pair is joined twice where the lattice closes. ValueError for shapes that do not fit.
    """
    states = matrix(states, "states", size * size)
    return _relaxed(states, size, float(coupling), float(field), _offsets(offsets, size), float(closed))[0]


def ising_relaxed(
    points: np.ndarray,
    size: int,
    coupling: float,
    field: float,
    offsets: np.ndarray | None = None,
    closed: bool = True,
) -> tuple[np.ndarray, np.ndarray]:
    """`ising_log_density` (m,) at points (m, size^2), and its gradient there, of their shape."""
    points = matrix(points, "points", size * size)
    return _relaxed(points, size, float(coupling), float(field), _offsets(offsets, size), float(closed))


def ising_sweep(
    state: np.ndarray,
    size: int,
    coupling: float,
    field: float,
    uniforms: np.ndarray,
    offsets: np.ndarray | None = None,
    closed: bool = True,
) -> np.ndarray:
    """A new state (size^2,): each spin in turn from its conditional, P(+1) = 1 / (1 + exp(-2 (b sum + h + o_i)))."""
    state = vector(state, "state", size * size).copy()
    uniforms = vector(uniforms, "uniforms", size * size)
    _sweep(state, size, float(coupling), float(field), uniforms, _offsets(offsets, size), float(closed))
    return state


def _offsets(offsets: np.ndarray | None, size: int) -> np.ndarray:
    return np.zeros(size * size) if offsets is None else vector(offsets, "offsets", size * size)


@jit
def _sums(state, size, closed, near):
    """The sum of the neighbours of every spin, into `near`: along the rows, then down and up, edges apart."""
    dim = size * size
    for p in range(1, dim - 1):
        near[p] = state[p - 1] + state[p + 1]
    for first in range(0, dim, size):
        last = first + size - 1
        near[first] = state[first + 1] + closed * state[last]
        near[last] = state[last - 1] + closed * state[first]
    for p in range(dim - size):
        near[p] += state[p + size]
    for p in range(size, dim):
        near[p] += state[p - size]
    for p in range(size):
        near[p] += closed * state[dim - size + p]
        near[dim - size + p] += closed * state[p]


@jit
def _relaxed(points, size, coupling, field, offsets, closed):
    """Values (m,) and gradients (m, d) of the quadratic form."""
    values, gradients = np.empty(points.shape[0]), np.empty(points.shape)
    for i in range(values.size):
        state, near = points[i], gradients[i]
        _sums(state, size, closed, near)
        pairs, total, more = 0.0, 0.0, 0.0
        for p in range(near.size):
            pairs += state[p] * near[p]
            total += state[p]
            more += offsets[p] * state[p]
        values[i] = 0.5 * coupling * pairs + field * total + more  # each pair was met from both sides
        for p in range(near.size):
            near[p] = coupling * near[p] + field + offsets[p]
    return values, gradients


@jit
def _near(state, size, r, c, closed):
    """Sum of the neighbours of the spin in row r and column c."""
    near = state[r * size + (c + 1) % size] * (closed if c == size - 1 else 1.0)
    near += state[r * size + (c - 1) % size] * (closed if c == 0 else 1.0)
    below = state[(r + 1) % size * size + c] * (closed if r == size - 1 else 1.0)
    return near + (below + state[(r - 1) % size * size + c] * (closed if r == 0 else 1.0))


@jit
def _sweep(state, size, coupling, field, uniforms, offsets, closed):
    for r in range(size):
        for c in range(size):
            near = _near(state, size, r, c, closed)
            up = 1.0 / (1.0 + np.exp(-2.0 * (coupling * near + field + offsets[r * size + c])))
            state[r * size + c] = 1.0 if uniforms[r * size + c] < up else -1.0


def warm_up_calls() -> Iterator[tuple[str, str, Callable[[], object]]]:
    """One call of each kernel."""
    spins = np.ones((1, 4))
    yield "ising", "Ising energy", lambda: ising_log_density(spins, 2, 0.3, 0.0)
    yield "ising", "Ising gradient", lambda: ising_relaxed(spins, 2, 0.3, 0.0)
    yield "ising", "Ising sweep", lambda: ising_sweep(spins[0], 2, 0.3, 0.0, np.full(4, 0.5))
