"""Leaders and followers: dots by log weight, leaders where they stand, cells by how the last step stretches space."""

import numpy as np
import pytest

from pmdviz.engine.recipe.recipe import Recipe
from pmdviz.engine.session import Session
from pmdviz.scenes.stage import SCENES
from pmdviz.scenes.stage.followers import LARGEST, NATS, SIDE, SMALLEST, log_sizes
from tests.support.tables import looped

SCENE = SCENES["followers"]


def frame_of(steps=6, **options):
    knobs = {"num_particles": 50, "num_leaders": 30, "num_pilots": 20}
    session = Session(Recipe("gmm", "steinis", target_options=options, budget=None, **knobs), metrics_every=10**9)
    return session.advance(steps)


def test_a_dot_is_as_wide_as_its_log_weight_says():
    weights = np.exp(-np.array([0.0, NATS / 2, NATS, 3 * NATS, np.inf]))
    middle = (SMALLEST + LARGEST) / 2
    np.testing.assert_allclose(log_sizes(weights), [LARGEST, middle, SMALLEST, SMALLEST, SMALLEST], rtol=1e-6)


@looped("dim, pair", [(1, (0, 1)), (2, (0, 1)), (4, (3, 1))])
def test_leaders_stand_where_they_are(dim, pair):
    frame = frame_of(dim=dim)
    columns, leaders = SCENE.columns(frame, pair), frame.state.leaders.astype(np.float32)
    np.testing.assert_array_equal(columns.others["x"], leaders[:, pair[0]])
    np.testing.assert_array_equal(columns.others["y"], leaders[:, pair[1]] if dim > 1 else 0 * leaders[:, 0])
    np.testing.assert_array_equal(columns.particles["size"], log_sizes(frame.weights.astype(np.float32)))
    assert len(columns.paths["x0"]) or dim == 1


def test_cells_are_the_determinants_of_the_last_step():
    frame = frame_of()
    image = SCENE.columns(frame, (0, 1)).image
    (left, right), (low, high) = image.x, image.y
    for row, column in ((0, 0), (20, 30), (47, 5)):
        point = np.array([[left + (right - left) * (column + 0.5) / SIDE, low + (high - low) * (row + 0.5) / SIDE]])
        log_det = frame.method.stretch(frame.state, frame.knobs, frame.target, point)[0]
        assert np.sign(np.rint(1e3 * (image.values[row, column] - 0.5))) in (0.0, np.sign(log_det))
    assert np.abs(image.values - 0.5).max() == pytest.approx(0.5)
    assert SCENE.columns(frame_of(0), (0, 1)).image is None and SCENE.columns(frame_of(dim=3), (0, 1)).image is None
