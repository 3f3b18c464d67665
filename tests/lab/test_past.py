"""Back in time and in branches every frame is the recipe's own, whoever went where before."""

import numpy as np
import pytest

from pmdviz.engine.recipe import Recipe
from pmdviz.engine.session import Session
from pmdviz.lab.loop import past as branch_module
from pmdviz.lab.loop.past import Past
from pmdviz.lab.loop.runner import Runner
from pmdviz.scenes.trace_columns import GHOST, line_end, place_words

CASES = {
    "pmd": (Recipe("mixture", num_particles=60, batch_size=20, budget=1_600), {"bandwidth": [0.2, 0.5, 1.3]}),
    "smc": (
        Recipe("mixture", "smc", num_particles=40, batch_size=20, target_options={"num_data": 600}, budget=600),
        {"num_particles": [30, 50]},
    ),
    "chain": (
        Recipe("gaussian", "mala", budget=4_000, target_options={"num_data": 50}),
        {"time_step": [0.001, 0.01, 0.05]},
    ),
}
CLOCK = "seconds"  # of the machine: no two runs have the same


@pytest.fixture(autouse=True)
def as_many_iterations_as_asked_for(monkeypatch):
    monkeypatch.setattr("pmdviz.lab.loop.runner.SHARE_S", 1e9)
    monkeypatch.setattr(branch_module, "CATCH_UP_S", 1e9)


@pytest.fixture
def runner():
    made = Runner(CASES["pmd"][0])
    made.wanted.clear()  # it stands still: a ghost is of the same iteration
    return made


def advance(runner, iterations):
    """So many, though it does not play."""
    for _ in range(iterations - 1):
        runner.past.line.advance()
    return runner.advance(1)


def visit(runner, iteration, roughly=False):
    return runner.travel(lambda past: past.visit(iteration, roughly))


def assert_is_the_recipe_s(session):
    """Its frame and its history are those of a new session that went straight there."""
    fresh = Session(session.recipe)
    fresh.advance(session.frame.iteration)
    assert fresh.frame.iteration == session.frame.iteration
    assert fresh.frame.particles.tobytes() == session.frame.particles.tobytes()
    assert fresh.frame.weights.tobytes() == session.frame.weights.tobytes()
    ours, its = session.history.columns, fresh.history.columns
    assert ours.keys() == its.keys()
    assert [name for name in ours if name != CLOCK and ours[name].tobytes() != its[name].tobytes()] == []


