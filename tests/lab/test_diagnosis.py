"""The diagnosis of a run that stands still, computed while somebody has it open; and a question that stays."""

import pytest

from pmdviz.engine.recipe import Recipe
from pmdviz.engine.session import Session
from pmdviz.lab.loop.runner import Runner
from pmdviz.lessons.words import NOTHING_YET, diagnosis_of
from pmdviz.presets import PRESETS
from tests.lab.threads import playing_lab, until


@pytest.fixture
def runner():
    made = Runner(PRESETS["particles_die"].recipe, preset="particles_die")
    made.wanted.clear()  # nothing plays
    return made


def test_it_is_of_the_moment_that_is_shown_and_where_nothing_is_true_the_state_is_said(runner):
    runner.diagnose("particles_die")
    while not runner.session.done:
        told = runner.advance(50)
    ess = told.frame.metrics["ess"]
    assert told.diagnosis.startswith(f"ESS fell to {ess:.1f} of 500: no particle has moved")
    assert f"{100 * told.frame.weights.max():.0f} % of the weight" in told.diagnosis
    early = runner.travel(lambda past: past.visit(0))
    assert early.diagnosis == NOTHING_YET
    well = Session(Recipe())
    tv = well.advance(30).tv
    words = diagnosis_of("two_modes", well.run)
    assert words.startswith("Nothing of what this preset is about: iteration 30,") and f"TV {tv:.3f}" in words
    ill = Runner(PRESETS["two_modes"].recipe.replaced(knobs={"policy": "never", "step_limit": 0.0, "n0": 0.0}))
    for _ in range(3):
        told = ill.advance(1)
    words = diagnosis_of("two_modes", told.run)
    assert told.frame.caveat and words[1:] == told.frame.caveat[1:] + "." and words[0].isupper()


def asks(lab, name):
    """Whether the page shows a preset's question, what to watch, and its diagnosis folded."""
    preset, heading = PRESETS[name], lab.screen.heading
    shown = lab.setup.preset.value == name and "Watch: " in lab.setup.question.object
    return shown and (heading.question, heading.watch) == (preset.question, f"Watch: {preset.watch}")


async def test_a_turned_knob_a_restart_a_seed_and_an_undo_keep_the_question_and_the_diagnosis():
    async with playing_lab(recipe=PRESETS["particles_die"].recipe) as lab:
        panel = lab.setup.diagnosis
        panel.card.collapsed = False
        await until(lambda: NOTHING_YET in panel.words)
        for act in ("step", "restart", "reseed"):
            before = lab._last
            lab._act(act)
            await until(lambda before=before: lab._last is not before and not lab.live.at_work)
            assert asks(lab, "particles_die") and lab._last.diagnosed_by == "particles_die"
        lab._act("step")
        await until(lambda: lab._last.frame.iteration == 1)
        lab.set(eta=7.0)
        await until(lambda: lab._last.in_force["eta"] == 7.0)
        assert asks(lab, "particles_die")
        lab.setup.preset.value = "too_bold"  # another question is asked first
        await until(lambda: asks(lab, "too_bold"))
        assert panel.card.collapsed and lab._last.diagnosed_by == ""
        panel.card.collapsed = False
        await until(lambda: lab._last.diagnosed_by == "too_bold")
        lab._act("undo")
        await until(lambda: asks(lab, "particles_die"))
        assert panel.card.collapsed
        lab.setup.target.value = "banana"
        await until(lambda: lab._last.recipe.target == "banana")
        assert not panel.card.visible and lab.screen.heading.watch == ""
