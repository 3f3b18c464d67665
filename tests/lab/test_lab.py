"""The Lab as a page: links, presets, verdicts; Compare with, the list of methods, and Export."""

import html
import importlib.util
import shlex
import shutil
import sys

import numpy as np
from PIL import Image

import pmdviz
from pmdviz.engine.recipe import Recipe
from pmdviz.engine.session import Session
from pmdviz.experiments.race import RaceRecipe
from pmdviz.export.options import RaceLook
from pmdviz.lab import Lab, css
from pmdviz.lab.loop.race_runner import RaceRunner
from pmdviz.lab.loop.runner import Runner
from pmdviz.lab.panels.comparing import BRANCH, KNOB, ComparePanel
from pmdviz.lab.panels.folds import CARDS, ExportPanel
from pmdviz.lab.plain_pages import MethodsPage, Opening, opening
from pmdviz.lessons.words import NOTHING_YET, diagnosis_of
from pmdviz.methods import METHODS
from pmdviz.presets import PRESETS
from pmdviz.scenes.trace_columns import GROUPS
from tests.lab.threads import playing_lab, until
from tests.support.tables import refused


def test_what_can_be_read_and_what_is_refused():
    lab = pmdviz.Lab(target="mixture", method="pmd", num_particles=120, seed=3, eta=5.0)
    assert lab.session.recipe is lab.recipe
    assert lab.recipe.seed == 3 and lab.run.particles.shape == (120, 2)
    assert lab.setup.knobs.controls["eta"].value == "5" and lab.setup.knobs.controls["eta"].changed
    refused("did you mean 'num_particles'", Lab, num_particle=100)
    refused("bandwidth must be", Lab, bandwidth=-1)
    refused("bandwidth must be", lab.set, bandwidth=0)


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
        lab.begin("new option", options=lambda target: {"dim": 3})  # no picture holds them
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
        await until(lambda: NOTHING_YET in panel.said.object)
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


def test_a_run_races_with_another_value_or_with_its_branch_each_with_its_own_settings():
    begun, runner = [], Runner(Recipe("mixture", "pmd", num_particles=200, seed=4, budget=500))
    panel = ComparePanel(begun.append, lambda: "Compare", lambda sheet: None)
    panel.show(runner.snapshot())
    panel.toggle()
    panel.what.value = (KNOB, "bandwidth")
    assert panel.form.controls["bandwidth"].value == "2" and "bandwidth h = 1" in panel.said.object
    panel.form.controls["bandwidth"].receive({"value": "0.25"})
    panel._compare()
    assert not panel.card.shown and (begun[0].seeds, begun[0].budget) == ((4,), 500)
    mine, theirs = begun[0].recipes
    assert mine.knobs == runner.session.recipe.knobs and theirs.knobs == {**mine.knobs, "bandwidth": 0.25}
    runner.past.line.grow(3, np.inf)
    runner.past.visit(2)
    panel.show(runner.set({"bandwidth": 0.5}))
    panel.what.value = (BRANCH, "")
    assert "Branch at iteration 2" in panel.said.object and not any(way.visible for way in panel._ways.values())
    panel._compare()
    assert [one.text for one in begun[1].entrants] == ["pmd:num_particles=200@2:bandwidth=0.5", "pmd:num_particles=200"]
    assert begun[1].recipes[0] == runner.session.recipe


def test_the_table_has_every_method_once_and_a_cell_opens_the_lab_at_its_trace():
    page, opened = MethodsPage(), []
    page.on_open = lambda name, what: opened.append((name, what))
    rows = [row for _, methods in page.table.families for row in methods]
    assert sorted(name for name, _, _ in rows) == sorted(METHODS)
    page.table._handle_msg({"method": "svgd", "column": "move"})
    for odd in ({}, {"method": "no such", "column": "move"}, {"method": "svgd", "column": "fly"}, {"method": []}):
        page.table._handle_msg(odd)
    assert opened == [("lab", Opening("svgd", "", inside=True))]
    for method, column, trace, inside in (
        ("pmd", "", "", False),
        ("pmd", "reweight", "ess", True),
        ("pmd", "resample", "ess", False),
        ("pmd", "adapt", "step_step_size", False),
        ("hmc", "move", "", True),
        ("gibbs", "move", "", False),
        ("psgld", "adapt", "", False),
    ):
        assert opening(METHODS[method], column) == Opening(method, trace, inside)
    for name, method in METHODS.items():
        for column, cell in method.grammar.items():
            assert not cell.terms or opening(method, column).trace in ("", *GROUPS), name


def opened(asked, *subject):
    panel = ExportPanel(asked.append, *subject)
    panel.view.collapsed = False
    return panel


def without(monkeypatch, *modules):
    true_find = importlib.util.find_spec
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None if name in modules else true_find(name))


def test_exports_need_their_extras_and_a_page_that_runs_is_a_card_of_its_own(monkeypatch):
    without(monkeypatch, "imageio_ffmpeg", "pyarrow")  # as the README's first command leaves it
    panel = opened([])
    assert panel.kind.disabled_options == [".mp4", ".parquet"] and panel.kind.value == ".gif"
    command = shlex.join([sys.executable, "-m", "pip", "install", "imageio-ffmpeg>=0.5", "pyarrow>=16"])
    assert "MP4 and PARQUET" in panel.lost.object and f"<code>{html.escape(command)}</code>" in panel.lost.object
    without(monkeypatch, "matplotlib")
    assert opened([]).kind.value == ".html"  # the first that can be made
    panel = opened([])
    plays, runs = (name for name, kinds in CARDS.items() if kinds == (".html",))
    for name, live in ((runs, True), (plays, False), ("Data", False), (plays, False)):
        panel._choose({"card": name})
        assert panel.cards.chosen == name and panel.look.live is live, name
    panel._turn("live", True)  # by its check box
    assert panel.cards.chosen == runs and panel.options() == {"live": True}


async def test_a_race_as_it_stands_from_the_panel(tmp_path, monkeypatch):
    monkeypatch.setattr("pmdviz.lab.loop.race_runner.PATIENCE_S", 60.0)  # everybody stands at the same data
    entrants = ["pmd:num_particles=60", "smc:num_particles=50,batch_size=100"]
    runner = RaceRunner(RaceRecipe.checked(entrants, "mixture", {"num_data": 200, "sigma_x": 1.5}, None, [3]))
    asked = []
    panel = opened(asked, "pmdviz-race", RaceLook)
    while not runner.snapshot().tiles[0].visited >= 300:
        snapshot = runner.advance()
    for suffix in (".json", ".gif"):
        panel.kind.value = suffix
        if panel.size.visible:
            panel.form.controls["width"].receive({"value": "320"})
        panel._begin()
        assert asked[-1](runner).iteration == snapshot.iteration
        await until(lambda: not panel.running)
        assert panel.download.filename == f"pmdviz-race{suffix}"
        shutil.copy(panel._file(), tmp_path)
    panel.stop()
    recipe = RaceRecipe.from_json((tmp_path / "pmdviz-race.json").read_text(encoding="utf-8"))
    assert (recipe.seeds, recipe.budget) == ((3,), max(tile.visited for tile in snapshot.tiles))
    with Image.open(tmp_path / "pmdviz-race.gif") as image:
        assert image.n_frames == snapshot.tiles[0].iteration + 1 and image.width == 320
