"""Every preset shows what its question is about, and every hint does what it says: on its own seed and another."""

import subprocess
import sys
from functools import cache
from pathlib import Path

import numpy as np
import pytest
import yaml

import pmdviz
from pmdviz import presets
from pmdviz.metrics import METRICS
from pmdviz.presets import PRESETS, find_preset
from pmdviz.presets.checks import CAVEAT, MEASURES, NEVER, RATIOS, Hint, failures, needs_history, run_of
from pmdviz.scenes.trace_columns import GROUPS

FOLDER = Path(pmdviz.__file__).parent / "presets"
SEEDS = (0, 1)  # beyond the preset's own
EVERY = 10  # iterations between two rows of a history that is looked at
HINTS = [
    pytest.param(name, k, id=f"{name}, hint {k + 1}")
    for name, preset in PRESETS.items()
    for k, hint in enumerate(preset.hints)
    if hint.expect
]


def recipe_of(name, ahead):
    recipe = find_preset(name).recipe
    return recipe.replaced(seed=recipe.seed + ahead)


@cache
def own_run(name, ahead):
    preset = find_preset(name)
    return run_of(recipe_of(name, ahead), metrics_every=EVERY if needs_history(preset.check) else NEVER)


def test_presets_have_title_question_check_hints_and_recipe():
    assert next(iter(PRESETS)) == "two_modes" and len(PRESETS) >= 7
    for preset in PRESETS.values():
        assert preset.title and preset.question.endswith("?") and preset.check and preset.hints
        assert preset.try_this == " ".join(hint.say for hint in preset.hints)
    assert find_preset("two_modes").recipe == pmdviz.Recipe()


def test_the_trace_of_a_preset_can_be_had():
    assert find_preset("particles_die").trace == "ess" and not find_preset("two_modes").trace
    for preset in PRESETS.values():
        target, method = preset.recipe.make_target(), preset.recipe.make_method()
        assert preset.trace in ("", *GROUPS.of(target, method))


def test_without_scikit_learn_what_is_left_fits_together():
    """Presets of targets that are not there are left out, and every method has a target: the lab starts."""
    code = """
import importlib.util as u
found = u.find_spec
u.find_spec = lambda name, *rest: None if name == "sklearn" else found(name, *rest)
import pmdviz, pmdviz.app
from pmdviz.methods import METHODS, usual_target
from pmdviz.presets import PRESETS
assert {preset.recipe.target for preset in PRESETS.values()} <= {*pmdviz.list_targets()}
assert "nets_together" not in PRESETS and "two_modes" in PRESETS
assert all(usual_target(name) in pmdviz.list_targets() for name in METHODS)
"""
    subprocess.run([sys.executable, "-c", code], check=True, timeout=300)


def test_a_page_makes_no_targets_but_those_of_its_own_problem():
    """All of them take seconds, and a page would be that much later."""
    code = (
        "from pmdviz.targets.base import Target\n"
        "made, build = [], Target._made; Target._made = lambda target: (made.append(target.name), build(target))\n"
        "from pmdviz import Recipe; from pmdviz.lab.controls.setup import Setup; from pmdviz.presets import PRESETS\n"
        "setup = Setup(PRESETS, print, print); assert setup.preset_of(Recipe()) == 'two_modes', made\n"
        "assert {*made} == {'mixture'}, made"
    )
    subprocess.run([sys.executable, "-c", code], check=True, timeout=300)


def test_an_unknown_preset_names_the_nearest():
    with pytest.raises(pmdviz.InputError, match="did you mean 'too_bold'"):
        find_preset("to_bold")


@pytest.mark.parametrize("ahead", SEEDS)
@pytest.mark.parametrize("name", PRESETS)
def test_its_run_shows_what_the_question_is_about(name, ahead):
    assert not failures(find_preset(name).check, own_run(name, ahead))


@pytest.mark.parametrize("ahead", SEEDS)
@pytest.mark.parametrize(("name", "hint"), HINTS)
def test_a_hint_does_what_it_says(name, hint, ahead):
    own, hint = own_run(name, ahead), find_preset(name).hints[hint]
    if not hint.knobs and not hint.options and hint.budget is None:
        run = own
    else:
        run = run_of(recipe_of(name, ahead), hint, EVERY if needs_history(hint.expect) else NEVER)
    assert not failures(hint.expect, run, own)


@pytest.mark.parametrize("preset", PRESETS.values(), ids=lambda preset: preset.name)
def test_a_hint_that_names_a_change_is_tried(preset):
    """Something is expected wherever something is changed, and what is changed is not the preset's own."""
    for hint in preset.hints:
        assert bool(hint.expect) >= bool(hint.knobs or hint.options)
        assert all(preset.recipe.target_options[name] != value for name, value in hint.options.items())
        assert all(preset.recipe.knobs[knob] != value for knob, value in hint.knobs.items())


