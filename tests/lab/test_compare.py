"""Compare with ...: what may differ, the race that is begun, and the pages that pass it on."""

import numpy as np
import pytest

from pmdviz.engine.recipe import Recipe
from pmdviz.lab.loop.runner import Runner
from pmdviz.lab.panels.comparing import BRANCH, KNOB, ComparePanel


@pytest.fixture
def begun():
    return []


@pytest.fixture
def panel(begun):
    made = ComparePanel(begun.append, lambda: "Compare")
    made.show(Runner(Recipe("mixture", "pmd", num_particles=200, seed=4, budget=500)).snapshot())
    assert len(made.card.view) == 1  # nothing but its title is built before it is looked at
    made.toggle()
    assert made.card.shown
    return made


def test_another_value_is_proposed_and_the_race_has_the_run_s_settings_beside_it(panel, begun):
    panel.what.value = (KNOB, "bandwidth")
    assert panel.form.controls["bandwidth"].value == "2" and "bandwidth h = 1" in panel.said.object
    panel.form.controls["bandwidth"].receive({"value": "0.25"})
    panel._compare()
    (race,) = begun
    assert not panel.card.shown and (race.seeds, race.budget) == ((4,), 500)
    mine, theirs = race.recipes
    assert mine.knobs == panel._last.recipe.knobs and theirs.knobs == {**mine.knobs, "bandwidth": 0.25}


def test_a_run_and_its_branch_race_each_with_its_changed_settings(panel, begun):
    runner = Runner(panel._last.recipe)
    runner.past.line.grow(3, np.inf)
    runner.past.visit(2)
    panel.show(runner.set({"bandwidth": 0.5}))
    panel.what.value = (BRANCH, "")
    assert "Branch at iteration 2" in panel.said.object and not any(way.visible for way in panel._ways.values())
    panel._compare()
    assert [one.text for one in begun[0].entrants] == ["pmd:num_particles=200@2:bandwidth=0.5", "pmd:num_particles=200"]
    assert begun[0].recipes[0] == runner.session.recipe
