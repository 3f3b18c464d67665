import pytest

import pmdviz
from pmdviz.errors import InputError
from pmdviz.expressions import Expression, Template
from pmdviz.lessons.playing import compute_floor
from pmdviz.metrics.modes import modes
from pmdviz.presets import RunScope, names_of
from tests.support.presets import run_of


@pytest.fixture(scope="module")
def run():
    recipe = pmdviz.Recipe(target="bimodal1d", num_particles=150, budget=600, batch_size=10)
    return run_of(recipe, metrics_every=None)


def value(text, run, own=None):
    return Expression(text).value(RunScope(run, own))


def test_what_a_run_has_and_has_not(run):
    assert value("tv", run) == run.final.metrics["tv"] and value("iteration", run) == 60
    assert value("policy", run) == "ess" and value("data_seed", run) == run.recipe.target_options["data_seed"]
    assert value("max_weight", run) == run.weights.max() and value("num_data", run) == run.target.num_data
    assert value("budget - spent", run) == 0 and value("dim + seed", run) == 1
    assert value("step_size", run) == run.history["step_size"][-1] != run.recipe.knobs["step_size"]
    grown = run_of(pmdviz.Recipe("gaussian", num_particles=50, policy="until", until=1, most_particles=90, budget=40))
    assert value("num_particles", grown) == len(grown.particles) == 90
    words = Template("{num_particles:,} {iteration} {visited:,}").words(RunScope(run))
    assert words == "150 60 600"
    chain = run_of(pmdviz.Recipe("gmm", "random_walk", budget=200))
    assert value("ess", chain) is None and value("ess_fraction < 1", chain) is None
    topics = run_of(pmdviz.Recipe("topics", "structured_pmd", budget=200))
    assert value("first_sd", topics) is None and value("lightest_mode", topics) is None
    assert value("log_z_above_error", run) is None and value("floor_tv < 1", chain) in (None, True)
    with pytest.raises(InputError, match="did you mean 'lightest_mode'"):
        value("lightst_mode", run)


def test_functions_over_the_history_are_of_its_rows(run):
    history = run.history
    assert value("lowest(ess)", run) == history["ess"].min() < value("ess", run)
    assert value("first(step_size)", run) == history["step_size"][1]  # at iteration 0 there is none
    assert value("when(ess < 0.9 * num_particles)", run) == history["iteration"][history["ess"] < 135][0]
    assert value("highest(visited * dim / budget)", run) == 1
    for text in ("highest(max_weight)", "lightest_mode > 0.1 before visited 300", "lowest(kl_moments)"):
        with pytest.raises(InputError, match="the history has no"):
            value(text, run)
    compute_floor(run)
    assert value("lowest(tv / floor_tv)", run) == history["tv"].min() / value("floor_tv", run)


def test_the_lightest_mode_is_judged_by_its_own_exact_mass_and_a_ratio_is_of_two_runs(run):
    found = modes(run.target)
    masses = found.masses_of(run.final.density)
    at = masses.index(min(masses))
    assert value("lightest_mode", run) == masses[at] and value("lightest_mode_exact", run) == found.masses[at]
    other = run_of(pmdviz.Recipe(target="bimodal1d", num_particles=50, budget=600, batch_size=10))
    assert value("tv_ratio", other, run) == other.final.tv / run.final.tv
    assert "tv_ratio" in names_of(run, ratios=True) and "tv_ratio" not in names_of(run)
