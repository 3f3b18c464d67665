"""The card "Inside this step": the run computes it while it is open, of the step that led to what is shown."""

import json

import pytest

from pmdviz.engine.recipe import Recipe
from pmdviz.lab.loop.runner import Runner
from pmdviz.scenes.inside import START


@pytest.fixture
def runner():
    made = Runner(Recipe("mixture", "pmd", num_particles=300))
    made.wanted.clear()  # nothing plays
    return made


def test_the_way_back_tells_the_same_step_as_the_way_forward(runner):
    runner.look_inside(True)
    forward = [json.loads(runner.advance(1).inside) for _ in range(4)]
    assert [each["iteration"] for each in forward] == [1, 2, 3, 4]
    for expected in reversed(forward[:3]):
        assert json.loads(runner.back().inside) == expected
    assert runner.session.frame.iteration == 1  # the run itself stood still
    assert json.loads(runner.back().inside) == {"iteration": 0, "note": START}
    assert json.loads(runner.advance(1).inside) == forward[0]


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
