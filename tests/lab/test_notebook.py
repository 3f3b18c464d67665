"""The lab as a widget, without a browser: what goes both ways between a kernel and a notebook's page."""

import asyncio
import base64
import gc
import gzip
import io
import json
import logging
import re
import weakref
from collections.abc import Callable

import nbclient
import nbformat
import pytest
from PIL import Image

import pmdviz
from pmdviz.lab import page as live_page
from pmdviz.lab.notebook_widget import scripts, self_contained
from pmdviz.lab.page import PNG, bundle_of
from tests.lab.threads import until
from tests.support.tables import refused

FOREIGN = re.compile(r"https?://(?!www\.w3\.org)[^\"'\\ )]+")  # but for the names of HTML and SVG


class Place:
    """A browser that shows a page: it takes what is sent, and acknowledges frames when asked to."""

    def __init__(self, page: object) -> None:
        self.page, self.sent = page, []
        page.widget.send = lambda content, buffers=(): self.sent.append((content, list(buffers)))

    def say(self, what: str, **more: object) -> None:
        self.page.widget._hear({"what": what, "view": "here", **more})

    def open(self) -> None:
        self.say("open", has=[], dark=False)
        self.say("ready")

    def kinds(self) -> list[str]:
        return [content["what"] for content, _ in self.sent]

    def draw(self) -> None:
        """Say that everything sent has been drawn."""
        ack = self.page.screen.ack
        event = {"kind": "ModelChanged", "model": ack.ref, "attr": "drawn", "new": ack.sent}
        self.say("patch", patch=json.dumps({"events": [event]}))

    async def until(self, true: Callable[[], bool], drawing: bool = True) -> None:
        await until(lambda: (self.draw() if drawing else None) or true())


async def test_a_page_gets_scripts_and_a_document_that_ask_nobody_else():
    """And then changes, but not back to where they came from; what is set in Python or as a trait is on the slider."""
    lab = pmdviz.Lab(num_particles=100, budget=None)
    place = Place(lab)
    place.open()
    await place.until(lambda: lab._last is not None)
    assert place.kinds()[:2] == ["scripts", "document"]
    assert [len(gzip.decompress(part)) > 10_000 for part in place.sent[0][1]] == [True] * len(scripts())
    assert FOREIGN.findall(place.sent[1][0]["doc"]) == []
    assert all(content["view"] == "here" for content, _ in place.sent[1:])
    place.sent.clear()
    lab._act("step")
    await place.until(lambda: '"attr":"sent"' in "".join(content["patch"] for content, _ in place.sent))
    assert '"attr":"drawn"' not in "".join(content["patch"] for content, _ in place.sent)
    await place.until(lambda: not lab.live.at_work)  # else what is set waits for its turn
    lab.set(bandwidth=0.5)
    assert lab.session.knobs.bandwidth == 0.5
    await place.until(lambda: lab._last.in_force["bandwidth"] == 0.5)
    assert lab.setup.knobs.controls["bandwidth"].value == "0.5" and lab.widget.bandwidth == 0.5
    lab.widget.playing = True
    await place.until(lambda: lab.widget.iteration >= 2)
    lab.widget.bandwidth = 0.6
    await place.until(lambda: lab.session.knobs.bandwidth == 0.6)
    assert lab.recipe.changes
    lab.widget.bandwidth = -1.0
    assert lab.widget.bandwidth == 0.6
    assert lab.setup.knobs.controls["bandwidth"].message.startswith("Bandwidth h must be")
    lab._gone(lab._views)
    await asyncio.wait({lab.live._task})


def test_sheets_become_part_of_the_document_and_widths_those_of_the_cell():
    text = '{"url":"https://cdn.holoviz.org/panel/1.9.4/dist/css/button.css","css":"@media (max-width: 900px) {}"}'
    made = json.loads(self_contained(text))
    assert base64.b64decode(made["url"].removeprefix("data:text/css;base64,")).startswith(b":host")
    assert made["css"].startswith("@container")


async def test_a_lab_that_nobody_has_is_freed(monkeypatch, caplog):
    caplog.set_level(logging.INFO, logger="panel")  # a log that is kept holds values of the page
    monkeypatch.setattr(live_page, "GRACE_S", 0.0)
    seen = []

    async def shown():
        lab = pmdviz.Lab(num_particles=100)
        place, widget = Place(lab), lab.widget
        place.open()
        await place.until(lambda: lab._last is not None)
        seen.extend([weakref.ref(lab), weakref.ref(lab.session)])
        place.say("gone")
        await place.until(lambda: lab._shown is None, drawing=False)
        await asyncio.wait({lab.live._task})
        place.page = None
        return place, widget

    place, widget = await shown()
    await until(lambda: gc.collect() >= 0 and [ref() for ref in seen] == [None, None])
    widget._hear({"what": "open", "view": "later", "has": [], "dark": False})
    assert place.kinds()[-1] == "lost"


def test_the_still_picture_of_a_lab_or_a_race_is_one():
    lab = pmdviz.Lab(num_particles=100)
    lab.session.advance(20)
    snapshot = lab._present()
    bundle = bundle_of("a<b", lab._words(snapshot), lab._draw(snapshot))
    assert Image.open(io.BytesIO(base64.b64decode(bundle[PNG]))).size == (960, 540)
    assert bundle["text/plain"].startswith("iteration 20,") and bundle[PNG] in bundle["text/html"]
    race = pmdviz.Race(["pmd:num_particles=100", "sgld"], budget=None)
    snapshot = race.live.runner.advance(5) if race._present() else None
    picture = Image.open(io.BytesIO(race._draw(snapshot)))
    assert picture.size == (960, 540) and len(picture.convert("RGB").getcolors(10**6)) > 100
    assert race._words(snapshot).startswith("iteration")
    told = race.look_inside(next(iter(race.runs)))
    assert told["iteration"] > 0 and told["terms"]
    refused("method of this race", race.look_inside, "svgd")


CELLS = [
    "import pmdviz\nlab = pmdviz.Lab(target='gaussian', num_particles=50)\nlab",
    "lab.session.advance(12);",
    "import ipywidgets\nother = pmdviz.Lab(target='gaussian', num_particles=50)\nipywidgets.VBox([other.widget])",
    "other.session.advance(7);",
]


@pytest.mark.ci
def test_a_saved_notebook_shows_the_last_state_also_of_a_lab_in_a_box():
    book = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(source) for source in CELLS])
    nbclient.NotebookClient(book, kernel_name="python3", timeout=280).execute()
    for cell, iteration in ((0, 12), (2, 7)):
        pictures = [one["data"] for one in book.cells[cell].outputs if "image/png" in one.get("data", {})]
        assert [data["text/plain"].startswith(f"iteration {iteration}, ") for data in pictures] == [True]
    assert not book.cells[1].outputs and not book.cells[3].outputs
