"""Variational Gaussians (svi, gaussian_vb, npv): exact on a Gaussian posterior, and gradients by differences."""

import numpy as np
import pytest

from pmdviz.engine.recipe import Recipe
from pmdviz.engine.session import Session
from pmdviz.methods import METHODS, vi
from pmdviz.methods.npv import Tempered, elbo_gradient, entropy_bound
from pmdviz.methods.vi import draws as draws_of_svi
from pmdviz.methods.vi import elbo as elbo_of_draws
from pmdviz.targets import make_target
from tests.support.engine import advanced
from tests.support.own import own_target
from tests.support.tables import looped

MEAN, PRECISION = np.array([0.4, -0.7]), np.array([[4.0, 2.5], [2.5, 3.0]])


def run(target="gaussian", budget=20_000, method="svi", **parts):
    return advanced(method, target=target, budget=budget, **parts)


def normal_target():
    """Twenty data pulling theta to N(MEAN, PRECISION^-1), a prior of N(0, I) included."""
    of_data = PRECISION - np.eye(2)
    centre = np.linalg.solve(of_data, PRECISION @ MEAN)
    return own_target(
        2,
        "normal",
        log_likelihood=lambda t, rows: -len(rows) / 40 * np.einsum("mi,ij,mj->m", t - centre, of_data, t - centre),
        data=np.zeros(20),
        bounds=[(-4.0, 4.0)] * 2,
        grad_log_prior=lambda theta: -theta,
        grad_log_likelihood=lambda theta, rows: -len(rows) / 20 * (theta - centre) @ of_data,
    )


@looped("optimiser", ["natural", "adam"])
def test_on_a_gaussian_posterior_it_is_exact(optimiser):
    """The gradients' noise vanishes at the optimum, so what is left is rounding and the way there.

    The known bias of a mean field: variances 1 / P_ii instead of (P^-1)_ii.
    """
    q = run(normal_target(), budget=30_000, optimiser=optimiser, batch_size=20).frame.density
    np.testing.assert_allclose(q.mean, MEAN, atol=2e-3)
    np.testing.assert_allclose(np.linalg.inv(q.cov), PRECISION, rtol=5e-3)
    budget = 40_000 if optimiser == "adam" else 15_000
    q = run(normal_target(), budget=budget, shape="mean_field", optimiser=optimiser, batch_size=20).frame.density
    np.testing.assert_allclose(q.mean, MEAN, atol=0.03)
    np.testing.assert_allclose(np.diag(q.cov), 1 / np.diag(PRECISION), rtol=0.06)
    assert q.cov[0, 1] == 0.0


def a_state():
    cholesky = np.array([[0.6, 0.0], [-0.3, 0.4]])
    return vi.SVIState(np.array([0.2, 0.1]), cholesky, np.zeros((2, 3)), np.zeros((2, 3)), 0)


def exact_elbo(mean, cholesky):
    """E_q log N(theta | MEAN, PRECISION^-1) + H(q) up to constants, in closed form."""
    off = mean - MEAN
    spread = np.trace(PRECISION @ cholesky @ cholesky.T)
    return -0.5 * (off @ PRECISION @ off + spread) + np.log(np.abs(np.diag(cholesky))).sum()


def slope_along(mean, factor, mean_change, factor_change):
    """The derivative of the exact ELBO along a change of mean and factor."""
    up, down = (exact_elbo(mean + s * mean_change, factor + s * factor_change) for s in (1e-6, -1e-6))
    return (up - down) / 2e-6


E = np.eye(2)
NONE = np.zeros((2, 2))


def test_path_gradients_of_svi_are_those_of_the_elbo():
    state, noise = a_state(), np.random.default_rng(0).standard_normal((200_000, 2))
    noise = np.concatenate([noise, -noise])
    slope, inner = vi.path_gradients(state, noise, -(draws_of_svi(state, noise) - MEAN) @ PRECISION)
    within = np.linalg.solve(state.cholesky.T, inner)  # the gradient in L
    for i, j in ((0, 0), (1, 0), (1, 1)):
        assert slope[i] == pytest.approx(slope_along(state.mean, state.cholesky, E[i], NONE), abs=1e-6)
        along = slope_along(state.mean, state.cholesky, np.zeros(2), np.outer(E[i], E[j]))
        assert within[i, j] == pytest.approx(along, abs=0.03)


def exact_gradients(state):
    inner = np.eye(2) - state.cholesky.T @ PRECISION @ state.cholesky
    return -PRECISION @ (state.mean - MEAN), inner


