import re

import pytest

from pmdviz.engine.recipe import Recipe
from pmdviz.engine.session import Session
from pmdviz.errors import InputError
from pmdviz.lab.loop.runner import Runner
from pmdviz.lab.panels.commands import next_recipe
from pmdviz.lab.panels.status import fields_html, result_words, status_fields
from pmdviz.methods import METHODS
from pmdviz.scenes.words import marked, state


@pytest.fixture(autouse=True)
def as_many_iterations_as_asked_for(monkeypatch):
    """However slow the machine is; that a slow one does fewer in a frame has nothing to do with what is tested here."""
    monkeypatch.setattr("pmdviz.lab.loop.runner.SHARE_S", 1e9)


@pytest.fixture
def runner():
    return Runner(Recipe("mixture", num_particles=200, budget=1_000))


def test_the_end_is_said_beside_the_floor(runner):
    for _ in range(10):
        snapshot = runner.advance(5)
    assert snapshot.done and snapshot.frame.iteration == 10
    said = result_words(snapshot)
    assert re.fullmatch(r"Done: 1,000 observations used\. TV 0\.\d+; independent draws: [\w. ]+", said), said
    snapshot = runner.proceed()
    assert not snapshot.done and snapshot.recipe.budget == 2_000


def test_pending_knobs_are_named_and_a_bandwidth_redraws_at_once(runner):
    before = runner.advance(3)
    after = runner.set({"batch_size": 10})
    assert after.pending == {"batch_size": "takes effect at the next step"}
    words = marked(state(after.frame))
    assert f'<div class="pmdviz-status" role="status" aria-live="polite">{words}' in fields_html(status_fields(after))
    label = after.frame.knobs.specs()["batch_size"].label
    assert f"{label}: takes effect at the next step" in fields_html(status_fields(after))
    redrawn = runner.set({"bandwidth": 2.0})
    assert redrawn.metrics["tv"] != before.metrics["tv"]
    assert redrawn.frame.iteration == 3


def test_the_budget_follows_the_method_and_the_target_unless_it_is_the_person_s_own(runner):
    usual = Runner(Recipe())
    for parts in ({"method": "hmc"}, {"target": "gaussian", "target_options": {}}):
        made = next_recipe(usual.session, parts, usual.own_budget)
        assert made.budget == Recipe(**parts).budget
    chain = Runner(Recipe(method="hmc"))
    assert next_recipe(chain.session, {"method": "pmd"}, chain.own_budget).budget == 20_000
    assert next_recipe(chain.session, {"option": ("num_data", 100)}, chain.own_budget).budget == 220_000
    assert next_recipe(chain.session, {"seed": 7}, chain.own_budget).budget == 2_200_000
    assert runner.own_budget  # 1,000 is not what this run would have
    usual.proceed()
    assert next_recipe(usual.session, {"method": "hmc"}, usual.own_budget).budget == 2_200_000
    usual.limit(50_000)
    assert next_recipe(usual.session, {"method": "hmc"}, usual.own_budget).budget == 50_000


def test_pause_ends_a_batch_of_iterations_after_the_present_one(runner):
    runner.wanted.clear()
    assert runner.advance(5).frame.iteration == 1


def test_back_restart_and_replay(runner):
    runner.advance(2)
    runner.set({"bandwidth": 2.0})
    three = runner.advance(1)
    assert runner.back().frame.iteration == 2
    assert runner.advance(1).metrics["tv"] == three.metrics["tv"]
    assert runner.replay().recipe.changes
    again = [runner.advance(1) for _ in range(3)][-1]
    assert again.metrics["tv"] == three.metrics["tv"]
    assert runner.restart().recipe.changes == ()
    assert runner.session.knobs.bandwidth == 2.0


def test_marks_say_what_happened_and_do_not_repeat_after_going_back(runner):
    for _ in range(5):
        runner.advance(1)
    rejuvenations = [mark.text for mark in runner.snapshot().marks if mark.kind == "rejuvenated"]
    assert rejuvenations
    for _ in range(3):
        runner.back()
    for _ in range(3):
        runner.advance(1)
    runner.set({"bandwidth": 0.5})
    marks = runner.snapshot().marks
    assert [mark.text for mark in marks if mark.kind == "rejuvenated"] == rejuvenations
    assert [mark.text for mark in marks if mark.kind == "knob"] == ["iteration 5: bandwidth became 0.5"]
    assert next(mark for mark in marks if mark.kind == "knob").visited == 500


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
    back = next_recipe(Runner(recipe).session, {"target": "mixture"})
    assert back.knobs["batch_size"] == 100
    assert next_recipe(runner.session, {"option": ("sigma_x", 1.5)}).target_options["sigma_x"] == 1.5
    assert next_recipe(runner.session, {"seed": 7}).seed == 7
    session = Session(Recipe("mixture", "pmd"))
    for target, method in (("topics", "structured_pmd"), ("ising", "gibbs"), ("linear", "pmd")):
        made = next_recipe(session, {"target": target})
        assert (made.target, made.method) == (target, method)
    assert next_recipe(Session(Recipe("topics", "online_vb")), {"target": "mixture"}).method == "pmd"
