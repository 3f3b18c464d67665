"""The picture of a mixture's components: ellipses where the Gaussians are, stronger for heavier ones."""

import numpy as np
import pytest

from pmdviz.engine.recipe.recipe import Recipe
from pmdviz.engine.session import Session
from pmdviz.methods import METHODS
from pmdviz.scenes.stage import SCENES
from pmdviz.scenes.stage.components import CORNERS, FAINTEST, MOST
from pmdviz.targets import make_target

SCENE = SCENES["components"]


@pytest.fixture(scope="module", params=[("gaussian", 2, (0, 1)), ("linear", 3, (2, 0))], ids=lambda each: each[0])
def drawn(request):
    target, dim, pair = request.param
    options = {"dim": dim} if target == "linear" else {}
    frame = Session(Recipe(target, "adaptive_is", target_options=options, num_components=6, num_particles=300)).advance(
        4
    )
    return frame, pair, SCENE.columns(frame, pair)


def test_it_is_of_methods_with_components_of_their_own():
    plane = make_target("gaussian")
    assert {name for name, method in METHODS.items() if SCENE.applies(plane, method)} == {"adaptive_is", "npv"}
    assert not SCENE.applies(make_target("bimodal1d"), METHODS["npv"])


def test_the_ellipses_lie_one_and_two_sds_from_the_means(drawn):
    frame, pair, columns = drawn
    mixture = frame.densities["mixture"]
    rows = np.argsort(-mixture.weights, kind="stable")[:MOST]
    x, y = (columns.paths[name].reshape(2, len(rows), CORNERS) for name in ("x0", "y0"))
    sds = np.diagonal(mixture.choleskys, axis1=1, axis2=2)[rows][:, list(pair)]
    mean = mixture.particles[rows][:, list(pair)]
    for k, radius in enumerate((1.0, 2.0)):
        z = np.hypot((x[k] - mean[:, :1]) / sds[:, :1], (y[k] - mean[:, 1:]) / sds[:, 1:])
        np.testing.assert_allclose(z, radius, rtol=2e-3)


def test_the_heavier_the_stronger(drawn):
    frame, _, columns = drawn
    alpha = columns.paths["alpha"].reshape(2, -1, CORNERS)[0, :, 0]
    assert alpha[0] == 1.0 and (np.diff(alpha) <= 0).all() and alpha.min() >= FAINTEST
    assert columns.words.text and columns.words.text[0] == f"{frame.densities['mixture'].weights.max():.0%}"


def test_particles_and_the_exact_posterior_are_there(drawn):
    frame, pair, columns = drawn
    np.testing.assert_array_equal(columns.particles["x"], frame.particles[:, pair[0]].astype(np.float32))
    assert len(columns.exact["x"]) and len(columns.prior["x"])
