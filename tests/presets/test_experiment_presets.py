import pytest
from joblib import parallel_config

from pmdviz.errors import InputError
from pmdviz.experiments.catalogue import EXPERIMENTS
from pmdviz.experiments.running import run_experiment
from pmdviz.presets.experiments import EXPERIMENT_PRESETS, Expectation, find_experiment_preset


def test_it_has_words_and_knobs_that_differ_from_their_defaults():
    for name in EXPERIMENT_PRESETS:
        preset = find_experiment_preset(name)
        assert preset.name == name and preset.title and preset.question and preset.check
        knobs = EXPERIMENTS[preset.experiment].Knobs
        defaults, chosen = knobs.defaults().as_dict(), knobs.checked(preset.knobs).as_dict()
        assert [each for each in preset.knobs if chosen[each] == defaults[each]] == [], name
    titles = [preset.title for preset in EXPERIMENT_PRESETS.values()]
    assert titles and len(set(titles)) == len(titles)
    with pytest.raises(InputError, match="unknown preset of an experiment"):
        find_experiment_preset("descents")


@pytest.mark.nightly
@pytest.mark.parametrize("name", EXPERIMENT_PRESETS)
def test_it_shows_what_it_is_about(name):
    preset = find_experiment_preset(name)
    with parallel_config("threading"):
        found = run_experiment(preset.experiment, preset.knobs, workers=1)
    assert not found.failed and preset.failures(found.summary) == []


def test_what_does_not_hold_is_said():
    summary = [{"h": 1, "rate": 0.5, "word": "yes"}, {"h": 2, "rate": float("nan"), "word": "no"}]
    assert Expectation({"rate": [0.4, 0.6], "word": "yes"}, {"h": 1}).failures(summary) == []
    assert "rate = 0.5" in Expectation({"rate": [0.6, 0.7]}, {"h": 1}).failures(summary)[0]
    assert len(Expectation({"rate": [0, 1], "word": "no"}, {}).failures(summary)) == 2
    assert Expectation({"rate": [0, 1]}, {"h": 3}).failures(summary) == ["no entry has {'h': 3}"]
    assert "speed = None" in Expectation({"speed": [0, 1]}, {"h": 1}).failures(summary)[0]
