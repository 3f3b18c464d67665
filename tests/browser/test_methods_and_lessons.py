"""The pages Methods and Lessons: a cell runs its method, keys reach everything, a phone has room."""

import json

import pytest

from pmdviz.lessons.progress import Progress
from pmdviz.lessons.reading import LESSONS

pytestmark = pytest.mark.ci

FIRST = next(iter(LESSONS.values()))
PHONE = {"viewport": {"width": 390, "height": 844}, "is_mobile": True, "has_touch": True, "user_agent": "Mobi"}


def at(lab, name):
    lab.go(name)
    lab.page.locator(f".pmdviz-{name.lower()} button").first.wait_for(timeout=60_000)


def traces(lab, title):
    lab.page.get_by_label("Traces", exact=True).locator("option:checked", has_text=title).wait_for(state="attached")


def test_menus_and_cells_run_a_method_and_show_that_part(open_lab):
    lab = open_lab("/?page=methods")
    page = lab.page
    at(lab, "Methods")
    page.get_by_label("Family", exact=True).focus()
    page.keyboard.type("Ens")
    page.get_by_text("1 of 36 methods.").wait_for()
    page.get_by_role("button", name="Show all").press("Enter")
    page.get_by_text("36 of 36 methods.").wait_for()
    page.get_by_role("button", name="Run Gibbs sampling").press("Enter")
    page.get_by_role("tab", name="Lab", selected=True).wait_for()
    lab.reach(1)
    at(lab, "Methods")
    page.get_by_role("button", name="One-pass sequential Monte Carlo, Resample").click()
    page.get_by_role("tab", name="Lab", selected=True).wait_for()
    lab.wait("pmdviz.words().includes('TV')")
    traces(lab, "ESS and ancestors")
    assert page.get_by_label("Method", exact=True).input_value() == "One-pass sequential Monte Carlo"
    at(lab, "Methods")
    page.get_by_role("button", name="Stein variational gradient descent, Move").click()
    page.locator(".pmdviz-inside-open").wait_for()
    traces(lab, "TV")
    page.get_by_role("button", name="apart").first.wait_for()  # a term of the step


@pytest.mark.nightly
def test_the_list_shows_the_progress_that_the_browser_has_kept_also_on_a_phone(open_lab):
    lab = open_lab("/?page=lessons", **PHONE)
    line = lab.page.locator("li", has_text=FIRST.title).first
    line.get_by_role("button", name="Begin").wait_for(timeout=60_000)
    for name in ("Methods", "Lessons"):
        at(lab, name)
        assert lab.page.evaluate("document.documentElement.scrollWidth") <= 390
        box = lab.page.get_by_role("button", name="More", exact=True).bounding_box()  # it has the pages here
        assert box["x"] >= 0 and box["x"] + box["width"] <= 390 and box["height"] >= 24, name
    begun = Progress.begin(FIRST).to_json()
    for text, says, button in (
        (begun, f"step 1 of {len(FIRST.steps)}", "Continue"),
        (json.dumps(json.loads(begun) | {"done": True}), "✓ done", "Again"),
        ("{", "", "Begin"),
        (json.dumps(json.loads(begun) | {"path": ["no such step"]}), "", "Begin"),
        (json.dumps(json.loads(begun) | {"scores": {FIRST.steps[0].name: 71.4}}), "best score 71", "Continue"),
    ):
        lab.page.evaluate("(text) => localStorage.setItem(...text)", [f"pmdviz-lesson-{FIRST.name}", text])
        lab.page.evaluate("dispatchEvent(new StorageEvent('storage'))")  # as another tab of it would
        line.get_by_role("button", name=button).wait_for()
        assert line.locator(".state").inner_text().endswith(says)
