"""A race in threads: every frame drawn in time, the lock step kept, a slow one neither lost nor waited for."""

import json
import threading
import time
from functools import partial

import numpy as np
import pytest

import pmdviz
from pmdviz.errors import InputError
from pmdviz.experiments.race import RaceRecipe
from pmdviz.kernels.pool import current_token
from pmdviz.lab.loop import race_runner
from pmdviz.lab.loop.race_runner import RaceRunner
from pmdviz.lab.loop.task import Again
from pmdviz.lab.panels.race_screen import status_fields
from tests.support.own import own_target
from tests.support.tables import looped

FEW = {"num_particles": 80}
OPTIONS = {"num_data": 300, "sigma_x": 1.5}
RACE = RaceRecipe.checked([("pmd", FEW), ("smc", FEW), "sgld"], target_options=OPTIONS, budget=900)


def to_the_end(runner, rounds=1):
    snapshots = [runner.snapshot()]
    while not snapshots[-1].done:
        snapshots.append(runner.advance(rounds))
        assert len(snapshots) < 5000
    return snapshots


def test_every_step_is_in_lock_step_the_ends_are_those_of_the_recipes_and_more_budget_goes_on():
    runner, ahead = RaceRunner(RACE), []

    def seen(one, step):
        """The others only go on meanwhile: whoever is too far ahead of the last one now was so before."""
        step()
        last = runner.lowest
        ahead.append(0 if last is None else one.session.frame.visited - last)

    for one in runner.racers:
        one.step = partial(seen, one, one.step)
    to_the_end(runner)
    assert len(ahead) > 9 and max(ahead) <= runner.slack == 300
    for recipe, session, tile in zip(RACE.recipes, runner.sessions, runner.snapshot().tiles, strict=True):
        final = pmdviz.run(recipe, floor=False).final
        assert np.array_equal(final.particles, session.frame.particles)
        assert tile.row["tv"] == final.metrics["tv"] and tile.ended
        assert tile.trace["visited"][-1] == final.visited and (np.diff(tile.trace["visited"]) > 0).all()
    more = runner.extend(300)
    assert not more.done and more.budget == 1200 and [bool(tile.ended) for tile in more.tiles] == [False, True, False]


def shown(snapshot):
    """Spent, TV and the length of the trace of each tile."""
    return [(tile.spent, tile.row["tv"], len(tile.trace["visited"])) for tile in snapshot.tiles]


def test_any_round_comes_again_with_the_same_bits_and_the_race_goes_on_from_there():
    runner = RaceRunner(RACE)
    moments = to_the_end(runner)
    for moment in (moments[3], moments[0], moments[-2], moments[3]):
        again = runner.visit(moment.at)
        assert (again.at, again.last, again.done) == (moment.at, moments[-1].at, False)
        assert all(tile.spent >= moment.at * 100 or tile.ended for tile in again.tiles)
        assert all((tile.trace["visited"] <= tile.visited).all() for tile in again.tiles)
        assert [len(tile.whole["visited"]) for tile in again.tiles] == [count for _, _, count in shown(moments[-1])]
    end = to_the_end(runner)[-1]
    assert shown(end) == shown(moments[-1]) and end.last == moments[-1].last
    assert shown(runner.visit(10**6)) == shown(end)
    other = RaceRunner(RACE)
    while isinstance(there := other.go(4), Again):  # the way there comes in turns
        assert other.iteration <= 4
    again = runner.visit(4)
    assert there.at == again.at == 4
    assert [(tile.iteration, tile.row["tv"]) for tile in there.tiles] == [
        (tile.iteration, tile.row["tv"]) for tile in again.tiles
    ]


