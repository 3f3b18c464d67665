"""The surrogate's picture: dashes against the formula, dots by their weight, and targets on the way."""

import numpy as np

from pmdviz.engine.recipe.recipe import Recipe
from pmdviz.engine.session import Session
from pmdviz.scenes.stage import SCENES
from pmdviz.scenes.stage.surrogate import SMALLEST
from tests.support.tables import looped

SCENE = SCENES["surrogate"]


def frame_of(steps=3, options=(), **knobs):
    recipe = Recipe("gmm", "gf_svgd", target_options=dict(options), budget=None, num_particles=50, **knobs)
    return Session(recipe, metrics_every=10**9).advance(steps)


def test_in_one_dimension_the_dashes_are_the_surrogate_s_density_and_the_way_is_there():
    options = {"dim": 1, "q0_sd": 3.0}
    frame = frame_of(options=options, surrogate="gaussian", surrogate_sd=0.5, annealing="on", num_temperatures=9)
    columns = SCENE.columns(frame, (0, 1))
    x, y = columns.approximate["x"].astype(float), columns.approximate["y"]
    np.testing.assert_allclose(y, np.exp(-0.5 * (x / 1.5) ** 2) / np.sqrt(2 * np.pi * 1.5**2), atol=1e-3)
    assert np.isnan(columns.prior["x"]).sum() >= 8 and "β = 0.33" in columns.words.text[0]


def test_a_dot_s_area_is_its_weight_in_the_last_step():
    frame = frame_of(surrogate="prior")
    columns, ratios = SCENE.columns(frame, (0, 1)), frame.method.ratios(frame.state)
    np.testing.assert_allclose(columns.particles["weight"], ratios, rtol=1e-6)
    between = (columns.particles["size"] > SMALLEST) & (columns.particles["size"] < 20)
    squares = columns.particles["size"][between] ** 2 / ratios[between]
    np.testing.assert_allclose(squares, squares.mean(), rtol=1e-4)
    ess = 1 / (ratios**2).sum()
    assert columns.words.text == (f"ESS of ρ/p: {ess:.3g} of 50",)


@looped("surrogate", ["prior", "moments", "kernels", "flat"])
def test_above_two_dimensions_it_is_a_marginal(surrogate):
    frame = frame_of(options={"dim": 4}, surrogate=surrogate)
    lines = SCENE.columns(frame, (2, 0)).approximate
    assert (len(lines["x"]) == 0) == (surrogate == "flat")
    assert surrogate != "moments" or np.nanmax(np.abs(lines["x"])) > 3
