"""Runs give the bits that they were recorded with; with another processor or NumPy they visit as many data."""

import json

import pytest

from pmdviz.engine.recipe.recipe import Recipe
from tests.support.replays import FILE, digest, here, ran

KNOWN = json.loads(FILE.read_text())


def test_there_are_sixty_and_more():
    assert len({run["link"] for run in KNOWN["runs"]}) >= 60


@pytest.mark.parametrize("run", KNOWN["runs"], ids=lambda run: run["link"][:60])
def test_a_run_has_the_bits_that_it_had(run):
    assert Recipe.from_link(run["link"]) == Recipe.from_dict(run["recipe"])
    session = ran(run["recipe"])
    same = here() == run["made_with"]
    slack = 1 if session.ended and not same else 0  # a method that finds its own end may find it a step later
    assert session.frame.iteration == pytest.approx(run["iteration"], abs=slack)
    assert session.frame.visited == run["visited"]
    if same:
        assert digest(session, run["columns"]) == run["sha256"]
