"""axe-core finds nothing critical or serious on any page in any theme."""

import re

import pytest

from tests.browser.test_race import to_race
from tests.support.browser import axe, close_sheet, open_sheet

pytestmark = pytest.mark.ci

TABS = {"Lessons": ".pmdviz-lessons button", "Theory": ".pmdviz-headline", "Methods": ".pmdviz-methods button"}
SHEETS = ("All settings", "Share", "Compare")
DIALOGS = ("explanation", "own data", "gallery", "tour", "what", "help")
RULES = {"light": None, "dark": ["color-contrast"]}  # all others are the same in every theme
PLACES = ("a link that cannot be read", "after Play", *SHEETS, "export", "inside", *DIALOGS, "presenter")


def look(lab, place):
    page = lab.page
    if place == "Race":
        to_race(lab)
    elif place == "Geometry":
        lab.go("Geometry")
        page.get_by_text("After 5 steps").wait_for(timeout=120_000)
    elif place in TABS:
        lab.go(place)
        page.locator(TABS[place]).first.wait_for(timeout=120_000)
    elif place in SHEETS:
        open_sheet(page, place)
    elif place == "after Play":
        lab.paused_at(30)
    elif place == "export":
        lab.share()
        page.get_by_text("Save a file: film, page, picture or data").locator("visible=true").click()
        page.get_by_role("button", name="Export", exact=True).wait_for()
    elif place == "inside":
        lab.press("See inside this step")
        page.locator(".pmdviz-inside").get_by_text(re.compile("Iteration")).first.wait_for()
    elif place == "presenter":
        lab.press("Present")
        lab.wait("pmdviz.find('.pmdviz-lab').classList.contains('pmdviz-large')")
    elif place == "lesson":
        lab.go("Lessons")
        page.get_by_role("button", name=re.compile("^Begin: ")).first.click()
        page.locator(".pmdviz-lesson .card").wait_for()
    elif place in DIALOGS:
        open_dialog(lab, place)


def open_dialog(lab, place):
    page = lab.page
    if place == "explanation":
        lab.settings()
        page.get_by_role("button", name="More settings").first.click()
        page.get_by_role("button", name="Rejuvenation", exact=True).first.click()
    elif place == "own data":
        lab.settings()
        lab.press("Your own data …")
        page.get_by_label("or paste rows").fill("a,b\n5,x\n7,y\n")
        page.get_by_label("Role of column b").wait_for()
    elif place == "gallery":
        page.get_by_role("button", name=re.compile("^Problem: ")).click()
    else:
        lab.help({"tour": "Tour", "what": "What is this?", "help": "Help"}[place])
    page.get_by_role("dialog").locator("visible=true").first.wait_for()


def leave(lab, place):
    if place in DIALOGS:
        lab.page.keyboard.press("Escape")
        lab.page.get_by_role("dialog").locator("visible=true").first.wait_for(state="detached")
    elif place == "inside":
        lab.press("See inside this step")
    elif place == "presenter":
        lab.page.keyboard.press("p")
        lab.page.get_by_role("banner").wait_for()
    close_sheet(lab.page)


@pytest.mark.parametrize("theme", ["light", pytest.param("dark", marks=pytest.mark.nightly)])
def test_axe_finds_nothing_critical_or_serious(open_lab, theme):
    # By the address: a click on the button brings its hint, which is looked at too while it fades.
    lab = open_lab(f"/?run=no-run&theme={theme}")
    if theme == "dark":
        lab.wait("pmdviz.model('stage').background_fill_color !== '#ffffff'")
    found = {}
    for place in (*PLACES, "Race", *TABS, "Geometry", "lesson"):
        look(lab, place)
        lab.page.wait_for_function("document.getAnimations().length === 0")
        part = "role=dialog" if place in DIALOGS else "html"
        found |= {f"{place}: {words}": None for words in axe(lab.page, part, RULES[theme])}
        leave(lab, place)
    assert list(found) == []
