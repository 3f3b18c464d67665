"""The lab as a widget, without a browser: what goes both ways between a kernel and a notebook's page."""

import asyncio
import base64
import gc
import gzip
import io
import json
import logging
import re
import time
import weakref
from collections.abc import Callable

import pytest
from bokeh.models import LegendItem
from PIL import Image

import pmdviz
from pmdviz.errors import InputError
from pmdviz.lab.notebook import notebook
from pmdviz.lab.notebook.scripts import VERSION, scripts, self_contained
from pmdviz.lab.notebook.still import PNG, Still
from tests.lab.threads import in_a_thread

FOREIGN = re.compile(r"https?://[^\"'\\ )]+")


class Place:
    """A browser that shows a page: it takes what is sent, and acknowledges frames when asked to."""

    def __init__(self, page: object, name: str = "here") -> None:
        self.page, self.name, self.sent = page, name, []
        page.widget.send = lambda content, buffers=(): self.sent.append((content, list(buffers)))

    def say(self, what: str, **more: object) -> None:
        self.page.widget._hear({"what": what, "view": self.name, **more})

    def open(self, has: tuple[str, ...] = ()) -> None:
        self.say("open", has=list(has), dark=False)
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


async def until(true: Callable[[], bool], seconds: float = 60.0) -> None:
    end = time.monotonic() + seconds
    while not true():
        assert time.monotonic() < end, "it did not come"
        await asyncio.sleep(0.005)


def shown_lab(scene: Callable) -> None:
    """Run `scene(lab, place)` with a small lab that a browser shows."""

    async def whole() -> None:
        lab = pmdviz.Lab(num_particles=100, budget=None)
        place = Place(lab)
        place.open()
        await place.until(lambda: lab._last is not None)
        try:
            await scene(lab, place)
        finally:
            lab._leave(lab._views)
            await asyncio.wait({lab.live._task})

    in_a_thread(whole)


def test_a_page_gets_scripts_and_a_document_that_ask_nobody_else():
    async def scene(lab, place):
        assert place.kinds()[:2] == ["scripts", "document"]
        assert [len(gzip.decompress(part)) > 10_000 for part in place.sent[0][1]] == [True] * len(scripts())
        assert place.sent[1][0]["version"] == VERSION
        assert FOREIGN.findall(place.sent[1][0]["doc"]) == []
        assert all(content["view"] == "here" for content, _ in place.sent[1:])

    shown_lab(scene)


def test_changes_are_sent_but_not_back_to_where_they_came_from():
    async def scene(lab, place):
        place.sent.clear()
        lab._act("step")
        await place.until(lambda: '"attr":"sent"' in "".join(content["patch"] for content, _ in place.sent))
        assert '"attr":"drawn"' not in "".join(content["patch"] for content, _ in place.sent)

    shown_lab(scene)


def test_a_new_model_is_sent_whole_though_the_browser_speaks_meanwhile():
    """Within one turn of the loop: a legend gets new lines, and the browser says that it has drawn a frame."""

    async def scene(lab, place):
        legend = lab.screen.traces.figure.legend[0]
        await asyncio.sleep(0)
        before = len(place.sent)
        legend.items = [LegendItem(label="a new line", renderers=[])]
        place.draw()

        def legends() -> list[list[dict]]:
            patches = [json.loads(content["patch"])["events"] for content, _ in place.sent[before:]]
            return [event["new"] for events in patches for event in events if event.get("attr") == "items"]

        await until(legends)
        ((item,),) = legends()
        assert item["attributes"]["label"] == {"type": "value", "value": "a new line"}

    shown_lab(scene)


def test_scripts_come_once_a_browser_page():
    async def scene(lab, place):
        place.sent.clear()
        place.name = "another place"
        place.open(has=(VERSION,))
        assert "scripts" not in place.kinds() and place.kinds()[0] == "document"

    shown_lab(scene)


def test_sheets_become_part_of_the_document_and_widths_those_of_the_cell():
    text = '{"url":"https://cdn.holoviz.org/panel/1.9.4/dist/css/button.css","css":"@media (max-width: 900px) {}"}'
    made = json.loads(self_contained(text))
    assert base64.b64decode(made["url"].removeprefix("data:text/css;base64,")).startswith(b":host")
    assert made["css"].startswith("@container")


