"""Presets with a fault: each is caught, by the reader or by what every preset is tried with."""

import pytest
import yaml

from pmdviz.errors import InputError
from pmdviz.presets import read_preset
from tests.presets.test_presets import FOLDER, can_show_its_trace, own_run, show_what_they_promise

NAME = "head_start"  # four steps


def planted(**changes):
    """The parts of a sound preset with some changed; those changed to None are left out."""
    parts = yaml.safe_load((FOLDER / f"{NAME}.yaml").read_text(encoding="utf-8")) | changes
    return {key: value for key, value in parts.items() if value is not None}


def test_without_a_fault_it_passes():
    preset = read_preset(NAME, planted())
    show_what_they_promise(preset, own_run(NAME, 0))
    assert can_show_its_trace(preset)


SAY = "TV is {tv:.2f}."


def test_what_its_run_contradicts_is_caught():
    for changes, why in [
        ({"check": "tv <= 0.1"}, r"tv <= 0.1 \(tv = 0.7"),
        ({"check": "tv >= 0.5 or tw < 1"}, r"no name of a run: \['tw'\]"),
        ({"diagnosis": [{"when": "tv <= 0.1", "say": SAY}]}, "contradicts the run: tv <= 0.1"),
        ({"diagnosis": [{"when": "tv <= 0.1", "say": SAY}, {"when": "tv > 0.1", "say": SAY + " So."}]}, "So"),
        ({"diagnosis": [{"when": "tv > 0.1", "say": "It has {num_particle} particles."}]}, "'num_particle'"),
        ({"hints": [{"say": "More.", "expect": "tv_ration < 1"}]}, "'tv_ration'"),
    ]:
        with pytest.raises(AssertionError, match=why):
            show_what_they_promise(read_preset(NAME, planted(**changes)), own_run(NAME, 0))
    preset = read_preset(NAME, planted(diagnosis=[{"when": "tv > 0.1", "say": "R-hat is {rhat:.2f}."}]))
    with pytest.raises(InputError, match="'rhat' is not known in this run"):
        show_what_they_promise(preset, own_run(NAME, 0))


def test_a_trace_that_does_not_exist_for_the_pair_is_caught():
    for trace in ("perplexity", "tvs"):
        assert not can_show_its_trace(read_preset(NAME, planted(trace=trace)))


def test_what_is_not_a_preset_is_refused_with_a_sentence():
    for changes, why in [
        ({"watch": None}, "needs `watch`"),
        ({"diagnosis": None}, "needs `diagnosis`"),
        ({"wacth": "TV"}, "did you mean 'watch'"),
        ({"watch": " "}, "`watch` of preset 'head_start' must be a text"),
        ({"trace": 3}, "`trace` of preset 'head_start' must be a text"),
        ({"check": "tv = 1"}, "this is no expression"),
        ({"check": {"tv": [0, 1]}}, "an expression is a text"),
        ({"diagnosis": [{"when": "tv < 1"}]}, "a list of entries with `when` and `say`"),
        ({"diagnosis": [{"when": "tv < 1", "say": "TV {tv"}]}, "the braces of this sentence do not match"),
        ({"hints": [{"say": "More.", "knob": {}}]}, "did you mean 'knobs'"),
        ({"hints": [{"say": "More.", "expect": "tv.real.x"}]}, "not allowed in an expression"),
    ]:
        with pytest.raises(InputError, match=why):
            read_preset(NAME, planted(**changes))
    with pytest.raises(InputError, match="must be names and values"):
        read_preset(NAME, ["tv"])
