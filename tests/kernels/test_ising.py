"""The Ising kernels against a plain loop over neighbours, and the sweep against its conditionals."""

import numpy as np
import pytest

from pmdviz.kernels.likelihoods.ising import ising_log_density, ising_relaxed, ising_sweep
from tests.support.tables import looped


def naive(state, size, coupling, field, offsets=0.0, closed=True):
    lattice, shift = state.reshape(size, size), 0 if closed else 1
    pairs = sum((lattice * np.roll(lattice, 1, axis=axis)).swapaxes(0, axis)[shift:].sum() for axis in (0, 1))
    return coupling * pairs + ((field + offsets) * state).sum()


def settings(size):
    offsets = np.random.default_rng(5).standard_normal(size * size)
    return [{}, {"closed": False}, {"offsets": offsets}, {"offsets": offsets, "closed": False}]


@looped("case", range(4))
@looped("size", [2, 3, 5])
def test_energy(size, case):
    states, rest = np.random.default_rng(size).choice([-1.0, 1.0], size=(20, size * size)), settings(size)[case]
    found = ising_log_density(states, size, 0.3, -0.2, **rest)
    np.testing.assert_allclose(found, [naive(s, size, 0.3, -0.2, **rest) for s in states], rtol=1e-12)


@looped("case", range(4))
@looped("size", [2, 3, 5])
def test_gradient_between_the_states(size, case):
    """Of a quadratic form central differences are exact."""
    points, rest = np.random.default_rng(size).uniform(-1, 1, size=(4, size * size)), settings(size)[case]
    steps = np.eye(size * size)
    up, down = (ising_log_density((points[:, None] + e * steps).reshape(-1, size**2), size, 0.3, -0.2, **rest)
                for e in (1, -1))  # fmt: skip
    expected = (up - down).reshape(4, -1) / 2
    np.testing.assert_allclose(ising_relaxed(points, size, 0.3, -0.2, **rest)[1], expected, rtol=1e-10, atol=1e-10)


@pytest.mark.parametrize("case", range(4))
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
