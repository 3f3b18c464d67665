"""Races without a browser: the page, its loop, and entrants in threads."""

import asyncio
import json
import threading
from contextlib import asynccontextmanager
from dataclasses import replace
from functools import partial

import numpy as np

import pmdviz
from pmdviz.experiments.race import RaceRecipe
from pmdviz.experiments.sweep import other_seeds, run_seed
from pmdviz.kernels.pool import current_token
from pmdviz.lab.loop import race_runner
from pmdviz.lab.loop.race_runner import RaceRunner
from pmdviz.lab.loop.task import Again
from pmdviz.lab.panels.racing import DEFAULT_ENTRANTS, RaceSetup, status_fields
from pmdviz.lab.race import Race, usual_race
from tests.lab.threads import drawing, until
from tests.support.browser import await_that
from tests.support.own import own_target
from tests.support.tables import looped, refused

FEW = {"num_particles": 80}
RACE = RaceRecipe.checked([("pmd", FEW), ("smc", FEW)], target_options={"num_data": 300}, budget=900)


@asynccontextmanager
async def raced(recipe=RACE, at=0):
    page = Race(recipe=recipe, at=at)
    drawing(page.screen.ack)
    page.start(None)
    try:
        await until(lambda: page._last is not None)
        yield page
    finally:
        page.stop()


def at_rest(page):
    """Whether no step is under way, of the loop's or of an entrant's own thread."""
    return not page.live.at_work and all(task.future.done() for task in page.live.runner._turns)


async def test_out_of_sight_it_stands_still_and_goes_on_later():
    async with raced(replace(RACE, budget=None)) as page:
        page._act("toggle")
        await until(lambda: page._last.iteration > 3)
        page.look(False)
        await until(lambda: at_rest(page))
        stood = [session.frame.iteration for session in page.live.runner.sessions]
        for _ in range(20):
            await asyncio.sleep(0)
        assert [session.frame.iteration for session in page.live.runner.sessions] == stood
        assert not page.screen.ack.keyboard and page.live.playing
        page.look(True)
        await until(lambda: page._last.iteration > sum(stood))


async def test_what_is_asked_before_the_next_picture_is_about_the_methods_on_show():
    async with raced(RACE.with_entrants([("pmd", FEW), ("pmd", FEW), ("smc", FEW), ("sgld", {})])) as page:
        page._act("what_if")
        page._act("inside")
        page.entrant.value = name = page._last.names[2]
        cards, labels = [*page.setup.cards], [tile.label for tile in page._last.tiles]
        page.setup._remove(cards[0])
        page.setup._remove(cards[0])  # pressed twice
        page.setup.turn(cards[2], "jitter", 0.5)
        page.setup._remove(cards[1])
        await until(lambda: len(page._last.tiles) == 3 and not page.live.at_work)
        assert [tile.label for tile in page._last.tiles] == [*labels[2:], f"{labels[2]},jitter=0.5"]
        await until(lambda: page._last.watched)
        assert page.entrant.value == name == page._last.names[0]
        for card in [*page.setup.cards]:
            page.setup._remove(card)
        await until(lambda: not page._last.tiles)


async def test_the_address_says_the_round_that_is_shown_and_an_entrant_opens_in_the_lab_at_it():
    opened = []
    async with raced(at=4) as page:
        await until(lambda: page._last.at == 4)
        assert page.screen.ack.link == page._query(page.recipe) and page.screen.ack.link.endswith("&at=4")
        page._act("back")
        await until(lambda: page._last.at == 3)
        assert page.screen.ack.link.endswith("&at=3")
        page.on_open = lambda name, what: opened.append((name, what))
        page._open_in_lab(0)
        (name, link), tile = opened[0], page._last.tiles[0]
        assert name == "lab" and link.iteration == tile.iteration > 0 and link.recipe == page.recipe.recipes[0]
        page._act("restart")
        await until(lambda: page._last.at == 0)
        assert "at=" not in page.screen.ack.link


async def test_settings_changed_before_the_first_is_drawn_are_all_in_the_next_race():
    async with raced() as page:
        page.setup.turn(page.setup.cards[0], "bandwidth", 2.0)
        page.setup.turn(page.setup.cards[1], "jitter", 0.5)
        page.setup._remove(page.setup.cards[0])
        page.setup._on_budget(1_000)
        await until(lambda: page._last.budget == 1_000)
        assert [tile.label for tile in page._last.tiles] == ["smc:num_particles=80,jitter=0.5"]
        page.setup.turn(page.setup.cards[0], "jitter", 0.25)
        page._act("restart")
        page.setup.method.value = "pmd"
        page.setup._add()
        await until(lambda: len(page._last.tiles) == 2)
        assert page._last.tiles[0].label.endswith("jitter=0.25") and page.setup.begun is None


