"""The Race page without a browser: its controls, its loop out of sight, its bands."""

import asyncio
from contextlib import asynccontextmanager
from dataclasses import replace

from pmdviz.experiments.race import RaceRecipe
from pmdviz.lab.panels.race_setup import DEFAULT_ENTRANTS, RaceSetup
from pmdviz.lab.race import Race, usual_race
from tests.lab.threads import drawing, until

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
        page.inside.entrant.value = name = page._last.names[2]
        cards, labels = [*page.setup.cards], [tile.label for tile in page._last.tiles]
        page.setup._remove(cards[0])
        page.setup._remove(cards[0])  # pressed twice
        page.setup.turn(cards[2], "jitter", 0.5)
        page.setup._remove(cards[1])
        await until(lambda: len(page._last.tiles) == 3 and not page.live.at_work)
        assert [tile.label for tile in page._last.tiles] == [*labels[2:], f"{labels[2]},jitter=0.5"]
        await until(lambda: page._last.watched)
        assert page.inside.entrant.value == name == page._last.names[0]
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
    setup = RaceSetup(RACE.with_entrants(DEFAULT_ENTRANTS), asked.append)
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
