"""The Lab as a page: what can be read of it, how it plays, opens a link, follows presets, and takes things back."""

import pytest

import pmdviz
from pmdviz.engine.recipe import Recipe
from pmdviz.engine.session import Session
from pmdviz.errors import InputError, failed_step_words
from pmdviz.lab import Lab, css
from pmdviz.lab.links import Link
from pmdviz.lab.loop.recorded import NeedsKernels
from pmdviz.lab.loop.runner import Runner
from pmdviz.lab.panels import commands
from pmdviz.presets import PRESETS
from pmdviz.scenes.trace_columns import GROUPS
from pmdviz.views import figures
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
    assert failed_step_words(ValueError("broken")) == "the step failed with ValueError: broken"


async def test_a_lab_that_nobody_has_touched_opens_a_link():
    """What is shown is the link's frame, there is nothing to go back to, and the address bar hears of no other run."""
    recipe = Recipe("banana", num_particles=90, seed=4, budget=None)
    session = Session(recipe)
    for _ in range(5):
        session.advance()
    link, addresses = Link(recipe, 5, session.frame.digest), []

    async with playing_lab(num_particles=100) as lab:
        lab.screen.ack.on_change("link", lambda attr, old, new: addresses.append(new))
        lab.open(link)
        lab._tell_floor()  # the picture of the usual run comes once more meanwhile
        assert figures.is_dim(lab.screen.stage.figure)
        await until(lambda: lab._last.frame.iteration == 5)
        assert lab._last.frame.digest == link.digest and lab.recipe == recipe
        assert lab.setup.target.value == "banana" and lab.screen.stage.target.name == "banana"
        assert not lab.commands.can_undo and not lab.sharing.sentence and not lab.notice.shown
        assert not figures.is_dim(lab.screen.stage.figure)
        assert all("at=5" in address for address in addresses)


def test_a_new_run_that_waits_for_kernels_keeps_its_preset(monkeypatch):
    lab, jobs, waits = Lab(), [], [NeedsKernels(["density"])]
    preset = PRESETS["particles_die"]
    monkeypatch.setattr(lab.live, "do", lambda what, act, **how: jobs.append(act))
    monkeypatch.setattr(commands, "begun", lambda recipe: raised(waits.pop()) if waits else Session(recipe))
    lab.setup.preset.value = preset.name
    runner = Runner(lab._recipe)
    with pytest.raises(NeedsKernels):
        jobs[-1](runner)
    made, _ = jobs[-1](runner)
    assert made.preset == preset.name and made.session.recipe == preset.recipe


def raised(error):
    raise error


async def test_a_preset_sets_its_trace_and_the_data_take_the_place_of_the_traces():
    async with playing_lab() as lab:
        screen, group = lab.screen, lab.screen.group
        assert group.value == "tv" and lab._last.data is None and screen.data is None
        lab.setup.preset.value = "particles_die"
        await until(lambda: group.value == "ess" and screen.traces.group == "ess")
        lab.setup.preset.value = "two_modes"
        await until(lambda: group.value == "tv")
        group.value = "kl"
        await until(lambda: lab._last.traces == "kl")
        group.value = "data"
        await until(lambda: lab._last.data is not None)
        assert css.HIDDEN in screen.traces.figure.css_classes
        lab._act("step")
        await until(lambda: lab._last.frame.iteration == 1 and sum(screen.data.sources["batch"].data["top"]) > 0)
        lab.setup.target.value = "gaussian"  # a new run does not know yet that the data are looked at
        await until(lambda: lab._last.frame.target.name == "gaussian" and lab._last.data is not None)
        lab.commands.begin("new option", option=("dim", 3))  # no picture holds them
        await until(lambda: "data" not in group.options.values())
        await until(lambda: not lab.live.at_work and lab._last.data is None)
        assert css.HIDDEN in screen.data.figure.css_classes
        assert css.HIDDEN not in screen.traces.figure.css_classes and group.value in GROUPS


async def test_every_trace_that_is_offered_is_followed():
    for method in ("pmd", "svgd", "hmc"):
        async with playing_lab(method=method) as lab:
            for name in lab.screen.group.options.values():
                lab.screen.group.value, at = name, lab.last.frame.iteration
                lab._act("step")
                await until(lambda lab=lab, at=at: lab.last.frame.iteration > at)
                await until(lambda lab=lab: not lab.live.at_work)
