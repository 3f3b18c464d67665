"""The Stein matrix against its formula and its zero mean, the simplex against a search, descent against SciPy."""

import numpy as np
import pytest
from scipy import optimize

from pmdviz.kernels.stein import black_box
from pmdviz.kernels.stein.black_box import Descent, descended, nearest_on_simplex, stein_matrix
from tests.kernels.naive import LONG


def naive(x, s, h):
    """kappa as it is written, in extended precision."""
    x, s, h = x.astype(LONG), s.astype(LONG), LONG(h)
    gap, turn = x[:, None] - x, s[:, None] - s
    apart = (gap**2).sum(axis=2)
    both = (s[:, None] * s).sum(axis=2) + 2 / h * (turn * gap).sum(axis=2)
    return np.exp(-apart / h) * (both + 2 * x.shape[1] / h - 4 / h**2 * apart)


@pytest.mark.parametrize("dim", [1, 2, 7])
@pytest.mark.parametrize("h", [1e-2, 0.7, 50.0])
def test_the_matrix_is_the_formula(rng, dim, h):
    x, s = rng.normal(size=(40, dim)), 3 * rng.normal(size=(40, dim))
    found, expected = stein_matrix(x, s, h), naive(x, s, h).astype(float)
    np.testing.assert_allclose(found, expected, atol=1e-14 * np.abs(expected).max(), rtol=1e-12)
    np.testing.assert_array_equal(found, found.T)


def test_its_mean_under_the_target_is_zero_in_either_argument():
    """Of N(0.3, 1.7), by the trapezoidal rule, which is exact to rounding for smooth functions that vanish."""
    x = np.linspace(-16, 16, 801)[:, None]
    p = np.exp(-0.5 * (x[:, 0] - 0.3) ** 2 / 1.7)
    p /= p.sum()
    kappa = stein_matrix(x, -(x - 0.3) / 1.7, 1.3)
    np.testing.assert_allclose(kappa @ p, 0, atol=1e-12 * np.abs(kappa).max())
    wrong = stein_matrix(x, -(x - 0.3), 1.3)
    assert np.abs(wrong[300:500] @ p).max() > 0.01, "of another density it is not"


def test_the_gradient_free_matrix_has_mean_zero_under_the_target_too():
    """w kappa_rho w with w = rho / p, p = N(0.5, 1.2) and rho = N(0, 2): the target's gradient is nowhere in it."""
    x = np.linspace(-14, 14, 801)[:, None]
    p, rho = np.exp(-0.5 * (x[:, 0] - 0.5) ** 2 / 1.2), np.exp(-0.25 * x[:, 0] ** 2)
    w, near = rho / p, slice(300, 501)
    kappa = stein_matrix(x, -x / 2, 0.9)
    mean = w[near] * (kappa[near] @ (w * p)) / p.sum()
    scale = w[near] * (np.abs(kappa[near]) @ (w * p)) / p.sum()
    assert np.abs(mean / scale).max() < 1e-12
    assert np.abs(kappa[near] @ p / (np.abs(kappa[near]) @ p)).max() > 0.01, "without w it has not"


def by_search(z, metric):
    """tau of u_i = max(0, z_i - tau / D_i) with sum 1, by bisection."""

    def excess(tau):
        return np.maximum(0, z - tau / metric).sum() - 1

    ends = (z * metric).min() - metric.max() - 1, (z * metric).max()
    return np.maximum(0, z - optimize.brentq(excess, *ends, xtol=1e-15, rtol=1e-15) / metric)


@pytest.mark.parametrize("n", [1, 2, 5, 200])
@pytest.mark.parametrize("spread", [0.0, 2.0])
@pytest.mark.parametrize("size", [1e-3, 1.0, 30.0])
def test_the_nearest_point_is_that_of_a_search(rng, n, spread, size):
    for _ in range(5):
        z, metric = size * rng.normal(size=n), np.exp(spread * rng.normal(size=n))
        u = nearest_on_simplex(z, metric)
        np.testing.assert_allclose(u, by_search(z, metric), atol=1e-10)
        assert u.min() >= 0 and u.sum() == pytest.approx(1, abs=1e-14)


def test_a_point_of_the_simplex_is_its_own_nearest(rng):
    u, metric = rng.dirichlet(np.ones(30)), np.exp(rng.normal(size=30))
    np.testing.assert_allclose(nearest_on_simplex(u, metric), u, atol=1e-15)


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


def test_there_the_conditions_of_karush_kuhn_and_tucker_hold(rng):
    """The gradient is one number wherever u > 0, and nowhere smaller."""
    K = some_matrix(rng, 60)
    found = arrived(K, np.diag(K))
    slope, held = 2 * K @ found.u, found.u > 1e-9
    assert 3 < held.sum() < 60 and found.u.min() >= 0 and found.u.sum() == pytest.approx(1)
    np.testing.assert_allclose(slope[held], 2 * found.value, rtol=1e-4)
    assert (slope[~held] > 2 * found.value * (1 - 1e-4)).all()


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


def test_several_steps_are_one_after_another(rng):
    K, parts = some_matrix(rng, 30), at_start(30)
    for _ in range(7):
        parts = descended(K, np.diag(K), parts, 1)
    whole = descended(K, np.diag(K), at_start(30), 7)
    np.testing.assert_array_equal(parts.u, whole.u)
    assert parts[2:] == whole[2:]


def test_it_is_no_other_without_compiling(rng):
    z, metric, K = rng.normal(size=9), np.ones(9), some_matrix(rng, 9)
    np.testing.assert_allclose(black_box._nearest.py_func(z, metric), nearest_on_simplex(z, metric), rtol=1e-12)
    u, ahead = np.full(9, 1 / 9), np.full(9, 1 / 9)
    told = black_box._descended.py_func(K, metric, u, ahead, 1.0, 20)
    found = descended(K, metric, at_start(9), 20)
    np.testing.assert_allclose(u, found.u, atol=1e-12)
    assert told == pytest.approx(found[2:], rel=1e-9)


def test_what_does_not_fit_is_refused():
    two = np.zeros((2, 2))
    with pytest.raises(ValueError, match="shape"):
        stein_matrix(two, np.zeros((3, 2)), 1.0)
    with pytest.raises(ValueError, match="finite"):
        stein_matrix(two, np.full((2, 2), np.nan), 1.0)
    with pytest.raises(ValueError, match="above 0"):
        nearest_on_simplex(np.zeros(2), np.array([1.0, 0.0]))
    with pytest.raises(ValueError, match="finite"):
        descended(np.full((2, 2), np.inf), np.ones(2), at_start(2), 1)
    np.testing.assert_array_equal(descended(two, np.ones(2), at_start(2), 3).u, 0.5)
