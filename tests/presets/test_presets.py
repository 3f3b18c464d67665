"""Every preset shows what its question is about, every hint does what it says, and both are diagnosed so."""

import subprocess
import sys
from functools import cache

import pytest
from joblib import parallel_config

import pmdviz
from pmdviz import presets
from pmdviz.engine.recipe import Recipe
from pmdviz.engine.run import Run
from pmdviz.engine.session import Session
from pmdviz.experiments.running import EXPERIMENTS, run_experiment
from pmdviz.expressions import Expression, Template
from pmdviz.lessons.playing import compute_floor
from pmdviz.metrics.divergences import modes
from pmdviz.scenes.trace_columns import GROUPS
from tests.support.tables import refused

NEVER = 10**9


def run_of(recipe: Recipe, hint: presets.Hint | None = None, metrics_every: int | None = NEVER) -> Run:
    """The run of a preset's recipe, or of one of its hints, to its end; `metrics_every` None: as on a page."""
    hint = hint or presets.Hint("")
    recipe = recipe.replaced(
        budget=recipe.budget if hint.budget is None else hint.budget,
        target_options={**recipe.target_options, **hint.options},
    )
    session = Session(recipe, metrics_every)
    while not session.done and session.frame.spent < hint.after * recipe.budget:
        session.advance(1)
    if hint.knobs:
        session.set(**hint.knobs)
    if hint.after == 0:  # nothing has run: they become the recipe's own
        session = Session(session.recipe, metrics_every)
    while not session.done:
        session.advance(NEVER)
    return session.run


def failures(expected: Expression, run: Run, own: Run | None = None) -> list[str]:
    """Why an expression does not hold of a run, or []; `own`: the preset's run, which ratios compare it with."""
    scope = presets.RunScope(run, own)
    return [] if expected.holds(scope) else [expected.why(scope)]


QUICK = ("two_modes", "particles_die", "head_start")
LONG = ("many_data", "too_bold", "volatility_too_sure", "mean_as_printed", "gf_gp_classification", "own_normaliser")


def ahead_of(preset, seeds):
    return preset.recipe.replaced(seed=preset.recipe.seed + seeds)


def parts_of(*diagnoses):
    return [part for one in diagnoses for part in (one.when, one.say)]


def every(*asked):
    """Iterations between two rows of the history: as on a page, where somebody asks for it."""
    told = [each for one in asked if isinstance(one, Template) for _, _, each in one._parts if each is not None]
    tests = [one for one in asked if isinstance(one, Expression)]
    return None if any(one.over_history for one in tests + told) else NEVER


@cache
def own_run(name, ahead):
    preset = presets.find_preset(name)
    return run_of(ahead_of(preset, ahead), metrics_every=every(preset.check, *parts_of(preset.diagnosis[0])))


def said_of(preset, run, own=None):
    scope = presets.RunScope(run, own)
    assert not presets.contradictions(preset.diagnosis, scope)
    words = presets.diagnose(preset.diagnosis, scope)
    assert words.endswith(".") and not {*"{}_"} & {*words}, words
    return words


def show_what_they_promise(preset, run):
    hints = [hint.expect for hint in preset.hints if hint.expect is not None]
    asked = [preset.check, *parts_of(*preset.diagnosis), *hints]
    unknown = frozenset().union(*(one.names for one in asked)) - {*presets.names_of(run, ratios=True)}
    assert not unknown, f"no name of a run: {sorted(unknown)}"
    assert not failures(preset.check, run)
    assert said_of(preset, run) == preset.diagnosis[0].say.words(presets.RunScope(run))


def test_a_preset_has_its_parts_and_its_hints_change_something():
    assert next(iter(presets.PRESETS)) == "two_modes" and presets.find_preset("two_modes").recipe == pmdviz.Recipe()
    for name, preset in presets.PRESETS.items():
        assert preset.title and preset.question and preset.watch and preset.hints and preset.diagnosis, name
        assert preset.try_this == " ".join(hint.say for hint in preset.hints), name
        for hint in preset.hints:
            assert (hint.expect is not None) or not hint.changes, (name, hint)
            assert all(preset.recipe.target_options[option] != value for option, value in hint.options.items())
            assert all(preset.recipe.knobs[knob] != value for knob, value in hint.knobs.items()), (name, hint)
    refused("did you mean 'too_bold'", presets.find_preset, "to_bold")


@pytest.mark.nightly
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


def in_tiers(by_default, otherwise, at_night=()):
    marks = dict.fromkeys(by_default, ()) | dict.fromkeys(at_night, pytest.mark.nightly)
    return [pytest.param(name, marks=marks.get(name, otherwise)) for name in presets.PRESETS]


@pytest.mark.parametrize("name", in_tiers(QUICK, pytest.mark.ci, LONG))
def test_its_run_shows_what_the_question_is_about_and_is_diagnosed_so(name):
    preset = presets.find_preset(name)
    show_what_they_promise(preset, own_run(name, 0))
    assert preset.trace in GROUPS.of(preset.recipe.make_target(), preset.recipe.make_method())


@pytest.mark.parametrize("name", in_tiers(QUICK[2:], pytest.mark.nightly))
def test_a_hint_does_what_it_says_and_is_diagnosed_so(name):
    check_hints(name, 0)


@pytest.mark.nightly
@pytest.mark.parametrize("name", presets.PRESETS)
def test_other_seeds_show_the_same(name):
    for ahead in (1, 2):
        show_what_they_promise(presets.find_preset(name), own_run(name, ahead))
    check_hints(name, 1)


