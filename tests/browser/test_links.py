"""Links in a real browser: what is shared opens at the same frame; a text that is not a link gives a sentence."""

import json
import re

import pytest

from pmdviz.engine.recipe import Recipe
from tests.browser.test_page import SHOWN, without_floor


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
    lab = open_lab(f"/?run={Recipe('gaussian').to_link()}&at=3&frame=000000000000", slowness=6)
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


DARK = "pmdviz.find('.mui-dark') !== null && pmdviz.model('stage').background_fill_color !== '#ffffff'"
LIGHT = "pmdviz.find('.mui-light') !== null && pmdviz.model('stage').background_fill_color === '#ffffff'"


def seen(lab, name, search):
    lab.wait(f"document.title === 'pmdviz: {name}' && location.search.startsWith('{search}')")


def test_pages_have_addresses_and_the_run_stays(lab):
    lab.press("Step")
    lab.reach(1)
    lab.wait("location.search.includes('at=1')")
    lab.page.locator(".brand").click()
    lab.go("Theory")
    seen(lab, "Theory", "?page=theory")
    lab.page.go_back()
    seen(lab, "Lab", "?run=")
    assert lab.iteration() == 1
    lab.page.go_forward()
    seen(lab, "Theory", "?page=theory")
    lab.page.reload()
    lab.page.get_by_text("A stored sweep of 120 runs.").wait_for(timeout=60_000)
    seen(lab, "Theory", "?page=theory")


START_JS = """() => {
  const figure = pmdviz.model("geometry-triangle"), view = Bokeh.index.find_one(figure)
  const {x: [x], y: [y]} = figure.renderers.find((r) => r.glyph.marker?.value === "diamond").data_source.data
  const {left, top} = view.canvas_view.el.getBoundingClientRect()
  return [left + view.frame.x_scale.compute(x), top + view.frame.y_scale.compute(y)]
}"""


def test_geometry_by_its_address_with_slider_drag_keys_and_play(open_lab):
    lab = open_lab("/?page=geometry")
    page = lab.page
    page.get_by_text("After 5 steps of γ = 0.3").wait_for(timeout=120_000)
    seen(lab, "Geometry", "?page=geometry")
    lab.wait("Bokeh.index.find_one(pmdviz.model('geometry-triangle'))?.bbox.width > 300")
    page.get_by_role("slider", name="Step size γ", exact=True).press("ArrowRight")
    page.get_by_text("After 5 steps of γ = 0.307").wait_for()
    x, y = lab.at_rest(f"({START_JS})()")
    page.mouse.move(x, y)
    page.mouse.down()
    page.mouse.move(x + 20, y + 100, steps=5)
    page.mouse.up()
    page.wait_for_function(f"({START_JS})()[1] > {y + 80}")
    assert page.get_by_label("Start q₀", exact=True).input_value() == "moved"
    page.mouse.move(x + 20, y + 160)  # the button is up: it stays
    page.keyboard.press("ArrowRight")
    page.get_by_text("After 6 steps").wait_for()
    lab.press("Play")
    page.get_by_text(re.compile(r"After ([89]|\d{2,}) steps")).wait_for()  # it may play past a look at it
    lab.press("Pause")
    assert page.evaluate(START_JS)[1] < y + 130


@pytest.mark.nightly
@pytest.mark.parametrize(("system", "opens", "turned"), [("dark", DARK, LIGHT), ("light", LIGHT, DARK)])
def test_the_theme_is_the_systems_until_another_is_chosen(open_lab, system, opens, turned):
    lab = open_lab(color_scheme=system)
    lab.wait(opens)
    lab.page.get_by_label("Toggle theme").click()
    lab.wait(turned)
    lab.page.reload()
    lab.wait(f"window.pmdviz && pmdviz.iteration() >= 0 && {turned}", 60)
