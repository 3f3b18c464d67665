"""Panels without a browser: Compare with ..., the list of methods, and Export."""

import csv
import html
import importlib.util
import shlex
import shutil
import sys

import numpy as np
from PIL import Image

from pmdviz.engine.recipe import Recipe
from pmdviz.experiments.race import RaceRecipe
from pmdviz.lab.loop.race_runner import RaceRunner
from pmdviz.lab.loop.runner import Runner
from pmdviz.lab.panels.comparing import BRANCH, KNOB, ComparePanel
from pmdviz.lab.panels.folds import CARDS, RACE, RUN, ExportPanel
from pmdviz.lab.plain_pages import MethodsPage, Opening, opening
from pmdviz.methods import METHODS
from pmdviz.methods.step import COLUMNS
from pmdviz.scenes.trace_columns import GROUPS
from tests.lab.threads import until


def test_a_run_races_with_another_value_or_with_its_branch_each_with_its_own_settings():
    begun, runner = [], Runner(Recipe("mixture", "pmd", num_particles=200, seed=4, budget=500))
    panel = ComparePanel(begun.append, lambda: "Compare")
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


# The list of methods.


def test_the_table_has_every_method_once_and_a_press_on_a_cell_opens_the_lab():
    page, opened = MethodsPage(), []
    page.on_open = lambda name, what: opened.append((name, what))
    rows = [row for _, methods in page.table.families for row in methods]
    assert sorted(name for name, _, _ in rows) == sorted(METHODS)
    assert [column[0] for column in page.table.columns] == [*COLUMNS]
    cells = {name: cells for name, _, cells in rows}
    assert cells["pmd"][2] == [["kernel density"], "when the ESS falls below τ\N{NO-BREAK SPACE}m"]
    assert cells["pmd"][3] == [[], ""] and cells["hmc"][3] == [["HMC"], ""]
    page.table._handle_msg({"method": "svgd", "column": "move"})
    for odd in ({}, {"method": "no such", "column": "move"}, {"method": "svgd", "column": "fly"}, {"method": []}):
        page.table._handle_msg(odd)
    assert opened == [("lab", Opening("svgd", "", inside=True))]


def test_what_shows_a_cell_is_a_trace_that_there_is():
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
        for column, cell in method.grammar:
            assert not cell.terms or opening(method, column).trace in ("", *GROUPS), name


# Export.


def opened(asked, subject=RUN):
    panel = ExportPanel(asked.append, subject)
    panel.view.collapsed = False
    return panel


def without(monkeypatch, *modules):
    true_find = importlib.util.find_spec
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None if name in modules else true_find(name))


def test_what_needs_an_extra_cannot_be_chosen_and_says_the_command(monkeypatch):
    without(monkeypatch, "imageio_ffmpeg", "pyarrow")  # as the README's first command leaves it
    panel = opened([])
    assert panel.kind.disabled_options == [".mp4", ".parquet"] and panel.kind.value == ".gif"
    command = shlex.join([sys.executable, "-m", "pip", "install", "imageio-ffmpeg>=0.5", "pyarrow>=16"])
    assert "MP4 and PARQUET" in panel.lost.object and f"<code>{html.escape(command)}</code>" in panel.lost.object
    without(monkeypatch, "matplotlib")
    assert opened([]).kind.value == ".html"  # the first that can be made


def test_a_page_that_runs_is_a_card_of_its_own():
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
    panel = opened(asked, RACE)
    while not runner.snapshot().tiles[0].visited >= 300:
        snapshot = runner.advance()
    for suffix in (".csv", ".json", ".gif"):
        panel.kind.value = suffix
        if panel.size.visible:
            panel.form.controls["width"].receive({"value": "320"})
        panel._begin()
        assert asked[-1](runner).iteration == snapshot.iteration
        await until(lambda: not panel._slot.running)
        assert panel.download.filename == f"pmdviz-race{suffix}"
        shutil.copy(panel._file(), tmp_path)
    panel.stop()
    recipe = RaceRecipe.from_json((tmp_path / "pmdviz-race.json").read_text(encoding="utf-8"))
    assert (recipe.seeds, recipe.budget) == ((3,), max(tile.visited for tile in snapshot.tiles))
    rows = csv.reader((tmp_path / "pmdviz-race.csv").read_text(encoding="utf-8").splitlines()[2:])
    assert [float(row[3]) for row in rows] == [tile.row["tv"] for tile in snapshot.tiles]
    with Image.open(tmp_path / "pmdviz-race.gif") as image:
        assert image.n_frames == snapshot.tiles[0].iteration + 1 and image.width == 320