def check_hints(name, ahead):
    preset, own = presets.find_preset(name), own_run(name, ahead)
    for hint in preset.hints:
        if hint.expect is not None:
            metrics_every = every(hint.expect, *parts_of(*preset.diagnosis))
            run = run_of(ahead_of(preset, ahead), hint, metrics_every) if hint.changes else own
            assert not failures(hint.expect, run, own), hint
            said_of(preset, run, own)


def test_measures_of_log_z_are_its_estimates_less_the_truth():
    """On the way up nothing bounds it from above yet."""
    recipe = pmdviz.Recipe(target="rbm", method="ais", num_particles=20, num_temperatures=5, sandwich=True)
    run = run_of(recipe)
    truth = recipe.make_target().reference().log_z
    assert presets.RunScope(run).value("log_z_error") == pytest.approx(run.final.metrics["log_z"] - truth, abs=1e-9)
    above = run.final.metrics["log_z_above"] - truth
    assert presets.MEASURES["log_z_above_error"](run) == pytest.approx(above, abs=1e-9)
    session = pmdviz.Session(recipe)
    session.advance(3)
    (why,) = failures(Expression("abs(log_z_above_error) < 9"), session.run)
    assert why == "abs(log_z_above_error) < 9 (log_z_above_error = None)"


def test_it_has_words_and_knobs_that_differ_from_their_defaults():
    for name, preset in presets.EXPERIMENT_PRESETS.items():
        assert presets.find_experiment_preset(name) is preset and preset.title and preset.question and preset.check
        knobs = EXPERIMENTS[preset.experiment].Knobs
        defaults, chosen = knobs.defaults().as_dict(), knobs.checked(preset.knobs).as_dict()
        assert [each for each in preset.knobs if chosen[each] == defaults[each]] == [], name
    assert len({preset.title for preset in presets.EXPERIMENT_PRESETS.values()}) == len(presets.EXPERIMENT_PRESETS)
    refused("unknown preset of an experiment", presets.find_experiment_preset, "descents")


@pytest.mark.nightly
@pytest.mark.parametrize("name", presets.EXPERIMENT_PRESETS)
def test_it_shows_what_it_is_about(name):
    preset = presets.find_experiment_preset(name)
    with parallel_config("threading"):
        found = run_experiment(preset.experiment, preset.knobs, workers=1)
    assert not found.failed and preset.failures(found.summary) == []


@pytest.fixture(scope="module")
def run():
    recipe = pmdviz.Recipe(target="bimodal1d", num_particles=150, budget=600, batch_size=10)
    return run_of(recipe, metrics_every=None)


def value(text, run, own=None):
    return Expression(text).value(presets.RunScope(run, own))


def test_what_a_run_its_history_and_its_modes_have_and_have_not(run):
    assert value("tv", run) == run.final.metrics["tv"] and value("iteration", run) == 60
    assert value("policy", run) == "ess" and value("data_seed", run) == run.recipe.target_options["data_seed"]
    assert value("max_weight", run) == run.weights.max() and value("num_data", run) == run.target.num_data
    assert value("budget - spent", run) == 0 and value("dim + seed", run) == 1
    assert value("step_size", run) == run.history["step_size"][-1] != run.recipe.knobs["step_size"]
    grown = run_of(pmdviz.Recipe("gaussian", num_particles=50, policy="until", until=1, most_particles=90, budget=40))
    assert value("num_particles", grown) == len(grown.particles) == 90
    words = Template("{num_particles:,} {iteration} {visited:,}").words(presets.RunScope(run))
    assert words == "150 60 600"
    chain = run_of(pmdviz.Recipe("gmm", "random_walk", budget=200))
    assert value("ess", chain) is None and value("ess_fraction < 1", chain) is None
    topics = run_of(pmdviz.Recipe("topics", "structured_pmd", budget=200))
    assert value("first_sd", topics) is None and value("lightest_mode", topics) is None
    assert value("log_z_above_error", run) is None and value("floor_tv < 1", chain) in (None, True)
    refused("did you mean 'lightest_mode'", value, "lightst_mode", run)
    history = run.history
    assert value("lowest(ess)", run) == history["ess"].min() < value("ess", run)
    assert value("first(step_size)", run) == history["step_size"][1]  # at iteration 0 there is none
    assert value("when(ess < 0.9 * num_particles)", run) == history["iteration"][history["ess"] < 135][0]
    assert value("highest(visited * dim / budget)", run) == 1
    for text in ("highest(max_weight)", "lightest_mode > 0.1 before visited 300", "lowest(kl_moments)"):
        refused("the history has no", value, text, run)
    compute_floor(run)
    assert value("lowest(tv / floor_tv)", run) == history["tv"].min() / value("floor_tv", run)
    found = modes(run.target)
    masses = found.masses_of(run.final.density)
    at = masses.index(min(masses))
    assert value("lightest_mode", run) == masses[at] and value("lightest_mode_exact", run) == found.masses[at]
    other = run_of(pmdviz.Recipe(target="bimodal1d", num_particles=50, budget=600, batch_size=10))
    assert value("tv_ratio", other, run) == other.final.tv / run.final.tv
    assert "tv_ratio" in presets.names_of(run, ratios=True) and "tv_ratio" not in presets.names_of(run)
    refused("name in an expression", failures, Expression("tv_ratio < 1"), run)  # a ratio is to something
