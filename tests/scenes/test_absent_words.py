"""What the pictures write where there is little to say."""

from types import SimpleNamespace

import numpy as np

from pmdviz.metrics import METRICS
from pmdviz.scenes.race_difference import Difference
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
