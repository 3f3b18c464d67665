"""The order of the Tab key, and what axe-core finds on any page in any theme."""

import re

import pytest

from tests.browser.test_race import to_race
from tests.support.browser import axe, close_sheet, open_sheet

FOCUS = """() => { let e = document.activeElement
  while (e?.shadowRoot?.activeElement) e = e.shadowRoot.activeElement
  return e?.textContent?.trim() }"""


def test_a_link_skips_to_play(lab):
    lab.page.keyboard.press("Tab")
    assert lab.page.evaluate(FOCUS) == "Skip to Play"
    lab.page.keyboard.press("Enter")
    assert lab.page.evaluate(FOCUS) == "Play" and "#" not in lab.page.url
    lab.page.keyboard.press("Enter")
    lab.reach(2)


# The element that has the focus: its name, where it is on the whole page, and what is wrong about it.
STOP = """() => {
  let e = document.activeElement
  while (e?.shadowRoot?.activeElement) e = e.shadowRoot.activeElement
  if (!e || e === document.body) return null
  const chain = []
  for (let one = e; one; one = one.parentNode ?? one.host) if (one.nodeType === 1) chain.push(one)
  const b = e.getBoundingClientRect(), foot = document.getElementById("foot").getBoundingClientRect()
  const bottom = foot.height && !chain.some((one) => one.id === "foot") ? foot.top : innerHeight
  const top = pmdviz.top(pmdviz.middle(b.left, b.right, innerWidth), pmdviz.middle(b.top, b.bottom, bottom))
  const lit = ({outlineStyle, outlineWidth}) => outlineStyle !== "none" && parseFloat(outlineWidth) > 0
  const wrong = {
    "cut": b.left < -1 || b.top < -1 || b.right > innerWidth + 1 || b.bottom > bottom + 1 && b.height < bottom,
    "covered": ![e, ...(e.labels ?? [])].some((part) => pmdviz.holds(part, top)),
    "without a ring": !chain.slice(0, 4).some((one) => lit(getComputedStyle(one))),
  }
  const scrolled = chain.reduce((sum, one) => sum + one.scrollTop, 0)
  return {
    name: `${e.localName} ${e.ariaLabel ?? e.labels?.[0]?.textContent ?? e.textContent.trim().slice(0, 30)}`,
    wrong: Object.keys(wrong).filter((words) => wrong[words]),
    free: innerWidth <= 900 || e.matches(".handle") || chain.some((one) => one.id === "foot"),
    left: b.left, right: b.right, top: b.top + scrolled, bottom: b.bottom + scrolled }
}"""


def walk(lab, most=200):
    """The stops of the Tab key on a page as it is, until they begin again."""
    lab.page.evaluate("document.getElementById('skip').focus()")
    stops = []
    while len(stops) < most:
        lab.page.keyboard.press("Tab")
        stop = lab.page.evaluate(STOP)
        if stop is None or stop["name"].startswith("a Skip"):
            break
        stops.append(stop)
    return stops


def faults(stops):
    """What is wrong with a stop, or with its place after the one before: above that, and not right of it."""
    found = [f"{stop['name']} is {words}" for stop in stops for words in stop["wrong"]]
    plain = [stop for stop in stops if not stop["free"]]
    for before, stop in zip(plain, plain[1:], strict=False):
        if stop["bottom"] <= before["top"] and stop["left"] < before["right"]:
            found.append(f"{stop['name']} comes after {before['name']}")
    return found


@pytest.mark.parametrize("size", [(1440, 900), (1366, 625), (390, 844)], ids=lambda size: f"{size[0]}x{size[1]}")
def test_the_tab_key_goes_in_the_order_of_reading_and_what_it_reaches_is_in_sight(open_lab, size):
    lab = open_lab(viewport=dict(zip(("width", "height"), size, strict=True)))
    found = {"Lab": faults(walk(lab))}
    if size == (1440, 900):  # in smaller windows a sheet covers parts of the page
        lab.settings()
        found["All settings"] = faults(walk(lab))
        close_sheet(lab.page)
    for page in ("Lessons", "Methods", "Race"):
        look(lab, page)
        found[page] = faults(walk(lab))
    assert {page: words for page, words in found.items() if words} == {}


TABS = {"Lessons": ".pmdviz-lessons button", "Theory": ".pmdviz-theory table", "Methods": ".pmdviz-methods button"}
TABS |= {"Geometry": "text=After 5 steps"}
SHEETS = ("All settings", "Share", "Compare")
DIALOGS = ("explanation", "own data", "gallery", "tour", "what", "help")
RULES = {"light": None, "dark": ["color-contrast"]}  # all others are the same in every theme
PLACES = ("a link that cannot be read", "after Play", *SHEETS, "export", "inside", *DIALOGS, "presenter")


def look(lab, place):
    page = lab.page
    if place == "Race":
        to_race(lab)
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
    for place in (*PLACES, "Race", *TABS, "lesson"):
        look(lab, place)
        lab.page.wait_for_function("document.getAnimations().length === 0")
        part = "role=dialog" if place in DIALOGS else "html"
        found |= {f"{place}: {words}": None for words in axe(lab.page, part, RULES[theme])}
        leave(lab, place)
    assert list(found) == []
