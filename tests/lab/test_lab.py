"""The Lab as a page: what can be read of it, how it follows links and presets, and what it says of a run."""

import pytest

import pmdviz
from pmdviz.engine.recipe import Recipe
from pmdviz.engine.session import Session
from pmdviz.errors import InputError
from pmdviz.lab import Lab, css
from pmdviz.lab.loop.runner import Runner
from pmdviz.lessons.words import NOTHING_YET, diagnosis_of
from pmdviz.presets import PRESETS
from pmdviz.scenes.trace_columns import GROUPS
from tests.lab.threads import playing_lab, until


def test_what_can_be_read_and_what_is_refused():
    lab = pmdviz.Lab(target="mixture", method="pmd", num_particles=120, seed=3, eta=5.0)
    assert lab.session.recipe is lab.recipe
    assert lab.recipe.seed == 3 and lab.run.particles.shape == (120, 2)
    assert lab.setup.knobs.controls["eta"].value == "5" and lab.setup.knobs.controls["eta"].changed
    with pytest.raises(InputError, match="did you mean 'num_particles'"):
        Lab(num_particle=100)
    with pytest.raises(InputError, match="bandwidth must be"):
        Lab(bandwidth=-1)
    with pytest.raises(InputError):
        lab.set(bandwidth=0)


async def test_a_preset_sets_its_trace_and_the_data_take_the_place_of_the_traces():
    async with playing_lab() as lab:
        screen, group = lab.screen, lab.screen.group
        lab.setup.preset.value = "particles_die"
        await until(lambda: group.value == "ess" and screen.traces.group == "ess")
        group.value = "data"
        await until(lambda: lab._last.data is not None)
        assert css.HIDDEN in screen.traces.figure.css_classes
        lab.setup.target.value = "gaussian"  # a new run does not know yet that the data are looked at
        await until(lambda: lab._last.frame.target.name == "gaussian" and lab._last.data is not None)
        lab.commands.begin("new option", option=("dim", 3))  # no picture holds them
        await until(lambda: "data" not in group.options.values())
        await until(lambda: not lab.live.at_work and lab._last.data is None)
        assert css.HIDDEN in screen.data.figure.css_classes
        assert css.HIDDEN not in screen.traces.figure.css_classes and group.value in GROUPS


async def test_every_trace_that_is_offered_is_followed():
    for method in ("svgd", "hmc"):
        async with playing_lab(method=method) as lab:
            for name in lab.screen.group.options.values():
                lab.screen.group.value, at = name, lab.last.frame.iteration
                lab._act("step")
                await until(lambda lab=lab, at=at: lab.last.frame.iteration > at)
                await until(lambda lab=lab: not lab.live.at_work)


# The diagnosis of a run that stands still, computed while somebody has it open; and a question that stays.


def test_a_diagnosis_is_of_the_moment_that_is_shown_and_where_nothing_is_true_the_state_is_said():
    runner = Runner(PRESETS["particles_die"].recipe, preset="particles_die")
    runner.wanted.clear()  # nothing plays
    runner.look(diagnosed_by="particles_die")
    while not runner.session.done:
        told = runner.advance(50)
    assert told.diagnosis.startswith(f"ESS fell to {told.frame.metrics['ess']:.1f} of 500: no particle has moved")
    assert f"{100 * told.frame.weights.max():.0f} % of the weight" in told.diagnosis
    assert runner.travel(lambda past: past.visit(0)).diagnosis == NOTHING_YET
    well = Session(Recipe())
    tv = well.advance(30).tv
    words = diagnosis_of("two_modes", well.run)
    assert words.startswith("Nothing of what this preset is about: iteration 30,") and f"TV {tv:.3f}" in words


def asks(lab, name):
    """Whether the page shows a preset's question, and what to watch."""
    preset, heading = PRESETS[name], lab.screen.heading
    shown = lab.setup.preset.value == name and "Watch: " in lab.setup.question.object
    return shown and (heading.question, heading.watch) == (preset.question, f"Watch: {preset.watch}")


async def test_a_turned_knob_a_restart_and_an_undo_keep_the_question_and_the_diagnosis():
    async with playing_lab(recipe=PRESETS["particles_die"].recipe) as lab:
        panel = lab.setup.diagnosis
        panel.card.collapsed = False
        await until(lambda: NOTHING_YET in panel.words)
        for act in (lambda: lab._act("reseed"), lambda: lab._act("step"), lambda: lab.set(eta=7.0)):
            before = lab._last
            act()
            await until(lambda before=before: lab._last is not before and not lab.live.at_work)
            assert asks(lab, "particles_die") and lab._last.diagnosed_by == "particles_die"
        lab.setup.preset.value = "too_bold"  # another question is asked first
        await until(lambda: asks(lab, "too_bold"))
        assert panel.card.collapsed and lab._last.diagnosed_by == ""
        lab._act("undo")
        await until(lambda: asks(lab, "particles_die"))
        lab.setup.target.value = "banana"
        await until(lambda: lab._last.recipe.target == "banana")
        assert not panel.card.visible and lab.screen.heading.watch == ""


# The verdict: what a change did to a run, Undo of that change, and how good a run is at a pause.


async def test_a_spiky_bandwidth_is_told_with_the_numbers_of_the_run_and_undone():
    async with playing_lab(num_particles=300, budget=20_000) as lab:
        for k in range(1, 16):
            lab._act("step")
            await until(lambda k=k: lab._last.frame.iteration == k)
        good = lab._last.frame.metric("tv")
        await until(lambda: "independent draws" in lab.verdict.said.object)
        lab.setup.brief.controls["bandwidth"].receive({"value": "0.02"})
        await until(lambda: lab._last.frame.knobs.bandwidth == 0.02 and "spike" in lab.verdict.said.object)
        assert f"TV {good:.3g}" in lab.verdict.said.object and lab.verdict.undo.visible
        lab.verdict._undo()
        await until(lambda: lab._last.frame.knobs.bandwidth == 1.0)
        assert "spike" not in lab.verdict.said.object
