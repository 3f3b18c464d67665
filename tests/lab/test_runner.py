"""A session as the live loop sees it: each moment, the parts of a step, back in time and in branches."""

import json
import re

import numpy as np
import pytest

from pmdviz.engine.recipe import Recipe
from pmdviz.engine.session import Session
from pmdviz.lab.laboratory import next_recipe
from pmdviz.lab.loop.past import Past
from pmdviz.lab.loop.runner import LONGEST_S, Runner, glide_ms, origins
from pmdviz.lab.panels.status import past_fields, result_words, status_fields
from pmdviz.methods import METHODS
from pmdviz.scenes.inside import START
from pmdviz.scenes.trace_columns import GHOST, line_end
from pmdviz.scenes.words import state
from tests.lab.threads import traced
from tests.support.engine import columns
from tests.support.tables import refused


@pytest.fixture(autouse=True)
def as_many_iterations_as_asked_for(monkeypatch):
    """However slow the machine is; that a slow one does fewer in a frame has nothing to do with what is tested here."""
    monkeypatch.setattr("pmdviz.lab.loop.runner.SHARE_S", 1e9)
    monkeypatch.setattr("pmdviz.lab.loop.past.CATCH_UP_S", 1e9)


@pytest.fixture
def runner():
    return Runner(Recipe("mixture", num_particles=200, budget=1_000))


def test_the_end_is_said_beside_the_floor_and_pending_knobs_are_named(runner):
    runner.advance(3)
    after = runner.set({"batch_size": 10})
    assert after.pending == {"batch_size": "takes effect at the next step"}
    said = status_fields(after)
    assert (said["pmdviz-status"], said["live"]) == (state(after.frame), "polite")
    assert f"{after.frame.knobs.specs()['batch_size'].label}: takes effect at the next step" in said["more"]
    runner.set({"batch_size": 100})
    snapshot = runner.advance(50)
    assert snapshot.done and snapshot.frame.iteration == 10
    said = result_words(snapshot)
    assert re.fullmatch(r"Done: 1,000 observations used\. TV 0\.\d+; independent draws: [\w. ]+", said), said
    snapshot = runner.proceed()
    assert not snapshot.done and snapshot.recipe.budget == 2_000
    runner.wanted.clear()  # Pause ends a batch of iterations after the present one
    assert runner.advance(5).frame.iteration == 11


def test_the_budget_and_the_method_follow_the_target_unless_they_are_the_person_s_own(runner):
    usual = Runner(Recipe())
    for parts in ({"method": "hmc"}, {"target": "gaussian", "target_options": {}}):
        assert next_recipe(usual.session, parts, usual.own_budget).budget == Recipe(**parts).budget
    chain = Runner(Recipe(method="hmc"))
    for parts, budget in (
        ({"method": "pmd"}, 20_000),
        ({"options": lambda target: {"num_data": 100}}, 220_000),
        ({"seed": 7}, 2_200_000),
    ):
        assert next_recipe(chain.session, parts, chain.own_budget).budget == budget
    assert runner.own_budget  # 1,000 is not what this run would have
    usual.limit(50_000)
    assert next_recipe(usual.session, {"method": "hmc"}, usual.own_budget).budget == 50_000
    runner.set({"eta": 5.0})
    recipe = next_recipe(runner.session, {"target": "gaussian"})
    assert recipe.target == "gaussian" and recipe.knobs["eta"] == 5.0
    assert recipe.knobs["batch_size"] <= recipe.make_target().num_data
    assert next_recipe(Runner(recipe).session, {"target": "mixture"}).knobs["batch_size"] == 100
    for target, method in (("topics", "structured_pmd"), ("ising", "gibbs"), ("linear", "pmd")):
        made = next_recipe(runner.session, {"target": target})
        assert (made.target, made.method) == (target, method)
    assert next_recipe(Session(Recipe("topics", "online_vb")), {"target": "mixture"}).method == "pmd"


