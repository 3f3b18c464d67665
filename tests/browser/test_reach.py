"""Layout: Play and the picture are in sight on every screen, nothing lies on them, and the Tab key comes to Play."""

import math

import pytest

from tests.browser.test_race import to_race

pytestmark = pytest.mark.ci

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
    let e = document.elementFromPoint(x, y)
    while (e?.shadowRoot?.elementFromPoint(x, y)) e = e.shadowRoot.elementFromPoint(x, y)
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


def test_play_is_among_the_first_stops_of_the_tab_key_and_a_link_skips_to_it(lab):
    stops = []
    for _ in range(5):
        lab.page.keyboard.press("Tab")
        stops.append(lab.page.evaluate(FOCUS))
    assert stops[0] == "Skip to Play" and "Play" in stops
    lab.page.locator("#skip").focus()
    lab.page.keyboard.press("Enter")
    assert lab.page.evaluate(FOCUS) == "Play" and "#" not in lab.page.url
    lab.page.keyboard.press("Enter")
    lab.reach(2)
