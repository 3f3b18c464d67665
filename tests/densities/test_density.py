"""Kernel densities and mixtures, products of blocks, and rules for the smoothing kernel."""

import numpy as np
import pytest
from arviz_stats.base import array_stats
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats
from scipy.spatial.distance import pdist
from scipy.stats import dirichlet

from pmdviz.densities import bandwidth, product
from pmdviz.densities.bandwidth import RULES, Shape, chosen_shape, neighbourhood_covariance, shaped_density
from pmdviz.densities.chains import k_hat, largest_trusted
from pmdviz.densities.density import (
    GaussianMixture,
    Grid,
    KernelDensity,
    ShapedDensity,
    effective_sample_size,
    normalise,
    variances,
)
from pmdviz.methods import METHODS
from pmdviz.methods import weighting as smoothing
from pmdviz.methods.weighting import SmoothingKnobs, children, smoothed
from tests.support.tables import looped


def some(d=2, m=40, seed=0):
    rng = np.random.default_rng([d, m, seed])
    cholesky = np.tril(0.2 * rng.standard_normal((d, d)))
    np.fill_diagonal(cholesky, 0.2 + 0.3 * rng.random(d))
    return KernelDensity(rng.standard_normal((m, d)), normalise(rng.standard_normal(m)), cholesky)


def reference(weights, means, choleskys, points):
    """The density of a mixture of Gaussians, by SciPy."""
    parts = zip(weights, means, choleskys, strict=True)
    return np.sum([w * stats.multivariate_normal(m, L @ L.T).pdf(points) for w, m, L in parts], axis=0)


def test_log_weights_are_normalised_by_their_peak_and_the_effective_sample_size_runs_from_one_to_m():
    for values in (np.zeros(4), np.array([-1e5, -1e5 + 1]), np.array([700.0, 710.0]), np.array([0.0, -np.inf])):
        expected = np.exp(values - values.max())
        np.testing.assert_allclose(np.exp(normalise(values)), expected / expected.sum(), rtol=1e-13)
    for log_weights, ess in ((normalise(np.zeros(7)), 7), ([0.0, -np.inf], 1), (np.log([0.5, 0.25, 0.25]), 1 / 0.375)):
        assert effective_sample_size(np.array(log_weights)) == pytest.approx(ess)


@pytest.mark.parametrize("d", [1, 2, 3, 5])
def test_the_density_is_the_sum_of_its_kernels_and_so_it_is_on_a_grid(d):
    density, points = some(d), np.random.default_rng(1).standard_normal((30, d))
    expected = reference(density.weights, density.particles, [density.cholesky] * 40, points)
    np.testing.assert_allclose(np.exp(density.log_density(points)), expected, rtol=1e-10)
    np.testing.assert_allclose(density.mean, density.weights @ density.particles, rtol=1e-12)
    own = np.cov(density.particles.T, aweights=density.weights, ddof=0)
    np.testing.assert_allclose(density.cov, own + density.cholesky @ density.cholesky.T, rtol=1e-10)
    one = KernelDensity(np.zeros((1, d)), np.zeros(1), density.cholesky)
    assert one.kernel_peak == pytest.approx(np.exp(one.log_density(np.zeros((1, d))))[0])
    if d <= 2:
        grid = Grid(((-6.0, 6.0),) * d, 240)
        values = density.on_grid(grid)
        assert values.shape == grid.shape and values.sum() * grid.cell_volume == pytest.approx(1, abs=1e-6)
        np.testing.assert_allclose(values.ravel(), np.exp(density.log_density(grid.points)), rtol=1e-9, atol=1e-13)


def test_the_narrowest_direction_of_a_kernel_and_mixtures_of_unequal_gaussians():
    turned = np.linalg.cholesky(np.array([[1.0, 0.9], [0.9, 1.0]]))
    density = KernelDensity(np.zeros((1, 2)), np.zeros(1), turned)
    assert density.narrowest(np.ones(2)) == pytest.approx(np.sqrt(0.1))
    assert density.narrowest(np.array([2.0, 2.0])) == pytest.approx(np.sqrt(0.1) / 2)
    means = np.array([[0.0, 1.0], [2.0, -1.0], [-1.0, 0.5]])
    choleskys = np.array([[[0.5, 0.0], [0.2, 0.3]], [[1.0, 0.0], [0.0, 0.1]], [[0.2, 0.0], [-0.4, 0.9]]])
    weights = np.array([0.2, 0.7, 0.1])
    mixture = GaussianMixture(means, np.log(weights), choleskys)
    points = np.random.default_rng(6).standard_normal((40, 2))
    expected = reference(weights, means, choleskys, points)
    np.testing.assert_allclose(np.exp(mixture.log_density(points)), expected, rtol=1e-11)
    draws = mixture.sample(np.random.default_rng(7), 100_000)
    np.testing.assert_allclose(draws.mean(axis=0), mixture.mean, atol=0.015)
    np.testing.assert_allclose(np.cov(draws.T), mixture.cov, atol=0.03)


