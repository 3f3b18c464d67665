"""A session as the live loop sees it: what it says at each moment, where dots come from, and the parts of a step."""

import json
import re

import numpy as np
import pytest

from pmdviz.engine.recipe import Recipe
from pmdviz.engine.session import Session
from pmdviz.errors import InputError
from pmdviz.lab.loop.runner import LONGEST_S, Runner, glide_ms, origins
from pmdviz.lab.panels.commands import next_recipe
from pmdviz.lab.panels.status import fields_html, result_words, status_fields
from pmdviz.methods import METHODS
from pmdviz.scenes.inside import START
from pmdviz.scenes.words import marked, state


@pytest.fixture(autouse=True)
def as_many_iterations_as_asked_for(monkeypatch):
    """However slow the machine is; that a slow one does fewer in a frame has nothing to do with what is tested here."""
    monkeypatch.setattr("pmdviz.lab.loop.runner.SHARE_S", 1e9)


@pytest.fixture
def runner():
    return Runner(Recipe("mixture", num_particles=200, budget=1_000))


def test_the_end_is_said_beside_the_floor_and_pending_knobs_are_named(runner):
    runner.advance(3)
    after = runner.set({"batch_size": 10})
    assert after.pending == {"batch_size": "takes effect at the next step"}
    said = fields_html(status_fields(after))
    assert f'<div class="pmdviz-status" role="status" aria-live="polite">{marked(state(after.frame))}' in said
    assert f"{after.frame.knobs.specs()['batch_size'].label}: takes effect at the next step" in said
    runner.set({"batch_size": 100})
    snapshot = runner.advance(50)
    assert snapshot.done and snapshot.frame.iteration == 10
    said = result_words(snapshot)
    assert re.fullmatch(r"Done: 1,000 observations used\. TV 0\.\d+; independent draws: [\w. ]+", said), said
    snapshot = runner.proceed()
    assert not snapshot.done and snapshot.recipe.budget == 2_000
    runner.wanted.clear()  # Pause ends a batch of iterations after the present one
    assert runner.advance(5).frame.iteration == 11


def test_the_budget_follows_the_method_and_the_target_unless_it_is_the_person_s_own(runner):
    usual = Runner(Recipe())
    for parts in ({"method": "hmc"}, {"target": "gaussian", "target_options": {}}):
        assert next_recipe(usual.session, parts, usual.own_budget).budget == Recipe(**parts).budget
    chain = Runner(Recipe(method="hmc"))
    for parts, budget in (
        ({"method": "pmd"}, 20_000),
        ({"option": ("num_data", 100)}, 220_000),
        ({"seed": 7}, 2_200_000),
    ):
        assert next_recipe(chain.session, parts, chain.own_budget).budget == budget
    assert runner.own_budget  # 1,000 is not what this run would have
    usual.limit(50_000)
    assert next_recipe(usual.session, {"method": "hmc"}, usual.own_budget).budget == 50_000


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
        with pytest.raises(InputError, match="eta must be|num_pairs"):
            runner.set(values, svi)
    assert runner.session.knobs == before
    assert runner.set({"eta": "3"}, svi).in_force["eta"] == 3.0


def test_another_target_keeps_what_fits_and_comes_with_a_method_that_can_run_on_it(runner):
    runner.set({"eta": 5.0})
    recipe = next_recipe(runner.session, {"target": "gaussian"})
    assert recipe.target == "gaussian" and recipe.knobs["eta"] == 5.0
    assert recipe.knobs["batch_size"] <= recipe.make_target().num_data
    assert next_recipe(Runner(recipe).session, {"target": "mixture"}).knobs["batch_size"] == 100
    for target, method in (("topics", "structured_pmd"), ("ising", "gibbs"), ("linear", "pmd")):
        made = next_recipe(runner.session, {"target": target})
        assert (made.target, made.method) == (target, method)
    assert next_recipe(Session(Recipe("topics", "online_vb")), {"target": "mixture"}).method == "pmd"


# Where the dots of a frame come from.


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


# Inside a step: the run computes it while the card is open, of the step that led to what is shown.


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
