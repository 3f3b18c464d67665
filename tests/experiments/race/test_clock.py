"""Both clocks of a race: what the budget counts, and that races by either replay bit for bit."""

import json

import numpy as np
import pytest

import pmdviz
from pmdviz.errors import InputError
from pmdviz.experiments.race import Race, RaceRecipe, race
from pmdviz.methods.base import DEFAULT_BUDGET

SMALL = {"target_options": {"num_data": 200, "sigma_x": 1.5}}
METHODS = ["pmd:num_particles=60", "sgld:batch_size=20", "gibbs", "svi"]
BUDGETS = {"data": 600, "evaluations": 24_000}


def plain(result):
    return [{name: value for name, value in row.items() if name != "seconds"} for row in result.rows]


@pytest.mark.parametrize("clock", BUDGETS)
def test_a_race_by_either_clock_replays_bit_for_bit(clock):
    made = race(METHODS, budget=BUDGETS[clock], clock=clock, seeds=2, points=3, **SMALL)
    again = race(RaceRecipe.from_json(made.recipe.to_json()))
    assert plain(again) == plain(made)
    for key, history in made.histories.items():
        for name in set(history) - {"seconds"}:
            np.testing.assert_array_equal(history[name], again.histories[key][name])
    scope: dict = {}
    exec(made.to_python(), scope)
    assert scope["race"].recipe == made.recipe and plain(scope["race"]) == plain(made)


@pytest.mark.parametrize("clock", BUDGETS)
def test_in_lock_step_each_run_is_that_of_its_recipe(clock):
    live = Race(RaceRecipe.checked(METHODS, budget=BUDGETS[clock], clock=clock, seeds=[4], **SMALL))
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


def test_by_evaluations_nobody_is_further_ahead_than_what_all_data_cost():
    methods = ["pmd:num_particles=50,batch_size=20", "sgld:batch_size=10"]
    live = Race(RaceRecipe.checked(methods, budget=None, clock="evaluations", **SMALL))
    for k in range(1, 6):
        live.advance(20)
        assert live.spent == [1_000 * k] * 2, "20 data cost pmd 1,000 evaluations"
    for _ in range(100):
        live.raise_level(50)
        while live.may_step(0):
            live.step(0)
    assert live.spent == [15_000, 5_000] and live.may_step(1)


def test_the_budget_stops_everybody_at_as_many_evaluations():
    rows = race(METHODS, budget=24_000, clock="evaluations", **SMALL).rows
    spent = [row["density_evaluations"] + row["gradient_evaluations"] for row in rows]
    assert min(spent) >= 24_000 and spent[:2] == [24_000, 24_000] and rows[0]["visited"] == 400 < rows[1]["visited"]


def test_the_unit_is_written_where_it_is_not_data_and_the_budget_fits_it():
    plain, counted = (RaceRecipe.checked(METHODS, clock=clock, **SMALL) for clock in BUDGETS)
    assert "budget_unit" not in json.loads(plain.to_json()) and plain.budget == DEFAULT_BUDGET
    assert json.loads(counted.to_json())["budget_unit"] == "evaluations" and plain != counted
    assert counted.budget == 60 * DEFAULT_BUDGET, "of pmd's 60 particles"
    with pytest.raises(InputError, match="already says all of the race"):
        race(plain, clock="evaluations")
    with pytest.raises(InputError, match="clock must be one of data, evaluations; given: 'time'"):
        RaceRecipe.checked(METHODS, clock="time")