@looped("rule", smoothing.WIDTHS)
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
    assert isinstance(sparse, product.DiagonalDensity) and not isinstance(dense, product.DiagonalDensity)
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
    sparse, points = product.DiagonalDensity(means, log_weights, means, sds), rng.standard_normal((5, 3))
    np.testing.assert_allclose(sparse.log_density(points), dense.log_density(points))
    for what in ("cov", "kernel_sds", "kernel_peak"):
        np.testing.assert_allclose(getattr(sparse, what), getattr(dense, what))
    assert sparse.narrowest(np.ones(3)) == pytest.approx(dense.narrowest(np.ones(3)))
    np.testing.assert_allclose(sparse.marginal([2, 0]).choleskys, dense.choleskys[:, [2, 0]][:, :, [2, 0]])
    np.testing.assert_allclose(np.cov(sparse.sample(np.random.default_rng(0), 40_000).T), dense.cov, atol=0.05)


def mixture(m=3, words=4, topics=2):
    rng = np.random.default_rng(0)
    weights = rng.dirichlet(np.ones(m))
    return product.DirichletMixture(rng.uniform(0.3, 5, (m, words, topics)), np.log(weights))


def test_dirichlet_mixtures_have_the_density_of_their_products_and_draws_of_their_mean():
    q = mixture()
    points = q.sample(np.random.default_rng(1), 20).reshape(20, 2, 4)
    products = [[np.prod([dirichlet.pdf(row, one[:, k]) for k, row in enumerate(point)]) for one in q.natural]
                for point in points]  # fmt: skip
    np.testing.assert_allclose(q.log_density(points.reshape(20, 8)), np.log(products @ q.weights), rtol=1e-10)
    draws = q.sample(np.random.default_rng(2), 40_000)
    z = (draws.mean(axis=0) - q.mean) / (draws.std(axis=0) / np.sqrt(len(draws)))
    assert np.abs(z).max() < 4.5


M = 60
EQUAL = np.full(M, -np.log(M))


def shaped(d, seed):
    rng = np.random.default_rng([d, seed])
    points = rng.standard_normal((M, d)) @ (np.eye(d) + 0.6 * np.tri(d, k=-1)) + np.arange(d)
    return shaped_density(points, EQUAL, chosen_shape(points, np.exp(EQUAL)), 1.0, np.ones(d))


def plain(d, seed):
    rng = np.random.default_rng([d, seed, 7])
    return KernelDensity(rng.standard_normal((M, d)), EQUAL, 0.3 * np.eye(d) + 0.1 * np.tri(d, k=-1))


def diagonal(d, seed):
    rng = np.random.default_rng([d, seed, 11])
    scales = 0.5 + np.arange(d)
    return product.diagonal_density(scales * rng.standard_normal((M, d)) + 3, EQUAL, 1.0, np.ones(d))


MAKERS = {"shaped": shaped, "plain": plain, "diagonal": diagonal}
CASES = [(blocks, kind) for blocks in (((0,), (1,)), ((0, 2), (1,))) for kind in MAKERS] + [(((0, 1),), "shaped")]


def product_of(blocks, kind):
    return product.ProductDensity(blocks, tuple(MAKERS[kind](len(block), k) for k, block in enumerate(blocks)))


@looped("blocks, kind", CASES)
def test_the_log_density_is_the_sum_of_the_blocks_on_a_grid_too(blocks, kind):
    q = product_of(blocks, kind)
    sds, points = np.sqrt(np.diag(q.cov)), q.mean + np.random.default_rng(0).standard_normal((30, q.dim))
    expected = np.zeros(30)
    for block, part in zip(blocks, q.parts, strict=True):
        expected += np.log(reference(np.full(M, 1 / M), part.centres, part.choleskys, points[:, block]))
    np.testing.assert_allclose(q.log_density(points), expected, rtol=1e-9, atol=1e-9)
    if q.dim == 2:
        grid = Grid(tuple((float(m - 8 * s), float(m + 8 * s)) for m, s in zip(q.mean, sds, strict=True)), 160)
        values = q.on_grid(grid)
        np.testing.assert_allclose(values.ravel(), np.exp(q.log_density(grid.points)), rtol=1e-8, atol=1e-13)
        assert values.sum() * grid.cell_volume == pytest.approx(1, abs=1e-5)


