"""A person's own model that is full of markup and fails: words say so, and none of it is run."""

import sys
from pathlib import Path

import pytest

from pmdviz.lab.css import MAKE, static
from tests.browser.conftest import Lab, running

pytestmark = pytest.mark.ci

EVIL = "</textarea></div><img src=x onerror='window.hacked=1'><script>window.hacked=1</script>"
TEXT = "<script>window.hacked=1</script>"
PAGE = Path(__file__).with_name("injected_page.py")


@pytest.fixture
def injected(browser, tmp_path):
    """The lab of the page, whose server's log has no traceback."""
    command = [sys.executable, "-m", "panel", "serve", str(PAGE), "--liveness", "--plugins", "pmdviz.panel_plugin"]
    with running(command, tmp_path / "log") as server:
        lab = Lab(browser, f"{server.url}/injected_page?preset={TEXT}#{TEXT}")
        yield lab
        lab.context.close()


def test_no_text_from_outside_becomes_markup(injected):
    lab, page = injected, injected.page

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
    lab.choose("Preset", EVIL)
    page.get_by_text("Suggestion", exact=True).click()
    page.locator(".pmdviz-try").get_by_text(TEXT).wait_for()
    lab.settled()
    not_run()


SCRIPT = MAKE + static("notebook.js")
TRY_AGAIN_JS = """async (text) => {
  const url = URL.createObjectURL(new Blob([text], { type: "text/javascript" }))
  const { default: { render } } = await import(url)
  const sent = []
  let take
  const model = { on: (_, act) => { take = act }, off: () => {}, send: (message) => sent.push(message) }
  render({ el: document.body, model })
  take({ what: "scripts", version: "1" }, [new Uint8Array([1, 2, 3])])
  take({ what: "document", version: "1", view: sent[0].view }, [])
  while (!document.querySelector("button")) await new Promise((done) => setTimeout(done, 10))
  document.querySelector("button").click()
  return sent.map(({ what, has }) => [what, has])
}"""


def test_a_lab_of_a_notebook_asks_for_its_scripts_again_where_they_could_not_be_read(browser):
    page = browser.new_page()
    assert page.evaluate(TRY_AGAIN_JS, SCRIPT) == [["open", []], ["open", []]]
    page.close()
