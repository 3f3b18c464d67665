"""The Tab key: on every page it goes as one reads, and what has the focus is not under the fixed bar."""

import pytest

from tests.browser.test_accessible import look

pytestmark = pytest.mark.ci

PAGES = ("Lab", "Lessons", "Race", "Theory", "Geometry", "Methods")
SCREENS = {"laptop": (1366, 625), "phone": (390, 844)}
MOST = 150  # stops
STOP_JS = """() => {
  let e = document.activeElement
  while (e?.shadowRoot?.activeElement) e = e.shadowRoot.activeElement
  if (!e || e === document.body) return null
  const within = (inner, name) => {
    for (; inner; inner = inner.parentNode ?? inner.host) if (inner.classList?.contains(name)) return true
    return false
  }
  const feet = []
  const look = (root) => { for (const one of root.querySelectorAll("*")) {
    if (one.classList.contains("pmdviz-transport") && one.getClientRects().length) feet.push(one)
    if (one.shadowRoot) look(one.shadowRoot)
  } }
  look(document)
  const b = e.getBoundingClientRect(), foot = feet.length ? feet[0].getBoundingClientRect().top : innerHeight
  const fixed = within(e, "pmdviz-transport") || b.bottom <= 48 && scrollY === 0
  return { words: `${e.tagName} ${e.ariaLabel ?? e.textContent.trim().slice(0, 40)}`, fixed, column: b.left,
    top: b.top + scrollY, bottom: b.bottom + scrollY, hidden: !fixed && (b.bottom <= 0 || b.top >= foot - 8) } }"""


def stops(lab):
    """All stops of the Tab key, from the start of the page to its end."""
    lab.page.evaluate("() => { document.activeElement?.blur(); scrollTo(0, 0) }")
    found = []
    for _ in range(MOST):
        lab.page.keyboard.press("Tab")
        stop = lab.page.evaluate(STOP_JS)
        if stop is None or (found and stop == found[0]):
            return found
        found.append(stop)
    raise AssertionError(f"more than {MOST} stops")


@pytest.mark.parametrize("screen", SCREENS)
def test_the_tab_key_follows_the_page_and_nothing_focused_is_hidden(open_lab, screen):
    lab = open_lab(viewport=dict(zip(("width", "height"), SCREENS[screen], strict=True)))
    wrong = []
    for place in PAGES:
        if place != "Lab":
            look(lab, place)
        found = stops(lab)
        assert len(found) > 3, place
        wrong += [f"{place}: {stop['words']} is under the bar" for stop in found if stop["hidden"]]
        read = [stop for stop in found if not stop["fixed"]]
        for one, two in zip(read, read[1:], strict=False):
            if two["bottom"] <= one["top"] and two["column"] <= one["column"]:  # up, and not to the next column
                wrong.append(f"{place}: {one['words']} comes before {two['words']}, which is above it")
    assert wrong == []