def test_another_target_keeps_those_who_can_run_on_it():
    asked = []
    setup = RaceSetup(RACE.with_entrants(DEFAULT_ENTRANTS), asked.append, branch=None, leave=None, look=None)
    setup.target.value = "bimodal1d"
    assert [one.method for one in asked[0].entrants] == ["pmd", "pmd", "smc", "sgld", "svi"]
    assert asked[0].target.name == "bimodal1d" and asked[0].seeds == RACE.seeds
    assert len(usual_race().seeds) == 1


async def test_the_clock_and_the_metrics_follow_what_is_raced():
    async with raced(RaceRecipe.checked([("pmd", FEW)], target_options={"num_data": 300}, budget=900)) as page:
        page.setup.clock.value = "evaluations"
        await until(lambda: page._last.recipe.budget_unit == "evaluations")
        assert page._last.budget == 80 * 20_000 and page.screen.traces.clock == "evaluations"
        assert page.setup.budget.label == "Budget of each (likelihood evaluations)"
        assert "of 1,600,000 likelihood evaluations each" in page._last.words
        page.setup.target.value = "ising"
        await until(lambda: page._last.recipe.target.name == "ising")
        page.setup._add()
        await until(lambda: len(page._last.tiles) == 1)
        assert [*page.setup.clock.options.values()] == ["evaluations"]
        heads = ["likelihood evaluations", "error of the mean (posterior sds)", "marginal TV (0 to 1)"]
        assert [column[1] for column in page.screen.table.columns[2:5]] == heads
        assert [page.screen.traces.metric.name, page.screen.second.metric.name] == ["mean_error", "marginal_tv"]
        page._act("step")
        await until(lambda: page._last.iteration > 0)
        assert {"first", "second"} <= set(page.screen.table.rows[0])


async def test_bands_are_runs_of_every_method_with_other_seeds_and_the_table_has_their_mean():
    async with raced() as page:
        page.bands.seeds.value = 4
        page.bands._press()
        await until(lambda: page.bands.runs and not page.live.at_work)
        ends = [[run_seed(one, seed).history["tv"][-1] for seed in other_seeds(0, 4)] for one in RACE.recipes]
        assert [row["seeds"][0] for row in page.screen.table.rows] == [float(np.mean(each)) for each in ends]
        assert "middle 80" in page.bands.said.object and len(page.screen.traces._bands) == 2
        page.setup._on_budget(500)
        assert not page.bands.runs and not page.screen.traces._bands


OPTIONS = {"num_data": 300, "sigma_x": 1.5}
OF_THREE = RaceRecipe.checked([("pmd", FEW), ("smc", FEW), "sgld"], target_options=OPTIONS, budget=900)


def to_the_end(runner, rounds=1):
    snapshots = [runner.snapshot()]
    while not snapshots[-1].done:
        snapshots.append(runner.advance(rounds))
        assert len(snapshots) < 5000
    return snapshots


def test_every_step_is_in_lock_step_the_ends_are_those_of_the_recipes_and_more_budget_goes_on():
    runner, ahead = RaceRunner(OF_THREE), []

    def seen(one, step):
        """The others only go on meanwhile: whoever is too far ahead of the last one now was so before."""
        step()
        last = runner.lowest
        ahead.append(0 if last is None else one.session.frame.visited - last)

    for one in runner.racers:
        one.step = partial(seen, one, one.step)
    to_the_end(runner)
    assert len(ahead) > 9 and max(ahead) <= runner.slack == 300
    for recipe, session, tile in zip(OF_THREE.recipes, runner.sessions, runner.snapshot().tiles, strict=True):
        final = pmdviz.run(recipe, floor=False).final
        assert np.array_equal(final.particles, session.frame.particles)
        assert tile.row["tv"] == final.metrics["tv"] and tile.ended
        assert tile.trace["visited"][-1] == final.visited and (np.diff(tile.trace["visited"]) > 0).all()
    more = runner.proceed()
    assert not more.done and more.budget == 1800 and [bool(tile.ended) for tile in more.tiles] == [False, True, False]


def shown(snapshot):
    """Spent, TV and the length of the trace of each tile."""
    return [(tile.spent, tile.row["tv"], len(tile.trace["visited"])) for tile in snapshot.tiles]


