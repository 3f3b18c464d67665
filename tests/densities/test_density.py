"""A weighted kernel density: normalised, sampled and summarised as the mixture of Gaussians that it is."""

import numpy as np
import pytest
from scipy import stats

from pmdviz.densities import product
from pmdviz.densities.density import GaussianMixture, Grid, KernelDensity, effective_sample_size, normalise, variances
from pmdviz.densities.product import DiagonalDensity
from pmdviz.methods import particles as smoothing
from pmdviz.methods.particles import WIDTHS, SmoothingKnobs, smoothed
from tests.support.tables import looped


def some(d=2, m=40, seed=0):
    rng = np.random.default_rng([d, m, seed])
    cholesky = np.tril(0.2 * rng.standard_normal((d, d)))
    np.fill_diagonal(cholesky, 0.2 + 0.3 * rng.random(d))
    return KernelDensity(rng.standard_normal((m, d)), normalise(rng.standard_normal(m)), cholesky)


def reference(density, points):
    cov = density.cholesky @ density.cholesky.T
    weighted = zip(density.weights, density.particles, strict=True)
    return np.sum([w * stats.multivariate_normal(x, cov).pdf(points) for w, x in weighted], axis=0)


def test_log_weights_are_normalised_by_their_peak_and_the_effective_sample_size_runs_from_one_to_m():
    for values in (np.zeros(4), np.array([-1e5, -1e5 + 1]), np.array([700.0, 710.0]), np.array([0.0, -np.inf])):
        expected = np.exp(values - values.max())
        np.testing.assert_allclose(np.exp(normalise(values)), expected / expected.sum(), rtol=1e-13)
    for log_weights, ess in ((normalise(np.zeros(7)), 7), ([0.0, -np.inf], 1), (np.log([0.5, 0.25, 0.25]), 1 / 0.375)):
        assert effective_sample_size(np.array(log_weights)) == pytest.approx(ess)


@pytest.mark.parametrize("d", [1, 2, 3, 5])
def test_the_density_is_the_sum_of_its_kernels_and_so_it_is_on_a_grid(d):
    density, points = some(d), np.random.default_rng(1).standard_normal((30, d))
    np.testing.assert_allclose(np.exp(density.log_density(points)), reference(density, points), rtol=1e-10)
    one = KernelDensity(np.zeros((1, d)), np.zeros(1), density.cholesky)
    assert one.kernel_peak == pytest.approx(np.exp(one.log_density(np.zeros((1, d))))[0])
    if d <= 2:
        grid = Grid(((-6.0, 6.0),) * d, 240)
        values = density.on_grid(grid)
        assert values.shape == grid.shape and values.sum() * grid.cell_volume == pytest.approx(1, abs=1e-6)
        np.testing.assert_allclose(values.ravel(), np.exp(density.log_density(grid.points)), rtol=1e-9, atol=1e-13)


@pytest.mark.parametrize("d", [1, 2, 3])
def test_draws_have_its_mean_and_covariance(d):
    density, n = some(d), 40_000
    draws = density.sample(np.random.default_rng(3), n)
    assert draws.shape == (n, d)
    assert np.abs((draws.mean(axis=0) - density.mean) / np.sqrt(np.diag(density.cov) / n)).max() < 4.5
    centred = draws - density.mean
    products = centred[:, :, None] * centred[:, None]
    assert (np.abs(products.mean(axis=0) - density.cov) < 4.5 * products.std(axis=0) / np.sqrt(n)).all()
    np.testing.assert_allclose(density.mean, density.weights @ density.particles, rtol=1e-12)
    own = np.cov(density.particles.T, aweights=density.weights, ddof=0)
    np.testing.assert_allclose(density.cov, own + density.cholesky @ density.cholesky.T, rtol=1e-10)


def test_the_narrowest_direction_of_a_kernel():
    turned = np.linalg.cholesky(np.array([[1.0, 0.9], [0.9, 1.0]]))
    density = KernelDensity(np.zeros((1, 2)), np.zeros(1), turned)
    assert density.narrowest(np.ones(2)) == pytest.approx(np.sqrt(0.1))
    assert density.narrowest(np.array([2.0, 2.0])) == pytest.approx(np.sqrt(0.1) / 2)


