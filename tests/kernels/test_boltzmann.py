"""Gibbs chains of a Boltzmann machine against a plain loop with the same uniforms."""

import numpy as np
import pytest
from scipy.special import expit

from pmdviz.kernels.spins.boltzmann import block_gibbs


@pytest.mark.parametrize("d, hidden", [(1, 1), (5, 3), (9, 12)])
def test_sweeps_against_a_loop(d, hidden):
    rng = np.random.default_rng(d)
    weights, b, c = rng.standard_normal((d, hidden)), rng.standard_normal(d), rng.standard_normal(hidden)
    states, uniforms = rng.choice([-1.0, 1.0], size=(6, d)), rng.random((4, 6, hidden + d))
    expected = states.copy()
    for u in uniforms:
        for k in range(6):
            units = np.where(u[k, :hidden] < expit(2 * (c + expected[k] @ weights)), 1.0, -1.0)
            expected[k] = np.where(u[k, hidden:] < expit(2 * (b + weights @ units)), 1.0, -1.0)
    assert np.array_equal(block_gibbs(states, weights, b, c, uniforms), expected)
    assert not np.array_equal(expected, states)
