"""The Methods and the Lessons page without a browser: what they hold, what a press opens, what the lab makes of it."""

import pytest

from pmdviz.lab.pages.lists import CHALLENGES, LessonsPage, MethodsPage, Opening, opening
from pmdviz.lessons.reading import LESSONS, read_lesson
from pmdviz.methods import METHODS
from pmdviz.methods.step import COLUMNS
from pmdviz.scenes.trace_columns import GROUPS
from tests.support.tables import looped


@pytest.fixture
def page():
    made = MethodsPage()
    made.opened = []
    made.on_open = lambda name, what: made.opened.append((name, what))
    return made


def test_the_table_has_every_method_once_and_a_press_on_a_cell_opens_the_lab(page):
    rows = [row for _, methods in page.table.families for row in methods]
    assert sorted(name for name, _, _ in rows) == sorted(METHODS)
    assert [column[0] for column in page.table.columns] == [*COLUMNS]
    cells = {name: cells for name, _, cells in rows}
    assert cells["pmd"][2] == [["kernel density"], "when the ESS falls below τ\N{NO-BREAK SPACE}m"]
    assert cells["pmd"][3] == [[], ""] and cells["hmc"][3] == [["HMC"], ""]
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


@looped("method, column, trace, inside", SHOWN)
def test_what_shows_a_cell(method, column, trace, inside):
    assert opening(METHODS[method], column) == Opening(method, trace, inside)


@looped("name", METHODS)
def test_every_cell_of_every_method_names_traces_that_there_are(name):
    for column, cell in METHODS[name].grammar:
        trace = opening(METHODS[name], column).trace if cell.terms else ""
        assert trace in ("", *GROUPS)


# The Lessons page: lessons and challenges apart, in their order.

STEP = """```{{step}} {name}
---
title: A step
recipe: {{target: gaussian, budget: 200}}
{more}
---
Text.
```
"""


def made(name, more=""):
    head = f"---\ntitle: Of {name}\nquestion: Why {name}?\nminutes: 7\n---\n"
    return read_lesson(name, head + STEP.format(name="one", more=more) + STEP.format(name="two", more=more))


def test_it_lists_what_there_is_in_its_order_and_challenges_apart():
    score = "goal: tv < 0.5\nsolution: {0: {num_particles: 900}}\ncontrols: [num_particles]\nscore: 1 / tv"
    lessons = {"b": made("b"), "c": made("c", score), "a": made("a")}
    page = LessonsPage(lessons)
    assert [row[0] for row in page.list.lessons] == ["b", "a", "c", "practice"]
    assert page.list.lessons[2] == ["c", "Of c", "Why c?", 7, ["one", "two"], CHALLENGES, ""]
    page = LessonsPage()
    assert sorted(row[0] for row in page.list.lessons) == sorted([*LESSONS, "practice"])
    assert all(sketch for *_, sketch in page.list.lessons)  # every card has its own thumbnail
    page = LessonsPage({})
    page.look(False)
    page.look(True)
    assert page.list.looks == 1


def test_a_press_on_practice_opens_cases_that_nobody_has_seen():
    page, opened = LessonsPage({}), []
    page.on_open = lambda name, what: opened.append(what)
    for _ in range(2):
        page.list._handle_msg({"lesson": "practice"})
    assert all(one.name.startswith("practice-") for one in opened) and opened[0].name != opened[1].name
    page.list._handle_msg({"lesson": opened[0].name})  # a link to the same cases
    assert opened[2].steps == opened[0].steps
