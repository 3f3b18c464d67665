"""Titles, names, error sentences, recipes: whatever comes from outside is text to the page, never markup."""

import sys
from pathlib import Path

import pytest

from tests.support.browser import await_picture, free_port, open_page, server

pytestmark = pytest.mark.browser
PAGE = Path(__file__).with_name("injected_page.py")
EVIL = "</textarea></div><img src=x onerror='window.hacked=1'><script>window.hacked=1</script>"
TEXT = "<script>window.hacked=1</script>"


def seen_as_text(page, selector="body"):
    """Until the evil text can be read on the page, and nothing of it was run."""
    page.wait_for_function(f"document.body && pmdviz.find('{selector}')", timeout=60_000)
    assert page.evaluate("window.hacked") is None


def test_nothing_from_outside_becomes_markup(browser):
    port = free_port()
    command = [sys.executable, "-m", "panel", "serve", str(PAGE), "--port", str(port), "--liveness"]
    with server(command, port):
        page = open_page(browser, port, path=f"/{PAGE.stem}?preset=<script>window.hacked=1</script>#{TEXT}")
        await_picture(page)
        seen_as_text(page)
        assert page.get_by_text(TEXT).count() > 0  # the target's about, as text
        box = page.locator("input#knob-bandwidth")
        box.fill(TEXT)
        box.press("Enter")
        page.get_by_text("Bandwidth h must be").wait_for()
        seen_as_text(page)
        page.get_by_role("button", name="Play", exact=True).click()
        card = page.locator(".pmdviz-trouble")
        card.get_by_text("raised ValueError: </textarea>").wait_for(timeout=60_000)
        seen_as_text(page)
        page.evaluate(
            "() => { navigator.clipboard.writeText = () => Promise.reject(); document.execCommand = () => false }"
        )
        page.get_by_role("button", name="Copy recipe", exact=True).click()
        page.locator("textarea:visible").wait_for()
        assert TEXT in page.locator("textarea:visible").input_value()
        seen_as_text(page)
        page.get_by_label("Preset").select_option(label=EVIL)
        page.get_by_text("Reveal what to try").click()
        page.locator(".pmdviz-try").get_by_text(TEXT).wait_for()
        page.wait_for_timeout(500)
        seen_as_text(page)
        page.close()