def test_a_branch_is_one_more_entrant_whose_recipe_replays_it():
    runner = RaceRunner(RACE)
    for _ in range(4):
        runner.advance()
    end = to_the_end(runner)[-1]
    runner.visit(3)
    at = runner.sessions[0].frame.iteration
    made = runner.branch(0, {"bandwidth": 3.0})
    assert [tile.label for tile in made.tiles][:3] == [tile.label for tile in end.tiles]
    assert made.tiles[3].label == f"pmd:num_particles=80@{at}:bandwidth=3.0"
    assert made.tiles[3].title == f"PMD, particles m = 80, bandwidth h = 3 from iteration {at}"
    assert made.changed == ((3, made.tiles[3].title),)
    assert made.tiles[3].iteration == at and len(made.tiles[3].trace["visited"]) > 1
    after = to_the_end(runner)[-1]
    assert shown(after)[:3] == shown(end) and after.tiles[3].row["tv"] != after.tiles[0].row["tv"]
    again = RaceRecipe.from_link(after.recipe.to_link())
    assert again == after.recipe and RaceRecipe.from_json(again.to_json()) == again
    rows = pmdviz.race(again).rows
    assert [row["tv"] for row in rows] == [tile.row["tv"] for tile in after.tiles]
    with pytest.raises(InputError, match="bandwidth must be"):
        runner.branch(0, {"bandwidth": -1})
    assert len(runner.snapshot().tiles) == 4


def test_an_entrant_leaves_and_the_others_go_on_as_if_it_had_never_been_there():
    runner, alone = RaceRunner(RACE), to_the_end(RaceRunner(RACE.without(1)))[-1]
    runner.advance(3)
    at = runner.iteration
    left = runner.remove(1)
    assert left.at == at and left.recipe == RACE.without(1)
    end = to_the_end(runner)[-1]
    assert [tile.row["tv"] for tile in end.tiles] == [tile.row["tv"] for tile in alone.tiles]
    for k, tile in enumerate(end.tiles):  # inside the last step of each
        told = json.loads(runner.look_inside(k))
        assert told["iteration"] == tile.iteration and len(told) > 2, tile.label
    weighted = runner.remove(1)  # without the chain there is one more metric, from now on
    assert weighted.at == end.at and "ess" not in end.recipe.drawn and np.isfinite(weighted.tiles[0].trace["ess"][-1])


def test_a_stopped_race_is_taken_home_as_it_stands_or_whole(tmp_path, monkeypatch):
    monkeypatch.setattr(race_runner, "SHARE_S", 1e9)
    runner = RaceRunner(RACE)
    assert runner.result().to_recipe().budget == 900
    while min(tile.visited for tile in runner.snapshot().tiles) < 200 or under_way(runner.snapshot()):
        runner.advance()
    result, tiles = runner.result(), runner.snapshot().tiles
    least = min(tile.visited for tile in tiles if not tile.ended)
    again = pmdviz.race(pmdviz.RaceRecipe.from_json(result.export(tmp_path / "seen.json").read_text()))
    assert again.budget == least < result.budget == 900 and f"budget={least}," in result.to_python()
    pairs = [*zip(again.rows, tiles, strict=True)]
    assert all(row["visited"] <= tile.visited for row, tile in pairs)
    stood = [(row["tv"], tile.row["tv"]) for row, tile in pairs if row["visited"] == tile.visited]
    assert stood and all(one == other for one, other in stood)
    whole = result.export(tmp_path / "whole.json", whole=True).read_text()
    assert pmdviz.RaceRecipe.from_json(whole) == result.recipe
    to_the_end(runner)
    assert runner.result().to_recipe() == runner.result().recipe


class Gate:
    """A model whose likelihood waits in threads of a race while the gate is shut."""

    def __init__(self):
        self.open = threading.Event()
        self.open.set()
        self.fails = False

    def log_likelihood(self, theta, batch):
        if threading.current_thread().name.startswith("pmdviz-") and len(theta) == 97:  # the entrant of 97 particles
            self.open.wait(60)
            current_token().check(0.5)  # as kernels do between two blocks
            if self.fails:
                return np.full(len(theta), np.nan)
        return -0.5 * ((theta[:, :1] - batch[:, 0]) ** 2).sum(axis=1)

    def target(self):
        return own_target(1, "gate", log_likelihood=self.log_likelihood, data=np.linspace(-1, 1, 60)[:, None])


