"""What a shared server refuses, in sentences, and what it fits by itself."""

import math

import pytest

from pmdviz.data import files as data_files
from pmdviz.densities import grid
from pmdviz.engine.recipe import parts
from pmdviz.engine.recipe.parts import MAX_CHANGES
from pmdviz.engine.recipe.recipe import Recipe
from pmdviz.errors import InputError
from pmdviz.lab.controls.problem import BUDGETS
from pmdviz.lab.loop import limits, replay
from pmdviz.lab.loop.runner import Runner
from pmdviz.limits import LIMITS, limit, set_limits, variable
from pmdviz.methods import METHODS
from pmdviz.serve.pages import lab_page

KNOBS = METHODS["pmd"].Knobs


@pytest.fixture
def allow(monkeypatch):
    def allowed(**values):
        for name, value in values.items():
            monkeypatch.setenv(variable(name), str(value))

    return allowed


def test_without_limits_nothing_is_refused():
    spec = KNOBS.specs()["num_particles"]
    assert all(limit(name) is None for name in LIMITS)
    assert limits.capped(spec, KNOBS) is spec
    assert limits.check(Recipe(num_particles=100_000, budget=None)).budget is None
    assert limits.budgets(BUDGETS) == BUDGETS


def test_particles(allow):
    allow(max_particles=2000)
    with pytest.raises(InputError, match="at least 1 and at most 2,000; given: 5000"):
        limits.capped(KNOBS.specs()["num_particles"], KNOBS).parse(5000)
    with pytest.raises(InputError, match="num_particles must be at most 2,000 on this server; given: 5,000"):
        limits.check(Recipe(num_particles=5000))
    with pytest.raises(InputError, match="at most 2,000"):
        limits.check(Recipe(changes=[(3, {"num_particles": 2001})]))
    assert limits.check(Recipe(num_particles=2000)).knobs["num_particles"] == 2000
    with pytest.raises(InputError, match="most_particles must be at most 2,000 on this server; given: 6,000"):
        limits.check(Recipe(growth="power"))
    assert limits.check(Recipe(growth="power", most_particles=2000)).knobs["growth"] == "power"
    assert limits.capped(KNOBS.specs()["most_particles"], KNOBS).bounds == (1, 2000)


def test_a_step_that_would_last_too_long_is_refused_before_it_starts(allow):
    allow(max_step_ms=500)
    words = r"num_particles must be lower on this server, where a step may take 0.5 s: with 50,000 .* about 2.1 s"
    with pytest.raises(InputError, match=words):
        limits.check(Recipe(num_particles=50_000))
    runner = Runner(Recipe(num_particles=100))
    with pytest.raises(InputError, match=words):
        runner.set({"num_particles": 50_000})
    assert runner.session.knobs.num_particles == 100
    with pytest.raises(InputError, match="at most 24,49"):
        limits.capped(KNOBS.specs()["num_particles"], KNOBS).parse(50_000)


@pytest.mark.parametrize(
    ("method", "knobs", "words"),
    [
        ("smc_mcmc", {"num_particles": 15_000, "num_moves": 20}, "num_particles must be lower .* with 15,000 one"),
        ("hmc", {"leapfrog_steps": 1000}, "leapfrog_steps must be lower .* with 1,000 one would take about"),
        ("svi", {"num_pairs": 10_000, "batch_size": 90_000}, "batch_size must be lower .* with 90,000 one"),
    ],
)
def test_every_method_has_its_longest_step_refused(method, knobs, words, allow):
    allow(max_step_ms=50)
    many = {"target_options": {"num_data": 100_000}, "budget": None}
    with pytest.raises(InputError, match=words):
        limits.check(Recipe("gaussian", method, **many, **knobs))
    limits.check(Recipe("gaussian", method, target_options={"num_data": 100}))


def test_budget(allow):
    allow(max_budget=10_000)
    with pytest.raises(InputError, match="budget must be at most 10,000 data on this server; given: endless"):
        limits.check(Recipe(budget=None))
    assert limits.budgets(BUDGETS) == {"2,000": 2_000, "5,000": 5_000}
    runner = Runner(Recipe(num_particles=50, budget=6_000))
    for act in (runner.proceed, lambda: runner.limit(None)):
        with pytest.raises(InputError, match="at most 10,000"):
            act()
    assert runner.session.recipe.budget == 6_000


@pytest.fixture(autouse=True)
def nothing_stays_in_force(monkeypatch):
    """Not even in this process."""
    monkeypatch.setattr(parts, "_most_changes", MAX_CHANGES)
    monkeypatch.setattr(replay, "_most_seconds", math.inf)
    monkeypatch.setattr(data_files, "_forbidden", False)


def test_files_of_data(tmp_path):
    (tmp_path / "rows.csv").write_text("1,2,0\n3,4,1\n5,6,1\n")
    asked = {"data": str(tmp_path / "rows.csv"), "num_data": 2}
    limits.enforce()
    with pytest.raises(InputError, match="a served page reads no files"):
        Recipe("logistic", target_options=asked)


def test_changes(allow):
    recipe = Recipe("gaussian", num_particles=10, changes=[(k, {"eta": k}) for k in range(1, 502)])
    limits.enforce()  # without a number that was given
    with pytest.raises(InputError, match="at most 500 changes here; given: 501"):
        Recipe.from_json(recipe.to_json())
    allow(max_changes=2)
    limits.enforce()
    runner = Runner(Recipe("gaussian", num_particles=10, budget=None))
    for k in (1, 2):
        runner.advance(1)
        runner.set({"eta": float(k)})
    runner.advance(1)
    with pytest.raises(InputError, match="at most 2 changes here; restart the run for a new log"):
        runner.set({"eta": 9.0})
    assert runner.session.knobs.eta == 2.0
    runner.restart()
    runner.advance(1)
    assert runner.set({"eta": 9.0}).in_force["eta"] == 9.0


def test_what_fits_is_not_looked_through_again(allow, monkeypatch):
    allow(max_particles=2000)
    recipe = Recipe("gaussian", num_particles=10, changes=[(k, {"eta": k}) for k in range(1, 50)])
    limits.check(recipe)
    asked = []
    monkeypatch.setattr(limits, "check_knobs", lambda *given: asked.append(given))
    assert limits.check(recipe) is recipe and not asked
    allow(max_particles=5)
    limits.check(recipe)
    assert len(asked) == 50


def test_grid(allow, monkeypatch):
    for table in ("SIDES", "FINER_SIDES"):
        monkeypatch.setattr(grid, table, dict(getattr(grid, table)))
    allow(max_grid=300)
    limits.enforce()
    assert {1: (512,), 2: (160, 224)} == grid.SIDES
    assert grid.largest_side(2) == 224 and grid.side_for(2, 1e-9) is None


def test_the_page_that_opens_fits_the_server(allow):
    allow(max_particles=700, max_budget=5_000)
    recipe = limits.fitted(Recipe())
    assert (recipe.knobs["num_particles"], recipe.budget) == (700, 5_000)
    assert limits.check(recipe) is recipe
    lab_page()


@pytest.mark.parametrize("name", LIMITS)
def test_limits_have_a_least_value(name, monkeypatch):
    monkeypatch.setenv(variable(name), "")
    with pytest.raises(InputError, match=f"--{name.replace('_', '-')} must be a whole number at least"):
        set_limits({name: LIMITS[name].least - 1})
    set_limits({name: LIMITS[name].least})
    assert limit(name) == LIMITS[name].least


def test_upload(allow):
    assert limits.upload_bytes() == 4_000_000
    allow(max_upload=5_000)
    assert limits.upload_bytes() == 5_000
