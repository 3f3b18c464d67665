import json
import threading

import numpy as np
import pytest

import pmdviz
from pmdviz.errors import InputError
from pmdviz.experiments.race import Race, RaceRecipe, race
from pmdviz.methods.base import DEFAULT_BUDGET
from tests.support.own import own_target, plain
from tests.support.tables import looped

SMALL = {"target_options": {"num_data": 300}}
FEW = {"target_options": {"num_data": 200, "sigma_x": 1.5}}


def started(methods, *target, **parts):
    return Race(RaceRecipe.checked(methods, *target, **parts))


@looped("clock, rows, unit, k, beyond", [("data", 60, 1, 1, 180), ("evaluations", 20, 50, 0, 200)])
def test_levels_rise_by_the_rows_asked_for_and_the_slowest_holds_the_others_at_the_bound(clock, rows, unit, k, beyond):
    """A datum costs the 50 particles of pmd 50 evaluations; no step of the other ends beyond the 200 data."""
    race = started(["pmd:num_particles=50,batch_size=20", f"sgld:batch_size={rows}"], budget=None, clock=clock, **FEW)
    for level in range(rows, 6 * rows, rows):
        race.advance(rows)
        assert race.spent == [level * unit] * 2
    for _ in range(20):
        race.raise_level(50)
        while race.may_step(k):
            race.step(k)
    assert race.spent[k] == (level + beyond) * unit and race.spent[1 - k] == level * unit and race.may_step(1 - k)


def test_why_they_ended_and_a_failure_ends_its_own_run_alone():
    race = started(["pmd:num_particles=50", "smc:num_particles=50"], budget=600, **SMALL)
    while not race.done:
        race.advance(300)
    assert race.stop_reason(0) == "the budget is used up" and race.stop_reason(1) == "one pass only"
    race.extend(300)
    assert race.stop_reason(0) == "" and race.stop_reason(1) and race.budget == 900

    def log_likelihood(theta, batch):
        bad = threading.current_thread().name == "race"
        return np.full(len(theta), np.nan) if bad else -0.5 * ((theta[:, :1] - batch[:, 0]) ** 2).sum(axis=1)

    methods = ["pmd:num_particles=40,batch_size=10", "importance:num_particles=40,batch_size=10"]
    race = started(methods, own_target(log_likelihood=log_likelihood), budget=200)

    def first_fails():
        race.raise_level(10)
        race.step(0)

    thread = threading.Thread(target=first_fails, name="race")
    thread.start()
    thread.join()
    assert "log_likelihood of target 'dose' is nan" in race.stop_reason(0)
    while not race.done:
        race.advance(10)
    assert race.visited[0] == 0 and race.visited[1] == 40
    with pytest.raises(InputError, match="rows must be at least 1"):
        race.raise_level(0)


FOUR = ["pmd:num_particles=60", "sgld:batch_size=20", "gibbs", "svi"]
BUDGETS = {"data": 600, "evaluations": 24_000}


def test_a_race_by_evaluations_replays_bit_for_bit_and_stops_everybody_at_as_many():
    made = race(FOUR, budget=24_000, clock="evaluations", seeds=[4], points=3, **FEW)
    again = race(RaceRecipe.from_json(made.recipe.to_json()))
    assert plain(again) == plain(made)
    for key, history in made.histories.items():
        for name in set(history) - {"seconds"}:
            np.testing.assert_array_equal(history[name], again.histories[key][name])
    scope: dict = {}
    exec(made.to_python(), scope)
    assert scope["race"].recipe == made.recipe and plain(scope["race"]) == plain(made)
    spent = [row["density_evaluations"] + row["gradient_evaluations"] for row in made.rows]
    assert min(spent) >= 24_000 and spent[:2] == [24_000] * 2
    assert made.rows[0]["visited"] == 400 < made.rows[1]["visited"]


@pytest.mark.parametrize("clock", ["data", pytest.param("evaluations", marks=pytest.mark.ci)])
def test_in_lock_step_each_run_is_that_of_its_recipe(clock):
    live = Race(RaceRecipe.checked(FOUR, budget=BUDGETS[clock], clock=clock, seeds=[4], **FEW))
    while not live.done:
        before = sum(live.spent)
        live.advance(40)
        assert sum(live.spent) > before or live.done
        racing = [spent for k, spent in enumerate(live.spent) if not live.stop_reason(k)]
        assert not racing or max(racing) - min(racing) <= live.bound
    for recipe, session in zip(live.recipe.recipes, live.sessions, strict=True):
        alone = pmdviz.run(recipe, floor=False).final
        assert np.array_equal(alone.particles, session.frame.particles) and alone.spent == session.frame.spent
        assert recipe.budget_unit == clock


def test_the_unit_is_written_where_it_is_not_data_and_the_budget_fits_it():
    plain, counted = (RaceRecipe.checked(FOUR, clock=clock, **FEW) for clock in BUDGETS)
    assert "budget_unit" not in json.loads(plain.to_json()) and plain.budget == DEFAULT_BUDGET
    assert json.loads(counted.to_json())["budget_unit"] == "evaluations" and plain != counted
    assert counted.budget == 60 * DEFAULT_BUDGET, "of pmd's 60 particles"
    with pytest.raises(InputError, match="already says all of the race"):
        race(plain, clock="evaluations")
    with pytest.raises(InputError, match="clock must be one of data, evaluations; got 'time'"):
        RaceRecipe.checked(FOUR, clock="time")
