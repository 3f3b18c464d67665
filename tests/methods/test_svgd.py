"""SVGD: the formula of its step, the mean that is exact, the variance that is too small by a known factor."""

import numpy as np
import pytest

from pmdviz.engine.recipe.recipe import Recipe
from pmdviz.engine.session import Session
from pmdviz.kernels.distances import median_distance
from pmdviz.kernels.svgd import stein_force
from pmdviz.methods import METHODS
from pmdviz.methods.stein.widths import distance_in_modes, squared_width
from pmdviz.targets import make_target
from tests.support.engine import errors_from

SVGD = METHODS["svgd"]
LINE = {"dim": 1, "num_data": 20}  # posterior variance 1/6
PASS = {"batch_size": 20, "budget": None}  # all data a step: a deterministic flow
SEPARATED = {"num_data": 400, "sigma_x": 1.5}


def run(steps, target="gaussian", **parts):
    session = Session(Recipe(target, "svgd", **{**PASS, **parts}), metrics_every=10**9)
    session.advance(steps)
    return session


def test_a_step_is_the_force_scaled_by_the_optimiser():
    target, knobs = make_target("mixture", num_data=50), SVGD.Knobs.checked({"num_particles": 30, "batch_size": 10})
    state, batch = SVGD.init(np.random.default_rng(0), target, knobs), target.data[:10]
    after, info = SVGD.step(np.random.default_rng(1), state, target, batch, knobs)
    h = squared_width(state.particles, knobs, target)
    force = stein_force(state.particles, target.grad_log_joint(state.particles, batch), h)
    np.testing.assert_allclose(after.particles - state.particles, info.step_size * np.sign(force), atol=1e-6)
    assert info.gradient_evaluations == 300 and info.step_size == pytest.approx(10 / 101)


def test_adagrad_slows_down_by_the_sum_of_squares():
    session = run(1, optimiser="adagrad", num_particles=20)
    first = session.frame.state.second
    second = session.advance().state.second
    assert (second > first).all()
    force_squared = second - first
    moved = np.abs(session.frame.particles - session.seek(1).particles)
    np.testing.assert_allclose(moved, min(1, 100 / 102) * np.sqrt(force_squared / second), rtol=1e-6)


@pytest.mark.parametrize("rule", ["liu_wang", "median", "local", "given"])
def test_the_width_is_what_its_rule_says(rule):
    rng, target = np.random.default_rng(0), make_target("gaussian")
    particles = rng.normal(size=(400, 2))
    knobs = SVGD.Knobs.checked({"length_scale_rule": rule, "median": "exact", "length_scale": 0.7})
    squared = median_distance(particles) ** 2
    expected = {"liu_wang": squared / np.log(401), "median": squared, "given": 0.49}
    h = squared_width(particles, knobs, target)
    if rule == "local":  # on one Gaussian what liu_wang gives
        assert h == pytest.approx(expected["liu_wang"], rel=0.15)
    else:
        assert h == pytest.approx(expected[rule], rel=1e-12)


def test_the_local_width_does_not_see_the_gap_between_modes():
    rng = np.random.default_rng(0)
    one = rng.normal(size=(1500, 2))
    two = one + np.where(rng.random(1500) < 0.5, 20.0, -20.0)[:, None]
    assert distance_in_modes(two, np.ones(2)) < 1.5 * distance_in_modes(one, np.ones(2))


def test_two_particles_settle_where_the_formula_says():
    """On N(0, v) with h = med^2 / log 3 and med = 2a: force 0 at exp(4 a^2 / h) = 1 + 4 v / h: a^2 = v log(3) / 2."""
    session = run(600, num_particles=2, length_scale_rule="liu_wang", target_options=LINE, eta=20, n0=200)
    exact = session.target.exact
    half = 0.5 * np.ptp(session.frame.particles)
    assert half**2 == pytest.approx(exact.cov[0, 0] * np.log(3) / 2, rel=1e-3)
    assert session.frame.particles.mean() == pytest.approx(exact.mean[0], abs=1e-3)


def test_two_particles_under_a_given_width_settle_where_the_formula_says():
    """a^2 = (h / 4) log(1 + 4 v / h)."""
    rule = {"length_scale_rule": "given", "length_scale": 0.5}
    session = run(600, num_particles=2, target_options=LINE, eta=20, n0=200, **rule)
    v = session.target.exact.cov[0, 0]
    assert (0.5 * np.ptp(session.frame.particles)) ** 2 == pytest.approx(0.0625 * np.log(1 + 4 * v / 0.25), rel=1e-3)


def test_a_hundred_particles_have_the_mean_and_too_small_a_variance():
    """The fixed point's identity sum_ij k_ij (x_i - mean).(x_j - mean) / v = sum_ij k_ij |x_i - x_j|^2 / h."""
    ratios = []
    for seed in range(4):
        knobs = {"num_particles": 100, "length_scale_rule": "liu_wang", "median": "exact", "n0": 50}
        session = run(3000, seed=seed, target_options=LINE, **knobs)
        x, exact, v = session.frame.particles[:, 0], session.target.exact, session.target.exact.cov[0, 0]
        assert x.mean() == pytest.approx(exact.mean[0], abs=0.01 * np.sqrt(v))
        h = squared_width(session.frame.particles, session.knobs, session.target)
        differences, centred = x[:, None] - x, x - exact.mean[0]
        k = np.exp(-(differences**2) / h)
        drive = (k * np.outer(centred, centred)).sum() / v
        assert drive == pytest.approx((k * differences**2).sum() / h, rel=0.01)
        ratios.append(x.var() / v)
    assert np.mean(ratios) == pytest.approx(0.962, abs=0.02), "measured independently: 0.962 for 100 particles in 1-D"


def test_with_minibatches_the_mean_is_right_on_average():
    means, exact = [], make_target("gaussian", **LINE).exact
    for seed in range(20):
        session = run(400, seed=seed, batch_size=5, num_particles=50, target_options=LINE)
        means.append(session.frame.particles.mean())
    assert abs(errors_from(means, exact.mean[0])) < 4


@pytest.mark.slow
def test_it_finds_both_modes_and_the_shape_that_a_gaussian_cannot():
    found = []
    for seed in range(3):
        parts = {"target_options": SEPARATED, "num_particles": 300, "batch_size": 20, "budget": 20_000, "seed": seed}
        frame = run(10**6, "mixture", **parts).frame
        share = (frame.particles[:, 1] > 0).mean()
        assert 0.3 < share < 0.7
        found.append(frame.metrics["tv"])
    assert np.mean(found) < 0.25