def test_play_goes_on_only_while_the_browser_draws(monkeypatch):
    monkeypatch.setattr("pmdviz.lab.loop.live.WATCHDOG_S", 0.05)

    async def scene(lab, place):
        lab.widget.playing = True
        await place.until(lambda: lab.widget.iteration >= 5)
        assert lab.playback.buttons["Play"].label == "Pause"
        await place.until(lambda: lab.live._away, drawing=False)  # nothing is acknowledged
        stands = lab.session.frame.iteration
        await asyncio.sleep(0.3)
        assert lab.session.frame.iteration == stands
        await place.until(lambda: lab.session.frame.iteration > stands)

    shown_lab(scene)


def test_what_is_set_in_python_is_in_the_next_frame_and_on_the_slider():
    async def scene(lab, place):
        lab.set(bandwidth=0.5)
        assert lab.session.knobs.bandwidth == 0.5
        await place.until(lambda: lab._last.in_force["bandwidth"] == 0.5)
        assert lab.setup.knobs.controls["bandwidth"].value == "0.5" and lab.widget.bandwidth == 0.5
        lab.widget.playing = True
        await place.until(lambda: lab.widget.iteration >= 2)
        lab.set(bandwidth=0.9)
        await place.until(lambda: lab._last.in_force["bandwidth"] == 0.9)
        assert lab.recipe.changes

    shown_lab(scene)


def test_set_before_it_is_shown():
    lab = pmdviz.Lab(num_particles=100)
    lab.set(num_particles=50, bandwidth=0.4)
    lab.session.advance(2)
    assert lab.run.particles.shape == (50, 2) and lab.recipe.knobs["bandwidth"] == 0.4


def test_knobs_are_traits_and_a_refused_value_goes_back():
    async def scene(lab, place):
        lab.widget.bandwidth = 0.6
        await place.until(lambda: lab.session.knobs.bandwidth == 0.6)
        lab.widget.bandwidth = -1.0
        assert lab.widget.bandwidth == 0.6
        assert lab.setup.knobs.controls["bandwidth"].message.startswith("Bandwidth h must be")
        assert {"iteration", "playing", "num_particles", "schedule", "warm_start"} <= set(lab.widget.keys)

    shown_lab(scene)


def test_messages_of_another_thread_are_heard_on_the_loop():
    async def scene(lab, place):
        await asyncio.to_thread(lambda: setattr(lab.widget, "playing", True))
        await place.until(lambda: lab.widget.iteration >= 1)

    shown_lab(scene)


def test_a_page_taken_away_ends_and_can_be_shown_again(monkeypatch):
    monkeypatch.setattr(notebook, "GRACE_S", 0.0)

    async def scene(lab, place):
        lab.widget.playing = True
        await place.until(lambda: lab.widget.iteration >= 3)
        place.say("gone")
        await place.until(lambda: lab.live._task.done(), drawing=False)
        assert lab._shown is None and lab not in notebook._in_view and not lab.live.playing
        lab.screen.wait("opening")
        assert "opening" in lab.screen.status.text  # in the document itself, for whoever shows it next
        stands = lab.session.frame.iteration
        place.sent.clear()
        place.open(has=(VERSION,))
        await place.until(lambda: "patch" in place.kinds())
        assert lab.session.frame.iteration == stands
        lab.widget.playing = True
        await place.until(lambda: lab.session.frame.iteration > stands)

    shown_lab(scene)


def test_a_cell_that_is_moved_goes_on(monkeypatch):
    async def scene(lab, place):
        lab._act("toggle")
        place.say("gone")
        place.name = "the new place"
        place.open(has=(VERSION,))
        await asyncio.sleep(0.1)
        assert not lab.live._task.done() and lab._shown is not None
        place.name = "here"
        place.say("gone")  # of a place that no longer shows it
        await asyncio.sleep(notebook.GRACE_S + 0.2)
        assert lab._shown is not None

    shown_lab(scene)


def test_a_lab_that_nobody_has_is_freed(monkeypatch, caplog):
    caplog.set_level(logging.INFO, logger="panel")  # a log that is kept holds values of the page
    monkeypatch.setattr(notebook, "GRACE_S", 0.0)
    seen: list[weakref.ref] = []

    async def shown() -> tuple[Place, object]:
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

    async def scene() -> None:
        place, widget = await shown()
        await until(lambda: gc.collect() >= 0 and [ref() for ref in seen] == [None, None])
        widget._hear({"what": "open", "view": "later", "has": [], "dark": False})
        assert place.kinds()[-1] == "lost"

    in_a_thread(scene)