def test_a_mixture_of_unequal_gaussians_against_scipy():
    means = np.array([[0.0, 1.0], [2.0, -1.0], [-1.0, 0.5]])
    choleskys = np.array([[[0.5, 0.0], [0.2, 0.3]], [[1.0, 0.0], [0.0, 0.1]], [[0.2, 0.0], [-0.4, 0.9]]])
    weights = np.array([0.2, 0.7, 0.1])
    mixture = GaussianMixture(means, np.log(weights), choleskys)
    points = np.random.default_rng(6).standard_normal((40, 2))
    parts = zip(weights, means, choleskys, strict=True)
    naive = sum(w * stats.multivariate_normal(mu, L @ L.T).pdf(points) for w, mu, L in parts)
    np.testing.assert_allclose(np.exp(mixture.log_density(points)), naive, rtol=1e-11)
    draws = mixture.sample(np.random.default_rng(7), 100_000)
    np.testing.assert_allclose(draws.mean(axis=0), mixture.mean, atol=0.015)
    np.testing.assert_allclose(np.cov(draws.T), mixture.cov, atol=0.03)


@looped("rule", WIDTHS)
def test_beyond_many_coordinates_kernels_without_a_covariance_are_kept_as_sds(rule, monkeypatch):
    rng, d, m = np.random.default_rng(5), 12, 9  # fewer particles than coordinates
    particles, scale, points = rng.standard_normal((m, d)) * (1 + np.arange(d)), np.full(d, 3.0), rng.random((6, d))
    parents, noise, log_weights = np.array([1, 3]), rng.standard_normal((2, d)), normalise(rng.standard_normal(m))
    found = []
    for many in (100, 5):
        for module in (smoothing, product):
            monkeypatch.setattr(module, "MANY", many)
        found.append(smoothed(particles, log_weights, SmoothingKnobs(bandwidth_rule=rule), scale))
    dense, sparse = found
    assert isinstance(sparse, DiagonalDensity) and not isinstance(dense, DiagonalDensity)
    assert sparse.few == dense.few == (rule != "isotropic")
    for what in ("mean", "cov", "kernel_sds", "choleskys"):
        np.testing.assert_allclose(getattr(sparse, what), getattr(dense, what), rtol=1e-8, atol=1e-12)
    np.testing.assert_allclose(sparse.log_density(points), dense.log_density(points), rtol=1e-8)
    np.testing.assert_allclose(variances(sparse), variances(dense), rtol=1e-8)
    for way in ("displaced", "in_kernels"):
        given, expected = (getattr(q, way)(parents, noise) for q in (sparse, dense))
        np.testing.assert_allclose(given, expected, rtol=1e-6, atol=1e-6)
    assert np.log(sparse.kernel_peak) == pytest.approx(np.log(dense.kernel_peak))


def test_kernels_with_sds_of_their_own_are_a_mixture():
    rng = np.random.default_rng(6)
    means, sds, log_weights = rng.standard_normal((4, 3)), 0.2 + rng.random((4, 3)), normalise(rng.standard_normal(4))
    dense = GaussianMixture(means, log_weights, sds[:, :, None] * np.eye(3))
    sparse, points = DiagonalDensity(means, log_weights, means, sds), rng.standard_normal((5, 3))
    np.testing.assert_allclose(sparse.log_density(points), dense.log_density(points))
    for what in ("cov", "kernel_sds", "kernel_peak"):
        np.testing.assert_allclose(getattr(sparse, what), getattr(dense, what))
    assert sparse.narrowest(np.ones(3)) == pytest.approx(dense.narrowest(np.ones(3)))
    np.testing.assert_allclose(sparse.marginal([2, 0]).choleskys, dense.choleskys[:, [2, 0]][:, :, [2, 0]])
    np.testing.assert_allclose(np.cov(sparse.sample(np.random.default_rng(0), 40_000).T), dense.cov, atol=0.05)
