import asyncio
import time

import pytest

import pmdviz
from pmdviz.engine.recipe.recipe import Recipe
from pmdviz.engine.session import Session
from pmdviz.errors import InputError
from pmdviz.export.writers.csv import table_csv
from pmdviz.lab import Lab, css
from pmdviz.lab.links import Link, digest
from pmdviz.lab.panels.trouble import error_words
from pmdviz.presets import PRESETS
from pmdviz.views import figures
from tests.lab.threads import in_a_thread


def test_public_name_and_what_can_be_read():
    lab = pmdviz.Lab(target="mixture", method="pmd", num_particles=120, seed=3)
    assert lab.session.recipe is lab.recipe
    assert lab.recipe.seed == 3 and lab.run.particles.shape == (120, 2)


def test_bad_input_is_one_sentence():
    with pytest.raises(InputError, match="did you mean 'num_particles'"):
        Lab(num_particle=100)
    with pytest.raises(InputError, match="bandwidth must be"):
        Lab(bandwidth=-1)
    with pytest.raises(InputError):
        Lab().set(bandwidth=0)


def test_controls_show_the_recipe_from_the_start():
    lab = Lab("gaussian", eta=5.0)
    assert lab.setup.target.value == "gaussian"
    assert lab.setup.knobs.controls["eta"].value == "5" and lab.setup.knobs.controls["eta"].changed


def test_every_button_is_there_by_its_name():
    labels = [button.label for button in Lab().playback.buttons.values()]
    assert {"Play", "Step", "Restart", "Replay", "Back", "Continue"} == set(labels)


async def until(condition, seconds=60.0):
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, "waited in vain"
        await asyncio.sleep(0.005)


def test_plays_without_a_page():
    async def scene():
        lab = Lab(num_particles=100, budget=300)
        ack = lab.screen.ack
        ack.on_change("sent", lambda attr, old, new: setattr(ack, "drawn", new))
        lab.start()
        lab._act("toggle")
        await until(lambda: lab._last is not None and lab._last.done)
        assert lab.session.frame.iteration == 3
        assert lab.playback.buttons["Play"].label == "Replay"
        assert lab.playback.offers("Continue") and not lab.playback.offers("Step")
        lab.commands.begin("new target", target="bimodal1d", target_options={})
        await until(lambda: lab._last.recipe.target == "bimodal1d")
        assert not lab.setup.undo.disabled
        lab._act("undo")
        await until(lambda: lab._last.recipe.target == "mixture")
        assert lab.session.frame.iteration == 3
        lab.stop()
        await asyncio.wait_for(lab.live._task, 60)

    in_a_thread(scene)


def test_a_lab_that_nobody_has_touched_opens_a_link():
    """What is shown is the link's frame, there is nothing to go back to, and the address bar hears of no other run."""
    recipe = Recipe("banana", num_particles=90, seed=4, budget=None)
    session = Session(recipe)
    for _ in range(5):
        session.advance()
    link = Link(recipe, 5, digest(session.frame))

    async def scene():
        lab, addresses = Lab(num_particles=100), []
        ack = lab.screen.ack
        ack.on_change("sent", lambda attr, old, new: setattr(ack, "drawn", new))
        ack.on_change("link", lambda attr, old, new: addresses.append(new))
        lab.start()
        await until(lambda: lab._last is not None)
        lab.open(link)
        lab._tell_floor()  # the picture of the usual run comes once more meanwhile
        assert figures.is_dim(lab.screen.stage.figure)
        await until(lambda: lab._last.frame.iteration == 5)
        assert digest(lab._last.frame) == link.digest and lab.recipe == recipe
        assert lab.setup.target.value == "banana" and lab.screen.stage.target.name == "banana"
        assert not lab.commands.can_undo and not lab.sharing.sentence and not lab.notice.shown
        assert not figures.is_dim(lab.screen.stage.figure)
        assert all("at=5" in address for address in addresses)
        lab.stop()
        await asyncio.wait_for(lab.live._task, 60)

    in_a_thread(scene)


