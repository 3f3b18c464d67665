"""Gaussian variational inference: exact on a Gaussian posterior, its gradients, and one mode of two."""

import numpy as np
import pytest

import pmdviz
from pmdviz.engine.recipe.recipe import Recipe
from pmdviz.engine.session import Session
from pmdviz.methods.vi.gaussian import SVIState, adam_step, draws, lower_factor, natural_step, path_gradients

MEAN, PRECISION = np.array([0.4, -0.7]), np.array([[4.0, 2.5], [2.5, 3.0]])


def run(target="gaussian", budget=20_000, **parts):
    session = Session(Recipe(target, "svi", budget=budget, **parts), metrics_every=10**9)
    session.advance(10**6)
    return session


def normal_target():
    """Twenty data pulling theta to N(MEAN, PRECISION^-1), a prior of N(0, I) included."""

    def log_likelihood(theta, batch):
        off = theta - np.linalg.solve(PRECISION - np.eye(2), PRECISION @ MEAN)
        return -0.5 * len(batch) / 20 * np.einsum("mi,ij,mj->m", off, PRECISION - np.eye(2), off)

    def gradient(theta, batch):
        off = theta - np.linalg.solve(PRECISION - np.eye(2), PRECISION @ MEAN)
        return -len(batch) / 20 * off @ (PRECISION - np.eye(2))

    return pmdviz.custom_target(
        log_prior=lambda theta: -0.5 * (theta**2).sum(axis=1),
        log_likelihood=log_likelihood,
        sample_prior=lambda rng, n: rng.standard_normal((n, 2)),
        data=np.zeros(20),
        dim=2,
        name="normal",
        bounds=[(-4.0, 4.0)] * 2,
        grad_log_prior=lambda theta: -theta,
        grad_log_likelihood=gradient,
    )


@pytest.mark.parametrize("optimiser", ["natural", "adam"])
def test_on_a_gaussian_posterior_it_is_exact(optimiser):
    """The gradients' noise vanishes at the optimum, so what is left is rounding and the way there."""
    q = run(normal_target(), budget=40_000, optimiser=optimiser, batch_size=20).frame.density
    np.testing.assert_allclose(q.mean, MEAN, atol=2e-3)
    np.testing.assert_allclose(np.linalg.inv(q.cov), PRECISION, rtol=5e-3)


@pytest.mark.ci
@pytest.mark.parametrize("optimiser", ["natural", "adam"])
def test_mean_field_has_the_diagonal_of_the_precision(optimiser):
    """The known bias: variances 1 / P_ii instead of (P^-1)_ii, too narrow where coordinates depend on each other."""
    q = run(normal_target(), budget=80_000, shape="mean_field", optimiser=optimiser, batch_size=20).frame.density
    np.testing.assert_allclose(q.mean, MEAN, atol=0.01)
    np.testing.assert_allclose(np.diag(q.cov), 1 / np.diag(PRECISION), rtol=0.05)
    assert q.cov[0, 1] == 0.0 and np.linalg.inv(PRECISION)[0, 0] > 2 / PRECISION[0, 0]


def a_state():
    cholesky = np.array([[0.6, 0.0], [-0.3, 0.4]])
    return SVIState(np.array([0.2, 0.1]), cholesky, np.zeros((2, 3)), np.zeros((2, 3)), 0)


def elbo(mean, cholesky):
    """E_q log N(theta | MEAN, PRECISION^-1) + H(q) up to constants, in closed form."""
    off = mean - MEAN
    spread = np.trace(PRECISION @ cholesky @ cholesky.T)
    return -0.5 * (off @ PRECISION @ off + spread) + np.log(np.abs(np.diag(cholesky))).sum()


def test_path_gradients_are_those_of_the_elbo():
    state, noise = a_state(), np.random.default_rng(0).standard_normal((200_000, 2))
    noise = np.concatenate([noise, -noise])
    slope, inner = path_gradients(state, noise, -(draws(state, noise) - MEAN) @ PRECISION)
    within = np.linalg.solve(state.cholesky.T, inner)  # the gradient in L
    step = 1e-6
    for i in range(2):
        up = np.eye(2)[i] * step
        difference = (elbo(state.mean + up, state.cholesky) - elbo(state.mean - up, state.cholesky)) / (2 * step)
        assert slope[i] == pytest.approx(difference, abs=1e-6)
        for j in range(i + 1):
            bump = np.zeros((2, 2))
            bump[i, j] = step
            up, down = elbo(state.mean, state.cholesky + bump), elbo(state.mean, state.cholesky - bump)
            assert within[i, j] == pytest.approx((up - down) / (2 * step), abs=0.03)


def exact_gradients(state):
    inner = np.eye(2) - state.cholesky.T @ PRECISION @ state.cholesky
    return -PRECISION @ (state.mean - MEAN), inner


def test_a_natural_step_of_one_solves_a_gaussian():
    """With rho = 1 the precision becomes -E[hess log p] and the mean takes Newton's step."""
    state = a_state()._replace(cholesky=5 * a_state().cholesky)  # wide: the precision grows
    moved = natural_step(state, *exact_gradients(state), 1.0)
    np.testing.assert_allclose(moved.cholesky @ moved.cholesky.T, np.linalg.inv(PRECISION), rtol=1e-10)
    np.testing.assert_allclose(moved.mean, MEAN, rtol=1e-10)


@pytest.mark.parametrize("size", [1.0, 100.0])
def test_noise_never_makes_the_precision_negative(size):
    rng = np.random.default_rng(1)
    for _ in range(100):
        moved = natural_step(a_state(), np.zeros(2), size * rng.standard_normal((2, 2)), 1.0)
        assert np.isfinite(moved.cholesky).all() and (np.diag(moved.cholesky) > 0).all()


def test_adam_goes_uphill_by_its_step():
    state = a_state()
    moved = adam_step(state, *exact_gradients(state), 0.01, np.ones(2))
    assert elbo(moved.mean, moved.cholesky) > elbo(state.mean, state.cholesky)
    np.testing.assert_allclose(np.abs(moved.mean - state.mean), 0.01, rtol=1e-5)
    np.testing.assert_allclose(np.abs(np.log(np.diag(moved.cholesky) / np.diag(state.cholesky))), 0.01, rtol=1e-5)


def test_the_factor_by_qr():
    root = np.random.default_rng(0).standard_normal((3, 3))
    np.testing.assert_allclose(lower_factor(root), np.linalg.cholesky(root @ root.T), rtol=1e-10, atol=1e-14)
