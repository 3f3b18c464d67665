"""The server dies, nobody looks, a connection breaks: what a person sees, and what the server goes on doing."""

import subprocess
import sys

import pytest

from tests.browser.conftest import Lab, running
from tests.browser.test_page import SHOWN, without_floor
from tests.support.browser import HELPERS_JS, await_picture, end

pytestmark = pytest.mark.ci

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
        stood, words = lab.at_rest(looks=10), without_floor(lab)
        server.process.wait()
        again = subprocess.Popen(
            [*SERVE, "--port", str(server.port)], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        )
        try:
            lab.page.get_by_role("button", name="Open again").click(timeout=60_000)
            lab.wait(f"window.pmdviz && pmdviz.iteration() == {stood} && pmdviz.model('acknowledge')?.drawn > 0", 60)
            assert banner.count() == 0 and without_floor(lab) == words
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
