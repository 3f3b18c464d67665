"""Modes of exact posteriors and the mass of an approximation in each."""

import numpy as np
import pytest

import pmdviz
from pmdviz.densities.density import KernelDensity, normalise
from pmdviz.densities.product import ProductDensity
from pmdviz.metrics import divergences as quasi_draws
from pmdviz.metrics.divergences import NOWHERE, by_points, measure, modes, picture, watershed
from pmdviz.metrics.predictive import MOST_COORDINATES, knn_entropy, lower_bound
from pmdviz.targets import make_target
from tests.support.engine import errors_from
from tests.support.tables import looped

APART = {"data_seed": 3, "num_data": 400, "sigma_x": 1.5}


@pytest.mark.parametrize("options", [{}, APART])
def test_masses_of_draws_of_the_posterior_are_those_of_its_basins(options):
    target = make_target("mixture", **options)
    draws = target.exact.sample(np.random.default_rng(0), 20_000)
    density = KernelDensity(draws, np.full(len(draws), -np.log(len(draws))), 0.02 * np.eye(2))
    masses, exact = np.array(modes(target).masses_of(density)), modes(target).masses
    errors = np.sqrt(exact * (1 - exact) / len(draws))
    assert (np.abs(masses - exact) < 4 * errors + 1e-3).all()


def test_narrow_kernels_are_not_lost_and_what_lies_elsewhere_is_missing_from_the_sum():
    found = modes(make_target("mixture", **APART))
    assert len(found.peaks) == 2 and found.peaks[0, 0] < found.peaks[1, 0] and abs(found.masses.sum() - 1) < 1e-3
    needle = KernelDensity(found.peaks[:1] + 0.0123, np.zeros(1), 1e-6 * np.eye(2))
    assert found.masses_of(needle)[0] == pytest.approx(1, abs=1e-3)
    half = KernelDensity(np.array([found.peaks[0], [6.0, 6.0]]), np.log([0.3, 0.7]), 0.05 * np.eye(2))
    assert found.masses_of(half) == pytest.approx([0.3, 0.0], abs=1e-3)


def test_one_dimension_and_one_mode():
    assert modes(make_target("gaussian")).masses == pytest.approx([1], abs=1e-6)
    two = modes(make_target("bimodal1d"))
    assert two.peaks[:, 0] == pytest.approx([-1.28, 1.28], abs=0.02)
    assert two.masses == pytest.approx([0.5, 0.5], abs=1e-6)


def test_watershed_by_hand():
    line = np.array([0.0, 3.0, 1.0, 1.5, 1.2, 5.0, 2.0, -9.0])  # 1.5 rises half a nat above its pass
    found = watershed(line, -5.0).tolist()
    assert found[:3] == [1] * 3 and found[3:5] in ([1, 1], [0, 0]) and found[5:] == [0, 0, NOWHERE]
    assert watershed(line[::-1], -5.0)[3] == 0


def test_a_ridge_across_the_cells_is_one_mode():
    at = np.linspace(-4, 4, 81)
    x, y = np.meshgrid(at, at)
    log_p = -0.5 * ((x + y) / 3) ** 2 - 0.5 * ((x - y * 0.83) / 0.12) ** 2  # cells are 0.8 of its narrow sd
    beside = [log_p[1:-1, :-2], log_p[1:-1, 2:], log_p[:-2, 1:-1], log_p[2:, 1:-1]]
    assert (log_p[1:-1, 1:-1] > np.max(beside, 0)).sum() > 3 and watershed(log_p, log_p.max() - 20).max() == 0


RUNS = 30


def entropy(cov):
    return 0.5 * np.linalg.slogdet(2 * np.pi * np.e * np.atleast_2d(cov))[1]


@looped("dim, n, k", [(1, 300, 1), (2, 1000, 1), (1, 300, 3), (2, 1000, 3)])
def test_the_entropy_of_a_gaussian(dim, n, k):
    rng = np.random.default_rng(dim)
    factor = np.tril(rng.standard_normal((dim, dim))) + 2 * np.eye(dim)
    found = [knn_entropy(rng.standard_normal((n, dim)) @ factor.T, k) for _ in range(RUNS)]
    assert abs(errors_from(found, entropy(factor @ factor.T))) < 4 and np.std(found) < 0.1
    wide = [knn_entropy(rng.standard_normal((400, MOST_COORDINATES))) for _ in range(2)]
    assert np.mean(wide) == pytest.approx(entropy(np.eye(MOST_COORDINATES)), abs=0.3), "a ball falls off in its middle"