def test_a_broken_promise_is_named():
    run = run_of(pmdviz.Recipe(target="gaussian", num_particles=50, budget=200))
    assert failures({"tv": [0.0, 1e-9], CAVEAT: "nobody"}, run)[0].startswith("tv = 0.")
    assert len(failures({"tv": [0.0, 1e-9], "rejuvenations": [-2, -1], CAVEAT: "nobody"}, run)) == 3
    assert failures({"tv_ratio": [1.0, 1.0]}, run, run) == []
    assert failures({"tv_ratio": [1.1, 2.0]}, run, run)
    for name in ("tw", "tv_ratio"):  # a ratio is to something
        with pytest.raises(pmdviz.InputError, match="measure"):
            failures({name: [0, 1]}, run)


def test_a_hint_while_it_runs_is_that_of_a_session_whose_knob_is_moved():
    recipe, hint = pmdviz.Recipe(policy="never", num_particles=60, budget=1_000), Hint("", {"policy": "ess"}, after=0.5)
    session = pmdviz.Session(recipe)
    session.advance(5)
    session.set(policy="ess")
    while not session.done:
        session.advance()
    made = run_of(recipe, hint)
    np.testing.assert_array_equal(made.particles, session.run.particles)
    ((moment, changed),) = made.recipe.changes
    assert moment == 5 and changed["policy"] == "ess"
    assert run_of(recipe, Hint("", {"policy": "ess"})).recipe.changes == ()


def test_measures_are_of_a_run():
    run = run_of(pmdviz.Recipe(target="bimodal1d", num_particles=100, budget=200))
    assert {*RATIOS.values()} <= {*MEASURES} and "tv" in METRICS
    below = float(run.weights[run.particles[:, 0] < 0].sum())
    assert MEASURES["lightest_mode"](run) == pytest.approx(min(below, 1 - below), abs=0.05)


def test_measures_of_log_z_are_its_estimates_less_the_truth():
    """On the way up nothing bounds it from above yet."""
    recipe = pmdviz.Recipe(target="rbm", method="ais", num_particles=20, num_temperatures=5, sandwich=True)
    run = run_of(recipe)
    truth = recipe.make_target().reference().log_z
    assert MEASURES["log_z_error"](run) == pytest.approx(run.final.metrics["log_z"] - truth, abs=1e-9)
    assert MEASURES["log_z_above_error"](run) == pytest.approx(run.final.metrics["log_z_above"] - truth, abs=1e-9)
    session = pmdviz.Session(recipe)
    session.advance(3)
    assert MEASURES["log_z_above_error"](session.run) is None
    assert failures({"log_z_above_error": [-9, 9]}, session.run) == ["log_z_above_error = None, not in [-9, 9]"]


def test_measures_of_a_chain():
    run = run_of(pmdviz.Recipe(target="gmm", method="random_walk", num_chains=2, budget=200))
    assert 0 < MEASURES["acceptance"](run) < 1
    for name in ("rhat", "bulk_ess"):
        assert MEASURES[name](run) == METRICS[name].measure(run.final)


def test_the_paper_s_algorithm_1_has_nothing_of_ours():
    """The paper's own choices where it says them."""
    result = own_run("algorithm_1", 0)
    knobs = result.recipe.knobs
    ours = {"policy": "ess", "draws": "balanced", "batches": "epochs", "bandwidth_rule": "local", "warm_start": True}
    assert all(knobs[name] != value for name, value in ours.items()) and knobs["step_limit"] == 0
    assert result.final.rejuvenations == result.final.iteration - 1


def test_the_old_default_is_that_of_format_1():
    recipe = find_preset("format_1_default").recipe
    assert recipe == pmdviz.Recipe(step_limit=0.0, bandwidth_rule="local") != pmdviz.Recipe()


@pytest.mark.parametrize("name", ["too_bold", "particles_die", "worse_with_more_data", "algorithm_1"])
def test_a_preset_that_fails_names_the_knobs_that_make_it_fail(name):
    """So that it stays the lesson that it is whatever the default becomes."""
    knobs = yaml.safe_load((FOLDER / f"{name}.yaml").read_text())["recipe"]["knobs"]
    assert knobs["step_limit"] == 0 and {"bandwidth_rule", "policy"} <= {*knobs}


def test_a_preset_whose_package_is_missing_is_left_out(monkeypatch):
    """The lab of the README's first command has no scikit-learn."""
    monkeypatch.setattr(presets, "find_spec", lambda name: None)
    needing = {path.stem for path in FOLDER.glob("*.yaml") if "\nneeds: sklearn" in path.read_text()}
    assert {*PRESETS} - {*presets._loaded()} == needing > {"eight_or_six"}