def gated(gate):
    knobs = {"batch_size": 10, "bandwidth_rule": "isotropic"}
    entrants = (("pmd", {**knobs, "num_particles": 97}), ("pmd", {**knobs, "num_particles": 50}))
    return RaceRunner(RaceRecipe.checked(entrants, gate.target(), budget=600))


def advanced_until(runner, condition, seconds=50):
    """The first snapshot for which `condition` holds, before a gate opens by itself."""
    end = time.monotonic() + seconds
    while not condition(snapshot := runner.advance()):
        assert time.monotonic() < end, "waited in vain"
    return snapshot


def under_way(snapshot):
    """Whose step is."""
    return [tile.label for tile in snapshot.tiles if tile.waited is not None]


def test_a_slow_one_is_waited_for_at_the_bound_while_frames_go_on():
    gate = Gate()
    runner = gated(gate)
    gate.open.clear()
    try:
        advanced_until(runner, lambda now: now.tiles[1].visited >= 60 and now.tiles[0].slow)
        for _ in range(3):
            snapshot = runner.advance()
        assert [tile.visited for tile in snapshot.tiles] == [0, 60]
        assert under_way(snapshot) == [snapshot.tiles[0].label]
        assert "computing a step" in snapshot.tiles[0].note
        assert "Waiting for Particles m = " in status_fields(snapshot)["step"] and not snapshot.done
    finally:
        gate.open.set()
    end = to_the_end(runner)[-1]
    assert [tile.visited for tile in end.tiles] == [600, 600] and not under_way(end)


def test_cancelled_steps_leave_everybody_where_they_stood_and_a_failure_ends_one_tile_and_says_why():
    gate = Gate()
    runner = gated(gate)
    gate.open.clear()
    try:
        advanced_until(runner, under_way)
        runner.cancel()
    finally:
        gate.open.set()
    end = time.monotonic() + 60
    while under_way(runner.snapshot()):
        assert time.monotonic() < end
        time.sleep(0.01)
    assert runner.snapshot().tiles[0].visited == runner.sessions[0].frame.visited == 0
    gate.fails = True
    end = to_the_end(runner)[-1]
    assert "log_likelihood of target 'gate' is nan" in end.tiles[0].ended
    assert end.tiles[1].visited == 600


SMALL = {"target_options": {"num_data": 200, "sigma_x": 1.5}}


def advanced(runner, rows):
    """Everybody steps in turn, without threads, as far as may be."""
    runner.raise_level(rows)
    while ready := [one for one in runner.racers if runner.may_step(one)]:
        min(ready, key=lambda one: one.session.frame.spent).step()


@looped("clock, rows, unit, k, beyond", [("data", 60, 1, 1, 180), ("evaluations", 20, 50, 0, 200)])
def test_levels_rise_by_the_rows_asked_for_and_the_slowest_holds_the_others_at_the_bound(clock, rows, unit, k, beyond):
    """A datum costs the 50 particles of pmd 50 evaluations; no step of the other ends beyond the 200 data."""
    methods = ["pmd:num_particles=50,batch_size=20", f"sgld:batch_size={rows}"]
    runner = RaceRunner(RaceRecipe.checked(methods, budget=None, clock=clock, **SMALL))
    for level in range(rows, 6 * rows, rows):
        advanced(runner, rows)
        assert runner.spent == [level * unit] * 2
    for _ in range(20):
        runner.raise_level(50)
        while runner.may_step(runner.racers[k]):
            runner.racers[k].step()
    assert runner.spent[k] == (level + beyond) * unit and runner.spent[1 - k] == level * unit
    assert runner.may_step(runner.racers[1 - k])


def test_chains_without_data_do_not_wait_for_each_other_at_each_evaluation():
    runner, steps = RaceRunner(RaceRecipe.checked(["random_walk", "hmc"], target="funnel", budget=300)), 0
    runner.raise_level(100)
    while runner.may_step(runner.racers[0]):
        runner.racers[0].step()
        steps += 1
    assert steps > 10