@looped("size", [1.0, 100.0])
def test_noise_never_makes_the_precision_negative(size):
    """And without noise rho = 1 gives the precision -E[hess log p] and Newton's step of the mean."""
    rng, wide = np.random.default_rng(1), a_state()._replace(cholesky=5 * a_state().cholesky)
    moved = vi.natural_step(wide, *exact_gradients(wide), 1.0)
    np.testing.assert_allclose(moved.cholesky @ moved.cholesky.T, np.linalg.inv(PRECISION), rtol=1e-10)
    np.testing.assert_allclose(moved.mean, MEAN, rtol=1e-10)
    for _ in range(100):
        moved = vi.natural_step(a_state(), np.zeros(2), size * rng.standard_normal((2, 2)), 1.0)
        assert np.isfinite(moved.cholesky).all() and (np.diag(moved.cholesky) > 0).all()


VB = METHODS["gaussian_vb"]
FULL, DIAGONAL = np.array([[0.6, 0.0], [-0.3, 0.4]]), np.array([0.5, 0.7])
SCALE = np.array([2.0, 0.5])


def state_of(factor, window=3):
    columns = 1 + (factor.shape[1] if factor.ndim == 2 else 1)
    return vi.GaussianVBState(np.array([0.2, 0.1]), factor, np.zeros((window, 2, columns)), 0)


def factor_of(state):
    return state.cholesky if state.cholesky.ndim == 2 else np.diag(state.cholesky)


@pytest.mark.parametrize("factor", [FULL, DIAGONAL], ids=["full", "diagonal"])
def test_the_gradient_is_that_of_the_elbo_in_its_coordinates(factor):
    """Those are the mean in prior sds, the logarithms of the factor's diagonal, and the rest in the sds of its row."""
    state, noise = state_of(factor), np.random.default_rng(0).standard_normal((200_000, 2))
    found, L = (
        vi.coordinates_gradient(state, noise, -(vi.draws(state, noise) - MEAN) @ PRECISION, SCALE),
        factor_of(state),
    )
    assert found.shape == ((2, 3) if factor.ndim == 2 else (2, 2))
    for i, j in ((0, 0), (1, 1), *([(1, 0)] if factor.ndim == 2 else [])):
        assert found[i, 0] == pytest.approx(slope_along(state.mean, L, SCALE * E[i], NONE), abs=0.05)
        bump = np.outer(E[i], E[j]) * (L[i, i] if i == j else vi.sds(state)[i])
        column = 1 + j if factor.ndim == 2 else 1
        assert found[i, column] == pytest.approx(slope_along(state.mean, L, np.zeros(2), bump), abs=0.05)


def test_the_natural_step_of_one_solves_a_gaussian():
    """With gamma = 1 the precision becomes -E hess log p, and the mean takes Newton's step: but for noise."""
    noise = np.random.default_rng(0).standard_normal((100_000, 2))
    for factor in (5 * FULL, 3 * DIAGONAL):
        state = state_of(factor)
        moved = vi.natural(state, noise, -(vi.draws(state, noise) - MEAN) @ PRECISION, 1.0)
        exact = np.linalg.inv(PRECISION) if factor.ndim == 2 else np.diag(1 / np.diag(PRECISION))
        got = factor_of(moved) @ factor_of(moved).T
        np.testing.assert_allclose(got, exact, rtol=0.05)
        if factor.ndim == 2:
            np.testing.assert_allclose(moved.mean, MEAN, atol=0.03)


def test_the_elbo_is_exact_but_for_noise():
    target, state = normal_target(), state_of(FULL)
    theta = vi.draws(state, np.random.default_rng(1).standard_normal((100_000, 2)))
    constant = elbo_of_draws(state, theta, target, target.data) - exact_elbo(state.mean, FULL)
    other = state_of(1.5 * FULL)
    theta = vi.draws(other, np.random.default_rng(2).standard_normal((100_000, 2)))
    assert elbo_of_draws(other, theta, target, target.data) - exact_elbo(other.mean, 1.5 * FULL) == pytest.approx(
        constant, abs=0.1
    )
    best = Session(Recipe("gaussian", "gaussian_vb", gradient="natural"), metrics_every=10)
    best.advance(10**6)
    assert best.history.columns["elbo"][-50:].mean() == pytest.approx(best.target.exact.log_z, abs=0.3)


