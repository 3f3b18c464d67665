"""Weights before and after: a dot's area is the weight now, a ring's the importance weight, around the same point."""

import numpy as np

from pmdviz.engine.recipe.recipe import Recipe
from pmdviz.engine.session import Session
from pmdviz.scenes.stage import SCENES
from pmdviz.scenes.stage.reweighting import CORNERS, FRAME, INK, LARGEST, diameters
from tests.support.tables import looped

SCENE = SCENES["reweighting"]


def frame_of(steps=3, **options):
    session = Session(Recipe("gmm", "black_box_is", target_options=options, num_particles=40), metrics_every=10**9)
    return session.advance(steps)


def test_areas_are_weights_up_to_the_largest():
    weights = np.array([0.0, 0.01, 0.04, 1.0])
    np.testing.assert_allclose(diameters(weights), [0, 0.1 * INK**0.5, 0.2 * INK**0.5, LARGEST], rtol=1e-6)


@looped("dim, pair", [(1, (0, 1)), (2, (0, 1)), (4, (3, 1))])
def test_rings_are_importance_weights_around_the_dots(dim, pair):
    frame = frame_of(dim=dim)
    columns = SCENE.columns(frame, pair)
    before = frame.method.before(frame.state)
    kept = diameters(before) > 0
    x, y = (columns.paths[name].reshape(-1, CORNERS) for name in ("x0", "y0"))
    dots = columns.particles
    wide, high = (b - a for a, b in SCENE.ranges(frame.target, pair, columns.top))
    for found, name, side in ((x, "x", wide), (y, "y", high)):
        np.testing.assert_allclose(found.mean(axis=1), dots[name][kept], atol=1e-4 * side)
        np.testing.assert_allclose(np.ptp(found, axis=1), diameters(before)[kept] * side / FRAME, atol=1e-4 * side)
    np.testing.assert_array_equal(dots["size"], diameters(frame.weights))
    np.testing.assert_array_equal(columns.paths["x1"].reshape(-1, CORNERS)[:, :-1], x[:, 1:])
