"""A target that fails while it plays: the last good frame stays, words say why, and Retry goes on."""

import re
import sys
from pathlib import Path

import pytest

from pmdviz.bench.browser import await_picture, free_port, open_page, server

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
        picture = page.evaluate("pmdviz.picture()")
        assert stopped > 0
        assert page.get_by_role("button", name="Copy recipe", exact=True).is_visible()
        page.get_by_role("button", name="Retry", exact=True).click()
        page.wait_for_timeout(500)
        if page.evaluate("pmdviz.iteration()") == stopped:  # it failed twice
            assert page.evaluate("pmdviz.picture()") == picture
            page.get_by_role("button", name="Retry", exact=True).click()
        page.wait_for_function(f"pmdviz.iteration() > {stopped}", timeout=20_000)
        card.first.wait_for(state="hidden", timeout=20_000)
