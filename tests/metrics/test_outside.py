"""What lies outside the grid counts in both KLs: against closed forms, sums over wider grids and many draws."""

import math

import numpy as np
import pytest

import pmdviz
from pmdviz.densities.density import KernelDensity, normalise
from pmdviz.densities.grid import Grid
from pmdviz.engine.recipe import Recipe
from pmdviz.engine.session import Session
from pmdviz.metrics.divergences import compare, measure, picture, reverse_outside
from pmdviz.targets import make_target
from tests.support.engine import NormalTarget
from tests.support.tables import looped


def measured(target, density):
    return measure(density, target.exact, picture(density, target.exact, target.view_box))


@pytest.mark.parametrize("mean", [2.0, 3.5, 4.0, 9.0])
def test_a_gaussian_across_the_edge_of_the_box_has_its_closed_form(mean):
    target = NormalTarget([0.0], [[0.25]], ((-4.0, 4.0),))
    found = measured(target, KernelDensity(np.array([[mean]]), np.zeros(1), np.array([[0.5]])))
    assert found["kl_reverse"] == pytest.approx(mean**2 / (2 * 0.25), rel=1e-3)
    assert found["mass_outside"] == pytest.approx(0.5 * math.erfc((4 - mean) / (0.5 * 2**0.5)), abs=1e-5)


@looped("num_data, sigma, iteration", [(100, 2.0, 0), (400, 1.5, 1)])
def test_the_reverse_kl_of_a_first_step_is_that_of_many_draws(num_data, sigma, iteration):
    recipe = Recipe("mixture", target_options={"num_data": num_data, "sigma_x": sigma}, seed=0, budget=None)
    session = Session(recipe, metrics_every=10**6)
    session.advance(iteration)
    frame, exact = session.frame, session.target.exact
    points = frame.density.sample(np.random.default_rng(1), 200_000)
    values = frame.density.log_density(points) - exact.log_density(points)
    error = values.std() / np.sqrt(len(values))
    assert frame.metrics["mass_outside"] > 1e-4
    assert abs(frame.metrics["kl_reverse"] - values.mean()) < 4 * error + 1e-3 * values.mean()


def test_the_part_outside_is_a_wider_grids_less_the_grids_own(m=30):
    target, rng = make_target("banana"), np.random.default_rng(m)
    particles = rng.normal(size=(m, 2)) * 1.2
    density = KernelDensity(particles, normalise(rng.normal(size=m)), 0.2 * np.eye(2))
    drawn = picture(density, target.exact, target.view_box)
    wide = Grid(
        tuple((low - 3, high + 3) for low, high in target.view_box), 910
    )  # edges of cells along those of the view box
    q, log_q, log_p = density.on_grid(wide), density.log_density(wide.points), target.exact.log_density(wide.points)
    whole = np.where(q.ravel() > 0, q.ravel() * (log_q - log_p), 0.0)
    outside = (whole * ~drawn.grid.holds(wide.points)).sum() * wide.cell_volume
    assert reverse_outside(density, target.exact, [drawn.grid]) == pytest.approx(outside, rel=0.05)
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
    data = np.full((4, 1), 0.5)
    target = pmdviz.custom_target(
        log_prior=lambda theta: np.where(theta[:, 0] > 0, -theta[:, 0], -np.inf),
        log_likelihood=lambda theta, batch: -0.5 * ((theta - batch[:, 0]) ** 2).sum(axis=1),
        sample_prior=lambda rng, m: rng.exponential(size=(m, 1)),
        data=data,
        dim=1,
        name="half_line",
        bounds=[box],
    )
    found = measured(target, KernelDensity(np.array([[0.2]]), np.zeros(1), np.array([[0.3]])))
    assert found["kl_reverse"] == math.inf and 0 < found["tv"] < 1
