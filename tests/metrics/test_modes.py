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
    assert two.peaks[:, 0] == pytest.approx([-1.28, 1.28], abs=0.02) and two.masses == pytest.approx(
        [0.5, 0.5], abs=1e-6
    )


def test_watershed_by_hand():
    line = np.array([0.0, 3.0, 1.0, 1.5, 1.2, 5.0, 2.0, -9.0])  # 1.5 rises half a nat above its pass
    assert watershed(line, -5.0).tolist() == [1, 1, 1, 1, 0, 0, 0, NOWHERE] or watershed(line, -5.0).tolist() == [
        1, 1, 1, 0, 0, 0, 0, NOWHERE,
    ]  # fmt: skip
    assert watershed(line[::-1], -5.0)[3] == 0 and watershed(line, -5.0).max() == 1


def test_a_ridge_across_the_cells_is_one_mode():
    at = np.linspace(-4, 4, 81)
    x, y = np.meshgrid(at, at)
    log_p = -0.5 * ((x + y) / 3) ** 2 - 0.5 * ((x - y * 0.83) / 0.12) ** 2  # cells are 0.8 of its narrow sd
    peaks = (
        log_p[1:-1, 1:-1] > np.max([log_p[1:-1, :-2], log_p[1:-1, 2:], log_p[:-2, 1:-1], log_p[2:, 1:-1]], 0)
    ).sum()
    assert peaks > 3 and watershed(log_p, log_p.max() - 20).max() == 0


# The entropy by nearest neighbours against exact entropies, and the bound against the exact one of a mean field.


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
    assert np.isnan(knn_entropy(np.zeros((50, 2))))
    assert np.isnan(knn_entropy(np.repeat(np.arange(10.0), 5)[:, None]))
    assert np.isnan(knn_entropy(np.arange(3.0)[:, None]))


def of_blocks(rng, blocks, sds, n):
    parts = [KernelDensity(s * rng.standard_normal((n, len(b))), np.full(n, -np.log(n)), np.eye(len(b)))
             for b, s in zip(blocks, sds, strict=True)]  # fmt: skip
    return ProductDensity(blocks, tuple(parts))


@pytest.mark.parametrize("rho", [0.0, 0.6, 0.9])
def test_the_bound_of_the_best_mean_field(rho):
    """log Z = 0, q* has variances 1 - rho^2, and the bound is -KL(q* || p) = log(1 - rho^2) / 2."""
    target, rng = pmdviz.target("correlated_gaussian", correlation=rho), np.random.default_rng(1)
    sd = np.sqrt(1 - rho**2)
    found = [lower_bound(of_blocks(rng, ((0,), (1,)), (sd, sd), 500), target) for _ in range(RUNS)]
    assert abs(errors_from(found, 0.5 * np.log(1 - rho**2))) < 4
    assert np.std(found) < 0.15


def test_it_falls_where_q_is_too_narrow():
    """KL(q || p) = s^2 - 1 - 2 log s a pair for q = N(0, s^2 I): the bound that is for stopping alone rises."""
    target, rng = pmdviz.target("correlated_gaussian", correlation=0.0), np.random.default_rng(2)
    found = [lower_bound(of_blocks(rng, ((0, 1),), (0.5,), 1000), target) for _ in range(RUNS)]
    assert abs(errors_from(found, -(0.25 - 1 - 2 * np.log(0.5)))) < 4


# Narrow kernels, of any weights: TV and the reverse KL against a million draws of q.


FAR = {"num_data": 400, "sigma_x": 1.5}  # modes that stand apart
TARGETS = [("mixture", {}), ("gaussian", {}), ("banana", {}), ("bimodal1d", {}), ("mixture", FAR)]
# Bandwidth, particles, sd of the log weights: equal weights, or a few particles that hold most of the weight.
KERNELS = [
    (0.002, 300, 0.0),
    (0.005, 1500, 0.0),
    (0.01, 1500, 3.0),
    (0.01, 600, 1.5),
    (0.02, 600, 0.5),
    (0.007, 4000, 2.0),
]
CASES = [(*target, *kernel, seed) for seed, target in enumerate(TARGETS) for kernel in KERNELS]
QUICK = [CASES[k] for k in (15, 22)]
DRAWS, BLOCK = 1_000_000, 100_000


def case(name, options, bandwidth, m, spread, seed):
    """The target, and a kernel density estimate of exact draws with weights of a log-normal."""
    target, rng = make_target(name, **options), np.random.default_rng([seed, m])
    draws = target.exact.sample(rng, m)
    return target, KernelDensity(draws, normalise(spread * rng.standard_normal(m)), bandwidth * np.eye(target.dim))


def by_draws(density, exact):
    """TV and reverse KL from a million independent draws of q, each with its standard error."""
    rng, values = np.random.default_rng(1), []
    for _ in range(DRAWS // BLOCK):
        parents = rng.choice(len(density.weights), BLOCK, p=density.weights / density.weights.sum())
        points = density.particles[parents] + rng.standard_normal((BLOCK, len(density.cholesky))) @ density.cholesky.T
        log_ratio = exact.log_density(points) - density.log_density(points)
        values.append([-np.expm1(np.minimum(log_ratio, 0.0)), -log_ratio])
    values = np.concatenate(values, axis=1)
    return values.mean(axis=1), values.std(axis=1) / np.sqrt(DRAWS)


def check(*parts):
    """TV and the reverse KL of what is measured, and of the points alone."""
    target, density = case(*parts)
    (tv, reverse), (_, error) = by_draws(density, target.exact)
    points = by_points(density, target.exact)
    found = measure(density, target.exact, picture(density, target.exact, target.view_box))
    assert abs(found["tv"] - tv) < 0.003 and abs(points["tv"] - tv) < 0.003
    for kl in (found["kl_reverse"], points["kl_reverse"]):
        assert abs(kl - reverse) < 5 * error + 0.01


@pytest.mark.parametrize("parts", QUICK, ids=str)
def test_narrow_kernels_agree_with_draws(parts):
    check(*parts)


def test_the_points_are_shared_out_by_weight_and_fill_each_kernel():
    _, density = case("mixture", {}, 0.01, 4, 1.0, 0)
    points, parents = quasi_draws.quasi_draws(density)
    for k, weight in enumerate(density.weights):
        noise = (points[parents == k] - density.particles[k]) / 0.01
        assert len(noise) == pytest.approx(weight * quasi_draws.NUM_POINTS, abs=1)
        assert np.abs(noise.mean(axis=0)).max() < 10 / len(noise), "far below the 1/sqrt(n) of draws"
        assert np.cov(noise.T) == pytest.approx(np.eye(2), abs=0.02)
