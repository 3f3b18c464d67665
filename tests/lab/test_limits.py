"""What a shared server refuses, in sentences, and what it fits by itself."""

import math

import pytest

from pmdviz import experiments as forecast
from pmdviz.data import files as data_files
from pmdviz.engine import recipe as parts
from pmdviz.engine.recipe import MAX_CHANGES, Recipe
from pmdviz.experiments.running import EXPERIMENTS
from pmdviz.lab.loop import limits
from pmdviz.lab.loop.limits import heaviest, most_within, step_seconds
from pmdviz.lab.loop.runner import Runner
from pmdviz.lab.panels.setup import BUDGETS
from pmdviz.limits import variable
from pmdviz.methods import METHODS
from pmdviz.serve.pages import lab_page
from tests.support.tables import looped, refused

KNOBS = METHODS["pmd"].Knobs


@pytest.fixture
def allow(monkeypatch):
    def allowed(**values):
        for name, value in values.items():
            monkeypatch.setenv(variable(name), str(value))

    return allowed


def test_particles(allow):
    allow(max_particles=2000)
    refused("at least 1 and at most 2,000; got 5000", limits.capped(KNOBS.specs()["num_particles"], KNOBS).parse, 5000)
    refused("num_particles must be at most 2,000 on this server; got 5,000", limits.check, Recipe(num_particles=5000))
    refused("at most 2,000", limits.check, Recipe(changes=[(3, {"num_particles": 2001})]))
    assert limits.check(Recipe(num_particles=2000)).knobs["num_particles"] == 2000
    refused("most_particles must be at most 2,000 on this server; got 6,000", limits.check, Recipe(growth="power"))
    assert limits.check(Recipe(growth="power", most_particles=2000)).knobs["growth"] == "power"
    assert limits.capped(KNOBS.specs()["most_particles"], KNOBS).bounds == (1, 2000)


def test_a_step_that_would_last_too_long_is_refused_before_it_starts(allow):
    allow(max_step_ms=500)
    for made in EXPERIMENTS.values():  # they have a limit of their own
        assert limits.check_experiment(made.Knobs.defaults()) == made.Knobs.defaults()
    words = r"num_particles must be lower on this server, where a step may take 0.5 s: with 50,000 .* about 2.1 s"
    refused(words, limits.check, Recipe(num_particles=50_000))
    runner = Runner(Recipe(num_particles=100))
    refused(words, runner.set, {"num_particles": 50_000})
    assert runner.session.knobs.num_particles == 100
    refused("at most 24,49", limits.capped(KNOBS.specs()["num_particles"], KNOBS).parse, 50_000)


def test_budget(allow):
    allow(max_budget=10_000)
    refused("budget must be at most 10,000 data on this server; got endless", limits.check, Recipe(budget=None))
    assert limits.budgets(BUDGETS) == {"2,000": 2_000, "5,000": 5_000}
    runner = Runner(Recipe(num_particles=50, budget=6_000))
    for act in (runner.proceed, lambda: runner.limit(None)):
        refused("at most 10,000", act)
    assert runner.session.recipe.budget == 6_000
    allow(max_particles=700)
    recipe = limits.fitted(Recipe())  # the page that opens fits the server
    assert (recipe.knobs["num_particles"], recipe.budget) == (700, 10_000) and limits.check(recipe) is recipe
    lab_page()


@pytest.fixture(autouse=True)
def nothing_stays_in_force(monkeypatch):
    """Not even in this process."""
    monkeypatch.setattr(parts, "_most_changes", MAX_CHANGES)
    monkeypatch.setattr(limits, "_most_replay_s", math.inf)
    monkeypatch.setattr(data_files, "_forbidden", False)
    monkeypatch.setattr(forecast, "_served", False)


def test_changes(allow):
    recipe = Recipe("gaussian", num_particles=10, changes=[(k, {"eta": k}) for k in range(1, 502)])
    limits.enforce()  # without a number that was given
    refused("at most 500 changes here; got 501", Recipe.from_json, recipe.to_json())
    allow(max_changes=2)
    limits.enforce()
    runner = Runner(Recipe("gaussian", num_particles=10, budget=None))
    for k in (1, 2):
        runner.advance(1)
        runner.set({"eta": float(k)})
    runner.advance(1)
    refused("at most 2 changes here; restart the run for a new log", runner.set, {"eta": 9.0})
    assert runner.session.knobs.eta == 2.0


def test_nobody_insists_on_a_server_and_memory_is_always_looked_at(monkeypatch):
    monkeypatch.setattr(forecast, "free_megabytes", lambda: 100.0)
    slow, wide = [forecast.Size(4000.0, 1.0)], [forecast.Size(1.0, 80.0)]
    forecast.check_size(slow, 1, insist=True)
    for sizes, insist in ((slow, False), (wide, False), (wide, True)):
        with pytest.raises(forecast.TooMuch):
            forecast.check_size(sizes, 1, insist)
    limits.enforce()
    with pytest.raises(forecast.TooMuch, match="10 minutes is the most that is allowed here") as error:
        forecast.check_size(slow, 1, insist=True)
    assert not error.value.may_insist


# How long a step is going to take.


@looped(
    "name, knobs, num_data, heavy",
    [
        ("pmd", {"num_particles": 50_000}, 1000, ("num_particles", 50_000)),
        ("pmd", {"growth": "power", "most_particles": 50_000}, 1000, ("most_particles", 50_000)),
        ("pmd", {"growth": "power", "most_particles": 9_000, "num_particles": 9_000}, 9, ("num_particles", 9_000)),
        ("pmd", {"num_particles": 50, "batch_size": 100_000}, 100_000, ("batch_size", 100_000)),
        ("hmc", {"leapfrog_steps": 1000}, 1000, ("leapfrog_steps", 1000)),
        ("smc_mcmc", {}, 100_000, ("num_particles", 1500)),
        ("mala", {}, 100_000, ("num_data", 100_000)),
        ("gibbs", {}, 77, ("num_data", 77)),
    ],
)
def test_the_knob_that_makes_a_step_long_is_named(name, knobs, num_data, heavy):
    assert heaviest(METHODS[name].Knobs.checked(knobs), num_data) == heavy


@looped("name", METHODS)
def test_more_data_never_shorten_a_step_and_the_most_that_fits_is_the_inverse_of_the_forecast(name):
    knobs = METHODS[name].Knobs.checked({})
    seconds = [step_seconds(knobs, num_data) for num_data in (1, 10, 1000, 100_000)]
    assert 0 < seconds[0] and seconds == sorted(seconds)
    if name in ("pmd", "svgd", "smc_mcmc", "importance"):
        for most_s, rows in [(0.001, 1), (0.01, 100), (1.0, 100_000), (1e-12, 10**6)]:
            most = most_within(most_s, knobs, "num_particles", rows)
            assert most == 1 or step_seconds(knobs.replaced(num_particles=most), rows) <= most_s
            assert most == 100_000 or step_seconds(knobs.replaced(num_particles=most + 1), rows) > most_s
