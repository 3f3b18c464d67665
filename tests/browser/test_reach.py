"""Layout on every screen, the order of the Tab key, and what axe-core finds on any page in any theme."""

import math
import re

import pytest

from tests.browser.test_race import to_race
from tests.support.browser import axe, close_sheet, open_sheet

SCREENS = [(1440, 900), (1366, 625), (1280, 600), (1024, 640), (2880, 1800)]
# Where Play is, what lies on top at its middle and near its corners, and how much of the picture is in sight.
LOOK = """(picture) => {
  const parts = (selector, root = document, list = []) => {
    for (const e of root.querySelectorAll("*")) {
      if (e.matches(selector) && e.getClientRects().length) list.push(e)
      if (e.shadowRoot) parts(selector, e.shadowRoot, list)
    }
    return list
  }
  const top = (x, y) => {
    const e = pmdviz.top(x, y)
    return e?.closest("button")?.textContent ?? e?.className ?? "nothing"
  }
  const [play, ...more] = parts(".pmdviz-play"), b = play.shadowRoot.querySelector("button").getBoundingClientRect()
  const p = parts(picture)[0].getBoundingClientRect(), foot = parts(".pmdviz-transport")[0].getBoundingClientRect().top
  const at = [[0.5, 0.5], [0.04, 0.1], [0.96, 0.1], [0.04, 0.9], [0.96, 0.9]]
  return { more: more.length, height: b.height, left: b.left, top: b.top, right: b.right, bottom: b.bottom,
    on_top: at.map(([x, y]) => top(b.left + x * b.width, b.top + y * b.height)), sides: [p.width, p.height],
    share: (Math.min(p.bottom, foot) - Math.max(p.top, 0)) / p.height } }"""
FOCUS = """() => { let e = document.activeElement
  while (e?.shadowRoot?.activeElement) e = e.shadowRoot.activeElement
  return e?.textContent?.trim() }"""


def assert_in_sight(lab, width, height, picture=".pmdviz-stage", least=250, share=0.95):
    lab.page.set_viewport_size({"width": width, "height": height})
    lab.boxes(picture)
    seen = lab.page.evaluate(LOOK, picture)
    where = f"{width}x{height}: {seen}"
    assert seen["more"] == 0 and seen["height"] >= 40, where
    assert seen["left"] >= 0 and seen["top"] >= 0 and seen["right"] <= width and seen["bottom"] <= height, where
    assert seen["on_top"] == ["Play"] * 5, where
    assert seen["sides"][0] >= least and seen["share"] > share, where
    return seen["sides"]


def presenter(lab, on):
    lab.page.keyboard.press("p")
    lab.wait(f"(parseInt(pmdviz.model('stage').below[0].axis_label_text_font_size) >= 18) === {str(on).lower()}")
    lab.page.get_by_role("banner", include_hidden=True).wait_for(state="hidden" if on else "visible")
    lab.boxes(".pmdviz-stage")


@pytest.mark.nightly
def test_on_laptops_and_projectors(lab):
    stood = lab.paused_at(3)
    lab.wait("!pmdviz.words().includes('being computed')", 60)  # the floor, which says how far it is
    words = lab.words()
    for large in (False, True):
        if large:
            presenter(lab, True)
        for width, height in SCREENS:
            sides = assert_in_sight(lab, width, height)
            assert lab.page.evaluate("document.documentElement.scrollWidth") <= width
            assert abs(sides[0] - sides[1]) < 1 and sides[0] >= min(350, 0.55 * height)
    assert lab.words() == words and lab.iteration() == stood
    presenter(lab, False)
    to_race(lab)
    for width, height in (*SCREENS[:4], (720, 450)):
        lab.wait("!pmdviz.model('race-acknowledge').words.includes('Making')", 60)
        assert_in_sight(lab, width, height, ".pmdviz-race-tiles", 0, -math.inf)


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
    """What is wrong with a stop, or with its place after the one before: above that, and not right of it.

    Handles lie over the picture, and the foot is last and always in sight. On a phone the order is
    free: the chips lie below all that has to be in view, and the sliders above the traces.
    """
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
    for page, part in {"Lessons": ".pmdviz-lessons button", "Methods": ".pmdviz-methods button"}.items():
        lab.go(page)
        lab.page.locator(part).first.wait_for(timeout=120_000)
        found[page] = faults(walk(lab))
    to_race(lab)
    found["Race"] = faults(walk(lab))
    assert {page: words for page, words in found.items() if words} == {}


TABS = {"Lessons": ".pmdviz-lessons button", "Theory": ".pmdviz-theory table", "Methods": ".pmdviz-methods button"}
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
