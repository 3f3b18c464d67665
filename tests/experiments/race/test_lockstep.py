"""Several sessions on one budget: nobody runs away, and each run is that of its recipe."""

import json
import threading

import numpy as np
import pytest

import pmdviz
from pmdviz.errors import InputError
from pmdviz.experiments.race import Race, RaceRecipe, race
from pmdviz.methods.base import DEFAULT_BUDGET

SMALL = {"target_options": {"num_data": 300}}
METHODS = ["pmd:num_particles=80", "smc:num_particles=80", "gibbs", "sgld", "svi", "hmc", "importance:num_particles=50"]


def started(methods, *target, **parts):
    return Race(RaceRecipe.checked(methods, *target, **parts))


def spread(race):
    visited = [v for k, v in enumerate(race.visited) if not race.stop_reason(k)]
    return max(visited) - min(visited) if visited else 0


@pytest.mark.parametrize(("rows", "methods"), [(1, METHODS[:-2]), (100, METHODS), (1000, METHODS)])
def test_after_each_frame_they_are_at_most_one_full_step_apart(rows, methods):
    race, frames = started(methods, budget=1500, **SMALL), 0
    while not race.done:
        before = sum(race.visited)
        race.advance(rows)
        frames += 1
        assert sum(race.visited) > before or race.done
        assert spread(race) <= race.bound
        assert race.bound == 300 or "hmc" in methods
    assert frames >= 1500 / max(rows, 300) / 2
    assert all(race.stop_reason(k) for k in range(len(race.recipe.entrants)))


def test_levels_rise_by_the_rows_asked_for():
    race = started(["pmd:num_particles=50,batch_size=20", "sgld:batch_size=10"], budget=None, **SMALL)
    for k in range(1, 20):
        assert [frame.visited for frame in race.advance(20)] == [20 * k, 20 * k]


def test_the_slowest_holds_the_others_at_the_bound():
    for batch, furthest in [(10, 300), (70, 280)]:
        race = started(["pmd:num_particles=50,batch_size=20", f"sgld:batch_size={batch}"], budget=None, **SMALL)
        for _ in range(100):
            race.raise_level(50)
            while race.may_step(1):
                race.step(1)
        assert race.visited == [0, furthest] and race.may_step(0)


def test_why_they_ended():
    race = started(["pmd:num_particles=50", "smc:num_particles=50"], budget=600, **SMALL)
    while not race.done:
        race.advance(300)
    assert race.stop_reason(0) == "the budget is used up" and race.stop_reason(1) == "one pass only"
    race.extend(300)
    assert race.stop_reason(0) == "" and race.stop_reason(1) and race.budget == 900


def failing(after):
    calls = []

    def log_likelihood(theta, batch):
        calls.append(len(theta))
        bad = threading.current_thread().name == "race" and len(calls) > after
        return np.full(len(theta), np.nan) if bad else -0.5 * ((theta[:, :1] - batch[:, 0]) ** 2).sum(axis=1)

    return pmdviz.custom_target(
        log_prior=lambda theta: -0.5 * (theta**2).sum(axis=1),
        log_likelihood=log_likelihood,
        sample_prior=lambda rng, m: rng.standard_normal((m, 1)),
        data=np.linspace(-1, 1, 50)[:, None],
        dim=1,
        name="fails",
    )


def test_a_failure_ends_its_own_run_alone():
    race = started(
        ["pmd:num_particles=40,batch_size=10", "importance:num_particles=40,batch_size=10"], failing(0), budget=200
    )

    def first_fails():
        race.raise_level(10)
        race.step(0)

    thread = threading.Thread(target=first_fails, name="race")
    thread.start()
    thread.join()
    assert race.failed(0) and "log_likelihood of target 'fails' is nan" in race.stop_reason(0)
    while not race.done:
        race.advance(10)
    assert race.visited[0] == 0 and race.visited[1] >= 50


def test_what_cannot_be_used():
    with pytest.raises(InputError, match="entrant gibbs"):
        started(["pmd", "gibbs"], "bimodal1d")
    with pytest.raises(InputError, match="rows must be at least 1"):
        started(["pmd"]).raise_level(0)


# Both clocks: what the budget counts, and that races by either replay bit for bit.


TWO_MODES = {"target_options": {"num_data": 200, "sigma_x": 1.5}}
FOUR = ["pmd:num_particles=60", "sgld:batch_size=20", "gibbs", "svi"]
BUDGETS = {"data": 600, "evaluations": 24_000}


def plain(result):
    return [{name: value for name, value in row.items() if name != "seconds"} for row in result.rows]


@pytest.mark.parametrize("clock", [pytest.param("data", marks=pytest.mark.ci), "evaluations"])
def test_a_race_by_either_clock_replays_bit_for_bit(clock):
    made = race(FOUR, budget=BUDGETS[clock], clock=clock, seeds=2, points=3, **TWO_MODES)
    again = race(RaceRecipe.from_json(made.recipe.to_json()))
    assert plain(again) == plain(made)
    for key, history in made.histories.items():
        for name in set(history) - {"seconds"}:
            np.testing.assert_array_equal(history[name], again.histories[key][name])
    scope: dict = {}
    exec(made.to_python(), scope)
    assert scope["race"].recipe == made.recipe and plain(scope["race"]) == plain(made)


@pytest.mark.parametrize("clock", ["data", pytest.param("evaluations", marks=pytest.mark.ci)])
def test_in_lock_step_each_run_is_that_of_its_recipe(clock):
    live = Race(RaceRecipe.checked(FOUR, budget=BUDGETS[clock], clock=clock, seeds=[4], **TWO_MODES))
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
    live = Race(RaceRecipe.checked(methods, budget=None, clock="evaluations", **TWO_MODES))
    for k in range(1, 6):
        live.advance(20)
        assert live.spent == [1_000 * k] * 2, "20 data cost pmd 1,000 evaluations"
    for _ in range(100):
        live.raise_level(50)
        while live.may_step(0):
            live.step(0)
    assert live.spent == [15_000, 5_000] and live.may_step(1)


def test_the_budget_stops_everybody_at_as_many_evaluations():
    rows = race(FOUR, budget=24_000, clock="evaluations", **TWO_MODES).rows
    spent = [row["density_evaluations"] + row["gradient_evaluations"] for row in rows]
    assert min(spent) >= 24_000 and spent[:2] == [24_000, 24_000] and rows[0]["visited"] == 400 < rows[1]["visited"]


def test_the_unit_is_written_where_it_is_not_data_and_the_budget_fits_it():
    plain, counted = (RaceRecipe.checked(FOUR, clock=clock, **TWO_MODES) for clock in BUDGETS)
    assert "budget_unit" not in json.loads(plain.to_json()) and plain.budget == DEFAULT_BUDGET
    assert json.loads(counted.to_json())["budget_unit"] == "evaluations" and plain != counted
    assert counted.budget == 60 * DEFAULT_BUDGET, "of pmd's 60 particles"
    with pytest.raises(InputError, match="already says all of the race"):
        race(plain, clock="evaluations")
    with pytest.raises(InputError, match="clock must be one of data, evaluations; given: 'time'"):
        RaceRecipe.checked(FOUR, clock="time")
