"""Gibbs sweeps against plain loops with the same uniforms, and transfer matrices against the matrices themselves."""

import numpy as np
from scipy.special import expit
from scipy.stats import norm

from pmdviz.kernels.spins import (
    block_gibbs,
    column_states,
    drawn_columns,
    ising_sweep,
    mixture_sweep,
    pair_sums,
    through_bonds,
)
from tests.support.tables import looped


@looped("d, hidden", [(1, 1), (5, 3), (9, 12)])
def test_sweeps_of_two_layers_against_a_loop(d, hidden):
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


def energy(state, size, offsets, closed):
    lattice, shift = state.reshape(size, size), 0 if closed else 1
    pairs = sum((lattice * np.roll(lattice, 1, axis=axis)).swapaxes(0, axis)[shift:].sum() for axis in (0, 1))
    return 0.4 * pairs + ((0.1 + offsets) * state).sum()


@looped("closed", [True, False])
@looped("sd", [0.0, 1.0])
def test_a_sweep_of_the_lattice_takes_each_spin_from_its_conditional_given_the_new_ones_before_it(closed, sd):
    rng, size = np.random.default_rng(0), 4
    state, uniforms, rest = rng.choice([-1.0, 1.0], size=16), rng.random(16), (sd * rng.standard_normal(16), closed)
    after, now = ising_sweep(state, size, 0.4, 0.1, uniforms, *rest), state.copy()
    for k in range(16):
        gap = np.diff([energy(np.where(np.arange(16) == k, spin, now), size, *rest) for spin in (-1.0, 1.0)])[0]
        now[k] = 1.0 if uniforms[k] < 1 / (1 + np.exp(-gap)) else -1.0
    assert np.array_equal(after, now) and not np.array_equal(after, state)


def bonds(spins, bond):
    """K(y, z) = exp(b sum_r y_r z_r - n |b|)."""
    states = column_states(spins)
    return np.exp(bond * states @ states.T - spins * abs(bond))


@looped("bond", [0.4, -0.7, 0.0])
@looped("spins, columns", [(1, 1), (3, 5), (5, 33), (6, 64)])
def test_bonds_are_a_matrix(spins, columns, bond):
    rng = np.random.default_rng(spins)
    values, weights = rng.random((2**spins, columns)), rng.random(2**spins)
    expected = bonds(spins, bond) @ (weights[:, None] * values)
    np.testing.assert_allclose(through_bonds(values, weights, bond), expected, rtol=1e-12)


@looped("spins", [1, 2, 5, 6])
def test_sums_over_pairs_of_columns(spins):
    rng, states = np.random.default_rng(spins), column_states(spins)
    one, other = rng.random((2, 2**spins, 2**spins))
    of_rows, of_columns = rng.random((2, 2**spins))
    joint = of_rows[:, None] * of_columns * one * other
    found = pair_sums(one, other, of_rows, of_columns)
    np.testing.assert_allclose(found.rows, joint.sum(axis=1), rtol=1e-12)
    np.testing.assert_allclose(found.columns, joint.sum(axis=0), rtol=1e-12)
    np.testing.assert_allclose(found.products, states.T @ joint @ states, rtol=1e-10, atol=1e-10)


def test_columns_are_drawn_from_their_conditionals():
    """Each of two further columns given the one before, for two first columns, over all states of two spins."""
    rng, n = np.random.default_rng(0), 40_000
    weights, starts = rng.random((2, 2, 4)), np.repeat([0, 1], n)
    drawn = drawn_columns(np.repeat([2, 1], n), starts, weights, -0.4, rng.random((2 * n, 2)))
    for start, first in ((0, 2), (1, 1)):
        p = bonds(2, -0.4)[first] * weights[0, start]
        then = bonds(2, -0.4) * weights[1, start]
        expected = n * (p / p.sum())[:, None] * then / then.sum(axis=1, keepdims=True)
        counts = np.zeros((4, 4))
        np.add.at(counts, tuple(drawn[starts == start, 1:].T), 1)
        assert ((counts - expected) ** 2 / expected).sum() < 16 + 5 * np.sqrt(2 * 16)
        assert (drawn[starts == start, 0] == first).all()
    last = np.full((1, 1), np.nextafter(1.0, 0.0))  # no state beyond the last one
    assert drawn_columns([0], [0], np.ones((1, 1, 8)), 0.0, last)[0, 1] == 7


def regression(theta, x, sigma_x, p, prior_sd, uniforms, normals):
    one, two = p * norm.pdf(x, theta[0], sigma_x), (1 - p) * norm.pdf(x, theta.sum(), sigma_x)
    second = (uniforms >= one / (one + two)).astype(float)
    design = np.stack([np.ones_like(x), second], axis=1)
    precision = design.T @ design / sigma_x**2 + np.eye(2) / prior_sd**2
    mean = np.linalg.solve(precision, design.T @ x / sigma_x**2)
    return mean + np.linalg.solve(np.linalg.cholesky(precision).T, normals)


@looped("num", [1, 2, 7, 400])
@looped("p", [0.02, 0.5, 0.9])
@looped("sigma_x, prior_sd", [(0.5, 1.0), (2.5, 0.3)])
def test_against_a_regression_on_the_labels(num, p, sigma_x, prior_sd, rng):
    x, theta = rng.normal(0, 2, num), rng.normal(size=2)
    arguments = (theta, x, sigma_x, p, prior_sd, rng.random(num), rng.normal(size=2))
    np.testing.assert_allclose(mixture_sweep(*arguments), regression(*arguments), rtol=1e-10)
    x = np.array([-500.0, 500.0, -499.0])  # of components so far apart labels are certain
    theta = mixture_sweep(np.array([-500.0, 1000.0]), x, 1.0, 0.5, 1e4, rng.random(3), np.zeros(2))
    np.testing.assert_allclose(theta, [-499.5, 999.5], rtol=1e-6)
