"""Dirichlet mixtures, products of blocks, and the shape of Pareto tails, against SciPy, draws and ArviZ."""

import numpy as np
import pytest
from arviz_stats.base import array_stats
from scipy import stats
from scipy.stats import dirichlet

from pmdviz.densities.bandwidth import chosen_shape, shaped_density
from pmdviz.densities.chains import k_hat, largest_trusted
from pmdviz.densities.density import Grid, KernelDensity
from pmdviz.densities.product import DirichletMixture, ProductDensity, diagonal_density, marginal_on_grid
from tests.support.tables import looped


def mixture(m=3, words=4, topics=2):
    rng = np.random.default_rng(0)
    weights = rng.dirichlet(np.ones(m))
    return DirichletMixture(rng.uniform(0.3, 5, (m, words, topics)), np.log(weights))


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
    return diagonal_density(scales * rng.standard_normal((M, d)) + 3, EQUAL, 1.0, np.ones(d))


MAKERS = {"shaped": shaped, "plain": plain, "diagonal": diagonal}
CASES = [(blocks, kind) for blocks in (((0,), (1,)), ((0, 2), (1,))) for kind in MAKERS] + [(((0, 1),), "shaped")]


def product(blocks, kind):
    return ProductDensity(blocks, tuple(MAKERS[kind](len(block), k) for k, block in enumerate(blocks)))


@looped("blocks, kind", CASES)
def test_the_log_density_is_the_sum_of_the_blocks_on_a_grid_too(blocks, kind):
    q = product(blocks, kind)
    sds, points = np.sqrt(np.diag(q.cov)), q.mean + np.random.default_rng(0).standard_normal((30, q.dim))
    expected = np.zeros(30)
    for block, part in zip(blocks, q.parts, strict=True):
        pairs = zip(part.centres, part.choleskys, strict=True)
        each = [stats.multivariate_normal(c, L @ L.T).pdf(points[:, block]) for c, L in pairs]
        expected += np.log(np.mean(each, axis=0))
    np.testing.assert_allclose(q.log_density(points), expected, rtol=1e-9, atol=1e-9)
    if q.dim == 2:
        grid = Grid(tuple((float(m - 8 * s), float(m + 8 * s)) for m, s in zip(q.mean, sds, strict=True)), 160)
        values = q.on_grid(grid)
        np.testing.assert_allclose(values.ravel(), np.exp(q.log_density(grid.points)), rtol=1e-8, atol=1e-13)
        assert values.sum() * grid.cell_volume == pytest.approx(1, abs=1e-5)


@looped("blocks, kind", CASES)
def test_draws_have_its_moments_and_nothing_between_the_blocks(blocks, kind):
    q, n = product(blocks, kind), 40_000
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
    q = product(((0, 2), (1,)), kind)
    draws = q.sample(np.random.default_rng(2), 60_000)[:, list(pair)]
    grid = Grid(tuple(map(tuple, np.quantile(draws, [0.2, 0.7], axis=0).T.tolist())), 120)
    mass = marginal_on_grid(q, pair, grid).sum() * grid.cell_volume
    found = grid.holds(draws).mean()
    assert abs(mass - found) < 4.5 * np.sqrt(found / len(draws)) + 1e-3


def test_kernels_along_coordinates_keep_mean_and_variance_and_need_no_covariance():
    rng = np.random.default_rng(0)  # twice as many coordinates as particles
    points = np.exp(rng.standard_normal(120)) * rng.standard_normal((M, 120)) + rng.standard_normal(120)
    q = diagonal_density(points, EQUAL, 1.0, np.ones(120))
    np.testing.assert_allclose(q.mean, points.mean(axis=0), atol=1e-10)
    for found, expected in ((q.variances, points.var(axis=0)), (np.diag(q.cov), q.variances)):
        np.testing.assert_allclose(found, expected, rtol=1e-10)
    np.testing.assert_allclose(q.sds, M**-0.2 * points.std(axis=0), rtol=1e-10)
    centred = q.centres - q.mean
    np.testing.assert_allclose(q.cov[3, 5], (centred[:, 3] * centred[:, 5]).mean(), rtol=1e-10)
    assert np.isfinite(q.kernel_peak) and np.isfinite(q.log_density(points[:5])).all()
    assert marginal_on_grid(q, (7,), Grid(((-50.0, 50.0),), 4000)).sum() * 0.025 == pytest.approx(1, abs=1e-5)


def test_neither_order_nor_scale_nor_weights_of_zero_matter():
    values = np.random.default_rng(0).standard_normal(1500) ** 3
    expected = k_hat(values)
    assert k_hat(values[::-1] + 700.0) == pytest.approx(expected, rel=1e-9)
    values[np.argsort(values)[:500]] = -np.inf
    assert k_hat(values) == pytest.approx(expected, rel=1e-9)
    assert k_hat(np.zeros(1500)) == k_hat(np.zeros(25)) == -1.0 and np.isnan(k_hat(np.zeros(24)))
    values[np.argsort(values)[:-3]] = -np.inf
    assert k_hat(values) == np.inf == k_hat(np.linspace(-1e6, 0.0, 1500)), "few have all the weight"


def test_fewer_weights_are_trusted_up_to_a_smaller_shape():
    """min(1 - 1 / log10 m, 0.7): 0.5 for 100, 0.6 for 300, 0.69 for 1,500 and 0.7 from 2,155 on."""
    known = {100: 0.5, 300: 0.5963, 1500: 0.6851, 2200: 0.7, 10**6: 0.7}
    assert {m: round(largest_trusted(m), 4) for m in known} == known


@pytest.mark.parametrize("m, close", [(1600, 1e-9), (100, 1e-9), (1500, 0.05)])
def test_another_library_finds_the_same(m, close):
    """ArviZ takes 3 sqrt(m) weights rounded down for the tail, the paper rounded up: the same at 1600."""
    for seed in range(10):
        log_weights = 1.2 * np.random.default_rng(seed).standard_t(4, m)
        _, theirs = array_stats.psislw(-log_weights)
        assert k_hat(log_weights) == pytest.approx(float(theirs), abs=close)
