"""Each page has an address and a title; the browser's Back and a reload keep to it; themes and a teacher's link."""

import re

import pytest

pytestmark = pytest.mark.ci

DARK = "pmdviz.find('.mui-dark') !== null && pmdviz.model('stage').background_fill_color !== '#ffffff'"
LIGHT = "pmdviz.find('.mui-light') !== null && pmdviz.model('stage').background_fill_color === '#ffffff'"


def seen(lab, name, search):
    """The page `name` is there, at its address."""
    lab.wait(f"document.title === 'pmdviz: {name}' && location.search.startsWith('{search}')")
    lab.wait(f"document.title === 'pmdviz: {name}'")


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


INK = {"dark": "rgb(242, 242, 242)", "light": "rgb(26, 26, 26)"}
DIALOGS = [("Help", "Help", "Close"), ("What is this?", "What is this?", "Close"), ("Tour", "Tour", "End the tour")]


@pytest.mark.nightly
@pytest.mark.parametrize(("system", "opens", "turned"), [("dark", DARK, LIGHT), ("light", LIGHT, DARK)])
def test_the_theme_is_the_systems_until_another_is_chosen(open_lab, system, opens, turned):
    lab = open_lab(color_scheme=system)
    lab.wait(opens)
    for button, dialog, close in DIALOGS:
        lab.help(button)
        box = lab.page.get_by_role("dialog", name=dialog)
        assert box.evaluate("e => getComputedStyle(e).color") == INK[system], dialog
        box.get_by_role("button", name=close).click()
    lab.page.get_by_label("Toggle theme").click()
    lab.wait(turned)
    lab.page.reload()
    lab.wait(f"window.pmdviz && pmdviz.iteration() >= 0 && {turned}", 60)
