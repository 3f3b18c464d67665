"""The picture of a product of blocks: ticks at each block's own particles, q against the joint, correlations."""

import numpy as np

from pmdviz.engine.recipe.recipe import Recipe
from pmdviz.engine.session import Session
from pmdviz.scenes.stage import SCENES, square
from tests.support.tables import looped

SCENE = SCENES["blocks"]


def frame_of(target="correlated_gaussian", steps=30, options=(), **knobs):
    recipe = Recipe(target, "pmfvb", target_options=dict(options), budget=None, num_particles=60, **knobs)
    return Session(recipe, metrics_every=10**9).advance(steps)


@looped("pair", [(0, 1), (1, 2), (2, 1)])
def test_ticks_stand_at_the_particles_of_each_block_on_its_own_axis(pair):
    frame = frame_of(options={"dim": 3}, grouping="single", step_size=0.1)
    (left, right), (low, high) = square(frame.target.view_box, pair)
    paths = SCENE.columns(frame, pair).paths
    length = 0.03 * (high - low)
    upright = paths["x0"] == paths["x1"]
    np.testing.assert_array_equal(paths["x0"][upright], frame.particles[:, pair[0]].astype(np.float32))
    np.testing.assert_array_equal(paths["y0"][~upright], frame.particles[:, pair[1]].astype(np.float32))
    np.testing.assert_allclose(paths["y1"][upright] - low, length, rtol=1e-5)
    np.testing.assert_allclose(paths["x1"][~upright] - left, length, rtol=1e-5)
    assert (paths["y0"][upright] == np.float32(low)).all() and (paths["x0"][~upright] == np.float32(left)).all()


def test_particles_beyond_the_box_have_no_tick():
    frame = frame_of(steps=1, grouping="single", step_size=10.0)
    box = np.array(square(frame.target.view_box, (0, 1)))
    inside = (frame.particles >= box[:, 0]) & (frame.particles <= box[:, 1])
    assert 0 < inside.sum() < 120
    assert len(SCENE.columns(frame, (0, 1)).paths["x0"]) == inside.sum()


def test_words_tell_what_is_lost_between_blocks_and_what_is_kept_within():
    options = {"dim": 4, "correlation": 0.8}
    apart = SCENE.columns(frame_of(options=options), (0, 2))
    assert apart.words.text == ("correlation 0.00; two blocks, 0 under q",)
    single = SCENE.columns(frame_of(options=options, grouping="single"), (0, 1))
    assert single.words.text == ("correlation 0.80; two blocks, 0 under q",)
    frame = frame_of(options=options)
    within = SCENE.columns(frame, (0, 1))
    found = np.sqrt(frame.density.cov[0, 0] * frame.density.cov[1, 1])
    assert within.words.text == (f"correlation 0.80; one block, {frame.density.cov[0, 1] / found:.2f} under q",)
    assert len(within.paths["x0"]) == 0, "its dots are its particles"
