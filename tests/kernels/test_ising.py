"""The sweep of the Ising kernels against its conditionals; energies are held against the transfer matrix."""

import numpy as np

from pmdviz.kernels.likelihoods.ising import ising_sweep
from tests.support.tables import looped


def naive(state, size, coupling, field, offsets=0.0, closed=True):
    lattice, shift = state.reshape(size, size), 0 if closed else 1
    pairs = sum((lattice * np.roll(lattice, 1, axis=axis)).swapaxes(0, axis)[shift:].sum() for axis in (0, 1))
    return coupling * pairs + ((field + offsets) * state).sum()


def settings(size):
    offsets = np.random.default_rng(5).standard_normal(size * size)
    return [{}, {"closed": False}, {"offsets": offsets}, {"offsets": offsets, "closed": False}]


@looped("case", range(4))
def test_a_sweep_takes_each_spin_from_its_conditional_given_the_new_ones_before_it(case):
    rng, size, rest = np.random.default_rng(0), 4, settings(4)[case]
    state, uniforms = rng.choice([-1.0, 1.0], size=16), rng.random(16)
    after, now = ising_sweep(state, size, 0.4, 0.1, uniforms, **rest), state.copy()
    for k in range(16):
        up, down = now.copy(), now.copy()
        up[k], down[k] = 1.0, -1.0
        gap = naive(up, size, 0.4, 0.1, **rest) - naive(down, size, 0.4, 0.1, **rest)
        now[k] = 1.0 if uniforms[k] < 1 / (1 + np.exp(-gap)) else -1.0
    assert np.array_equal(after, now) and not np.array_equal(after, state)