def test_any_round_comes_again_with_the_same_bits_and_the_race_goes_on_from_there():
    runner = RaceRunner(OF_THREE)
    moments = to_the_end(runner)
    before = next(moment for moment in reversed(moments) if moment.at < moments[-1].at)  # a slow machine has some there
    for moment in (moments[3], moments[0], before, moments[3]):
        again = runner.visit(moment.at)
        assert (again.at, again.last, again.done) == (moment.at, moments[-1].at, False)
        assert all(tile.spent >= moment.at * 100 or tile.ended for tile in again.tiles)
        assert all((tile.trace["visited"] <= tile.visited).all() for tile in again.tiles)
        assert [len(tile.whole["visited"]) for tile in again.tiles] == [count for _, _, count in shown(moments[-1])]
    end = to_the_end(runner)[-1]
    assert shown(end) == shown(moments[-1]) and end.last == moments[-1].last
    assert shown(runner.visit(10**6)) == shown(end)
    other = RaceRunner(OF_THREE)
    while isinstance(there := other.go(4), Again):  # the way there comes in turns
        assert other.iteration <= 4
    again = runner.visit(4)
    assert there.at == again.at == 4
    assert [(tile.iteration, tile.row["tv"]) for tile in there.tiles] == [
        (tile.iteration, tile.row["tv"]) for tile in again.tiles
    ]


def test_a_branch_is_one_more_entrant_whose_recipe_replays_it():
    runner = RaceRunner(OF_THREE)
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
    refused("bandwidth must be", runner.branch, 0, {"bandwidth": -1})
    assert len(runner.snapshot().tiles) == 4


def test_an_entrant_leaves_and_the_others_go_on_as_if_it_had_never_been_there():
    runner, alone = RaceRunner(OF_THREE), to_the_end(RaceRunner(OF_THREE.without(1)))[-1]
    runner.advance(3)
    at = runner.iteration
    left = runner.remove(1)
    assert left.at == at and left.recipe == OF_THREE.without(1)
    end = to_the_end(runner)[-1]
    assert [tile.row["tv"] for tile in end.tiles] == [tile.row["tv"] for tile in alone.tiles]
    for k, tile in enumerate(end.tiles):  # inside the last step of each
        told = json.loads(runner.look_inside(k))
        assert told["iteration"] == tile.iteration and len(told) > 2, tile.label
    weighted = runner.remove(1)  # without the chain there is one more metric, from now on
    assert weighted.at == end.at and "ess" not in end.recipe.drawn and np.isfinite(weighted.tiles[0].trace["ess"][-1])


def test_a_stopped_race_is_taken_home_as_it_stands_or_whole(tmp_path, monkeypatch):
    monkeypatch.setattr(race_runner, "SHARE_S", 1e9)
    runner = RaceRunner(OF_THREE)
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


def under_way(snapshot):
    """Whose step is."""
    return [tile.label for tile in snapshot.tiles if tile.waited is not None]


def test_a_slow_one_is_waited_for_at_the_bound_while_frames_go_on():
    gate = Gate()
    runner = gated(gate)
    gate.open.clear()
    try:
        await_that(lambda: (now := runner.advance()).tiles[1].visited >= 60 and now.tiles[0].slow, 50)
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
        await_that(lambda: under_way(runner.advance()), 50)  # before the gate opens by itself
        runner.cancel()
    finally:
        gate.open.set()
    await_that(lambda: not under_way(runner.snapshot()))
    assert runner.snapshot().tiles[0].visited == runner.sessions[0].frame.visited == 0
    gate.fails = True
    end = to_the_end(runner)[-1]
    assert "log_likelihood of target 'gate' is nan" in end.tiles[0].ended
    assert end.tiles[1].visited == 600


SMALL = {"target_options": {"num_data": 200, "sigma_x": 1.5}}


def spent(runner):
    return [session.frame.spent for session in runner.sessions]


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
        assert spent(runner) == [level * unit] * 2
    for _ in range(20):
        runner.raise_level(50)
        while runner.may_step(runner.racers[k]):
            runner.racers[k].step()
    assert spent(runner)[k] == (level + beyond) * unit and spent(runner)[1 - k] == level * unit
    assert runner.may_step(runner.racers[1 - k])


def test_chains_without_data_do_not_wait_for_each_other_at_each_evaluation():
    runner, steps = RaceRunner(RaceRecipe.checked(["random_walk", "hmc"], target="funnel", budget=300)), 0
    runner.raise_level(100)
    while runner.may_step(runner.racers[0]):
        runner.racers[0].step()
        steps += 1
    assert steps > 10
