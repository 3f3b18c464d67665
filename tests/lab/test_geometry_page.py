"""The Geometry page without a browser: settings, steps, a dragged start, Play."""

import asyncio

import numpy as np
import pytest

from pmdviz.lab.pages import geometry as module
from pmdviz.lab.pages.geometry import GeometryPage
from pmdviz.scenes.geometry import place


@pytest.fixture
def page():
    return GeometryPage()


def steps(page):
    return page.knobs.steps


def test_a_dragged_start_is_taken_and_nonsense_is_not(page):
    q = np.array([0.2, 0.5, 0.3])
    at = place(q)
    page._drag({"x": [float(at["x"][0])], "y": [float(at["y"][0])]})
    np.testing.assert_allclose(page.geometry.start, q)
    assert page.form.controls["start"].value == "moved"
    for nonsense in ({}, {"x": [], "y": []}, {"x": ["a"], "y": [0.1]}, {"x": [float("nan")], "y": [0.1]}):
        page._drag(nonsense)
    np.testing.assert_allclose(page.geometry.start, q)
    page.form.controls["start"].receive({"value": "equal"})
    np.testing.assert_allclose(page.geometry.start, 1 / 3)
    page.form.controls["start"].receive({"value": "moved"})
    np.testing.assert_allclose(page.geometry.start, q)


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
