"""How the server starts, what it hands to several tabs, and how it ends."""

import json
import time
import urllib.request

import pytest

from tests.browser.conftest import Lab, running
from tests.support.crowd import PROBED

pytestmark = pytest.mark.nightly
SPARE = 1  # page that is built before its visitor comes


def test_first_words_tabs_of_their_own_a_closed_tab_and_the_end(browser, tmp_path):
    with running([*PROBED, "serve"], tmp_path / "log") as server:
        text = urllib.request.urlopen(server.url, timeout=20).read().decode()
        assert "src=" not in text[: text.index("Opening the lab")], "the first words come before any script"
        labs = [Lab(browser, server.url) for _ in range(3)]  # with and without a spare page waiting
        labs[0].page.locator("#opening").wait_for(state="detached")
        labs[0].endless()
        labs[0].press("Play")
        labs[0].reach(5)
        assert [lab.iteration() for lab in labs[1:]] == [0, 0]
        for lab in labs:
            lab.context.close()
            assert lab.problems == []
        late = time.monotonic() + 60
        while json.loads(urllib.request.urlopen(f"{server.url}/probe").read())["sessions"] > SPARE:
            assert time.monotonic() < late, "a closed tab keeps its session"
            time.sleep(0.2)
        page = browser.new_page()  # without scripts
        page.route("**/bokeh.min.js*", lambda route: route.abort())
        page.clock.install()
        page.goto(server.url)
        page.clock.run_for(21_000)
        page.get_by_text("scripts could not be loaded").wait_for()
        page.close()
        lab = Lab(browser, server.url)
        lab.endless()
        lab.press("Play")
        lab.reach(5)
        server.stop()
        lab.context.close()
