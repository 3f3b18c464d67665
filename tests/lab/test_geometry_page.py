"""The Geometry page without a browser: settings, steps, a dragged start, Play."""

import asyncio

import pytest

from pmdviz.lab.pages import geometry as module
from pmdviz.lab.pages.geometry import GeometryPage


@pytest.fixture
def page():
    return GeometryPage()


def steps(page):
    return page.knobs.steps


def test_buttons_and_keys_step(page):
    page._press("right")
    page._press("left")
    page._press("left")
    page._press("P")  # no key of this page
    assert steps(page) == 4
    page.form.controls["steps"].receive({"value": "40"})
    page._act("step")
    assert steps(page) == 40 and not page.playback.offers("Step") and page.playback.buttons["Play"].label == "Replay"
    page._act("restart")
    page._act("back")
    assert steps(page) == 0 and not page.playback.offers("Back")


async def test_it_plays_to_the_end_and_again_and_stops_when_nobody_looks(page, monkeypatch):
    monkeypatch.setattr(module, "EVERY_S", 0.0)
    page.start(None)
    page.form.controls["steps"].receive({"value": "38"})
    page._act("toggle")
    assert page.playback.buttons["Play"].label == "Pause"
    await page._playing
    assert steps(page) == 40 and page._playing is None and page.playback.buttons["Play"].label == "Replay"
    page._press("space")
    assert steps(page) == 0
    await asyncio.sleep(0.01)
    page.look(False)
    now = steps(page)
    await asyncio.sleep(0.01)
    assert steps(page) == now > 0 and not page.ack.keyboard
    page._act("toggle")
    page._act("toggle")
    assert page._playing is None and page.playback.buttons["Play"].label == "Play"
    page.stop()
