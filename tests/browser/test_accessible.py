"""axe-core finds nothing critical or serious on any page in any theme; what is drawn and turned has a name."""

import importlib.util
from pathlib import Path

import pytest

from tests.browser.conftest import Lab
from tests.browser.test_race import to_race

AXE = Path(importlib.util.find_spec("axe_playwright_python").origin).with_name("axe.min.js")
FOUND = """async () => (await axe.run(document, {resultTypes: ["violations"]})).violations
  .filter((v) => ["critical", "serious"].includes(v.impact)).flatMap((v) => v.nodes.map((n) => `${v.id}: ${n.html}`))"""
PLACES = (
    (("lab", "explanation", "help", "race"), ""),
    (("theory", "geometry"), "?page=theory"),
    (("bad link",), "?run=no-run"),
)


def look(lab, place):
    """Go where a page or a dialog is seen."""
    if place == "race":
        to_race(lab)
    elif place == "theory":
        lab.page.get_by_text("Nothing has been measured yet.").wait_for(timeout=120_000)
    elif place == "geometry":
        lab.page.get_by_role("tab", name="Geometry").click()
        lab.page.get_by_text("After 5 steps").wait_for(timeout=120_000)
    elif place == "explanation":
        lab.page.get_by_role("button", name="More settings").first.click()
        lab.page.get_by_role("button", name="Rejuvenation", exact=True).first.click()
        lab.page.get_by_role("dialog", name="Rejuvenation").wait_for()
    elif place == "help":
        lab.page.get_by_role("button", name="?", exact=True).click()
        lab.page.get_by_role("dialog", name="Help").wait_for()


@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
def test_axe_finds_nothing_critical_or_serious(server, browser, dark):
    found = {}
    for places, query in PLACES:
        # By the address: a click on the button brings its hint, which is looked at too while it fades.
        theme = "theme=dark" if dark else "theme=light"
        lab = Lab(browser, server.url + "/?" + "&".join(filter(None, [query.removeprefix("?"), theme])))
        lab.page.evaluate(AXE.read_text(encoding="utf-8"))
        if dark:
            lab.wait("pmdviz.model('stage').background_fill_color !== '#ffffff'")
        for place in places:
            look(lab, place)
            lab.page.wait_for_function("document.getAnimations().length === 0")
            found |= {(place, words): lab.page.url for words in lab.page.evaluate(FOUND)}
            if place == "help":
                lab.page.get_by_role("button", name="Close", exact=True).click()
        assert lab.problems == []
        lab.context.close()
    assert list(found) == []


def test_a_page_that_is_asked_for_dark_has_dark_figures_from_the_start(server, browser):
    lab = Lab(browser, server.url + "/?theme=dark")
    lab.wait("pmdviz.model('stage').background_fill_color !== '#ffffff'")
    assert lab.problems == []
    lab.context.close()


def test_pictures_and_sliders_have_names_for_who_cannot_see_them(lab):
    lab.page.get_by_role("img", name="Picture: exact posterior, approximation and particles").wait_for()
    lab.page.get_by_role("img", name="Curves: how far approximation and posterior are apart, step by step").wait_for()
    lab.press("Step")
    lab.reach(1)
    lab.page.get_by_role("img", name="approximation and particles. iteration 1, 100 of 20,000 data").wait_for()
    lab.page.get_by_role("slider", name="Particles m", exact=True).wait_for()
    lab.page.get_by_label("Open a recipe (JSON)").wait_for()
