"""Maps of the signs of a net's weights: each hidden unit's pixels are where the first layer has them."""

import numpy as np
import pytest

from pmdviz.engine.recipe.recipe import Recipe
from pmdviz.engine.session import Session
from pmdviz.scenes.stage import SCENES

SCENE = SCENES["weight_signs"]


@pytest.fixture(scope="module")
def frame():
    options = {"num_data": 60, "hidden": 11}
    return Session(Recipe("binary_net", "straight_through", target_options=options, num_particles=3)).advance(3)


def test_an_image_is_the_weights_of_one_unit(frame):
    columns = SCENE.columns(frame, (0, 1))
    cells = columns.image.values[::-1]
    assert cells.shape == (2 * 17 + 6, 71)  # two rows of eight images of 8 x 8, and as many below them
    mean = 0.5 * (1 + frame.density.mean[: 64 * 11].reshape(8, 8, 11))
    for unit in (0, 1, 7, 8, 10):
        row, column = 9 * (unit // 8), 9 * (unit % 8)
        np.testing.assert_allclose(cells[row : row + 8, column : column + 8], mean[:, :, unit], atol=1e-6)
        one = frame.particles[-1][: 64 * 11].reshape(8, 8, 11)[:, :, unit]
        below = cells[23 + row : 23 + row + 8, column : column + 8]
        np.testing.assert_array_equal(below, (one > 0).astype(np.float32))
    assert np.isnan(cells[8]).all() and np.isnan(cells[9:17, 27:71]).all()


def test_the_words_are_the_accuracies_and_lie_within_the_axes(frame):
    words, ((left, right), (low, high)) = SCENE.columns(frame, (0, 1)).words, SCENE.ranges(frame.target, (0, 1), 0)
    together, alone = frame.metrics["accuracy"], frame.metrics["single_accuracy"]
    assert words.text == (f"together {together:.1%} right", f"each alone {alone:.1%}")
    assert (left < words.x).all() and (words.x < right).all() and (low < words.y).all() and (words.y < high).all()
