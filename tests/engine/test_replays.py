"""Runs are those that were recorded: to the bit on the same computer, elsewhere up to the first resampling."""

import pytest

from pmdviz.engine.recipe.recipe import Recipe
from pmdviz.methods import METHODS
from tests.support.replays import difference, known

KNOWN = known()


def differences(tier):
    return [words for run in KNOWN[tier] if (words := difference(run, KNOWN["machines"]))]


def test_a_run_of_every_method_is_the_recorded_one():
    assert {Recipe.from_link(run["link"]).method for run in KNOWN["default"]} == {*METHODS}
    assert differences("default") == []


@pytest.mark.nightly
def test_every_recorded_run_is_what_it_was():
    assert differences("nightly") == []
