"""A person's own model that fails, or is full of markup: words say so, and the page goes on."""

import re
import sys
import time
from pathlib import Path

import pytest

from tests.browser.conftest import Lab, look_alike, stage_pixels
from tests.support.browser import free_port, server

pytestmark = pytest.mark.ci

PAGES = [Path(__file__).with_name(f"{name}_page.py") for name in ("broken", "injected")]
EVIL = "</textarea></div><img src=x onerror='window.hacked=1'><script>window.hacked=1</script>"
TEXT = "<script>window.hacked=1</script>"


@pytest.fixture(scope="module")
def trouble(tmp_path_factory):
    """Opens one of the two pages, all of one server; and the file in which the broken model counts its calls."""
    folder, port = tmp_path_factory.mktemp("trouble"), free_port()
    command = [sys.executable, "-m", "panel", "serve", *map(str, PAGES), "--port", str(port), "--liveness"]
    with (
        (folder / "log").open("w") as log,
        server([*command, "--plugins", "pmdviz.panel_plugin"], port, log, PMDVIZ_ASKED=str(folder / "asked")),
    ):
        yield f"http://127.0.0.1:{port}/", folder


@pytest.fixture
def opened(trouble, browser):
    """The page of a name, whose log of the server has no traceback after it."""
    made = []

    def open_page(address):
        made.append(Lab(browser, trouble[0] + address))
        return made[-1]

    yield open_page
    for lab in made:
        lab.context.close()
    assert "Traceback" not in (trouble[1] / "log").read_text()


def test_the_run_stops_with_words_and_goes_on(opened, trouble):
    lab, asked = opened("broken_page"), trouble[1] / "asked"
    lab.press("Play")
    card = lab.page.get_by_text(re.compile("The run stopped.*target 'broken' is nan at theta", re.S)).first
    card.wait_for(timeout=60_000)
    lab.settled()
    stopped, picture = lab.iteration(), stage_pixels(lab.page)
    assert stopped > 0 and int(asked.read_text()) == 41
    lab.press("Retry")
    late = time.monotonic() + 60
    while int(asked.read_text() or 0) < 42:  # the second time
        assert time.monotonic() < late
        lab.page.wait_for_timeout(50)
    assert lab.at_rest(looks=6) == stopped and card.is_visible()
    assert look_alike(stage_pixels(lab.page), picture)
    lab.press("Retry")
    lab.reach(stopped + 1)
    card.wait_for(state="hidden", timeout=60_000)


def test_no_text_from_outside_becomes_markup(opened):
    lab = opened(f"injected_page?preset={TEXT}#{TEXT}")
    page = lab.page

    def not_run():
        assert page.evaluate("window.hacked") is None

    not_run()
    assert page.get_by_text(TEXT).count() > 0  # the target's about, as text
    lab.type("bandwidth", TEXT)
    page.get_by_text("Bandwidth h must be").wait_for()
    not_run()
    lab.press("Play")
    page.locator(".pmdviz-trouble").get_by_text("raised ValueError: </textarea>").wait_for(timeout=60_000)
    not_run()
    page.evaluate(
        "() => { navigator.clipboard.writeText = () => Promise.reject(); document.execCommand = () => false }"
    )
    lab.press("Copy recipe")
    page.locator("textarea:visible").wait_for()
    assert TEXT in page.locator("textarea:visible").input_value()
    not_run()
    page.get_by_label("Preset").select_option(label=EVIL)
    page.get_by_text("Reveal what to try").click()
    page.locator(".pmdviz-try").get_by_text(TEXT).wait_for()
    lab.settled()
    not_run()
