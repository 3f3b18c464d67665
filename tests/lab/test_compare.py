"""Compare with ...: what may differ, the race that is begun, and the pages that pass it on."""

import pytest

from pmdviz.engine.recipe import Recipe
from pmdviz.experiments.race import RaceRecipe
from pmdviz.kernels.compiling import compiler
from pmdviz.lab.loop.runner import Runner
from pmdviz.lab.pages.race import RacePage
from pmdviz.lab.panels.comparing import BRANCH, KNOB, METHOD, PRESET, ComparePanel
from pmdviz.lab.panels.race_screen import status_fields
from pmdviz.presets import PRESETS
from pmdviz.views.race_traces import SLOTS
from tests.scenes.test_race_difference import scene_of


@pytest.fixture
def begun():
    return []


@pytest.fixture
def panel(begun):
    made = ComparePanel(begun.append, PRESETS, lambda: "Compare")
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


def test_another_method_or_preset_races_too(panel, begun):
    panel.what.value = (METHOD, "")
    panel.method.value = "smc"
    panel._compare()
    panel.what.value = (PRESET, "")
    panel._compare()
    recipe = PRESETS[panel.preset.value].recipe
    assert begun[0].entrants[1].text == "smc"
    assert (begun[1].recipes[1].method, begun[1].recipes[1].knobs) == (recipe.method, recipe.knobs)


def test_a_run_and_its_branch_race_each_with_its_changed_settings(panel, begun):
    runner = Runner(panel._last.recipe)
    for _ in range(3):  # three at once may be fewer on a busy machine
        runner.advance()
    runner.past.visit(2)
    panel.show(runner.set({"bandwidth": 0.5}))
    panel.what.value = (BRANCH, "")
    assert "Branch at iteration 2" in panel.said.object and not any(way.visible for way, _ in panel._ways.values())
    panel._compare()
    assert [one.text for one in begun[0].entrants] == ["pmd:num_particles=200@2:bandwidth=0.5", "pmd:num_particles=200"]
    assert begun[0].recipes[0] == runner.session.recipe


def test_a_race_page_takes_a_race_before_and_after_it_has_begun(monkeypatch):
    monkeypatch.setattr(compiler, "is_ready", lambda groups: True)
    page, race = RacePage(), RaceRecipe.checked("pmd,pmd:bandwidth=2", budget=400)
    page.take(race)
    assert page._first(None)[1].recipe == race
    page.live.runner, jobs = page._first(None)[0], []
    page.live.do = lambda what, act, newest_only=False: jobs.append(act(page.live.runner)[1].recipe)
    page.take(other := RaceRecipe.checked("smc,svi"))
    assert jobs == [other]


def test_two_methods_have_their_difference_in_place_of_the_second_trace():
    screen = RacePage().screen
    scene = scene_of("pmd:num_particles=200,pmd:num_particles=400", 3)
    screen.show(scene, False, {})
    lower = screen.panes[SLOTS[1]]
    assert screen.second.visible and lower.object is screen.difference.figure
    assert len(screen.difference.sources["line"].data["x"]) == 3
    assert " lower with Particles m = " in status_fields(scene)["step"]
    screen.second.value = scene.recipe.shown[1].name
    assert lower.object is screen.traces.panels[SLOTS[1]].figure
    screen.second.value = "difference"
    screen.clock.value = "evaluations"
    assert screen.difference.figure.xaxis[0].axis_label.startswith("likelihood evaluations")
    screen.show(scene_of("pmd,smc,svi", 1), False, {})
    assert not screen.second.visible and lower.object is screen.traces.panels[SLOTS[1]].figure
