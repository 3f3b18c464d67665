"""Links in a real browser: what is shared opens at the same frame, and whatever is no link gives a sentence."""

import json

import pytest

from pmdviz.cli.main import main
from pmdviz.engine.recipe.formats import FORMAT
from pmdviz.engine.recipe.recipe import Recipe
from pmdviz.engine.session import Session
from pmdviz.lab.links import digest
from tests.browser.conftest import Lab


def address(lab):
    return lab.page.evaluate("window.location.search")


@pytest.fixture
def shared(open_lab):
    """A lab that has played and turned a knob, and the address that it then has."""
    lab = open_lab()
    lab.paused_at(5)
    lab.type("bandwidth", "0.5")
    lab.wait("pmdviz.words() && JSON.parse(pmdviz.model('acknowledge').shown).bandwidth === 0.5")
    for _ in range(2):
        before = lab.iteration()
        lab.press("Step")
        lab.reach(before + 1)
    lab.settled()
    lab.wait(f"window.location.search.includes('at={lab.iteration()}&')")
    return lab


def test_an_address_opens_at_the_same_frame(shared, browser, server):
    other = Lab(browser, server.url + "/" + address(shared))
    other.reach(shared.iteration())
    other.settled()
    assert other.words().split(", perfect")[0] == shared.words().split(", perfect")[0]
    assert json.loads(other.page.evaluate("pmdviz.model('acknowledge').shown"))["bandwidth"] == 0.5
    other.wait(f"window.location.search === {json.dumps(address(shared))}")
    assert other.page.get_by_text("the replayed run").count() == 0
    other.press("Step")
    other.reach(shared.iteration() + 1)
    assert other.problems == []
    other.context.close()


def test_a_reload_brings_it_back(shared):
    before = shared.words().split(", perfect")[0]
    iteration = shared.iteration()
    shared.page.reload()
    shared.wait(f"window.pmdviz && pmdviz.iteration() === {iteration}", 60)
    assert shared.words().split(", perfect")[0] == before


def test_share_copies_the_link(open_lab):
    lab = open_lab(permissions=["clipboard-read", "clipboard-write"])
    lab.press("Step")
    lab.reach(1)
    lab.press("Share")
    lab.page.get_by_text("Copied to the clipboard.").wait_for()
    link = lab.page.evaluate("navigator.clipboard.readText()")
    assert link.startswith("http://127.0.0.1") and f"?run={FORMAT}." in link and "at=1" in link


@pytest.mark.parametrize("slowness", [1, 6])
def test_another_digest_is_said(browser, server, slowness):
    """A slow browser lays the page out while the link is opened: it misses neither the picture nor the words."""
    link = Recipe("gaussian").to_link()
    lab = Lab(browser, f"{server.url}/?run={link}&at=3&frame=000000000000", slowness=slowness)
    lab.reach(3)
    lab.page.get_by_text("has other particles than the shared one").wait_for()
    lab.press("Close")
    lab.page.get_by_text("has other particles than the shared one").wait_for(state="hidden")
    lab.context.close()


@pytest.mark.parametrize(
    "query",
    [
        "run=" + Recipe(seed=3).to_link()[:-5],
        "preset=nowhere",
        "run=%00%ff<script>alert(1)</script>",
        "at=-3",
        "hide=everything",
    ],
)
def test_what_is_no_link_gives_a_sentence_and_the_usual_run(browser, server, query):
    lab = Lab(browser, f"{server.url}/?{query}")
    lab.page.get_by_text("This link could not be read: ").wait_for()
    assert lab.iteration() == 0
    lab.press("Play")
    lab.reach(2)
    assert lab.problems == []
    lab.context.close()


def test_a_link_leaves_out_controls_and_names_a_preset(browser, server):
    lab = Lab(browser, f"{server.url}/?preset=particles_die&hide=data,seed,eta")
    assert not lab.page.get_by_text("Data and options of the target").is_visible()
    assert not lab.knob("seed").is_visible()
    assert not lab.knob("eta").is_visible() and lab.knob("num_particles").is_visible()
    lab.press("Step")
    lab.reach(1)
    lab.wait("window.location.search.includes('hide=data,seed,eta')")
    lab.context.close()


def test_embedded_it_is_the_lab_alone(browser, server):
    lab = Lab(browser, f"{server.url}/?embed=1")
    assert not lab.page.get_by_role("banner").is_visible()
    assert not lab.page.get_by_label("Preset").is_visible()
    lab.press("Play")
    lab.reach(2)
    assert lab.problems == []
    lab.context.close()


def test_a_run_of_the_command_line_opens_from_its_file(open_lab, tmp_path):
    """The frame at its end has the digest of the frame that Python computes."""
    written = tmp_path / "result.json"
    assert main(["run", "--target", "gaussian", "--seed", "5", "--budget", "800", "--json", str(written)]) == 0
    lab = open_lab()
    lab.page.locator("input[type=file][accept='.json']").set_input_files(written)
    lab.wait("window.location.search.includes('run=')")
    lab.press("Play")
    lab.wait("pmdviz.words().includes('800 of 800')")
    session = Session(Recipe("gaussian", seed=5, budget=800))
    while not session.done:
        session.advance()
    lab.wait(f"window.location.search.includes('frame={digest(session.frame)}')")
    broken = tmp_path / "broken.json"
    broken.write_text("{")
    lab.page.locator("input[type=file][accept='.json']").set_input_files(broken)
    lab.page.locator(".pmdviz-file-words", has_text="JSON").wait_for()
    assert lab.iteration() == session.frame.iteration
