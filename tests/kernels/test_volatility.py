"""Likelihood and sweep of stochastic volatility; its other kernels are tested with the target's closed forms."""

import numpy as np
from scipy import stats

from pmdviz.kernels import likelihoods as v
from tests.kernels.naive import differences
from tests.support.tables import looped

FIRST = 2


@looped("count", [1, 2, 20])
def test_the_likelihood_is_that_of_normal_returns(count):
    rng = np.random.default_rng(count)
    points, y = rng.normal(0.5, 1.5, size=(5, FIRST + count)), rng.normal(size=count)
    expected = stats.norm.logpdf(y, 0, np.exp(0.5 * points[:, FIRST:])).sum(axis=1)
    np.testing.assert_allclose(v.volatility_log_likelihood(points, FIRST, y), expected, rtol=1e-12)
    gradient = np.zeros(points.shape)
    v.volatility_pull(points, FIRST, y, gradient)
    slope = differences(lambda x: v.volatility_log_likelihood(x, FIRST, y), points)
    np.testing.assert_allclose(gradient, slope, rtol=1e-6, atol=1e-7)


@looped("count", [1, 3])
def test_a_sweep_keeps_the_posterior_of_the_path(count):
    """Against the sums over a grid, in standard errors of the means of stretches of the chain."""
    y, mu, phi, s2 = np.array([0.3, -2.0, 1.0])[:count], 0.4, 0.6, 0.7
    axis = np.linspace(-6, 7, 61)
    grid = np.stack(np.meshgrid(*[axis] * count, indexing="ij"), axis=-1).reshape(-1, count)
    first = -0.5 * (1 - phi**2) * (grid[:, 0] - mu) ** 2 / s2
    later = -0.5 * ((grid[:, 1:] - mu - phi * (grid[:, :-1] - mu)) ** 2).sum(axis=1) / s2
    mass = np.exp(first + later + stats.norm.logpdf(y, 0, np.exp(0.5 * grid)).sum(axis=1))
    mass /= mass.sum()
    rng, x, draws = np.random.default_rng(0), np.zeros(count), np.empty((20_000, count))
    for k in range(len(draws)):
        v.volatility_sweep(x, y, mu, phi, s2, rng.standard_normal(count), rng.random(count))
        draws[k] = x
    for power in (1, 2):
        means = (draws**power).reshape(50, -1, count).mean(axis=1)
        error = means.std(axis=0, ddof=1) / np.sqrt(len(means))
        assert (np.abs(means.mean(axis=0) - mass @ grid**power) < 4 * error).all()
        assert (error < 0.05).all()