@looped("blocks, kind", CASES)
def test_draws_have_its_moments_and_nothing_between_the_blocks(blocks, kind):
    q, n = product_of(blocks, kind), 40_000
    draws = q.sample(np.random.default_rng(1), n)
    sds = np.sqrt(np.diag(q.cov))
    assert np.abs((draws.mean(axis=0) - q.mean) / (sds / np.sqrt(n))).max() < 4.5
    correlation, exact = np.corrcoef(draws.T), q.cov / np.outer(sds, sds)
    assert np.abs(correlation - exact).max() < 4.5 / np.sqrt(n) + 0.005
    of = {k: number for number, block in enumerate(blocks) for k in block}
    apart = np.array([[of[a] != of[b] for a in range(q.dim)] for b in range(q.dim)])
    assert (q.cov[apart] == 0).all()


@looped("kind", MAKERS)
@looped("pair", [(0, 2), (2, 0), (0, 1), (1, 0), (2, 1)])
def test_marginals_of_two_coordinates_are_those_of_the_draws(kind, pair):
    q = product_of(((0, 2), (1,)), kind)
    draws = q.sample(np.random.default_rng(2), 60_000)[:, list(pair)]
    grid = Grid(tuple(map(tuple, np.quantile(draws, [0.2, 0.7], axis=0).T.tolist())), 120)
    mass = q.marginal(pair).on_grid(grid).sum() * grid.cell_volume
    found = grid.holds(draws).mean()
    assert abs(mass - found) < 4.5 * np.sqrt(found / len(draws)) + 1e-3


def test_kernels_along_coordinates_keep_mean_and_variance_and_need_no_covariance():
    rng = np.random.default_rng(0)  # twice as many coordinates as particles
    points = np.exp(rng.standard_normal(120)) * rng.standard_normal((M, 120)) + rng.standard_normal(120)
    q = product.diagonal_density(points, EQUAL, 1.0, np.ones(120))
    np.testing.assert_allclose(q.mean, points.mean(axis=0), atol=1e-10)
    for found, expected in ((q.variances, points.var(axis=0)), (np.diag(q.cov), q.variances)):
        np.testing.assert_allclose(found, expected, rtol=1e-10)
    np.testing.assert_allclose(q.sds, M**-0.2 * points.std(axis=0), rtol=1e-10)
    centred = q.centres - q.mean
    np.testing.assert_allclose(q.cov[3, 5], (centred[:, 3] * centred[:, 5]).mean(), rtol=1e-10)
    assert np.isfinite(q.kernel_peak) and np.isfinite(q.log_density(points[:5])).all()
    assert q.marginal((7,)).on_grid(Grid(((-50.0, 50.0),), 4000)).sum() * 0.025 == pytest.approx(1, abs=1e-5)


def test_neither_order_nor_scale_matter_and_fewer_weights_are_trusted_less():
    values = np.random.default_rng(0).standard_normal(1500) ** 3
    expected = k_hat(values)
    assert k_hat(values[::-1] + 700.0) == pytest.approx(expected, rel=1e-9)
    values[np.argsort(values)[:500]] = -np.inf
    assert k_hat(values) == pytest.approx(expected, rel=1e-9)
    assert k_hat(np.zeros(1500)) == k_hat(np.zeros(25)) == -1.0 and np.isnan(k_hat(np.zeros(24)))
    values[np.argsort(values)[:-3]] = -np.inf
    assert k_hat(values) == np.inf == k_hat(np.linspace(-1e6, 0.0, 1500)), "few have all the weight"
    known = {100: 0.5, 300: 0.5963, 1500: 0.6851, 2200: 0.7, 10**6: 0.7}
    assert {m: round(largest_trusted(m), 4) for m in known} == known


@pytest.mark.parametrize("m, close", [(1600, 1e-9), (100, 1e-9), (1500, 0.05)])
def test_another_library_finds_the_same(m, close):
    """ArviZ takes 3 sqrt(m) weights rounded down for the tail, the paper rounded up: the same at 1600."""
    for seed in range(10):
        log_weights = 1.2 * np.random.default_rng(seed).standard_t(4, m)
        _, theirs = array_stats.psislw(-log_weights)
        assert k_hat(log_weights) == pytest.approx(float(theirs), abs=close)


