"""What the pictures write where there is little to say."""

from types import SimpleNamespace

import numpy as np

from pmdviz.engine.recipe.recipe import Recipe
from pmdviz.engine.session import Session
from pmdviz.metrics import METRICS
from pmdviz.scenes.race_difference import Difference
from pmdviz.scenes.stage import SCENES
from pmdviz.scenes.stage.components import _shares
from pmdviz.scenes.teaching import diagnosis


def test_entrants_without_a_common_value_have_no_difference_in_words():
    nothing = np.empty(0)
    found = Difference(nothing, nothing, METRICS["tv"], ("one", "other"), "data")
    assert found.words == "" and found.closer == "" and found.reach == 1.0


def test_a_caveat_becomes_a_sentence_with_one_full_stop(monkeypatch):
    monkeypatch.setattr(diagnosis, "diagnose", lambda each, scope: "")
    monkeypatch.setattr(diagnosis, "RunScope", lambda run: None)
    for caveat in ("weights rest on few particles", "weights rest on few particles."):
        run = SimpleNamespace(final=SimpleNamespace(iteration=3, caveat=caveat))
        assert diagnosis.diagnosis_of("two_modes", run) == "Weights rest on few particles."


def test_shares_are_written_once_for_each_place():
    means = np.array([[1.0, 1.0], [-1.0, -1.0], [1.0, 1.001]])
    mixture = SimpleNamespace(weights=np.array([0.5, 0.3, 0.2]), particles=means)
    words = _shares(mixture, np.arange(3), [0, 1], apart=0.1)
    assert words.text == ("50%", "30%")
    np.testing.assert_array_equal(words.x, [1.0, -1.0])


def test_a_picture_of_bands_says_how_many_particles_they_are_of():
    target = {"num_data": 12, "data_seed": 1}
    frame = Session(Recipe("stochastic_volatility", "pmfvb", target_options=target, budget=None), 10**9).advance(1)
    found = SCENES["hidden_path"].columns(frame, (0, 1))
    assert found.drawn == found.num_particles == len(frame.weights)


def test_above_two_dimensions_the_ladder_has_its_two_ends_alone():
    recipe = Recipe("gaussian", "ais", target_options={"dim": 3, "num_data": 6}, num_particles=20, budget=10**7)
    found = SCENES["ladder"].columns(Session(recipe, metrics_every=10**9).advance(3), (0, 1))
    rows = np.split(found.exact["y"], np.flatnonzero(np.isnan(found.exact["y"])))
    assert sum(len(row) > 2 for row in rows) == 2 and not len(found.prior["y"])


def test_in_one_dimension_an_annealed_target_comes_from_its_prior_curve_by_curve():
    options = {"dim": 1, "q0_sd": 3.0}
    recipe = Recipe("gmm", "gf_svgd", target_options=options, budget=None, num_particles=20, annealing="on")
    found = SCENES["surrogate"].columns(Session(recipe, metrics_every=10**9).advance(1), (0, 1)).prior["y"]
    rows = np.split(found, np.flatnonzero(np.isnan(found)))
    curves = [curve[~np.isnan(curve)] for curve in rows if len(curve) > 2]
    assert not np.allclose(curves[0], curves[-1])
