"""The Stein matrix against its formula and its zero mean, the simplex against a search, descent against SciPy."""

import numpy as np
import pytest
from scipy import optimize

from pmdviz.kernels.stein.black_box import Descent, descended, nearest_on_simplex, stein_matrix
from tests.kernels.naive import LONG
from tests.support.tables import looped


def naive(x, s, h):
    """kappa as it is written, in extended precision."""
    x, s, h = x.astype(LONG), s.astype(LONG), LONG(h)
    gap, turn = x[:, None] - x, s[:, None] - s
    apart = (gap**2).sum(axis=2)
    both = (s[:, None] * s).sum(axis=2) + 2 / h * (turn * gap).sum(axis=2)
    return np.exp(-apart / h) * (both + 2 * x.shape[1] / h - 4 / h**2 * apart)


@looped("dim", [1, 2, 7])
@looped("h", [1e-2, 0.7, 50.0])
def test_the_matrix_is_the_formula(rng, dim, h):
    x, s = rng.normal(size=(40, dim)), 3 * rng.normal(size=(40, dim))
    found, expected = stein_matrix(x, s, h), naive(x, s, h).astype(float)
    np.testing.assert_allclose(found, expected, atol=1e-14 * np.abs(expected).max(), rtol=1e-12)
    np.testing.assert_array_equal(found, found.T)


def by_search(z, metric):
    """tau of u_i = max(0, z_i - tau / D_i) with sum 1, by bisection."""

    def excess(tau):
        return np.maximum(0, z - tau / metric).sum() - 1

    ends = (z * metric).min() - metric.max() - 1, (z * metric).max()
    return np.maximum(0, z - optimize.brentq(excess, *ends, xtol=1e-15, rtol=1e-15) / metric)


@looped("n", [1, 2, 5, 200])
@looped("spread", [0.0, 2.0])
@looped("size", [1e-3, 1.0, 30.0])
def test_the_nearest_point_is_that_of_a_search(rng, n, spread, size):
    for _ in range(5):
        z, metric = size * rng.normal(size=n), np.exp(spread * rng.normal(size=n))
        u = nearest_on_simplex(z, metric)
        np.testing.assert_allclose(u, by_search(z, metric), atol=1e-10)
        assert u.min() >= 0 and u.sum() == pytest.approx(1, abs=1e-14)


def some_matrix(rng, n=12, dim=2):
    x, w = rng.normal(size=(n, dim)), np.exp(0.7 * rng.normal(size=n))
    return w[:, None] * stein_matrix(x, -x / 2, 1.0) * w + 1e-6 * np.eye(n)


def at_start(n):
    return Descent(np.full(n, 1 / n), np.full(n, 1 / n), 1.0, np.inf, np.inf)


def arrived(K, metric, most=300):
    found = at_start(len(K))
    for _ in range(most):
        found = descended(K, metric, found, 10)
        if found.gap <= 1e-10 * found.value:
            return found
    raise AssertionError(f"no end: {found.gap / found.value}")


@pytest.mark.parametrize("scaled", [False, True])
def test_descent_arrives_where_scipy_does(rng, scaled):
    for _ in range(3):
        K = some_matrix(rng)
        found = arrived(K, np.diag(K) if scaled else np.ones(len(K)))
        theirs = optimize.minimize(
            lambda u, K=K: u @ K @ u,
            np.full(len(K), 1 / len(K)),
            jac=lambda u, K=K: 2 * K @ u,
            method="SLSQP",
            bounds=[(0, 1)] * len(K),
            constraints={"type": "eq", "fun": lambda u: u.sum() - 1, "jac": np.ones_like},
            options={"ftol": 1e-15, "maxiter": 1000},
        )
        np.testing.assert_allclose(found.u, theirs.x, atol=2e-5)
        assert found.value == pytest.approx(found.u @ K @ found.u) and found.value <= theirs.fun * (1 + 1e-9)


def test_the_gap_bounds_how_far_the_least_value_is(rng):
    K = some_matrix(rng, 40)
    least = arrived(K, np.diag(K)).value
    found, values = at_start(40), []
    for _ in range(20):
        found = descended(K, np.diag(K), found, 3)
        slope = 2 * K @ found.u
        assert found.gap == pytest.approx(slope @ found.u - slope.min(), rel=1e-9, abs=1e-12)
        assert found.value - found.gap <= least * (1 + 1e-9) and found.value >= least * (1 - 1e-9)
        values.append(found.value)
    assert values[-1] < 1.05 * least < 0.5 * values[0]
