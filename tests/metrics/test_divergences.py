"""Distances between densities, masses of modes and bounds, against closed forms and quadrature."""

import math

import numpy as np
import pytest
from scipy import integrate, stats

import pmdviz
from pmdviz.densities.density import SIDES, Grid, KernelDensity, normalise, side_for
from pmdviz.densities.product import ProductDensity
from pmdviz.engine.recipe import Recipe
from pmdviz.engine.session import Session
from pmdviz.metrics import divergences as quasi_draws
from pmdviz.metrics.predictive import MOST_COORDINATES, knn_entropy, lower_bound
from pmdviz.targets import make_target
from tests.support.engine import NormalTarget, errors_from
from tests.support.tables import looped


def one_kernel(mean, cov):
    return KernelDensity(np.array([mean], float), np.zeros(1), np.linalg.cholesky(np.array(cov, float)))


def measured(target, density):
    return quasi_draws.measure(density, target.exact, quasi_draws.picture(density, target.exact, target.view_box))


def gaussian_kl(mean_p, cov_p, mean_q, cov_q):
    precision, gap = np.linalg.inv(cov_q), np.array(mean_q) - np.array(mean_p)
    logs = np.linalg.slogdet(cov_q)[1] - np.linalg.slogdet(cov_p)[1]
    return 0.5 * (np.trace(precision @ cov_p) + gap @ precision @ gap - len(gap) + logs)


@looped("mean, sd", [(0.3, 0.7), (-1.0, 2.0), (0.0, 0.05), (3.0, 1.0)])
def test_two_gaussians_on_a_line(mean, sd):
    target, q = NormalTarget([0.0], [[1.0]], ((-14.0, 14.0),)), stats.norm(mean, sd)
    found = measured(target, one_kernel([mean], [[sd**2]]))
    gap = integrate.quad(lambda x: abs(stats.norm.pdf(x) - q.pdf(x)), -14, 14, limit=500, points=[mean])[0]
    assert found["tv"] == pytest.approx(0.5 * gap, abs=3e-3)  # one kernel alone is the grid's worst case
    assert found["kl_forward"] == pytest.approx(gaussian_kl([0], [[1]], [mean], [[sd**2]]), abs=1e-5, rel=1e-6)
    assert found["kl_reverse"] == pytest.approx(gaussian_kl([mean], [[sd**2]], [0], [[1]]), abs=1e-5, rel=1e-6)
    entropy = 0.5 * math.log(2 * math.pi * math.e)
    assert found["cross_entropy"] == pytest.approx(found["kl_forward"] + entropy, abs=1e-6)
    assert found["mass_outside"] == pytest.approx(0, abs=1e-9)


def test_mass_outside_counts_in_the_total_variation_and_q_is_never_renormalised():
    target = NormalTarget([0.0], [[0.01]], ((-1.0, 1.0),))
    half = KernelDensity(np.array([[0.0], [5.0]]), np.log([0.5, 0.5]), np.array([[0.1]]))
    found, outside = measured(target, half), measured(target, one_kernel([50.0], [[0.01]]))
    assert [found["mass_outside"], outside["mass_outside"]] == pytest.approx([0.5, 1], abs=1e-6)
    assert [found["tv"], outside["tv"]] == pytest.approx([0.5, 1], abs=1e-6)
    assert found["kl_forward"] == pytest.approx(math.log(2), abs=1e-6)
    assert outside["kl_reverse"] == pytest.approx(50.0**2 / (2 * 0.01), rel=1e-5)
    with_another = KernelDensity(np.array([[0.3], [4.0]]), np.array([0.0, -np.inf]), np.array([[0.8]]))
    wide = NormalTarget([0.0], [[1.0]], ((-10.0, 10.0),))  # where a particle without weight does not count
    assert measured(wide, with_another) == pytest.approx(measured(wide, one_kernel([0.3], [[0.64]])))