def equal(m):
    return np.full(m, 1 / m)


def standard(m, d, seed=0):
    return np.random.default_rng([m, d, seed]).standard_normal((m, d))


@pytest.mark.parametrize("d", [1, 2, 5])
def test_the_plain_rules_are_a_number_the_median_distance_and_the_weighted_covariance(d):
    specs = METHODS["pmd"].Knobs.specs()
    assert {*RULES, "shaped"} == set(specs["bandwidth_rule"].choices) == set(specs["bandwidth"].default_by[1])
    for m in (2, 3, 40, 500):
        particles = standard(m, d, 0)
        assert np.array_equal(RULES["isotropic"](particles, equal(m), 0.2, np.ones(d)), 0.2 * np.eye(d))
        expected = 0.1 * np.median(pdist(particles)) * np.eye(d)
        np.testing.assert_allclose(RULES["median"](particles, equal(m), 0.1, np.ones(d)), expected, rtol=1e-12)
    particles, weights = standard(300, d, 1), np.random.default_rng(2).dirichlet(np.ones(300))
    kernel = RULES["covariance"](particles, weights, 0.35, np.ones(d))
    expected = 0.35**2 * 300 ** (-2 / (d + 4)) * np.cov(particles.T, aweights=weights, ddof=0).reshape(d, d)
    np.testing.assert_allclose(kernel @ kernel.T, expected, rtol=1e-6)


@looped("rule", ["covariance", "local"])
@looped("d", [1, 2, 3])
@looped("smoothness", [0.0, 1.0, 2.0, 50.0])
def test_smoothness_decides_how_fast_h_falls(rule, d, smoothness):
    particles = standard(200, d, 0)
    usual = RULES[rule](particles, equal(200), 0.5, np.ones(d))
    factor = 200 ** (1 / (d + 4) - 1 / (d + 2 * smoothness))
    np.testing.assert_allclose(RULES[rule](particles, equal(200), 0.5, np.ones(d), smoothness), factor * usual)
    if rule == "local":
        S = neighbourhood_covariance(particles, equal(200), np.ones(d)) / bandwidth.local_scale(d)
        np.testing.assert_allclose(usual @ usual.T, 0.25 * 200 ** (-2 / (d + 4)) * S, rtol=1e-6)


@pytest.mark.parametrize("d", [1, 2, 3, 5])
def test_local_measures_a_standard_gaussian_as_one(d):
    """The mean over draws of S is the identity, within four standard errors and the rounding of the table."""
    found = np.array([neighbourhood_covariance(standard(3000, d, s), equal(3000), np.ones(d)) for s in range(12)])
    found /= bandwidth.LOCAL_SCALE[d]
    means, errors = found.mean(axis=0), found.std(axis=0, ddof=1) / np.sqrt(12)
    assert (np.abs(means - np.eye(d)) < 4 * errors + 0.03).all()


ONES = np.ones(2)


def modes(m=1500, apart=6.0, seed=0):
    x = standard(m, 2, seed) @ np.array([[1.0, 0.8], [0.0, 0.3]])
    return x + apart * second(m)[:, None]


def second(m):
    return np.arange(m) >= m // 2


def density_of(x, log_weights, factor=1.0):
    return shaped_density(x, log_weights, chosen_shape(x, np.exp(log_weights)), factor, np.ones(x.shape[1]))


def moments(x, w):
    w = w / w.sum()
    return w @ x, np.cov(x.T, aweights=w, ddof=0).reshape(x.shape[1], -1)


@given(st.integers(1, 4), st.integers(1, 3), st.floats(0.05, 1.9), st.integers(0, 2**32))
def test_each_cluster_of_q_has_the_moments_of_its_particles(d, k, width, seed):
    rng = np.random.default_rng(seed)
    m = 40 * k
    x, lw, labels = rng.standard_normal((m, d)) + 5, normalise(0.5 * rng.standard_normal(m)), np.arange(m) % k
    q = shaped_density(x, lw, Shape(labels, 0.5), width, np.ones(d))
    for c in range(k):
        s = labels == c
        w = q.weights[s] / q.weights[s].sum()
        mean, covariance = moments(x[s], q.weights[s])
        np.testing.assert_allclose(w @ q.centres[s], mean, atol=1e-10)
        of_centres = moments(q.centres[s], q.weights[s])[1]
        np.testing.assert_allclose(of_centres + q.factors[c] @ q.factors[c].T, covariance, atol=1e-10)
    for found, expected in zip((q.mean, q.cov), moments(x, q.weights), strict=True):
        np.testing.assert_allclose(found, expected, atol=1e-10)
    smeared = shaped_density(x, lw, Shape(labels, 0.5), 2 * width + 2, np.ones(d))  # wider than a cluster
    assert (np.diag(smeared.cov) > np.diag(q.cov)).all()


