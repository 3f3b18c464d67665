"""Links in a real browser: what is shared opens at the same frame; a text that is not a link gives a sentence."""

import json

import pytest

from pmdviz.engine.recipe import Recipe
from tests.browser.test_page import SHOWN, without_floor

pytestmark = pytest.mark.ci


def test_a_shared_link_and_a_reload_open_at_the_same_frame(open_lab, server):
    lab = open_lab(permissions=["clipboard-read", "clipboard-write"])
    lab.paused_at(5)
    lab.type("bandwidth", "0.5")
    lab.wait(f"{SHOWN}.bandwidth === 0.5")
    before = lab.iteration()
    lab.press("Step")
    lab.reach(before + 1)
    lab.settled()
    lab.wait(f"window.location.search.includes('at={before + 1}&')")
    lab.share()
    lab.press("Copy link")
    lab.page.get_by_text("Copied to the clipboard.").wait_for()
    link, words = lab.page.evaluate("navigator.clipboard.readText()"), without_floor(lab)
    address = lab.page.evaluate("window.location.search")
    other = open_lab(link.removeprefix(server.url))
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


@pytest.mark.nightly
def test_another_digest_is_said_on_a_slow_browser_too(open_lab):
    """A slow browser lays the page out while the link is opened: it misses neither the picture nor the words."""
    link = Recipe("gaussian").to_link()
    lab = open_lab(f"/?run={link}&at=3&frame=000000000000", slowness=6)
    lab.reach(3)
    lab.page.get_by_text("than the shared one").wait_for()
    lab.press("Close")
    lab.page.get_by_text("than the shared one").wait_for(state="hidden")


def test_a_link_leaves_out_controls_and_an_embedded_lab_is_the_lab_alone(open_lab, server):
    lab = open_lab("/?preset=particles_die&hide=data,seed,eta")
    lab.settings()
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