@looped("draws, kernel", [(500, 0.1), (50, 0.3)])
def test_the_total_variation_alone_is_that_of_all_metrics(draws, kernel):
    target = make_target("mixture", num_data=100)
    particles = np.random.default_rng(draws).normal(size=(draws, 2)) * 4  # some of it outside the box
    density = KernelDensity(particles, np.full(draws, -np.log(draws)), kernel * np.eye(2))
    drawn = quasi_draws.picture(density, target.exact, target.view_box)
    assert quasi_draws.total_variation(drawn) == pytest.approx(quasi_draws.compare(drawn)["tv"], rel=1e-12)


@looped("far", [3.0, 9.0, 40.0])
@looped("dim", [1, 2])
def test_where_q_underflows_its_logarithm_is_exact(far, dim):
    mean, cov, cov_p = 0.2 * far / 8 * np.eye(dim)[0], 0.04 * np.eye(dim), 0.25 * np.eye(dim)
    target = NormalTarget([0.0] * dim, cov_p, ((-4.0, 4.0),) * dim)
    q = KernelDensity(np.array([mean, mean]), np.log([0.25, 0.75]), np.linalg.cholesky(cov))
    expected = gaussian_kl([0.0] * dim, cov_p, mean, cov)
    assert measured(target, q)["kl_forward"] == pytest.approx(expected, rel=1e-6)


def test_the_grid_is_as_coarse_as_it_may_be_and_its_cells_fill_its_box():
    grid = Grid(((-1.0, 3.0), (0.0, 1.0)), 10)
    assert grid.shape == (10, 10) and grid.points.shape == (100, 2) and grid.cell_volume == pytest.approx(0.04)
    assert [*grid.axes[0][[0, -1]], *grid.axes[1][[0, -1]]] == pytest.approx([-0.8, 2.8, 0.05, 0.95])
    assert np.array_equal(grid.points[:10, 0], grid.axes[0]), "theta1 runs along the rows"
    assert [side_for(2, 1 / s) for s in (1, 150, 161, 639, 641)] == [160, 160, 224, 640, None]
    assert side_for(1, 1.0) == SIDES[1][0]
    cells = np.exp(-0.5 * (np.arange(-40, 41) + 0.3) ** 2) / np.sqrt(2 * np.pi)
    assert cells.sum() == pytest.approx(1, abs=6e-9), "a Gaussian on cells as wide as its sd"


@pytest.mark.parametrize("dim, sd", [(1, 0.002), (2, 0.02)])
def test_the_grid_resolves_a_posterior_narrower_than_the_kernel(dim, sd):
    p, q = ([0.0013] * dim, sd**2 * np.eye(dim)), ([0.0] * dim, np.eye(dim))
    found = measured(NormalTarget(*p, ((-3.0, 3.0),) * dim), one_kernel(*q))
    assert found["kl_forward"] == pytest.approx(gaussian_kl(*p, *q), rel=1e-4)


def test_a_kernel_too_narrow_for_any_grid_is_widened_for_the_picture_only():
    target = make_target("mixture")
    needle = one_kernel([1.0, -2.0], 1e-10 * np.eye(2))
    shown = quasi_draws.picture(needle, target.exact, target.view_box)
    assert not shown.resolved and shown.q.sum() * shown.grid.cell_volume == pytest.approx(1, abs=0.02)
    cell = shown.grid.extent.max() / shown.grid.side
    assert cell < shown.density.narrowest(np.ones(2)) < 2 * cell
    found = quasi_draws.measure(needle, target.exact, shown)
    assert found["tv"] == pytest.approx(1, abs=1e-6) and found["kl_forward"] > 1e6


@looped("dim", [1, 2])
@looped("sd", [1e-4, 1e-6])
def test_a_kernel_too_narrow_for_every_grid_is_measured_all_the_same(dim, sd):
    p, q = ([0.2] * dim, 0.5 * np.eye(dim)), ([0.1] * dim, sd**2 * np.eye(dim))
    found = measured(NormalTarget(*p, ((-6.0, 6.0),) * dim), one_kernel(*q))
    assert found["kl_reverse"] == pytest.approx(gaussian_kl(*q, *p), rel=1e-4)
    assert found["kl_forward"] == pytest.approx(gaussian_kl(*p, *q), rel=1e-2)
    entropy = 0.5 * dim * math.log(2 * math.pi * math.e * 0.5)
    assert found["cross_entropy"] - found["kl_forward"] == pytest.approx(entropy, abs=1e-2)
    assert found["tv"] == pytest.approx(1, abs=1e-3) and found["mass_outside"] == pytest.approx(0, abs=1e-9)


