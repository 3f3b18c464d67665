"""Links in a real browser: what is shared opens at the same frame; a text that is not a link gives a sentence."""

import json

import pytest

from pmdviz.cli.main import main
from pmdviz.engine.recipe.recipe import Recipe
from pmdviz.engine.session import Session
from tests.browser.conftest import Lab
from tests.browser.test_page import SHOWN, without_floor

pytestmark = pytest.mark.ci


def test_a_shared_link_and_a_reload_open_at_the_same_frame(open_lab, browser, server):
    lab = open_lab(permissions=["clipboard-read", "clipboard-write"])
    lab.paused_at(5)
    lab.type("bandwidth", "0.5")
    lab.wait(f"{SHOWN}.bandwidth === 0.5")
    before = lab.iteration()
    lab.press("Step")
    lab.reach(before + 1)
    lab.settled()
    lab.wait(f"window.location.search.includes('at={before + 1}&')")
    lab.press("Share")
    lab.page.get_by_text("Copied to the clipboard.").wait_for()
    link, words = lab.page.evaluate("navigator.clipboard.readText()"), without_floor(lab)
    address = lab.page.evaluate("window.location.search")
    other = Lab(browser, link)
    for opened in (other, lab):
        if opened is lab:
            lab.page.reload()
        opened.wait(f"window.pmdviz && pmdviz.iteration() === {before + 1}", 60)
        opened.settled()
        assert without_floor(opened) == words
        opened.wait(f"{SHOWN}.bandwidth === 0.5 && window.location.search === {json.dumps(address)}")
    assert other.page.get_by_text("the replayed run").count() == 0
    other.press("Step")
    other.reach(before + 2)
    assert other.problems == []
    other.context.close()


def test_another_digest_is_said_on_a_slow_browser_too(browser, server):
    """A slow browser lays the page out while the link is opened: it misses neither the picture nor the words."""
    link = Recipe("gaussian").to_link()
    lab = Lab(browser, f"{server.url}/?run={link}&at=3&frame=000000000000", slowness=6)
    lab.reach(3)
    lab.page.get_by_text("than the shared one").wait_for()
    lab.press("Close")
    lab.page.get_by_text("than the shared one").wait_for(state="hidden")
    lab.context.close()


def test_a_text_that_is_not_a_link_gives_a_sentence_and_the_usual_run(browser, server):
    lab = Lab(browser, f"{server.url}/?run=%00%ff<script>alert(1)</script>")
    lab.page.get_by_text("This link could not be read: ").wait_for()
    assert lab.iteration() == 0
    lab.press("Play")
    lab.reach(2)
    assert lab.problems == []
    lab.context.close()


def test_a_link_leaves_out_controls_and_an_embedded_lab_is_the_lab_alone(browser, server):
    lab = Lab(browser, f"{server.url}/?preset=particles_die&hide=data,seed,eta")
    assert not lab.page.get_by_text("Data and options of the target").is_visible()
    assert not lab.knob("seed").is_visible()
    assert not lab.knob("eta").is_visible() and lab.knob("num_particles").is_visible()
    lab.press("Step")
    lab.reach(1)
    lab.wait("window.location.search.includes('hide=data,seed,eta')")
    lab.page.goto(f"{server.url}/?embed=1")
    lab.wait("window.pmdviz && pmdviz.iteration() === 0", 60)
    assert not lab.page.get_by_role("banner").is_visible()
    assert not lab.page.get_by_label("Preset").is_visible()
    assert lab.page.evaluate("pmdviz.find('.pmdviz-heading').getBoundingClientRect().top") < 20
    lab.press("Play")
    lab.reach(2)
    assert lab.problems == []
    lab.context.close()


def test_a_run_of_the_command_line_opens_from_its_file(open_lab, tmp_path):
    """The frame at its end has the digest of the frame that Python computes."""
    written = tmp_path / "result.json"
    assert main(["run", "--target", "gaussian", "--seed", "5", "--budget", "800", "--json", str(written)]) == 0
    lab = open_lab()
    box = lab.page.locator("input[type=file][accept='.json']")
    box.set_input_files(written)
    lab.wait("window.location.search.includes('run=')")
    lab.press("Play")
    lab.wait("pmdviz.words().includes('800 of 800')")
    session = Session(Recipe("gaussian", seed=5, budget=800))
    while not session.done:
        session.advance()
    lab.wait(f"window.location.search.includes('frame={session.frame.digest}')")
    (tmp_path / "broken.json").write_text("{")
    box.set_input_files(tmp_path / "broken.json")
    lab.page.locator(".pmdviz-file-words", has_text="JSON").wait_for()
    assert lab.iteration() == session.frame.iteration
