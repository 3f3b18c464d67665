"""Parts of the lab's pages one by one, without a server or a browser."""

from types import SimpleNamespace

import pytest
from bokeh.plotting import figure

from pmdviz.engine.recipe.recipe import Recipe
from pmdviz.lab.loop.runner import Runner
from pmdviz.lab.panels.own_data.own_problem import OwnProblem

RECIPE = Recipe("mixture", num_particles=50, budget=500, target_options={"num_data": 30})


@pytest.fixture(scope="module")
def runner():
    runner = Runner(RECIPE)
    runner.advance(1)
    return runner


@pytest.fixture
def own(runner):
    """A person's own problem whose data are shown, and the runs that it has begun."""
    begun = []
    stage = figure()
    stage.line([], [], name="exact")
    screen = SimpleNamespace(stage=SimpleNamespace(figure=stage), view=[], options=[None])
    own = OwnProblem(lambda *what, **how: begun.append(what), screen, lambda: None)
    own.show(runner.snapshot())
    own.editing.look(True)
    return own.editing, own, begun


def test_edits_that_a_refused_run_leaves_behind_are_forgotten(own, runner):
    editing, own, begun = own
    editing._hear({"add": [0.5]})
    editing._hear({"add": [0.6]})
    assert len(begun) == 1  # the second edit waits for the run that the first one has begun
    own.cancelled()
    assert editing._options(runner.snapshot().frame.target) == {}
    editing._hear({"add": [0.7]})
    assert len(begun) == 2


def test_no_edit_is_taken_while_the_data_are_out_of_sight(own):
    editing, _, begun = own
    editing.look(False)
    editing._hear({"last": True})
    assert begun == []
    editing.look(True)
    editing._hear({"last": True})
    assert len(begun) == 1