@looped("mean", [2.0, 3.5, 4.0, 9.0])
def test_a_gaussian_across_the_edge_of_the_box_has_its_closed_form(mean):
    found = measured(NormalTarget([0.0], [[0.25]], ((-4.0, 4.0),)), one_kernel([mean], [[0.25]]))
    assert found["kl_reverse"] == pytest.approx(mean**2 / (2 * 0.25), rel=1e-3)
    assert found["mass_outside"] == pytest.approx(0.5 * math.erfc((4 - mean) / (0.5 * 2**0.5)), abs=1e-5)


def test_the_part_outside_is_a_wider_grids_less_the_grids_own(m=30):
    target, rng = make_target("banana"), np.random.default_rng(m)
    particles = rng.normal(size=(m, 2)) * 1.2
    density = KernelDensity(particles, normalise(rng.normal(size=m)), 0.2 * np.eye(2))
    grid = quasi_draws.picture(density, target.exact, target.view_box).grid
    wide = Grid(tuple((low - 3, high + 3) for low, high in target.view_box), 910)  # its cells end where the box ends
    q, log_q, log_p = density.on_grid(wide), density.log_density(wide.points), target.exact.log_density(wide.points)
    whole = np.where(q.ravel() > 0, q.ravel() * (log_q - log_p), 0.0)
    outside = (whole * ~grid.holds(wide.points)).sum() * wide.cell_volume
    assert quasi_draws.reverse_outside(density, target.exact, [grid]) == pytest.approx(outside, rel=0.05)
    assert measured(target, density)["kl_reverse"] == pytest.approx(whole.sum() * wide.cell_volume, rel=2e-3)


def test_the_forward_kl_has_what_the_view_box_leaves_out_of_the_posterior():
    """The banana's tip, 1.4e-5 of its mass, lies outside the view box: 2 % of the forward KL after 30 steps."""
    session = Session(Recipe("banana", seed=1, budget=None), metrics_every=10**6)
    session.advance(30)
    density, target = session.frame.density, session.target
    wide = Grid(tuple((low - 2, high + 2) for low, high in target.exact.box), 500)
    log_p = target.exact.log_density(wide.points)
    p, log_q = np.exp(log_p), density.log_density(wide.points)
    expected = (p * (log_p - log_q)).sum() * wide.cell_volume
    found = measured(target, density)
    inside = quasi_draws.compare(quasi_draws.picture(density, target.exact, target.view_box))
    assert abs(found["kl_forward"] - expected) < 0.2 * abs(inside["kl_forward"] - expected)
    assert found["kl_forward"] == pytest.approx(expected, rel=3e-3)
    assert found["cross_entropy"] == pytest.approx(-(p * log_q).sum() * wide.cell_volume, rel=1e-3)


@pytest.mark.parametrize("box", [(0.0, 6.0), (-2.0, 6.0)], ids=["a box that ends there", "a wider box"])
def test_mass_where_the_posterior_has_none_is_an_infinite_reverse_kl(box):
    target = pmdviz.custom_target(
        log_prior=lambda theta: np.where(theta[:, 0] > 0, -theta[:, 0], -np.inf),
        log_likelihood=lambda theta, batch: -0.5 * ((theta - batch[:, 0]) ** 2).sum(axis=1),
        sample_prior=lambda rng, m: rng.exponential(size=(m, 1)),
        data=np.full((4, 1), 0.5), dim=1, name="half_line", bounds=[box],
    )  # fmt: skip
    found = measured(target, one_kernel([0.2], [[0.09]]))
    assert found["kl_reverse"] == math.inf and 0 < found["tv"] < 1


APART = {"data_seed": 3, "num_data": 400, "sigma_x": 1.5}


@pytest.mark.parametrize("options", [{}, APART])
def test_masses_of_draws_of_the_posterior_are_those_of_its_basins(options):
    target = make_target("mixture", **options)
    draws = target.exact.sample(np.random.default_rng(0), 20_000)
    density = KernelDensity(draws, np.full(len(draws), -np.log(len(draws))), 0.02 * np.eye(2))
    masses, exact = np.array(quasi_draws.modes(target).masses_of(density)), quasi_draws.modes(target).masses
    errors = np.sqrt(exact * (1 - exact) / len(draws))
    assert (np.abs(masses - exact) < 4 * errors + 1e-3).all()


