"""axe-core finds nothing critical or serious on any page in any theme."""

import pytest

from tests.browser.conftest import axe
from tests.browser.test_race import to_race

pytestmark = pytest.mark.ci

TABS = {"Lessons": ".pmdviz-lessons button", "Theory": ".pmdviz-headline", "Methods": ".pmdviz-methods button"}
DIALOGS = ("explanation", "help", "own data")
RULES = {"light": None, "dark": ["color-contrast"]}  # all others are the same in every theme


def look(lab, place):
    """Go where a page or a dialog is seen."""
    page = lab.page
    if place == "Race":
        to_race(lab)
    elif place == "Geometry":
        lab.go("Geometry")
        page.get_by_text("After 5 steps").wait_for(timeout=120_000)
    elif place in TABS:
        lab.go(place)
        page.locator(TABS[place]).first.wait_for(timeout=120_000)
    elif place == "explanation":
        lab.settings()
        page.get_by_role("button", name="More settings").first.click()
        page.get_by_role("button", name="Rejuvenation", exact=True).first.click()
        page.get_by_role("dialog", name="Rejuvenation").wait_for()
    elif place == "help":
        lab.help("Help")
        page.get_by_role("dialog", name="Help").wait_for()
    elif place == "own data":
        lab.settings()
        page.get_by_role("button", name="Your own data …", exact=True).locator("visible=true").first.click()
        page.get_by_label("or paste rows").fill("a,b\n5,x\n7,y\n")
        page.get_by_label("Role of column b").wait_for()


@pytest.mark.parametrize("theme", ["light", pytest.param("dark", marks=pytest.mark.nightly)])
def test_axe_finds_nothing_critical_or_serious(open_lab, theme):
    # By the address: a click on the button brings its hint, which is looked at too while it fades.
    lab = open_lab(f"/?run=no-run&theme={theme}")
    if theme == "dark":
        lab.wait("pmdviz.model('stage').background_fill_color !== '#ffffff'")
    found = {}
    for place in ("a link that cannot be read", *DIALOGS, "Race", *TABS, "Geometry"):
        look(lab, place)
        lab.page.wait_for_function("document.getAnimations().length === 0")
        part = "role=dialog" if place in DIALOGS else "html"
        found |= {f"{place}: {words}": None for words in axe(lab.page, part, RULES[theme])}
        if place == "help":
            lab.page.get_by_role("dialog", name="Help").get_by_role("button", name="Close").click()
        elif place in ("explanation", "own data"):
            lab.page.keyboard.press("Escape")
    assert list(found) == []
