"""Kernels of stochastic volatility against SciPy, sums written out, and finite differences."""

import numpy as np
import pytest
from scipy import stats

from pmdviz.kernels import volatility as v

FIRST = 2


@pytest.fixture(params=[1, 2, 3, 40], ids=lambda count: f"T = {count}")
def case(request):
    rng = np.random.default_rng(request.param)
    points = rng.normal(0.5, 1.5, size=(5, FIRST + request.param))
    return points, rng.normal(size=5), rng.uniform(0, 2, 5), rng.uniform(-0.9, 0.95, 5), rng.uniform(0.1, 2, 5)


def path_of(points):
    return points[:, FIRST:]


def log_path(mu, phi, s2, x):
    """One path's log density as a product of normals."""
    first = stats.norm.logpdf(x[0], mu, np.sqrt(s2 / (1 - phi**2)))
    return first + sum(
        stats.norm.logpdf(b, mu + phi * (a - mu), np.sqrt(s2)) for a, b in zip(x[:-1], x[1:], strict=True)
    )


def over_mean(function, mu, var):
    """E f(mu + N(0, var)) of a quadratic f: three nodes are exact."""
    nodes, weights = np.polynomial.hermite_e.hermegauss(3)
    return sum(w * function(mu + np.sqrt(var) * z) for z, w in zip(nodes, weights, strict=True)) / weights.sum()


def test_the_density_of_a_path_is_a_product_of_normals(case):
    points, mu, _, phi, s2 = case
    expected = [log_path(*each) for each in zip(mu, phi, s2, path_of(points), strict=True)]
    np.testing.assert_allclose(v.volatility_log_path(mu, phi, s2, points, FIRST), expected, rtol=1e-12)


def test_the_likelihood_is_that_of_normal_returns(case):
    points = case[0]
    y = np.random.default_rng(1).normal(size=points.shape[1] - FIRST)
    expected = stats.norm.logpdf(y, 0, np.exp(0.5 * path_of(points))).sum(axis=1)
    np.testing.assert_allclose(v.volatility_log_likelihood(points, FIRST, y), expected, rtol=1e-12)
    gradient, step = np.zeros(points.shape), 1e-5
    v.volatility_pull(points, FIRST, y, gradient)
    for k in range(points.shape[1]):
        aside = step * np.eye(points.shape[1])[k]
        up, down = (v.volatility_log_likelihood(points + sign * aside, FIRST, y) for sign in (1, -1))
        np.testing.assert_allclose(gradient[:, k], (up - down) / (2 * step), rtol=1e-6, atol=1e-7)


def test_squares_are_averaged_over_the_mean(case):
    points, mu, var, phi, _ = case

    def squares(level):
        away = path_of(points) - level[:, None]
        first = (1 - phi**2) * away[:, 0] ** 2
        return first + ((away[:, 1:] - phi[:, None] * away[:, :-1]) ** 2).sum(axis=1)

    found = v.volatility_squares(mu, var, phi, points, FIRST)
    np.testing.assert_allclose(found, over_mean(squares, mu, var), rtol=1e-12)


def test_the_mean_terms_are_the_coefficients_of_the_squares(case):
    points, _, _, phi, _ = case
    none = np.zeros(5)
    at = [v.volatility_squares(np.full(5, level), none, phi, points, FIRST) for level in (-1.0, 0.0, 1.0)]
    factor, product = v.volatility_mean_terms(phi, points, FIRST)
    np.testing.assert_allclose(factor, (at[0] + at[2]) / 2 - at[1], rtol=1e-9)
    np.testing.assert_allclose(product, (at[0] - at[2]) / 4, rtol=1e-9)


def test_the_gradient_is_that_of_the_expected_log_density(case):
    points, mu, var, phi, s2 = case
    of_psi, of_x = v.volatility_gradient(mu, var, phi, 1 / s2, points, FIRST)

    def expected(points, phi):
        return over_mean(lambda level: v.volatility_log_path(level, phi, s2, points, FIRST), mu, var)

    step = 1e-5
    slope = (expected(points, phi + step) - expected(points, phi - step)) / (2 * step)
    np.testing.assert_allclose(of_psi, (1 - phi**2) * slope, rtol=1e-6, atol=1e-6)
    for k in range(FIRST, points.shape[1]):
        aside = step * np.eye(points.shape[1])[k]
        slope = (expected(points + aside, phi) - expected(points - aside, phi)) / (2 * step)
        np.testing.assert_allclose(of_x[:, k], slope, rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize("count", [1, 2, 3])
def test_a_sweep_keeps_the_posterior_of_the_path(count):
    """Against the sums over a grid, in standard errors of the means of stretches of the chain."""
    y, mu, phi, s2 = np.array([0.3, -2.0, 1.0])[:count], 0.4, 0.6, 0.7
    axis = np.linspace(-6, 7, 91)
    grid = np.stack(np.meshgrid(*[axis] * count, indexing="ij"), axis=-1).reshape(-1, count)
    first = -0.5 * (1 - phi**2) * (grid[:, 0] - mu) ** 2 / s2
    later = -0.5 * ((grid[:, 1:] - mu - phi * (grid[:, :-1] - mu)) ** 2).sum(axis=1) / s2
    mass = np.exp(first + later + stats.norm.logpdf(y, 0, np.exp(0.5 * grid)).sum(axis=1))
    mass /= mass.sum()
    rng, x, draws = np.random.default_rng(0), np.zeros(count), np.empty((40_000, count))
    for k in range(len(draws)):
        v.volatility_sweep(x, y, mu, phi, s2, rng.standard_normal(count), rng.random(count))
        draws[k] = x
    for power in (1, 2):
        means = (draws**power).reshape(50, -1, count).mean(axis=1)
        error = means.std(axis=0, ddof=1) / np.sqrt(len(means))
        assert (np.abs(means.mean(axis=0) - mass @ grid**power) < 4 * error).all()
        assert (error < 0.03).all()
