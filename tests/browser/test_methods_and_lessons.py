"""The pages Methods and Lessons: a cell runs its method, keys reach everything, a phone has room; axe finds nothing."""

import json

import pytest

from pmdviz.lessons.catalogue import LESSONS
from pmdviz.lessons.progress import Progress
from tests.browser.conftest import Lab
from tests.browser.test_accessible import AXE, FOUND
from tests.browser.test_reach import PHONE

FIRST = next(iter(LESSONS.values()))
WIDTHS = "[document.documentElement.scrollWidth, innerWidth]"
# The element that has the focus, by its name for a screen reader.
FOCUSED = """() => { let e = document.activeElement
  while (e?.shadowRoot?.activeElement) e = e.shadowRoot.activeElement
  return e?.getAttribute("aria-label") ?? e?.textContent }"""
TABS = """() => [...pmdviz.find("[role=tablist]").querySelectorAll("button")].map((e) => {
  const b = e.getBoundingClientRect(); return [b.left, b.right, b.height, e.scrollWidth - e.clientWidth] })"""


def at(lab, name):
    """Go to a page and wait until it has been built."""
    lab.page.get_by_role("tab", name=name, exact=True).click()
    lab.page.locator(f".pmdviz-{name.lower()} button").first.wait_for(timeout=60_000)


def assert_accessible(lab):
    """axe finds nothing critical or serious on both pages; the last one is Methods."""
    lab.page.evaluate(AXE.read_text(encoding="utf-8"))
    for name in ("Lessons", "Methods"):
        at(lab, name)
        lab.page.wait_for_function("document.getAnimations().length === 0")
        assert lab.page.evaluate(FOUND) == [], name


def keep(lab, text):
    """Have the browser keep it as the progress in the first lesson, as another of its tabs would."""
    lab.page.evaluate("([name, text]) => localStorage.setItem('pmdviz-lesson-' + name, text)", [FIRST.name, text])
    lab.page.evaluate("dispatchEvent(new StorageEvent('storage'))")


def traces(lab, title):
    lab.page.get_by_label("Traces", exact=True).locator("option:checked", has_text=title).wait_for(state="attached")


@pytest.fixture
def opened(server, browser):
    made = []

    def opening(path, **options):
        made.append(Lab(browser, server.url + path, **options))
        return made[-1]

    yield opening
    for lab in made:
        lab.context.close()
        assert lab.problems == []


def test_a_cell_runs_its_method_and_shows_that_part(opened):
    lab = opened("/?page=methods&theme=light")
    page = lab.page
    assert_accessible(lab)
    page.get_by_role("button", name="One-pass sequential Monte Carlo, Resample").click()
    page.get_by_role("tab", name="Lab", selected=True).wait_for()
    assert page.evaluate("document.title") == "pmdviz: Lab"
    lab.reach(1)
    assert page.get_by_label("Method", exact=True).input_value() == "One-pass sequential Monte Carlo"
    traces(lab, "ESS and ancestors")
    page.get_by_role("button", name="Undo: previous run").wait_for()
    at(lab, "Methods")
    page.get_by_role("button", name="Stein variational gradient descent, Move").click()
    page.locator(".pmdviz-inside-open").wait_for()
    traces(lab, "TV")
    assert page.get_by_label("Method", exact=True).input_value() == "Stein variational gradient descent"
    lab.reach(1)
    page.get_by_role("button", name="apart").first.wait_for()  # a term of the step


def test_menus_and_cells_by_the_keyboard_alone(opened):
    lab = opened("/?page=methods&theme=dark")
    page = lab.page
    assert_accessible(lab)
    page.get_by_label("Family", exact=True).focus()
    page.keyboard.type("Ens")
    page.get_by_text("1 of 35 methods.").wait_for()
    order = []
    for _ in range(10):
        page.keyboard.press("Tab")
        order.append(page.evaluate(FOCUSED).partition(": ")[0])
    method = "Straight-through estimation (bagged)"
    assert order[:7] == ["Propagate", "Reweight", "Resample", "Move", "Adapt", "Show all", f"Run {method}"]
    assert order[7:] == [f"{method}, {column}" for column in ("Propagate", "Move", "Adapt")]
    page.get_by_role("button", name="Show all").press("Enter")
    page.get_by_text("35 of 35 methods.").wait_for()
    page.get_by_label("Move", exact=True).focus()
    page.keyboard.type("Gib")
    page.get_by_text("2 of 35 methods. Move, Gibbs: A draw from the exact conditional").wait_for()
    page.get_by_role("button", name="Run Gibbs sampling").press("Enter")
    page.get_by_role("tab", name="Lab", selected=True).wait_for()
    lab.reach(1)


def test_the_list_says_how_far_one_is_as_the_browser_has_kept_it_also_on_a_phone(opened):
    lab = opened("/?page=lessons", **PHONE)
    line = lab.page.locator("li", has_text=FIRST.title).first
    line.get_by_role("button", name="Begin").wait_for(timeout=60_000)
    assert_room(lab)
    at(lab, "Methods")
    assert_room(lab)
    begun = Progress.begin(FIRST).to_json()
    keep(lab, begun)
    at(lab, "Lessons")
    for text, says, button in (
        (begun, f"step 1 of {len(FIRST.steps)}", "Go on"),
        (changed(begun, done=True), "✓ done", "Again"),
        ("{", "", "Begin"),
        (changed(begun, path=["no such step"]), "", "Begin"),
        (changed(begun, scores={FIRST.steps[0].name: 71.4, "no such step": 99}), "best score 71", "Go on"),
    ):
        keep(lab, text)
        line.get_by_role("button", name=button).wait_for()
        assert line.locator(".state").inner_text().endswith(says)


def changed(text, **values):
    return json.dumps(json.loads(text) | values)


def assert_room(lab):
    """For all tabs and the help; and nothing scrolls sideways."""
    width, window = lab.page.evaluate(WIDTHS)
    assert width <= window == 390
    boxes = lab.page.evaluate(TABS)
    assert len(boxes) == 6 and all(left >= 0 and right <= 390 and height >= 24 for left, right, height, _ in boxes)
    assert all(cut <= 0 for *_, cut in boxes), "a title is cut off"
    button = lab.page.get_by_role("button", name="?", exact=True).bounding_box()
    assert button["x"] + button["width"] <= 390
