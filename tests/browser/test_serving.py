"""How the server starts and ends."""

import sys
import time
import urllib.error
import urllib.request
from pathlib import Path

import psutil
import pytest

import pmdviz
from tests.browser.conftest import Lab, running

SERVE = [sys.executable, "-m", "pmdviz", "serve"]


def test_sigterm_ends_it_within_three_seconds_while_it_plays(browser, tmp_path):
    with running(SERVE, tmp_path / "log") as server:
        lab = Lab(browser, server.url)
        lab.endless()
        lab.press("Play")
        lab.reach(5)
        assert server.stop() < 3  # seconds: what is promised to who runs a server
        lab.context.close()


def test_panel_serve_works_too(browser, tmp_path):
    path = Path(pmdviz.__file__).with_name("app.py")
    with running([sys.executable, "-m", "panel", "serve", str(path), "--liveness"], tmp_path / "log") as server:
        lab = Lab(browser, f"{server.url}/app")
        lab.press("Play")
        lab.reach(3)
        lab.context.close()
        assert lab.problems == []


def load(pid, seconds=3.0):
    """Share of a core that a process uses."""
    process = psutil.Process(pid)
    before = sum(process.cpu_times()[:2])
    time.sleep(seconds)
    return (sum(process.cpu_times()[:2]) - before) / seconds


def test_a_closed_tab_stops_computing(browser, tmp_path):
    with running(SERVE, tmp_path / "log") as server:
        lab = Lab(browser, server.url)
        lab.endless()
        lab.wait("!pmdviz.words().includes('being computed')", 60)
        lab.press("Play")
        lab.reach(5)
        lab.context.close()
        late = time.monotonic() + 40
        while load(server.process.pid) >= 0.03:
            assert time.monotonic() < late, "it computes on and on"


def test_limits(browser, tmp_path):
    with running([*SERVE, "--max-particles", "3000", "--max-sessions", "1"], tmp_path / "log") as server:
        lab = Lab(browser, server.url)
        lab.type("num_particles", "5000")
        lab.page.get_by_text("Particles m must be a whole number at least 1 and at most 3,000").wait_for()
        other = lab.context.new_page()
        other.goto(server.url)
        other.get_by_text("Server full (1 session)").wait_for()
        lab.context.close()


def test_the_first_words_come_before_any_script(browser, tmp_path):
    with running(SERVE, tmp_path / "log") as server:
        text = urllib.request.urlopen(server.url, timeout=20).read().decode()
        assert text.index("Opening the lab") < text.index("<script type")
        assert "src=" not in text[: text.index("Opening the lab")]
        lab = Lab(browser, server.url)
        lab.page.locator("#opening").wait_for(state="detached")  # the first words give way to the page
        lab.context.close()


def test_an_empty_session_id_is_refused_without_a_traceback(tmp_path):
    with running(SERVE, tmp_path / "log") as server:
        with pytest.raises(urllib.error.HTTPError) as refused:
            urllib.request.urlopen(f"{server.url}/?bokeh-session-id=", timeout=20)
        assert refused.value.code == 400
        refused.value.close()


def test_the_spare_page_is_handed_out_once(browser, tmp_path):
    """Tabs opened one after the other, with and without a spare page waiting, are runs of their own."""
    with running(SERVE, tmp_path / "log") as server:
        labs = [Lab(browser, server.url) for _ in range(3)]
        labs[0].press("Play")
        labs[0].reach(3)
        assert [lab.iteration() for lab in labs[1:]] == [0, 0]
        for lab in labs:
            lab.context.close()
            assert lab.problems == []


def test_without_scripts_the_page_says_so(browser, tmp_path):
    with running(SERVE, tmp_path / "log") as server:
        page = browser.new_page()
        page.route("**/bokeh.min.js*", lambda route: route.abort())
        page.clock.install()
        page.goto(server.url)
        page.clock.run_for(21_000)
        page.get_by_text("The page's scripts could not be loaded").wait_for()
        page.close()
