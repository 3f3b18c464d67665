"""A target that fails while it plays: the last good frame stays, words say why, and Retry goes on."""

import re
import sys
from pathlib import Path

import pytest

from pmdviz.bench.browser import await_picture, free_port, open_page, server
from tests.browser.conftest import look_alike, stage_pixels

pytestmark = pytest.mark.browser
PAGE = Path(__file__).with_name("broken_page.py")


def test_the_run_stops_with_words_and_goes_on(browser):
    port = free_port()
    command = [sys.executable, "-m", "panel", "serve", str(PAGE), "--port", str(port), "--liveness"]
    with server(command, port):
        page = open_page(browser, port, path=f"/{PAGE.stem}")
        await_picture(page)
        page.get_by_role("button", name="Play", exact=True).click()
        card = page.get_by_text(re.compile("The run stopped.*log_likelihood of target 'broken' is nan at theta", re.S))
        card.first.wait_for(timeout=60_000)
        page.wait_for_function("(() => { const a = pmdviz.model('acknowledge'); return a.sent === a.drawn })()")
        stopped = page.evaluate("pmdviz.iteration()")
        picture = stage_pixels(page)
        assert stopped > 0
        assert page.get_by_role("button", name="Copy recipe", exact=True).is_visible()
        page.get_by_role("button", name="Retry", exact=True).click()
        page.wait_for_timeout(500)
        if page.evaluate("pmdviz.iteration()") == stopped:  # it failed twice
            assert look_alike(stage_pixels(page), picture)
            page.get_by_role("button", name="Retry", exact=True).click()
        page.wait_for_function(f"pmdviz.iteration() > {stopped}", timeout=20_000)
        card.first.wait_for(state="hidden", timeout=20_000)


def test_a_long_step_says_how_far_it_is_and_is_cancelled(open_lab):
    """100,000 particles drawn from 100,000: ten thousand million pairs."""
    lab = open_lab()
    lab.knob("policy").select_option("always")
    lab.type("num_particles", "100000")
    lab.page.get_by_text("iteration 0, 0 of 20,000 data visited").wait_for()
    lab.press("Step")
    lab.reach(1)
    lab.settled()
    picture = stage_pixels(lab.page)
    lab.press("Step")
    card = lab.page.get_by_text(re.compile("Computing a step: .* so far"))
    card.wait_for(timeout=30_000)
    lab.press("Cancel")
    lab.page.get_by_text("Cancelled: the last picture stays").wait_for()
    card.wait_for(state="hidden")
    assert lab.iteration() == 1
    assert look_alike(stage_pixels(lab.page), picture)
    lab.type("num_particles", "500")
    lab.press("Step")
    lab.reach(2)
    lab.settled()
    assert not look_alike(stage_pixels(lab.page), picture), "a step changes the picture"