@pytest.mark.ci
@pytest.mark.parametrize("name", CASES)
def test_wherever_one_went_each_frame_is_that_of_a_new_session(name):
    recipe, turned = CASES[name]
    rng = np.random.default_rng(7)
    runner = Runner(recipe)
    runner.wanted.clear()
    advance(runner, 15)
    for _ in range(16):
        act = rng.choice(["visit", "advance", "set", "swap", "what_if", "back"], p=[0.35, 0.3, 0.15, 0.1, 0.05, 0.05])
        if act == "visit":
            visit(runner, int(rng.integers(runner.past.line.last // 2, runner.past.line.last + 1)))
        elif act == "advance":
            advance(runner, int(rng.integers(1, 9)))
        elif act == "set":
            knob = rng.choice([*turned])
            runner.set({str(knob): rng.choice(turned[knob]).item()})
        elif act == "back":
            runner.back()
        else:
            runner.travel({"swap": Past.swap, "what_if": Past.what_if}[act])
    assert runner.past.branch is not None and runner.past.line.last > 5
    for line in (runner.past.line, runner.past.branch.ghost):
        assert_is_the_recipe_s(line.session)
        assert_is_the_recipe_s(line.head)


def test_a_knob_turned_back_in_time_begins_a_branch_and_swap_and_drop_give_back_the_old_run(runner):
    old = advance(runner, 30)
    visit(runner, 12)
    made = runner.set({"bandwidth": 0.2})
    assert made.recipe.changes == ((12, {"bandwidth": 0.2}),) and made.last == 12
    assert made.ghost.name == GHOST and made.ghost.iteration == 12 and made.ghost.approximate["x"].size
    label = old.frame.knobs.specs()["bandwidth"].label
    assert made.ghost.words.startswith(f"Branch at iteration 12: {label} 1.0 → 0.2. TV 0.")
    made = runner.set({"bandwidth": 0.3})  # the slider goes on: the same branch
    assert made.recipe.changes == ((12, {"bandwidth": 0.3}),) and made.ghost.name == GHOST
    further = advance(runner, 25)
    assert (further.frame.iteration, further.ghost.iteration, further.ghost.late) == (37, 37, False)
    assert further.ghost.points.of(["tv"])["iteration"][-1] >= 30
    for session in (runner.past.branch.ghost.session, runner.session):
        assert_is_the_recipe_s(session)
    alone = Session(old.recipe)
    alone.advance(37)
    contours = further.scene.columns(alone.frame, further.pair).approximate
    np.testing.assert_array_equal(further.ghost.approximate["x"], contours["x"])
    assert f"{alone.frame.tv:.3f}"[:5] in further.ghost.words
    swapped = runner.travel(Past.swap)
    assert (swapped.frame.iteration, swapped.last, swapped.recipe) == (37, 37, old.recipe)
    assert swapped.ghost.name == "the branch" and " → 0.3." in swapped.ghost.words
    again = runner.travel(Past.swap)
    assert again.frame is further.frame and again.recipe == further.recipe
    dropped = runner.travel(Past.drop)
    assert dropped.frame.digest == alone.frame.digest and dropped.ghost is None and dropped.recipe == old.recipe


def test_the_time_line_ends_where_the_budget_does_or_leaves_room():
    assert line_end(40, 4_000, 20_000) == line_end(200, 20_000, 20_000) == 200
    assert line_end(40, 40_000, 2_200_000) == 500, "of a long run the first iterations can be told apart"
    assert line_end(40, 4_000, None) == 500 and line_end(300, 300, None) == 2_000
    assert line_end(0, 0, 20_000) == 1
    assert place_words(40, 1_200) == "iteration 40 of 1,200"


# The page's traces have every frame that was drawn; the run's own history does not know who looked.


RECIPE = Recipe(num_particles=300, budget=5_000, seed=3)


def test_every_drawn_frame_is_a_point_with_the_number_that_the_status_says_and_comes_again_after_a_step_back():
    runner, said = Runner(RECIPE), {}
    for _ in range(30):
        snapshot = runner.advance(1)
        said[snapshot.frame.iteration] = snapshot.frame.metrics["tv"]
    trace = snapshot.trace
    assert trace["iteration"].tolist() == list(range(31))
    assert trace["tv"][1:].tolist() == list(said.values())
    rejuvenated = [mark.iteration for mark in snapshot.marks if mark.kind == "rejuvenated"]
    assert any(at not in (1, 2, 5, 10, 16, 22, 30) for at in rejuvenated)  # whose jumps were left out
    assert all((np.diff(trace[clock]) > 0).all() for clock in ("visited", "seconds"))
    assert runner.back().trace["iteration"].tolist() == list(range(30))
    again = runner.advance(1).trace
    assert all(again[name].tobytes() == trace[name].tobytes() for name in trace if name != CLOCK)
    twin = runner.copy()
    assert twin.advance(1).trace["iteration"].tolist() == list(range(32))
    assert runner.snapshot().trace["iteration"].tolist() == list(range(31))
    for act in (runner.restart, runner.reseed):
        assert act().trace["iteration"].tolist() == [0]
        runner.advance(1)


def test_traces_that_were_chosen_late_have_every_frame_from_then_on_and_the_measured_ones_before():
    runner = Runner(RECIPE)
    for _ in range(8):
        runner.advance(1)
    assert runner.look(traces="kl").trace["iteration"].tolist() == [0, 1, 2, 5, 8]
    for _ in range(4):
        snapshot = runner.advance(1)
    assert snapshot.trace["iteration"].tolist() == [0, 1, 2, 5, 8, 9, 10, 11, 12]
    assert np.isfinite([snapshot.trace["kl_forward"], snapshot.trace["kl_reverse"]]).all()
    assert snapshot.trace["kl_reverse"][-1] == snapshot.frame.metrics["kl_reverse"]
    assert snapshot.points.of(["tv"])["iteration"].tolist() == list(range(13))
    assert runner.look(traces="tv").trace["iteration"].tolist() == list(range(13))
    assert runner.advance(1).points.of(["kl_forward"])["iteration"].tolist() == [0, 1, 2, 5, 8, 9, 10, 11]
