"""A target that fails while it plays: the last good frame stays, words say why, and Retry goes on."""

import re
import sys
import time
from pathlib import Path

import pytest

from pmdviz.methods import METHODS
from tests.browser.conftest import Lab, look_alike, stage_pixels
from tests.support.browser import await_picture, free_port, open_page, server

pytestmark = pytest.mark.browser
PAGE = Path(__file__).with_name("broken_page.py")
BATCH_SIZE = METHODS["pmd"].Knobs.specs()["batch_size"].label
LONG = Path(__file__).with_name("long_page.py")


def panel_serve(page, port):
    command = [sys.executable, "-m", "panel", "serve", str(page), "--port", str(port), "--liveness"]
    return [*command, "--plugins", "pmdviz.panel_plugin"]


def test_the_run_stops_with_words_and_goes_on(browser, tmp_path):
    port, asked = free_port(), tmp_path / "asked"
    with server(panel_serve(PAGE, port), port, PMDVIZ_ASKED=str(asked)):
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
        assert int(asked.read_text()) == 41
        page.get_by_role("button", name="Retry", exact=True).click()
        late = time.monotonic() + 60
        while int(asked.read_text() or 0) < 42:  # the second time
            assert time.monotonic() < late
            page.wait_for_timeout(50)
        page.wait_for_timeout(500)
        assert page.evaluate("pmdviz.iteration()") == stopped and card.first.is_visible()
        assert look_alike(stage_pixels(page), picture)
        page.get_by_role("button", name="Retry", exact=True).click()
        page.wait_for_function(f"pmdviz.iteration() > {stopped}", timeout=60_000)
        card.first.wait_for(state="hidden", timeout=60_000)


def test_a_long_step_says_how_far_it_is_and_is_cancelled(browser, tmp_path):
    port, log = free_port(), (tmp_path / "log").open("w")
    with log, server(panel_serve(LONG, port), port, log=log):
        lab = Lab(browser, f"http://127.0.0.1:{port}/{LONG.stem}")
        lab.press("Step")
        lab.reach(1)
        lab.settled()
        picture = stage_pixels(lab.page)
        lab.type("batch_size", "7")
        lab.page.get_by_text(f"{BATCH_SIZE}: takes effect at the next step").wait_for()
        lab.press("Step")
        card = lab.page.get_by_text(re.compile("Computing a step: .* so far"))
        card.wait_for()
        lab.wait("""pmdviz.find('progress[aria-label="Computing a step"]')?.value > 0""")
        lab.press("Cancel")
        lab.page.get_by_text("Cancelled. The last picture is still shown.").wait_for()
        card.wait_for(state="hidden")
        assert lab.iteration() == 1
        assert look_alike(stage_pixels(lab.page), picture)
        lab.type("batch_size", "10")
        lab.page.get_by_text(f"{BATCH_SIZE}: takes effect at the next step").wait_for()
        lab.press("Step")
        lab.reach(2)
        lab.settled()
        lab.at_rest("pmdviz.picture()")
        assert not look_alike(stage_pixels(lab.page), picture), "a step changes the picture"
        lab.context.close()
        assert lab.problems == []
    assert "Traceback" not in (tmp_path / "log").read_text()
