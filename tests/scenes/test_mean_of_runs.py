import numpy as np
import pytest

from pmdviz.engine.recipe import Recipe
from pmdviz.engine.session import Session
from pmdviz.scenes.stage import SCENES
from pmdviz.scenes.stage.components import RUNS, frames_of

RECIPE = Recipe(num_particles=80, budget=3_000)
SCENE = SCENES["mean_of_runs"]


def test_the_mean_is_of_runs_with_ten_seeds_at_the_same_iteration_also_after_going_back():
    session = Session(RECIPE.replaced(seed=77))
    for iteration in (3, 6, 2):
        frame = session.seek(iteration)
        frames = frames_of(frame)
        assert [each.iteration for each in frames] == [iteration] * RUNS
        alone = Session(RECIPE.replaced(seed=4)).advance(iteration)
        assert np.array_equal(frames[4].particles, alone.particles)
    assert len({frame.particles.tobytes() for frame in frames}) == RUNS


def test_the_picture_is_brightest_where_the_mean_is_highest_and_is_a_curve_in_one_dimension():
    columns = SCENE.columns(Session(RECIPE).advance(4), (0, 1))
    assert columns.image is not None and len(columns.areas["x"]) and len(columns.approximate["x"])
    flat = Session(Recipe("bimodal1d", num_particles=80, budget=3_000)).advance(4)
    columns = SCENE.columns(flat, (0, 1))
    area = np.trapezoid(columns.approximate["y"], columns.approximate["x"])
    assert columns.image is None and area == pytest.approx(1, abs=0.05) and columns.top > 0
