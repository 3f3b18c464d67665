"""The card "Inside this step": the run computes it while it is open, of the step that led to what is shown."""

import json

import pytest

from pmdviz.engine.recipe import Recipe
from pmdviz.lab.loop.runner import Runner
from pmdviz.lab.panels.folds import InsidePanel
from pmdviz.scenes.inside import START
from pmdviz.views import StageView


@pytest.fixture
def runner():
    made = Runner(Recipe("mixture", "pmd", num_particles=300))
    made.wanted.clear()  # nothing plays
    return made


def test_nothing_is_computed_before_somebody_looks(runner):
    assert runner.advance(1).inside == "" and not runner.snapshot().watched
    looked = runner.look_inside(True)
    assert looked.watched and json.loads(looked.inside)["iteration"] == 1
    assert runner.look_inside(False).inside == ""


def test_the_way_back_tells_the_same_step_as_the_way_forward(runner):
    runner.look_inside(True)
    forward = [json.loads(runner.advance(1).inside) for _ in range(4)]
    assert [each["iteration"] for each in forward] == [1, 2, 3, 4]
    for expected in reversed(forward[:3]):
        assert json.loads(runner.back().inside) == expected
    assert runner.session.frame.iteration == 1  # the run itself stood still
    assert json.loads(runner.back().inside) == {"iteration": 0, "note": START}
    assert json.loads(runner.advance(1).inside) == forward[0]


def test_the_card_is_made_when_it_is_opened_and_follows_another_run(runner):
    looks, frozen = [], []
    panel = InsidePanel(StageView(runner.session.target).figure, looks.append, lambda: frozen.append(True))
    panel.show(runner.snapshot())
    assert panel.inside is None and len(panel.view) == 0 and looks == []
    panel.toggle()
    assert looks == [True] and panel.inside is not None and panel.inside.seen == 1
    panel.show(runner.snapshot())  # of a run that does not know yet
    assert looks == [True, True] and panel.inside.told == ""
    panel.show(runner.look_inside(True))
    assert json.loads(panel.inside.told)["note"] == START
    panel.show(runner.advance(1))
    assert json.loads(panel.inside.told)["kind"] == "weights"
    panel.inside.freezes += 1
    assert frozen == [True]
    panel.toggle()
    assert looks[-1] is False and not panel.is_open


def test_two_runs_of_one_length_are_told_apart(runner):
    """After a swap the frame before the step is that of the run that is shown."""
    runner.look_inside(True)
    for _ in range(3):
        runner.advance(1)
    runner.travel(lambda past: past.what_if())
    runner.set({"eta": 9.0})
    ours = json.loads(runner.advance(1).inside)
    others = json.loads(runner.travel(lambda past: past.swap()).inside)
    alone = Runner(Recipe("mixture", "pmd", num_particles=300))
    alone.wanted.clear()
    alone.look_inside(True)
    for _ in range(4):
        told = alone.advance(1)
    assert others == json.loads(told.inside) != ours
    assert json.loads(runner.travel(lambda past: past.swap()).inside) == ours
