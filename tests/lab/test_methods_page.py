"""The Methods page without a browser: what its table holds, what a cell opens, and what the lab makes of it."""

import asyncio

import pytest

from pmdviz.engine.recipe.recipe import Recipe
from pmdviz.lab import Lab
from pmdviz.lab.pages.methods import MethodsPage
from pmdviz.lab.pages.opening import TAKES, Opening, opening
from pmdviz.methods import METHODS, usual_target
from pmdviz.methods.grammar import COLUMNS
from pmdviz.scenes.trace_columns import GROUPS
from pmdviz.serve.pages import PAGES
from tests.lab.threads import in_a_thread


@pytest.fixture
def page():
    made = MethodsPage()
    made.opened = []
    made.on_open = lambda name, what: made.opened.append((name, what))
    return made


def test_the_tabs_in_their_order():
    assert [title for title, _ in PAGES.values()] == ["Lessons", "Race", "Theory", "Geometry", "Methods"]


def test_the_table_has_every_method_once_with_a_cell_for_each_column(page):
    rows = [row for _, methods in page.table.families for row in methods]
    assert sorted(name for name, _, _ in rows) == sorted(METHODS)
    assert [name for name, _, _ in page.table.columns] == [*COLUMNS]
    cells = {name: cells for name, _, cells in rows}
    assert cells["pmd"][2] == [["kernel density"], "when the ESS falls below τ\N{NO-BREAK SPACE}m"]
    assert cells["pmd"][3] == [[], ""] and cells["hmc"][3] == [["HMC"], ""]


def test_a_press_on_a_cell_opens_the_lab_and_nonsense_does_not(page):
    page.table._handle_msg({"method": "svgd", "column": "move"})
    assert page.opened == [("lab", Opening("svgd", "", inside=True))]
    for odd in ({}, {"method": "no such", "column": "move"}, {"method": "svgd", "column": "fly"}, {"method": []}):
        page.table._handle_msg(odd)
    assert len(page.opened) == 1
    page.on_open = None
    page.pick("svgd", "move")  # where there is no other page nothing happens
    page.set_theme(dark=True)
    page.look(False)
    page.start(None)
    page.stop()


SHOWN = [
    ("pmd", "", "", False),
    ("pmd", "propagate", "", False),
    ("pmd", "reweight", "ess", True),
    ("pmd", "resample", "ess", False),
    ("pmd", "adapt", "step_step_size", False),
    ("hmc", "move", "", True),
    ("smc_mcmc", "adapt", "step_temperature", False),
    ("gibbs", "move", "", False),
    ("psgld", "adapt", "", False),
]


@pytest.mark.parametrize(("method", "column", "trace", "inside"), SHOWN)
def test_what_shows_a_cell(method, column, trace, inside):
    assert opening(METHODS[method], column) == Opening(method, trace, inside)


@pytest.mark.parametrize("name", METHODS)
def test_every_cell_of_every_method_names_traces_that_there_are(name):
    for column, cell in METHODS[name].grammar:
        trace = opening(METHODS[name], column).trace if cell.terms else ""
        assert trace in ("", *GROUPS)


def test_a_method_is_run_on_its_usual_target_at_the_defaults():
    assert Opening("gf_svgd").recipe() == Recipe(usual_target("gf_svgd"), "gf_svgd")


def shown(lab, *acts):
    """Have each thing done on the lab's loop, and wait until the last picture is as it is to be; those pictures."""

    async def scene():
        lab.start()
        lab.ready()
        found = [await one(*each) for each in acts]
        lab.stop()
        return found

    async def one(act, until):
        act()
        for _ in range(1500):
            lab.screen.ack.drawn = lab.screen.ack.sent  # a browser that draws at once
            await asyncio.sleep(0.02)
            if lab._last is not None and until(lab._last):
                return lab._last
        raise AssertionError(lab._last.recipe)

    return in_a_thread(scene)


def test_the_lab_runs_what_is_handed_over_with_the_part_that_shows_it():
    lab = Lab("gaussian", num_particles=50)
    handed_over = Opening("smc", "ess", inside=True)
    (last,) = shown(lab, (lambda: lab.take(handed_over), lambda s: s.frame.iteration > 1 and s.inside))
    assert (last.recipe.method, last.recipe.target) == ("smc", "mixture")
    assert lab.screen.group.value == "ess" and lab.inside.is_open and lab.commands.can_undo
    assert lab.inside.inside.seen == 2  # when it was opened, and when it had a step


def test_a_recipe_is_begun_and_undo_brings_the_run_before_back():
    lab, wanted = Lab("gaussian", num_particles=50), Recipe("banana", num_particles=30)
    begun, back = shown(
        lab,
        (lambda: lab.take(wanted), lambda s: s.recipe == wanted),
        (lambda: lab.commands.act("undo"), lambda s: s.recipe.target == "gaussian"),
    )
    assert begun.frame.iteration == 0 and not lab.live.playing and back.recipe.knobs["num_particles"] == 50


def test_every_kind_that_is_handed_over_has_its_way():
    assert {Recipe, Opening} <= {*TAKES}
