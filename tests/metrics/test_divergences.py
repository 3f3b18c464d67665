"""Distances between densities against closed forms and quadrature that know nothing of the engine's grids."""

import math

import numpy as np
import pytest
from scipy import integrate, stats

import pmdviz
from pmdviz.densities.density import SIDES, Grid, KernelDensity, normalise, side_for
from pmdviz.engine.recipe import Recipe
from pmdviz.engine.session import Session
from pmdviz.metrics.divergences import compare, measure, picture, reverse_outside, total_variation
from pmdviz.targets import make_target
from tests.support.engine import NormalTarget
from tests.support.tables import looped


def one_kernel(mean, cov):
    return KernelDensity(np.array([mean], float), np.zeros(1), np.linalg.cholesky(np.array(cov, float)))


def measured(target, density):
    return measure(density, target.exact, picture(density, target.exact, target.view_box))


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


@looped("mean, cov", [([0.5, -0.2], [[0.5, 0.2], [0.2, 0.4]]), ([1.0, 1.0], [[0.04, 0.0], [0.0, 0.5]])])
def test_two_gaussians_in_the_plane(mean, cov):
    cov_p = [[1.0, 0.3], [0.3, 0.6]]
    target, box = NormalTarget([0.0, 0.1], cov_p, ((-9.0, 9.0), (-9.0, 9.0))), 9.0
    found = measured(target, one_kernel(mean, cov))
    assert found["kl_forward"] == pytest.approx(gaussian_kl([0, 0.1], cov_p, mean, cov), abs=1e-4, rel=1e-5)
    assert found["kl_reverse"] == pytest.approx(gaussian_kl(mean, cov, [0, 0.1], cov_p), abs=1e-4, rel=1e-5)
    axis = np.linspace(-box, box, 2001)
    points = np.stack(np.meshgrid(axis, axis), axis=-1)
    p, q = stats.multivariate_normal([0, 0.1], cov_p).pdf(points), stats.multivariate_normal(mean, cov).pdf(points)
    assert found["tv"] == pytest.approx(0.5 * np.abs(p - q).sum() * (axis[1] - axis[0]) ** 2, abs=2e-3)


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
    drawn = picture(density, target.exact, target.view_box)
    assert total_variation(drawn) == pytest.approx(compare(drawn)["tv"], rel=1e-12)


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
    shown = picture(needle, target.exact, target.view_box)
    assert not shown.resolved and shown.q.sum() * shown.grid.cell_volume == pytest.approx(1, abs=0.02)
    cell = shown.grid.extent.max() / shown.grid.side
    assert cell < shown.density.narrowest(np.ones(2)) < 2 * cell
    found = measure(needle, target.exact, shown)
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
    grid = picture(density, target.exact, target.view_box).grid
    wide = Grid(tuple((low - 3, high + 3) for low, high in target.view_box), 910)  # its cells end where the box ends
    q, log_q, log_p = density.on_grid(wide), density.log_density(wide.points), target.exact.log_density(wide.points)
    whole = np.where(q.ravel() > 0, q.ravel() * (log_q - log_p), 0.0)
    outside = (whole * ~grid.holds(wide.points)).sum() * wide.cell_volume
    assert reverse_outside(density, target.exact, [grid]) == pytest.approx(outside, rel=0.05)
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
    found, inside = measured(target, density), compare(picture(density, target.exact, target.view_box))
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
