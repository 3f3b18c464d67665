"""The ladder: its curves against the closed form, the particles at their temperature, and every log-weight counted."""

import numpy as np
import pytest

from pmdviz.engine.recipe.recipe import Recipe
from pmdviz.engine.session import Session
from pmdviz.methods import METHODS
from pmdviz.scenes.stage import SCENES
from pmdviz.scenes.stage.ladder import HIGH, ROWS, SIDE, temperature_of
from pmdviz.targets import make_target
from tests.support.tables import looped

SCENE = SCENES["ladder"]


def frame_of(target="gaussian", method="ais", steps=12, options=None, **knobs):
    recipe = Recipe(target, method, target_options=options or {}, num_particles=100, budget=10**7, **knobs)
    return Session(recipe, metrics_every=10**9).advance(steps)


@looped("dim", [1, 2])
def test_a_row_is_the_density_of_its_temperature(dim):
    """Of Gaussians it has the precision 1/v + β N/s²."""
    frame = frame_of(options={"dim": dim, "num_data": 6}, num_temperatures=20)
    target, k = frame.target, dim - 1
    columns = SCENE.columns(frame, (k, 1 - k))
    for row in (0, 3, ROWS):
        beta = (row / ROWS) ** 3
        variance = 1 / (1 / target.prior_sd**2 + beta * 6 / 4.0)
        mean = variance * beta * target.data[:, k].sum() / 4.0
        start = 1 + row * (SIDE[dim] + 1)
        x, y = (columns.exact[axis][start : start + SIDE[dim]] for axis in "xy")
        np.testing.assert_allclose((y - row) / HIGH, np.exp(-0.5 * (x - mean) ** 2 / variance), atol=0.02)


def test_particles_stand_at_their_temperature_and_every_weight_is_counted():
    frame = frame_of(num_temperatures=20)
    columns, beta = SCENE.columns(frame, (0, 1)), (12 / 20) ** 3
    assert temperature_of(frame) == pytest.approx(beta)
    row = ROWS * beta ** (1 / 3)
    np.testing.assert_allclose(columns.particles["y"], row - 0.08, rtol=1e-6)
    assert np.array_equal(columns.particles["x"], frame.particles[:, 0].astype(np.float32))
    assert columns.prior["y"].max() == pytest.approx(row + HIGH, rel=1e-6)
    assert columns.words.text[:2] == ("0", "0.016")
    start = 1 + SIDE[1] + 1  # the histogram, behind the curve and its gap
    heights = columns.approximate["y"][start:-1][1:-1:2]
    shares, counts = heights / heights.sum(), np.log(frame.weights * 100)
    edges = np.linspace(-8, 8, 33)
    np.testing.assert_allclose(shares, np.histogram(counts, edges)[0] / 100, atol=1e-6)


def test_on_the_way_back_it_shows_those_that_take_it():
    frame = frame_of(steps=25, num_temperatures=20, sandwich=True)
    assert frame.state.returning and temperature_of(frame) == pytest.approx((15 / 20) ** 3)
    columns = SCENE.columns(frame, (0, 1))
    assert np.array_equal(columns.particles["x"], frame.state.points[:, 0].astype(np.float32))


def test_it_applies_to_all_that_tell_a_temperature():
    gaussian, ising = make_target("gaussian"), make_target("ising")
    fits = {name for name, method in METHODS.items() if SCENE.applies(gaussian, method)}
    assert {"ais", "hais", "stochastic_ais", "smc_mcmc"} <= fits and not fits & {"pmd", "importance", "hmc"}
    assert not SCENE.applies(ising, METHODS["ais"])


def test_above_two_dimensions_prior_and_posterior_are_drawn():
    frame = frame_of("linear", options={"dim": 4, "num_data": 40}, num_temperatures=20)
    y = SCENE.columns(frame, (1, 0)).exact["y"]
    assert np.nanmin(y) >= 0 and np.nanmax(y) == pytest.approx(ROWS + HIGH, rel=1e-6)
    assert not ((y > 1) & (y < ROWS)).any()