def test_points_that_coincide_have_none():
    for points in (np.zeros((50, 2)), np.repeat(np.arange(10.0), 5)[:, None], np.arange(3.0)[:, None]):
        assert np.isnan(knn_entropy(points))


def of_blocks(rng, blocks, sd, n):
    parts = [
        KernelDensity(sd * rng.standard_normal((n, len(b))), np.full(n, -np.log(n)), np.eye(len(b))) for b in blocks
    ]
    return ProductDensity(blocks, tuple(parts))


@pytest.mark.parametrize("rho, narrow", [(0.0, 1.0), (0.6, 1.0), (0.9, 1.0), (0.0, 0.5)])
def test_the_bound_of_the_best_mean_field_and_it_falls_where_q_is_too_narrow(rho, narrow):
    """log Z = 0, q* has variances 1 - rho^2, and the bound is -KL(q* || p) = log(1 - rho^2) / 2.

    Of N(0, s^2 I) for two independent coordinates it is -(s^2 - 1 - 2 log s).
    """
    target, rng = pmdviz.target("correlated_gaussian", correlation=rho), np.random.default_rng(2 if narrow < 1 else 1)
    blocks = ((0, 1),) if narrow < 1 else ((0,), (1,))
    q = lambda: of_blocks(rng, blocks, narrow * np.sqrt(1 - rho**2), 1000 if narrow < 1 else 500)  # noqa: E731
    found = [lower_bound(q(), target) for _ in range(RUNS)]
    assert abs(errors_from(found, 0.5 * np.log(1 - rho**2) - (narrow**2 - 1 - 2 * np.log(narrow)))) < 4
    assert np.std(found) < 0.15


# Target, options, bandwidth, particles, sd of the log weights: a few particles hold most of the weight.
QUICK = [("banana", {}, 0.01, 600, 1.5, 2), ("bimodal1d", {}, 0.02, 600, 0.5, 3)]
DRAWS, BLOCK = 1_000_000, 100_000


def case(name, options, bandwidth, m, spread, seed):
    target, rng = make_target(name, **options), np.random.default_rng([seed, m])
    draws = target.exact.sample(rng, m)
    return target, KernelDensity(draws, normalise(spread * rng.standard_normal(m)), bandwidth * np.eye(target.dim))


def by_draws(density, exact):
    rng, values = np.random.default_rng(1), []
    for _ in range(DRAWS // BLOCK):
        parents = rng.choice(len(density.weights), BLOCK, p=density.weights / density.weights.sum())
        points = density.particles[parents] + rng.standard_normal((BLOCK, len(density.cholesky))) @ density.cholesky.T
        log_ratio = exact.log_density(points) - density.log_density(points)
        values.append([-np.expm1(np.minimum(log_ratio, 0.0)), -log_ratio])
    values = np.concatenate(values, axis=1)
    return values.mean(axis=1), values.std(axis=1) / np.sqrt(DRAWS)


@pytest.mark.parametrize("parts", QUICK, ids=str)
def test_narrow_kernels_agree_with_draws(parts):
    target, density = case(*parts)
    (tv, reverse), (_, error) = by_draws(density, target.exact)
    measured = measure(density, target.exact, picture(density, target.exact, target.view_box))
    for found in (by_points(density, target.exact), measured):
        assert abs(found["tv"] - tv) < 0.003 and abs(found["kl_reverse"] - reverse) < 5 * error + 0.01


def test_the_points_are_shared_out_by_weight_and_fill_each_kernel():
    _, density = case("mixture", {}, 0.01, 4, 1.0, 0)
    points, parents = quasi_draws.quasi_draws(density)
    for k, weight in enumerate(density.weights):
        noise = (points[parents == k] - density.particles[k]) / 0.01
        assert len(noise) == pytest.approx(weight * quasi_draws.NUM_POINTS, abs=1)
        assert np.abs(noise.mean(axis=0)).max() < 10 / len(noise), "far below the 1/sqrt(n) of draws"
        assert np.cov(noise.T) == pytest.approx(np.eye(2), abs=0.02)