async def begun():
    """A lab with its first picture, and a browser that says of every frame that it has drawn it."""
    lab = Lab()
    ack = lab.screen.ack
    ack.on_change("sent", lambda attr, old, new: setattr(ack, "drawn", new))
    lab.start()
    await until(lambda: lab._last is not None)
    return lab


def test_a_preset_sets_its_trace_and_the_data_take_the_place_of_the_traces():
    async def scene():
        lab = await begun()
        screen, group = lab.screen, lab.screen.group
        assert group.value == "tv" and lab._last.data is None and screen.data is None
        lab.setup.preset.value = "particles_die"
        await until(lambda: group.value == "ess" and screen.traces.group == "ess")
        lab.setup.preset.value = "two_modes"
        await until(lambda: group.value == "tv")
        group.value = "data"
        await until(lambda: lab._last.data is not None)
        assert css.HIDDEN in screen.traces.figure.css_classes
        lab._act("step")
        await until(lambda: lab._last.frame.iteration == 1 and sum(screen.data.lit_bars.data["top"]) > 0)
        lab.setup.target.value = "gaussian"  # a new run does not know yet that the data are looked at
        await until(lambda: lab._last.frame.target.name == "gaussian" and lab._last.data is not None)
        lab.commands.begin("new option", option=("dim", 3))  # no picture holds them
        await until(lambda: "data" not in group.options.values())
        await until(lambda: not lab.live.at_work and lab._last.data is None)
        assert css.HIDDEN in screen.data.figure.css_classes
        assert css.HIDDEN not in screen.traces.figure.css_classes and group.value in screen.traces.groups
        lab.stop()
        await asyncio.wait_for(lab.live._task, 60)

    in_a_thread(scene)


def test_traces_that_are_chosen_are_computed_from_then_on_of_a_new_run_too():
    async def scene():
        lab = await begun()
        screen, group = lab.screen, lab.screen.group
        for _ in range(4):
            lab._act("step")
        await until(lambda: lab._last.frame.iteration == 4)
        group.value = "kl"
        await until(lambda: lab._last.traces == "kl" and len(screen.traces.source.data["kl_forward"]) == 4)
        assert screen.traces.source.data["iteration"].tolist() == [0, 1, 2, 4]  # measured ones, and the present one
        lab.setup.target.value = "gaussian"
        await until(lambda: lab._last.frame.target.name == "gaussian" and lab._last.traces == "kl")
        lab.stop()
        await asyncio.wait_for(lab.live._task, 60)

    in_a_thread(scene)


@pytest.mark.parametrize("turn", ["reseed", "few particles"])
def test_undo_brings_the_preset_and_its_question_back(turn):
    async def scene():
        lab = Lab()
        lab.screen.ack.on_change("sent", lambda attr, old, new: setattr(lab.screen.ack, "drawn", new))
        lab.start()
        await until(lambda: lab._last is not None)
        name, question = lab.setup.preset.value, lab.setup.question.object
        lab._act("reseed") if turn == "reseed" else lab.set(num_particles=50)
        before = lab._last
        await until(lambda: lab._last is not before)
        lab.setup.preset.value = "too_bold"
        assert PRESETS["too_bold"].recipe.target == lab._last.recipe.target  # or nobody could take one for the other
        await until(lambda: lab.setup.question.object != question and lab.commands.can_undo)
        lab._act("undo")
        await until(lambda: lab.setup.preset.value != "too_bold")
        assert (lab.setup.preset.value, lab.setup.question.object) == (name, question)
        lab.stop()
        await asyncio.wait_for(lab.live._task, 60)

    in_a_thread(scene)


def test_history_as_csv_can_be_read_back():
    run = Lab(num_particles=100, budget=300).session
    run.advance(3)
    lines = table_csv(run.history.columns).splitlines()
    assert lines[0].startswith("# iteration: iterations; visited: data points; tv: 0 to 1")
    names = lines[1].split(",")
    assert len(lines) == 2 + len(run.history.columns["iteration"])
    last = dict(zip(names, lines[-1].split(","), strict=True))
    assert float(last["tv"]) == run.history.columns["tv"][-1]


def test_errors_of_any_kind_become_words():
    assert error_words(ValueError("broken")) == "the step failed with ValueError: broken"