def test_a_race_is_shown_alike():
    async def scene() -> None:
        race = pmdviz.Race(["pmd", ("smc", {"num_particles": 200})], "bimodal1d", budget=500)
        place = Place(race)
        place.open()
        await place.until(lambda: race._last is not None)
        race.widget.playing = True
        await place.until(lambda: race._last.done)
        assert race.runs["pmd"].final.visited == 500 and race.widget.iteration == race._last.iteration
        assert list(race.runs) == ["pmd", "smc:num_particles=200"]
        race._leave(race._views)
        await asyncio.wait({race.live._task})

    in_a_thread(scene)


def test_a_race_takes_a_persons_own_target_and_refuses_in_a_sentence():
    mine = pmdviz.target("gaussian", num_data=200)
    assert pmdviz.Race(["pmd", "sgld"], mine, budget=300).runs["sgld"].target.num_data == 200
    with pytest.raises(InputError, match="at most"):
        pmdviz.Race([("pmd", {"bandwidth": 0.1 * k}) for k in range(1, 30)])
    with pytest.raises(InputError, match="budget"):
        pmdviz.Race(budget=-3)


def test_without_the_extra_a_sentence_says_what_to_install(monkeypatch):
    monkeypatch.setattr(notebook.importlib.util, "find_spec", lambda name: None)
    with pytest.raises(InputError, match=r"pip install 'pmdviz\[notebook\]'"):
        _ = pmdviz.Lab(num_particles=50).widget


class Handle:
    """Of a displayed output."""

    def __init__(self) -> None:
        self.bundles: list[dict] = []

    def update(self, bundle: dict, raw: bool) -> None:
        self.bundles.append(bundle)


def test_the_still_picture_follows_at_its_own_pace(monkeypatch):
    monkeypatch.setattr("pmdviz.lab.notebook.still.EVERY_S", 60.0)

    async def scene() -> None:
        drawn: list[int] = []
        still = Still("name", lambda snapshot: drawn.append(snapshot) or b"png")
        still._handle = Handle()
        for k in range(50):
            still.follow(k, f"iteration {k}", playing=True)
            await asyncio.sleep(0.005)
        assert len(drawn) <= 2  # one at once, the next after a while
        still.follow(50, "iteration 50", playing=False)
        await until(lambda: still._handle.bundles and still._handle.bundles[-1]["text/plain"] == "iteration 50", 20)
        assert drawn[-1] == 50 and len(drawn) <= 3
        still.follow(50, "iteration 50", playing=False)
        await asyncio.sleep(0.05)
        assert drawn[-1] == 50 and len(drawn) <= 3

    in_a_thread(scene)


def test_the_still_picture_is_one():
    lab = pmdviz.Lab(num_particles=100)
    lab.session.advance(20)
    snapshot = lab._present()
    bundle = Still("a<b", lab._draw)._bundle(lab._words(snapshot), lab._draw(snapshot))
    assert Image.open(io.BytesIO(base64.b64decode(bundle[PNG]))).size == (960, 540)
    assert bundle["text/plain"].startswith("iteration 20,") and bundle[PNG] in bundle["text/html"]


def test_the_still_picture_of_a_race_is_one():
    race = pmdviz.Race(["pmd:num_particles=100", "sgld"], budget=None)
    snapshot = race.live.runner.advance(5) if race._present() else None
    picture = Image.open(io.BytesIO(race._draw(snapshot)))
    assert picture.size == (960, 540) and len(picture.convert("RGB").getcolors(10**6)) > 100
    assert race._words(snapshot).startswith("iteration")


def test_without_matplotlib_words_stand_for_the_picture(monkeypatch):
    monkeypatch.setattr("pmdviz.lab.notebook.still_picture.importlib.util.find_spec", lambda name: None)
    lab = pmdviz.Lab(num_particles=100)
    bundle = Still("x", lab._draw)._bundle("iteration 0 <b>", lab._draw(lab._present()))
    assert PNG not in bundle and "iteration 0 &lt;b&gt;" in bundle["text/html"]


@pytest.mark.parametrize("make", [lambda: pmdviz.Lab(num_particles=50), lambda: pmdviz.Race(["pmd"])])
def test_a_page_never_shown_is_freed(make):
    page = weakref.ref(make())
    gc.collect()
    assert page() is None