def test_the_normaliser_is_of_the_gradients_before_or_of_this_one_too():
    rng, past = (
        np.random.default_rng(0),
        VB.Knobs.checked({"shape": "diagonal", "gradient": "normalised", "window": 3}),
    )
    present = past.replaced(normaliser="present")
    state, seen = state_of(DIAGONAL), []
    for t in range(6):
        noise = rng.standard_normal((1, 2))
        gradients = -(vi.draws(state, noise) - MEAN) @ PRECISION
        g = vi.coordinates_gradient(state, noise, gradients, SCALE)
        seen.append(g)
        own, before = np.array(seen[-3:]), np.array(seen[-4:-1])
        full = t >= 3
        for knobs, those in ((past, before if full else own), (present, own)):
            moved = vi.normalised(state, noise, gradients, 0.1, SCALE, knobs)
            change = 0.1 * g / np.sqrt((those**2).mean(axis=0))
            np.testing.assert_allclose(moved.mean, state.mean + SCALE * change[:, 0], rtol=1e-6, atol=1e-7)
            np.testing.assert_allclose(moved.cholesky, state.cholesky * np.exp(change[:, 1]), rtol=1e-6)
        state = vi.normalised(state, noise, gradients, 0.1, SCALE, past)._replace(iteration=t + 1)


def some(K=4, d=2, seed=0):
    rng = np.random.default_rng(seed)
    return rng.normal(size=(K, d)), 0.3 + rng.random(K)


@looped("K, d", [(1, 1), (1, 3), (4, 1), (5, 2), (3, 4)])
def test_the_bound_is_its_formula_and_its_gradient_that_of_differences(K, d):
    z, s = some(K, d)
    value, in_z, in_s = entropy_bound(z, s)
    both, squares = s[:, None] ** 2 + s**2, ((z[:, None] - z) ** 2).sum(axis=2)
    mixed = np.exp(-squares / (2 * both)) / (2 * np.pi * both) ** (d / 2)
    assert value == pytest.approx(-np.log(mixed.mean(axis=1)).mean(), rel=1e-13)
    step = 1e-6
    for k in range(K):
        for i in range(d):
            up = np.zeros((K, d))
            up[k, i] = step
            difference = entropy_bound(z + up, s)[0] - entropy_bound(z - up, s)[0]
            assert in_z[k, i] == pytest.approx(difference / (2 * step), abs=1e-8)
        up = step * np.eye(K)[k]
        difference = entropy_bound(z, s + up)[0] - entropy_bound(z, s - up)[0]
        assert in_s[k] == pytest.approx(difference / (2 * step), abs=1e-8)


def test_far_components_do_not_underflow():
    value, in_z, in_s = entropy_bound(np.array([[0.0], [1e3], [-1e3]]), np.full(3, 1e-3))
    assert value == pytest.approx(np.log(3) + 0.5 * np.log(4 * np.pi * 1e-6), rel=1e-12)
    assert np.isfinite(in_z).all() and np.allclose(in_s, 1 / 3 / 1e-3)


@looped("target", ["mixture", "gaussian", "bimodal1d"])
@looped("beta", [1.0, 0.3])
def test_slopes_and_traces_are_those_of_the_values(target, beta):
    """By differences of the values; the traces of a Gaussian in closed form: -d (beta P + 1 - beta) in prior sds."""
    made = make_target(target, num_data=30)
    near, h = Tempered(made, made.data[:10], beta, 0.1 * np.ones(made.dim)), 1e-4
    z = np.random.default_rng(0).normal(size=(5, made.dim))
    slopes, traces = near.slopes_and_traces(z)
    assert near.visited == 10 and near.gradient_evaluations == 5 * 10 * (1 + 2 * made.dim)
    second = np.zeros(5)
    for i, e in enumerate(h * np.eye(made.dim)):
        ahead, here, behind = near.values(z + e), near.values(z), near.values(z - e)
        np.testing.assert_allclose(slopes[:, i], (ahead - behind) / (2 * h), rtol=1e-5, atol=1e-4)
        second += (ahead - 2 * here + behind) / h**2
    np.testing.assert_allclose(traces, second, rtol=1e-3, atol=0.05)
    if target == "gaussian":
        np.testing.assert_allclose(traces, -2 * (beta * (1 + 30 / 4) + 1 - beta), rtol=1e-6)


def test_the_means_follow_the_terms_without_the_trace_and_the_widths_all():
    z, s = some()
    slopes, traces = np.ones((4, 2)), np.full(4, -3.0)
    _, in_z, in_s = entropy_bound(z, s)
    found = elbo_gradient(z, s, slopes, traces)
    np.testing.assert_allclose(found[:, :2], 1 + 4 * in_z)
    np.testing.assert_allclose(found[:, 2], s * (-3 * s + 4 * in_s))
