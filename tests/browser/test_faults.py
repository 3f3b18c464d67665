"""How a server starts and ends, what a person sees when a connection or a model breaks, and markup that is not run."""

import json
import subprocess
import sys
import urllib.request
from pathlib import Path

import pytest

from pmdviz.lab.css import MAKE, static
from tests.browser.conftest import Lab, look_alike, running, stage_pixels
from tests.browser.test_page import SHOWN, without_floor
from tests.support.browser import HELPERS_JS, await_picture, await_that, end
from tests.support.crowd import PROBED

SERVE = [sys.executable, "-m", "pmdviz", "serve"]


def test_a_lost_connection_is_said_and_one_click_opens_the_page_again(browser, tmp_path):
    with running(SERVE, tmp_path / "log") as server:
        lab = Lab(browser, server.url)
        lab.endless()
        lab.press("Play")
        lab.reach(5)
        lab.type("bandwidth", "0.3")
        lab.wait(f"new URL(location).searchParams.has('run') && {SHOWN}.bandwidth === 0.3")
        server.process.kill()
        banner = lab.page.get_by_text("The connection to the server was lost.")
        banner.wait_for()
        stood, words, address = lab.at_rest(looks=10), without_floor(lab), lab.page.url
        server.process.wait()
        again = subprocess.Popen([*SERVE, "--port", str(server.port)], stderr=subprocess.DEVNULL)
        try:
            lab.page.get_by_role("button", name="Open again").click(timeout=60_000)
            lab.wait(f"window.pmdviz && pmdviz.iteration() == {stood} && pmdviz.model('acknowledge')?.drawn > 0", 60)
            assert banner.count() == 0
            assert without_floor(lab) == words, (address, lab.page.url)
            lab.press("Play")
            lab.reach(stood + 3)
        finally:
            lab.context.close()
            end(again)


# The first websocket goes to an address that the server refuses, like that of a page which has come too late.
REFUSED_ONCE_JS = """(() => {
  const Real = WebSocket
  window.WebSocket = class extends Real {
    constructor(url, protocols) {
      super(sessionStorage.getItem("pmdviz-again") ? url : url.replace("/ws", "/nothing"), protocols)
    }
  }
})()"""


def test_a_page_whose_connection_is_refused_loads_once_more(browser, server):
    context = browser.new_context()
    try:
        page = context.new_page()
        page.add_init_script(HELPERS_JS)
        page.add_init_script(REFUSED_ONCE_JS)
        page.goto(server.url)
        await_picture(page)
        page.locator("#opening").wait_for(state="detached")
        assert page.evaluate("sessionStorage.getItem('pmdviz-again')")
    finally:
        context.close()


# As the browser says it when another tab comes to the front: a headless one never hides a tab by itself.
HIDE_JS = """(hidden) => {
  Object.defineProperty(document, "hidden", {configurable: true, get: () => hidden})
  document.dispatchEvent(new Event("visibilitychange"))
}"""


def test_a_hidden_tab_pauses_and_plays_on_when_it_is_looked_at(lab):
    lab.endless()
    lab.press("Play")
    lab.reach(5)
    lab.page.evaluate(HIDE_JS, True)
    lab.wait("pmdviz.model('acknowledge').hidden")
    stood = lab.at_rest(looks=8)
    assert lab.at_rest(looks=8) == stood
    lab.page.evaluate(HIDE_JS, False)
    lab.reach(stood + 3)


@pytest.mark.nightly
def test_first_words_tabs_of_their_own_and_a_closed_tab(browser, tmp_path):
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
        probe = f"{server.url}/probe"
        await_that(lambda: json.loads(urllib.request.urlopen(probe).read())["sessions"] <= 1)  # the one built ahead
        page = browser.new_page()  # without scripts
        page.route("**/bokeh.min.js*", lambda route: route.abort())
        page.clock.install()
        page.goto(server.url)
        page.clock.run_for(21_000)
        page.get_by_text("scripts take long to load").wait_for()
        page.close()


@pytest.mark.nightly
def test_play_moves_while_no_kernel_is_compiled(browser, tmp_path, monkeypatch):
    """The cache of kernels is empty: recorded frames are drawn until other processes have compiled the kernels."""
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(tmp_path / "kernels"))
    with running(SERVE, tmp_path / "log") as server:
        lab = Lab(browser, server.url)
        assert "iteration 0, 0 of 20,000" in lab.words() and "Live in" not in lab.words()
        start = stage_pixels(lab.page)
        lab.press("Play")
        lab.wait("pmdviz.iteration() >= 4", 120)
        lab.wait("!pmdviz.model('acknowledge').recorded", 300)  # the live run has taken over
        at = lab.iteration()
        lab.wait(f"pmdviz.iteration() > {at} || pmdviz.iteration() === 200", 60)
        assert not look_alike(start, stage_pixels(lab.page)) and lab.problems == []
        lab.context.close()


EVIL = "</textarea></div><img src=x onerror='window.hacked=1'><script>window.hacked=1</script>"
TEXT = "<script>window.hacked=1</script>"
PAGE = Path(__file__).with_name("injected_page.py")


def test_no_text_from_outside_becomes_markup(browser, tmp_path):
    command = [sys.executable, "-m", "panel", "serve", str(PAGE), "--liveness", "--plugins", "pmdviz.panel_plugin"]
    origin = ["--allow-websocket-origin", "*"]  # Bokeh 3.9.0 lets in localhost alone, which these browsers cannot find
    with running(command + origin, tmp_path / "log") as server:  # whose log has no traceback
        lab = Lab(browser, f"{server.url}/injected_page?preset={TEXT}#{TEXT}")
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
        lab.choose("Preset", EVIL)
        page.get_by_text("Suggestion", exact=True).click()
        page.locator(".pmdviz-try").get_by_text(TEXT).wait_for()
        lab.settled()
        not_run()
        lab.context.close()


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
