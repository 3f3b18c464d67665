import csv
import html
import importlib.util
import shlex
import shutil
import sys
import time

import pytest
from PIL import Image

import pmdviz
from pmdviz.experiments.race import RaceRecipe
from pmdviz.kernels.pool import Cancelled
from pmdviz.lab.loop.race_runner import RaceRunner
from pmdviz.lab.loop.work import ExportTask
from pmdviz.lab.panels.folds import CARDS, RACE, RUN, ExportPanel
from tests.lab.threads import until


@pytest.fixture(scope="module")
def run():
    return pmdviz.run(target="gaussian", num_particles=30, budget=300, floor=False)


def await_end(work, seconds=60):
    end = time.monotonic() + seconds
    while not work.over:
        assert time.monotonic() < end
        time.sleep(0.02)


def gone(folder, seconds=60):
    end = time.monotonic() + seconds
    while folder.exists() and time.monotonic() < end:
        time.sleep(0.02)
    return not folder.exists()


def test_a_file_is_made_in_another_thread_and_cancelled_at_any_moment_leaves_nothing(run):
    work = ExportTask("film.gif", {"width": 160, "height": 160, "frames": 3})
    assert not work.over and work.words().startswith("Waiting")
    work.make(run)
    await_end(work)
    assert work.result() == work.path and work.path.read_bytes().startswith(b"GIF89a")
    work.clear()
    assert not work.path.parent.exists()
    queued, early, late = (ExportTask("film.gif", {"frames": 4}) for _ in range(3))
    early.cancel()
    early.make(run)  # the session's thread may come to it after the person has cancelled
    late.make(run)
    queued.make(run)
    queued.cancel()
    late.cancel()
    for work in (queued, early, late):
        await_end(work)
        with pytest.raises(Cancelled):
            work.result()
        assert gone(work.path.parent)


def opened(asked, subject=RUN):
    panel = ExportPanel(asked.append, subject)
    assert len(panel.view) == 0  # nothing is built before it is looked at
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
    for name, live in ((runs, True), (plays, False), (runs, True), ("Data", False)):
        panel._choose({"card": name})
        assert panel.cards.chosen == name and panel.look.live is live, name
    panel._choose({"card": plays})
    panel._turn("live", True)  # by its check box
    assert panel.cards.chosen == runs and panel.options() == {"live": True}


ENTRANTS = ["pmd:num_particles=60", "smc:num_particles=50,batch_size=100"]
ENDLESS = RaceRecipe.checked(ENTRANTS, "mixture", {"num_data": 200, "sigma_x": 1.5}, None, [3])


async def test_a_race_as_it_stands_from_the_panel(tmp_path, monkeypatch):
    monkeypatch.setattr("pmdviz.lab.loop.race_runner.PATIENCE_S", 60.0)  # everybody stands at the same data
    asked = []
    panel, runner = opened(asked, RACE), RaceRunner(ENDLESS)
    while not runner.snapshot().tiles[0].visited >= 300:
        snapshot = runner.advance()
    assert panel.form.controls["traces"].usual == "automatic"
    for suffix in (".csv", ".json", ".gif"):
        panel.kind.value = suffix
        if panel.size.visible:
            panel.form.controls["width"].receive({"value": "320"})
        panel._begin()
        assert asked[-1](runner).iteration == snapshot.iteration
        await until(lambda: not panel._slot.running)
        assert panel.download.filename == f"pmdviz-race{suffix}"
        shutil.copy(panel._file(), tmp_path)
    assert panel.options() == {"width": 320}
    panel.stop()
    recipe = RaceRecipe.from_json((tmp_path / "pmdviz-race.json").read_text(encoding="utf-8"))
    visited = [tile.visited for tile in snapshot.tiles]
    assert (recipe.seeds, recipe.budget) == ((3,), max(visited))
    rows = csv.reader((tmp_path / "pmdviz-race.csv").read_text(encoding="utf-8").splitlines()[2:])
    assert [float(row[3]) for row in rows] == [tile.row["tv"] for tile in snapshot.tiles]
    with Image.open(tmp_path / "pmdviz-race.gif") as image:
        assert image.n_frames == snapshot.tiles[0].iteration + 1
