"""Several sessions on one budget: nobody runs away, and each run is that of its recipe."""

import threading

import numpy as np
import pytest

import pmdviz
from pmdviz.errors import InputError
from pmdviz.experiments.race import Race, RaceRecipe

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
