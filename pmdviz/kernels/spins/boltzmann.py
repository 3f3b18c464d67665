"""Many Gibbs chains of a Bernoulli restricted Boltzmann machine at once, all units of -1 and 1.

A sweep draws all hidden units given the visible ones, P(h_k = 1) = 1 / (1 + exp(-2 (c_k + W_k'z))), and then all
visible ones given those, P(z_i = 1) = 1 / (1 + exp(-2 (b_i + (W h)_i))).
"""

from collections.abc import Callable, Iterator

import numpy as np

from pmdviz.kernels.checks import matrix, plain, vector
from pmdviz.kernels.exponential import exp64
from pmdviz.kernels.jit import fast_jit, jit


def block_gibbs(
    states: np.ndarray, weights: np.ndarray, visible: np.ndarray, hidden: np.ndarray, uniforms: np.ndarray
) -> np.ndarray:
    """New visible states (k, d) after t sweeps of each chain.

    weights (d, M), visible (d,) and hidden (M,) are W, b and c; uniforms (t, k, M + d). ValueError for shapes that do
    not fit.
    """
    states, weights = matrix(states, "states").copy(), matrix(weights, "weights", len(hidden))
    visible, hidden = vector(visible, "visible", len(weights)), vector(hidden, "hidden", weights.shape[1])
    if states.shape[1] != len(visible) or uniforms.shape[1:] != (len(states), len(visible) + len(hidden)):
        raise ValueError(f"states {states.shape} and uniforms {uniforms.shape} do not fit weights {weights.shape}")
    _sweeps(states, weights, plain(weights.T), visible, hidden, plain(uniforms))
    return states


@fast_jit
def _draw_layer(given, weights, biases, uniforms, out):
    """out (n,) from the other layer `given` (k,), by weights (k, n)."""
    for j in range(out.size):
        out[j] = biases[j]
    for i in range(given.size):
        for j in range(out.size):
            out[j] += given[i] * weights[i, j]
    for j in range(out.size):
        small = exp64(-2.0 * abs(out[j]))
        larger = 1.0 / (1.0 + small)
        up = larger if out[j] >= 0.0 else small * larger
        out[j] = 1.0 if uniforms[j] < up else -1.0


@jit
def _sweeps(states, weights, turned, visible, hidden, uniforms):
    units = np.empty(hidden.size)
    for t in range(uniforms.shape[0]):
        for k in range(states.shape[0]):
            _draw_layer(states[k], weights, hidden, uniforms[t, k, : units.size], units)
            _draw_layer(units, turned, visible, uniforms[t, k, units.size :], states[k])


def warm_up_calls() -> Iterator[tuple[str, str, Callable[[], object]]]:
    """One call of each kernel."""
    one, two = np.ones((1, 1)), np.ones((1, 1, 2))
    yield "boltzmann", "Gibbs chains of a Boltzmann machine", lambda: block_gibbs(one, one, one[0], one[0], two)
