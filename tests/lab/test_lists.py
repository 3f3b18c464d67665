"""The Methods page without a browser: what it holds and what a press opens."""

import pytest

from pmdviz.lab.plain_pages import MethodsPage, Opening, opening
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
