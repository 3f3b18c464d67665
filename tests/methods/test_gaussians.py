"""Variational Gaussians (svi, gaussian_vb, npv, jaakkola_jordan): exact answers, and gradients by differences."""

import numpy as np
import pytest
from scipy.optimize import minimize

from pmdviz.engine.recipe import Recipe
from pmdviz.engine.session import Session
from pmdviz.methods import METHODS, vi
from pmdviz.methods.npv import Tempered, entropy_bound
from pmdviz.methods.vi import elbo as elbo_of_draws
from pmdviz.targets import make_target
from tests.support.engine import advanced
from tests.support.own import own_target
from tests.support.tables import looped

MEAN, PRECISION = np.array([0.4, -0.7]), np.array([[4.0, 2.5], [2.5, 3.0]])


E, NONE = np.eye(2), np.zeros((2, 2))


def run(target="gaussian", budget=20_000, method="svi", **parts):
    return advanced(method, target=target, budget=budget, **parts)


def normal_target():
    """Twenty data pulling theta to N(MEAN, PRECISION^-1), a prior of N(0, I) included."""
    of_data = PRECISION - np.eye(2)
    centre = np.linalg.solve(of_data, PRECISION @ MEAN)
    parts = {
        "log_likelihood": lambda t, rows: -len(rows) / 40 * np.einsum("mi,ij,mj->m", t - centre, of_data, t - centre),
        "grad_log_prior": lambda theta: -theta,
        "grad_log_likelihood": lambda theta, rows: -len(rows) / 20 * (theta - centre) @ of_data,
    }
    return own_target(2, "normal", data=np.zeros(20), bounds=[(-4.0, 4.0)] * 2, **parts)


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
    return vi.SVIState(np.array([0.2, 0.1]), FULL, np.zeros((2, 3)), np.zeros((2, 3)), 0)


def exact_elbo(mean, cholesky):
    """E_q log N(theta | MEAN, PRECISION^-1) + H(q) up to constants, in closed form."""
    off = mean - MEAN
    spread = np.trace(PRECISION @ cholesky @ cholesky.T)
    return -0.5 * (off @ PRECISION @ off + spread) + np.log(np.abs(np.diag(cholesky))).sum()


def slope_along(mean, factor, mean_change, factor_change):
    up, down = (exact_elbo(mean + s * mean_change, factor + s * factor_change) for s in (1e-6, -1e-6))
    return (up - down) / 2e-6


NONE = np.zeros((2, 2))


@looped("size", [1.0, 100.0])
def test_noise_never_makes_the_precision_negative(size):
    """And without noise rho = 1 gives the precision -E[hess log p] and Newton's step of the mean."""
    rng, wide = np.random.default_rng(1), a_state()._replace(cholesky=5 * a_state().cholesky)
    exact = -PRECISION @ (wide.mean - MEAN), np.eye(2) - wide.cholesky.T @ PRECISION @ wide.cholesky
    moved = vi.natural_step(wide, *exact, 1.0)
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
    state, noise, full = state_of(factor), np.random.default_rng(0).standard_normal((200_000, 2)), factor.ndim == 2
    gradients, L = -(vi.draws(state, noise) - MEAN) @ PRECISION, factor_of(state)
    found = vi.coordinates_gradient(state, noise, gradients, SCALE)
    assert found.shape == ((2, 3) if full else (2, 2))
    for i, j in ((0, 0), (1, 1), *([(1, 0)] if full else [])):
        assert found[i, 0] == pytest.approx(slope_along(state.mean, L, SCALE * E[i], NONE), abs=0.05)
        bump = np.outer(E[i], E[j]) * (L[i, i] if i == j else vi.sds(state)[i])
        slope = slope_along(state.mean, L, np.zeros(2), bump)
        assert found[i, 1 + j if full else 1] == pytest.approx(slope, abs=0.05)


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
    target, gaps = normal_target(), []
    for seed, factor in ((1, FULL), (2, 1.5 * FULL)):
        state = state_of(factor)
        theta = vi.draws(state, np.random.default_rng(seed).standard_normal((100_000, 2)))
        gaps.append(elbo_of_draws(state, theta, target, target.data) - exact_elbo(state.mean, factor))
    assert gaps[1] == pytest.approx(gaps[0], abs=0.1)
    best = Session(Recipe("gaussian", "gaussian_vb", gradient="natural"), metrics_every=10)
    best.advance(10**6)
    assert best.history.columns["elbo"][-50:].mean() == pytest.approx(best.target.exact.log_z, abs=0.3)