def test_the_density_is_the_sum_of_its_kernels_integrates_to_1_and_is_what_the_grid_shows():
    x, lw = modes(60), normalise(standard(60, 1)[:, 0])
    q, points = density_of(x, lw), 3 * standard(9, 2)
    expected = reference(q.weights, q.centres, q.choleskys, points)
    np.testing.assert_allclose(np.exp(q.log_density(points)), expected, rtol=1e-9)
    assert q.kernel_peak == pytest.approx(max(np.exp(-np.log(np.diag(L)).sum()) for L in q.factors) / (2 * np.pi))
    lw = normalise(standard(1500, 1)[:, 0])
    q = shaped_density(modes(), lw, Shape(second(1500).astype(int), 0.6), 1.0, ONES)
    assert len(q.parts) == 2
    grid = Grid(((-7.0, 13.0), (-7.0, 13.0)), 501)
    drawn = q.on_grid(grid)
    assert drawn.sum() * grid.cell_volume == pytest.approx(1, abs=1e-9)
    np.testing.assert_allclose(drawn.ravel(), np.exp(q.log_density(grid.points)), atol=1e-12)


@looped("m", [1, 2, 3, 4, 10])
@looped("d", [1, 2, 5])
def test_few_or_coincident_particles_still_have_a_kernel_and_a_density(m, d):
    for x in (standard(m, d), np.zeros((m, d))):
        for w in (np.eye(m)[0], equal(m)):
            for rule in RULES.values():
                kernel = rule(x, w, 0.5, 2 * np.ones(d))
                assert np.isfinite(kernel).all() and (np.diag(kernel) > 0).all()
            with np.errstate(divide="ignore"):
                q = density_of(x, np.log(w))
            assert isinstance(q, ShapedDensity) and np.isfinite(q.log_density(x[:1])).all()
            assert np.isfinite(children(np.random.default_rng(0), q, 5, "balanced", "systematic")[0]).all()


def test_as_many_clusters_as_there_are_modes_and_a_few_outliers_have_none():
    """Akaike's price lets a Gaussian of two dimensions be split now and then; a gap is never reached over."""
    of_one = [chosen_shape(modes(apart=0.0, seed=k), equal(1500)).labels.max() + 1 for k in range(8)]
    assert np.mean(of_one) < 1.8
    side = second(1500)
    for k in range(8):
        labels = chosen_shape(modes(seed=k), equal(1500)).labels
        assert labels.max() >= 1 and all(side[labels == c].mean() in (0.0, 1.0) for c in range(labels.max() + 1))
    assert not chosen_shape(with_outliers(10), equal(1500)).labels.any()
    labels = chosen_shape(with_outliers(120), equal(1500)).labels
    assert len({*labels[:120]}) == 1 and labels[0] not in labels[120:]
    whole = chosen_shape(standard(1500, 20), equal(1500))  # without a price of covariances it would be split
    assert not whole.labels.any() and whole.width == bandwidth.WIDTHS[-1]


def with_outliers(n):
    x = standard(1500, 2)
    x[:n] = np.column_stack([np.linspace(8.0, 9.0, n), 8 + 1e-3 * standard(n, 1)[:, 0]])
    return x


def test_clusters_do_not_hang_on_units_and_are_kept_unless_one_has_become_too_light():
    x = modes()
    first = chosen_shape(x, equal(1500))
    other = chosen_shape(x * np.array([1e-4, 1e5]) + 7, equal(1500))
    assert np.array_equal(first.labels, other.labels) and first.width == other.width
    again = chosen_shape(x, equal(1500), last=first)
    assert again.labels is first.labels and again.width == first.width
    split = first._replace(labels=np.arange(1500) // 10 % 4)  # as no search would have it
    assert chosen_shape(x, equal(1500), last=split).labels is split.labels
    light = first._replace(labels=(np.arange(1500) < 20).astype(int))
    assert np.array_equal(chosen_shape(x, equal(1500), last=light).labels, first.labels)
