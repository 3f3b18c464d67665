"""How the server starts and ends."""

import sys
from pathlib import Path

import pmdviz
from tests.browser.conftest import Lab, running

SERVE = [sys.executable, "-m", "pmdviz", "serve"]


def test_sigterm_ends_it_within_three_seconds_while_it_plays(browser, tmp_path):
    with running(SERVE, tmp_path / "log") as server:
        lab = Lab(browser, server.url)
        lab.endless()
        lab.press("Play")
        lab.reach(5)
        assert server.stop() < 3
        lab.context.close()


def test_panel_serve_works_too(browser, tmp_path):
    path = Path(pmdviz.__file__).with_name("app.py")
    with running([sys.executable, "-m", "panel", "serve", str(path), "--liveness"], tmp_path / "log") as server:
        lab = Lab(browser, f"{server.url}/app")
        lab.press("Play")
        lab.reach(3)
        lab.context.close()
        assert lab.problems == []


def test_limits(browser, tmp_path):
    with running([*SERVE, "--max-particles", "3000", "--max-sessions", "1"], tmp_path / "log") as server:
        lab = Lab(browser, server.url)
        lab.type("num_particles", "5000")
        lab.page.get_by_text("num_particles must be a whole number at least 1 and at most 3,000").wait_for()
        other = lab.context.new_page()
        other.goto(server.url)
        other.get_by_text("All 1 places of this server are taken").wait_for()
        lab.context.close()