def test_the_normaliser_is_of_the_gradients_before_or_of_this_one_too():
    rng, knobs = np.random.default_rng(0), {"shape": "diagonal", "gradient": "normalised", "window": 3}
    past, state, seen = VB.Knobs.checked(knobs), state_of(DIAGONAL), []
    for t in range(6):
        noise = rng.standard_normal((1, 2))
        gradients = -(vi.draws(state, noise) - MEAN) @ PRECISION
        seen.append(vi.coordinates_gradient(state, noise, gradients, SCALE))
        own, before = np.array(seen[-3:]), np.array(seen[-4:-1])
        for normaliser, those in (("present", own), ("past", before if t >= 3 else own)):
            given = past if normaliser == "past" else past.replaced(normaliser=normaliser)
            moved = vi.normalised(state, noise, gradients, 0.1, SCALE, given)
            change = 0.1 * seen[-1] / np.sqrt((those**2).mean(axis=0))
            np.testing.assert_allclose(moved.mean, state.mean + SCALE * change[:, 0], rtol=1e-6, atol=1e-7)
            np.testing.assert_allclose(moved.cholesky, state.cholesky * np.exp(change[:, 1]), rtol=1e-6)
        state = moved._replace(iteration=t + 1)


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
    for k, e in enumerate(1e-6 * np.eye(K * (d + 1))):
        up, wider = e[: K * d].reshape(K, d), e[K * d :]
        difference = (entropy_bound(z + up, s + wider)[0] - entropy_bound(z - up, s - wider)[0]) / 2e-6
        assert [*in_z.ravel(), *in_s][k] == pytest.approx(difference, abs=1e-8)


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


OPTIONS = {"dim": 2, "num_data": 60, "prior_sd": 1.0, "data_seed": 3}
WHOLE_STEPS = {"eta": 1e5, "budget": 6000}  # step size 1: the fixed-point iteration of Jaakkola and Jordan


def bound_run(**parts):
    return advanced("jaakkola_jordan", target="logistic", **{"options": OPTIONS, "budget": 30_000, **parts}).frame


def log_sigmoid(z):
    return -np.logaddexp(0, -z)


def bounded_elbo(mean, factor, xi, rows):
    """E_q of the bound's log joint plus the entropy of q, up to a constant, term by term; the prior is N(0, I)."""
    x, y = rows[:, :-1], rows[:, -1]
    second = factor @ factor.T + np.outer(mean, mean)
    total = -0.5 * np.trace(second) + np.log(np.abs(np.diag(factor))).sum()
    for k in range(len(rows)):
        curvature = np.tanh(xi[k] / 2) / (4 * xi[k])
        total += log_sigmoid(xi[k]) + (y[k] - 0.5) * (x[k] @ mean) - xi[k] / 2
        total -= curvature * (x[k] @ second @ x[k] - xi[k] ** 2)
    return total


def test_its_end_is_the_optimum_of_the_bound_found_by_bfgs():
    options = {**OPTIONS, "num_data": 20}
    found = bound_run(options=options, batch_size=20, **WHOLE_STEPS).density
    rows = make_target("logistic", **options).data

    def loss(flat):
        factor = np.array([[np.exp(flat[2]), 0.0], [flat[3], np.exp(flat[4])]])
        return -bounded_elbo(flat[:2], factor, np.exp(flat[5:]), rows)

    best = minimize(loss, np.zeros(5 + len(rows)), method="BFGS", options={"gtol": 1e-7}).x
    factor = np.array([[np.exp(best[2]), 0.0], [best[3], np.exp(best[4])]])
    np.testing.assert_allclose(found.mean, best[:2], atol=2e-5)
    np.testing.assert_allclose(found.cov, factor @ factor.T, atol=2e-5)


def test_batches_lead_to_where_all_data_lead():
    whole = bound_run(batch_size=60, **WHOLE_STEPS).density
    by_batches = bound_run(batch_size=10).density
    np.testing.assert_allclose(by_batches.mean, whole.mean, atol=5e-3)
    np.testing.assert_allclose(by_batches.cov, whole.cov, atol=5e-3)
