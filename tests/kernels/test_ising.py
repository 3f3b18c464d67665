"""The Ising kernels against a plain loop over neighbours, and the sweep against its conditionals."""

import numpy as np
import pytest

from pmdviz.kernels.likelihoods.ising import ising_log_density, ising_sweep


def naive(state, size, coupling, field):
    lattice = state.reshape(size, size)
    pairs = (lattice * np.roll(lattice, 1, axis=0)).sum() + (lattice * np.roll(lattice, 1, axis=1)).sum()
    return coupling * pairs + field * lattice.sum()


@pytest.mark.parametrize("size", [2, 3, 5])
def test_energy(size):
    states = np.random.default_rng(size).choice([-1.0, 1.0], size=(20, size * size))
    found = ising_log_density(states, size, 0.3, -0.2)
    np.testing.assert_allclose(found, [naive(s, size, 0.3, -0.2) for s in states], rtol=1e-12)


def test_a_sweep_takes_each_spin_from_its_conditional_given_the_new_ones_before_it():
    rng, size = np.random.default_rng(0), 4
    state, uniforms = rng.choice([-1.0, 1.0], size=16), rng.random(16)
    after, now = ising_sweep(state, size, 0.4, 0.1, uniforms), state.copy()
    for k in range(16):
        up, down = now.copy(), now.copy()
        up[k], down[k] = 1.0, -1.0
        gap = naive(up, size, 0.4, 0.1) - naive(down, size, 0.4, 0.1)
        now[k] = 1.0 if uniforms[k] < 1 / (1 + np.exp(-gap)) else -1.0
    assert np.array_equal(after, now) and not np.array_equal(after, state)


@pytest.mark.parametrize("shape", [(1, 3), (1, 5)])
def test_states_must_fit_the_lattice(shape):
    with pytest.raises(ValueError):
        ising_log_density(np.ones(shape), 2, 0.3, 0.0)