def test_narrow_kernels_are_not_lost_and_one_dimension_may_have_one_mode():
    found = quasi_draws.modes(make_target("mixture", **APART))
    assert len(found.peaks) == 2 and found.peaks[0, 0] < found.peaks[1, 0] and abs(found.masses.sum() - 1) < 1e-3
    needle = KernelDensity(found.peaks[:1] + 0.0123, np.zeros(1), 1e-6 * np.eye(2))
    assert found.masses_of(needle)[0] == pytest.approx(1, abs=1e-3)
    half = KernelDensity(np.array([found.peaks[0], [6.0, 6.0]]), np.log([0.3, 0.7]), 0.05 * np.eye(2))
    assert found.masses_of(half) == pytest.approx([0.3, 0.0], abs=1e-3)
    assert quasi_draws.modes(make_target("gaussian")).masses == pytest.approx([1], abs=1e-6)
    two = quasi_draws.modes(make_target("bimodal1d"))
    assert two.peaks[:, 0] == pytest.approx([-1.28, 1.28], abs=0.02)
    assert two.masses == pytest.approx([0.5, 0.5], abs=1e-6)


def test_watershed_by_hand_and_a_ridge_across_the_cells_is_one_mode():
    line = np.array([0.0, 3.0, 1.0, 1.5, 1.2, 5.0, 2.0, -9.0])  # 1.5 rises half a nat above its pass
    found = quasi_draws.watershed(line, -5.0).tolist()
    assert found[:3] == [1] * 3 and found[3:5] in ([1, 1], [0, 0]) and found[5:] == [0, 0, quasi_draws.NOWHERE]
    assert quasi_draws.watershed(line[::-1], -5.0)[3] == 0
    at = np.linspace(-4, 4, 81)
    x, y = np.meshgrid(at, at)
    log_p = -0.5 * ((x + y) / 3) ** 2 - 0.5 * ((x - y * 0.83) / 0.12) ** 2  # cells are 0.8 of its narrow sd
    beside = [log_p[1:-1, :-2], log_p[1:-1, 2:], log_p[:-2, 1:-1], log_p[2:, 1:-1]]
    assert (log_p[1:-1, 1:-1] > np.max(beside, 0)).sum() > 3
    assert quasi_draws.watershed(log_p, log_p.max() - 20).max() == 0


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
    draws = (sd * rng.standard_normal((n, len(block))) for block in blocks)
    return ProductDensity(blocks, tuple(KernelDensity(x, np.full(n, -np.log(n)), np.eye(x.shape[1])) for x in draws))


@pytest.mark.parametrize("rho, narrow", [(0.0, 1.0), (0.6, 1.0), (0.9, 1.0), (0.0, 0.5)])
def test_the_bound_of_the_best_mean_field_and_it_falls_where_q_is_too_narrow(rho, narrow):
    """q* has variances 1 - rho^2, its bound is log(1 - rho^2) / 2; of N(0, s^2 I) it is -(s^2 - 1 - 2 log s)."""
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
    for found in (quasi_draws.by_points(density, target.exact), measured(target, density)):
        assert abs(found["tv"] - tv) < 0.003 and abs(found["kl_reverse"] - reverse) < 5 * error + 0.01


def test_the_points_are_shared_out_by_weight_and_fill_each_kernel():
    _, density = case("mixture", {}, 0.01, 4, 1.0, 0)
    points, parents = quasi_draws.quasi_draws(density)
    for k, weight in enumerate(density.weights):
        noise = (points[parents == k] - density.particles[k]) / 0.01
        assert len(noise) == pytest.approx(weight * quasi_draws.NUM_POINTS, abs=1)
        assert np.abs(noise.mean(axis=0)).max() < 10 / len(noise), "far below the 1/sqrt(n) of draws"
        assert np.cov(noise.T) == pytest.approx(np.eye(2), abs=0.02)
