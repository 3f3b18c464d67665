"""Gaussian VB: gradients, natural step, exact sds on a Gaussian, and the bias of a gradient in its own normaliser."""

import numpy as np
import pytest

from pmdviz.engine.recipe.recipe import Recipe
from pmdviz.engine.session import Session
from pmdviz.methods import METHODS
from pmdviz.methods.vi.gaussian_vb import (
    GaussianVBState,
    coordinates_gradient,
    draws,
    elbo,
    natural,
    normalised,
    sds,
)
from tests.methods.test_svi import MEAN, PRECISION, normal_target

METHOD = METHODS["gaussian_vb"]
FULL, DIAGONAL = np.array([[0.6, 0.0], [-0.3, 0.4]]), np.array([0.5, 0.7])
SCALE = np.array([2.0, 0.5])


def state_of(factor, window=3):
    columns = 1 + (factor.shape[1] if factor.ndim == 2 else 1)
    return GaussianVBState(np.array([0.2, 0.1]), factor, np.zeros((window, 2, columns)), 0)


def factor_of(state):
    return state.cholesky if state.cholesky.ndim == 2 else np.diag(state.cholesky)


def exact_elbo(mean, factor):
    """E_q log N(theta | MEAN, PRECISION^-1) + H(q) up to constants."""
    off = mean - MEAN
    return -0.5 * (off @ PRECISION @ off + np.trace(PRECISION @ factor @ factor.T)) + np.log(np.diag(factor)).sum()


@pytest.mark.parametrize("factor", [FULL, DIAGONAL], ids=["full", "diagonal"])
def test_the_gradient_is_that_of_the_elbo_in_its_coordinates(factor):
    state, noise = state_of(factor), np.random.default_rng(0).standard_normal((200_000, 2))
    found = coordinates_gradient(state, noise, -(draws(state, noise) - MEAN) @ PRECISION, SCALE)
    size, L = 1e-6, factor_of(state)

    def slope(mean, lower):
        up, down = (exact_elbo(state.mean + s * mean, moved(L, s * lower)) for s in (size, -size))
        return (up - down) / (2 * size)

    def moved(base, change):
        return (
            np.tril(base, -1)
            + np.tril(change, -1) * sds(state)[:, None]
            + np.diag(np.diag(base) * np.exp(np.diag(change)))
        )

    none = np.zeros((2, 2))
    for i in range(2):
        assert found[i, 0] == pytest.approx(slope(SCALE * np.eye(2)[i], none), abs=0.05)
        for j in range(i + 1):
            one = none.copy()
            one[i, j] = 1.0
            if factor.ndim == 1 and i != j:
                continue
            assert found[i, 1 + j if factor.ndim == 2 else 1] == pytest.approx(slope(np.zeros(2), one), abs=0.05)
    assert found.shape == ((2, 3) if factor.ndim == 2 else (2, 2))


def test_the_natural_step_of_one_solves_a_gaussian():
    """With gamma = 1 the precision becomes -E hess log p, and the mean takes Newton's step: but for noise."""
    noise = np.random.default_rng(0).standard_normal((100_000, 2))
    for factor in (5 * FULL, 3 * DIAGONAL):
        state = state_of(factor)
        moved = natural(state, noise, -(draws(state, noise) - MEAN) @ PRECISION, 1.0)
        exact = np.linalg.inv(PRECISION) if factor.ndim == 2 else np.diag(1 / np.diag(PRECISION))
        got = factor_of(moved) @ factor_of(moved).T
        np.testing.assert_allclose(got, exact, rtol=0.05)
        if factor.ndim == 2:
            np.testing.assert_allclose(moved.mean, MEAN, atol=0.03)


def test_the_elbo_is_exact_but_for_noise():
    target, state = normal_target(), state_of(FULL)
    theta = draws(state, np.random.default_rng(1).standard_normal((100_000, 2)))
    constant = elbo(state, theta, target, target.data) - exact_elbo(state.mean, FULL)
    other = state_of(1.5 * FULL)
    theta = draws(other, np.random.default_rng(2).standard_normal((100_000, 2)))
    assert elbo(other, theta, target, target.data) - exact_elbo(other.mean, 1.5 * FULL) == pytest.approx(
        constant, abs=0.1
    )
    best = Session(Recipe("gaussian", "gaussian_vb", gradient="natural"), metrics_every=10**9)
    best.advance(10**6)
    assert best.history.columns["elbo"][-1] == pytest.approx(best.target.exact.log_z, abs=1.0)


def test_the_normaliser_is_of_the_gradients_before_or_of_this_one_too():
    rng, past = (
        np.random.default_rng(0),
        METHOD.Knobs.checked({"shape": "diagonal", "gradient": "normalised", "window": 3}),
    )
    present = past.replaced(normaliser="present")
    state, seen = state_of(DIAGONAL), []
    for t in range(6):
        noise = rng.standard_normal((1, 2))
        gradients = -(draws(state, noise) - MEAN) @ PRECISION
        g = coordinates_gradient(state, noise, gradients, SCALE)
        seen.append(g)
        own, before = np.array(seen[-3:]), np.array(seen[-4:-1])
        full = t >= 3
        for knobs, those in ((past, before if full else own), (present, own)):
            moved = normalised(state, noise, gradients, 0.1, SCALE, knobs)
            change = 0.1 * g / np.sqrt((those**2).mean(axis=0))
            np.testing.assert_allclose(moved.mean, state.mean + SCALE * change[:, 0], rtol=1e-6, atol=1e-7)
            np.testing.assert_allclose(moved.cholesky, state.cholesky * np.exp(change[:, 1]), rtol=1e-6)
        state = normalised(state, noise, gradients, 0.1, SCALE, past)._replace(iteration=t + 1)


def last_half(seed, budget=40_000, **knobs):
    """Mean over the last half of the iterates of sd / exact sd, a mean over the coordinates."""
    session = Session(Recipe("gaussian", "gaussian_vb", seed=seed, budget=budget, **knobs), metrics_every=10**9)
    found = []
    while not session.done:
        session.advance(1)
        found.append(sds(session.frame.state))
    exact = np.sqrt(session.target.exact.cov.diagonal())
    return float((np.array(found[len(found) // 2 :]).mean(axis=0) / exact).mean())


@pytest.mark.ci
@pytest.mark.parametrize("shape", ["full", "diagonal"])
@pytest.mark.parametrize("gradient", ["normalised", "natural"])
def test_its_sd_is_within_one_percent_of_the_exact_one(shape, gradient):
    ratios = np.array([last_half(seed, shape=shape, gradient=gradient) for seed in range(3)])
    assert abs(ratios.mean() - 1) - 2 * ratios.std(ddof=1) / np.sqrt(3) < 0.01
    assert np.abs(ratios - 1).max() < 0.03