def test_marks_say_what_happened_and_do_not_repeat_after_going_back(runner):
    for _ in range(5):
        runner.advance(1)
    rejuvenations = [mark.text for mark in runner.snapshot().marks if mark.kind == "rejuvenated"]
    assert rejuvenations
    for act in (runner.back, runner.advance):
        for _ in range(3):
            act()
    runner.set({"bandwidth": 0.5})
    marks = runner.snapshot().marks
    assert [mark.text for mark in marks if mark.kind == "rejuvenated"] == rejuvenations
    (turned,) = (mark for mark in marks if mark.kind == "knob")
    assert (turned.text, turned.visited) == ("iteration 5: bandwidth became 0.5", 500)
    assert runner.replay().recipe.changes and runner.restart().recipe.changes == ()


def test_a_value_of_a_form_whose_method_has_been_left_is_checked_anew(runner):
    """A slider may be moved between another method's choice and its form; the same name may have other bounds there."""
    svi, before = METHODS["svi"].Knobs, runner.session.knobs
    for values in ({"eta": -1.0}, {"num_pairs": 3}):
        refused("eta must be|num_pairs", runner.set, values, svi)
    assert runner.session.knobs == before
    assert runner.set({"eta": "3"}, svi).in_force["eta"] == 3.0


def two_frames(steps=1, **recipe):
    session = Session(Recipe("mixture", **recipe))
    return session.frame, session.advance(steps)


def test_dots_of_a_single_step_come_from_their_parents_and_what_cannot_be_followed_has_no_origins():
    session = Session(Recipe("mixture", budget=None, num_particles=300, bandwidth_rule="isotropic", bandwidth=1e-6))
    before = session.frame
    while not (after := session.advance(1)).info.rejuvenated:
        before = after
    rows = origins(before, after).astype(int)  # they lie a kernel's width from their parents, the heavy ones
    np.testing.assert_allclose(after.particles, before.particles[rows], atol=1e-5)
    assert before.weights[rows].mean() > 1.5 / len(before.weights)
    assert origins(*two_frames(method="sgld")) is None, "draws of a chain"
    assert origins(*two_frames(2)) is None, "an iteration lies between"
    assert origins(*two_frames(num_particles=6_000)) is None, "not every particle is drawn"
    assert origins(*two_frames()[::-1]) is None, "backwards"
    runner = Runner(Recipe("mixture", num_particles=100))
    assert len(runner.advance().origins) == 100 and runner.advance(2).origins is None
    assert [glide_ms(pause) for pause in (0.0, 1 / 60, 0.25, 1.0)] == [0, 0, 200, 1000 * LONGEST_S]


def test_the_way_back_tells_the_same_step_as_the_way_forward_and_a_swap_that_of_the_other_run(runner):
    runner.wanted.clear()  # nothing plays
    runner.look(watched=True)
    forward = [json.loads(runner.advance(1).inside) for _ in range(4)]
    assert [each["iteration"] for each in forward] == [1, 2, 3, 4]
    for expected in reversed(forward[:3]):
        assert json.loads(runner.back().inside) == expected
    assert json.loads(runner.back().inside) == {"iteration": 0, "note": START}
    for expected in forward[:3]:
        assert json.loads(runner.advance(1).inside) == expected
    runner.travel(lambda past: past.what_if())
    runner.set({"eta": 9.0})
    ours = json.loads(runner.advance(1).inside)
    others = json.loads(runner.travel(lambda past: past.swap()).inside)
    assert others == forward[3] != ours
    assert json.loads(runner.travel(lambda past: past.swap()).inside) == ours


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
    assert columns(fresh.history) == columns(session.history)


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


