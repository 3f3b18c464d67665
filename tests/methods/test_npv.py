"""NPV: the bound, the traces and their gradients against differences; its biases by formula; both modes of two."""

import numpy as np
import pytest

from pmdviz.engine.recipe.recipe import Recipe
from pmdviz.engine.session import Session
from pmdviz.methods.vi import elbo
from pmdviz.targets import make_target
from tests.support.tables import looped


def run(target="gaussian", budget=20_000, **parts):
    session = Session(Recipe(target, "npv", budget=budget, **parts), metrics_every=10**9)
    session.advance(10**6)
    return session


def some(K=4, d=2, seed=0):
    rng = np.random.default_rng(seed)
    return rng.normal(size=(K, d)), 0.3 + rng.random(K)


def test_the_bound_is_its_formula():
    z, s = some()
    total = 0.0
    for n in range(4):
        variances = s[n] ** 2 + s**2
        total -= np.log(np.mean(np.exp(-((z[n] - z) ** 2).sum(axis=1) / (2 * variances)) / (2 * np.pi * variances))) / 4
    assert elbo.entropy_bound(z, s)[0] == pytest.approx(total, rel=1e-13)


@looped("K, d", [(1, 1), (1, 3), (4, 1), (5, 2), (3, 4)])
def test_the_bounds_gradient_is_that_of_differences(K, d):
    z, s = some(K, d)
    _, in_z, in_s = elbo.entropy_bound(z, s)
    step = 1e-6
    for k in range(K):
        for i in range(d):
            up = np.zeros((K, d))
            up[k, i] = step
            difference = elbo.entropy_bound(z + up, s)[0] - elbo.entropy_bound(z - up, s)[0]
            assert in_z[k, i] == pytest.approx(difference / (2 * step), abs=1e-8)
        up = step * np.eye(K)[k]
        difference = elbo.entropy_bound(z, s + up)[0] - elbo.entropy_bound(z, s - up)[0]
        assert in_s[k] == pytest.approx(difference / (2 * step), abs=1e-8)


def test_far_components_do_not_underflow():
    value, in_z, in_s = elbo.entropy_bound(np.array([[0.0], [1e3], [-1e3]]), np.full(3, 1e-3))
    assert value == pytest.approx(np.log(3) + 0.5 * np.log(4 * np.pi * 1e-6), rel=1e-12)
    assert np.isfinite(in_z).all() and np.allclose(in_s, 1 / 3 / 1e-3)


@looped("target", ["mixture", "gaussian", "bimodal1d"])
@looped("beta", [1.0, 0.3])
def test_slopes_and_traces_are_those_of_the_values(target, beta):
    """By differences of the values; the traces of a Gaussian in closed form: -d (beta P + 1 - beta) in prior sds."""
    made = make_target(target, num_data=30)
    near, h = elbo.Tempered(made, made.data[:10], beta, 0.1 * np.ones(made.dim)), 1e-4
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
    _, in_z, in_s = elbo.entropy_bound(z, s)
    found = elbo.gradient(z, s, slopes, traces)
    np.testing.assert_allclose(found[:, :2], 1 + 4 * in_z)
    np.testing.assert_allclose(found[:, 2], s * (-3 * s + 4 * in_s))


# Against what is known exactly.


@pytest.mark.parametrize("knobs", [{}, {"optimiser": "lbfgs", "lbfgs_iterations": 20}], ids=str)
def test_one_component_is_a_round_gaussian_exactly(knobs):
    if "optimiser" in knobs:
        pytest.importorskip("scipy")
    session = run(num_components=1, batch_size=20, **knobs)
    q, exact = session.frame.density, session.target.exact
    np.testing.assert_allclose(q.mean, exact.mean, atol=5e-3)
    np.testing.assert_allclose(q.cov, exact.cov, atol=0.02 * exact.cov[0, 0])


# Starts, annealing, what it needs.