def test_a_knob_turned_back_in_time_begins_a_branch_whose_ghost_is_the_old_run():
    runner = Runner(CASES["pmd"][0])
    runner.wanted.clear()  # it stands still: a ghost is of the same iteration
    old = advance(runner, 30)
    visit(runner, 12)
    made = runner.set({"bandwidth": 0.2})
    assert made.recipe.changes == ((12, {"bandwidth": 0.2}),) and made.last == 12
    assert made.ghost.name == GHOST and made.ghost.iteration == 12 and made.ghost.approximate["x"].size
    made = runner.set({"bandwidth": 0.3})  # the slider goes on: the same branch
    assert made.recipe.changes == ((12, {"bandwidth": 0.3}),) and made.ghost.name == GHOST
    further, alone = advance(runner, 25), Session(old.recipe)
    assert (further.frame.iteration, further.ghost.iteration, further.ghost.late) == (37, 37, False)
    alone.advance(37)
    contours = further.scene.columns(alone.frame, further.pair).approximate
    np.testing.assert_array_equal(further.ghost.approximate["x"], contours["x"])
    swapped = runner.travel(Past.swap)
    assert (swapped.frame.digest, swapped.recipe, swapped.ghost.name) == (alone.frame.digest, old.recipe, "the branch")
    assert runner.travel(Past.swap).frame is further.frame
    dropped = runner.travel(lambda past: past.end_branch(keep=False))
    assert dropped.frame.digest == alone.frame.digest and dropped.ghost is None and dropped.recipe == old.recipe


def test_the_time_line_ends_where_the_budget_does_or_leaves_room():
    assert line_end(40, 4_000, 20_000) == line_end(200, 20_000, 20_000) == 200
    assert line_end(40, 40_000, 2_200_000) == 500, "of a long run the first iterations can be told apart"
    assert line_end(40, 4_000, None) == 500 and line_end(300, 300, None) == 2_000
    assert line_end(0, 0, 20_000) == 1
    assert past_fields(40, 1_200, 1)["place"] == "iteration 40 of 1,200"


RECIPE = Recipe(num_particles=300, budget=5_000, seed=3)


def test_traces_have_every_drawn_frame_and_late_ones_the_measured_before():
    runner, said = Runner(RECIPE), {}
    for _ in range(30):
        snapshot = runner.advance(1)
        said[snapshot.frame.iteration] = snapshot.frame.metrics["tv"]
    trace = traced(snapshot)
    assert trace["iteration"].tolist() == list(range(31))
    assert trace["tv"][1:].tolist() == list(said.values())
    rejuvenated = [mark.iteration for mark in snapshot.marks if mark.kind == "rejuvenated"]
    assert any(at not in (1, 2, 5, 10, 16, 22, 30) for at in rejuvenated)  # whose jumps were left out
    assert all((np.diff(trace[clock]) > 0).all() for clock in ("visited", "seconds"))
    assert traced(runner.back())["iteration"].tolist() == list(range(30))
    again = traced(runner.advance(1))
    assert all(again[name].tobytes() == trace[name].tobytes() for name in trace if name != "seconds")  # of the machine
    twin = runner.copy()
    assert traced(twin.advance(1))["iteration"].tolist() == list(range(32))
    assert traced(runner.snapshot())["iteration"].tolist() == list(range(31))
    for act in (runner.restart, runner.reseed):
        assert traced(act())["iteration"].tolist() == [0]
        runner.advance(1)
    runner = Runner(RECIPE)
    for _ in range(8):
        runner.advance(1)
    assert traced(runner.look(traces="kl"))["iteration"].tolist() == [0, 1, 2, 5, 8]
    for _ in range(4):
        snapshot = runner.advance(1)
    assert traced(snapshot)["iteration"].tolist() == [0, 1, 2, 5, 8, 9, 10, 11, 12]
    assert np.isfinite([traced(snapshot)["kl_forward"], traced(snapshot)["kl_reverse"]]).all()
    assert traced(snapshot)["kl_reverse"][-1] == snapshot.frame.metrics["kl_reverse"]
    assert snapshot.points.of(["tv"])["iteration"].tolist() == list(range(13))
    assert traced(runner.look(traces="tv"))["iteration"].tolist() == list(range(13))
    assert runner.advance(1).points.of(["kl_forward"])["iteration"].tolist() == [0, 1, 2, 5, 8, 9, 10, 11]
