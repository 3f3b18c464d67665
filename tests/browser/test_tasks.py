"""What a person wants to do on the Lab, each in a browser with at most so many presses of the pointer."""

import re

import pytest
from playwright.sync_api import expect

from pmdviz.methods import METHODS
from pmdviz.targets.without_data import EXAMPLES
from tests.browser.test_race import DRAWN, ITERATION
from tests.support.browser import open_sheet

COUNT_JS = "addEventListener('pointerdown', (e) => { window.presses += e.isTrusted }, true); window.presses = 0"


def compare_on_the_banana(lab):
    """Besides the presses counted here, a person presses twice to choose from the menu of methods."""
    lab.press("Problem: Two modes")
    lab.page.locator("dialog [data-kind=target][data-name=banana]").click()
    lab.page.get_by_role("button", name=re.compile("^Problem: (?!Two modes)")).wait_for(timeout=60_000)
    lab.wait("pmdviz.iteration() === 0", 60)
    open_sheet(lab.page, "Compare")
    sheet = lab.page.locator(".pmdviz-sheet")
    menu = sheet.get_by_label("Method", exact=True).locator("visible=true")
    menu.select_option(METHODS["svgd"].title)
    sheet.get_by_role("button", name="Compare", exact=True).locator("visible=true").click()
    lab.wait(f"{DRAWN} > 0", 60)
    lab.press("Play")
    lab.wait(f"{ITERATION} >= 5", 60)
    ranking = lab.page.get_by_role("list", name="Ranking").get_by_role("listitem")
    assert sorted(re.match("PMD|SVGD|Stein", words)[0][0] for words in ranking.all_inner_texts()) == ["P", "S"]


def type_a_formula(lab):
    lab.press("Problem: Two modes")
    lab.page.get_by_role("button", name=re.compile("formula", re.I)).locator("visible=true").last.click()
    lab.settings()
    lab.page.get_by_text("Data and options of the target").click()
    box, menu = lab.page.locator("#knob-density"), lab.page.get_by_label("Log density: examples")
    lab.type("density", "-hypot(x, y)$2")
    lab.page.get_by_text("'$', at character 13").wait_for()
    assert box.input_value() == "-hypot(x, y)$2" and box.get_attribute("aria-invalid") == "true"
    lab.type("density", "-x^2 - 3y^2 + 2(x + 1)")
    lab.wait("pmdviz.find('#knob-density').value.includes('3 * y')", 60)
    lab.page.get_by_text("'$', at character 13").wait_for(state="hidden")
    assert menu.input_value() == "" and box.get_attribute("aria-invalid") == "false"
    menu.select_option("ring")
    expect(box).to_have_value(EXAMPLES["ring"][1])


def open_own_data(lab):
    lab.settings()
    lab.press("Your own data …")
    lab.page.get_by_label("or paste rows").fill("a,b\n1,2\n3\n")
    lab.page.get_by_role("alert").locator("visible=true").wait_for()  # a row is too short
    rows = "id,height\n" + "\n".join(f"{k},{150 + 37 * k % 31}" for k in range(1, 31))
    content = {"name": "heights.csv", "mimeType": "text/csv", "buffer": rows.encode("utf-16")}
    lab.page.get_by_label("A file (CSV)").set_input_files(content)
    use = lab.page.get_by_role("button", name="Use these data")
    expect(use).to_be_enabled()
    use.click()
    lab.page.get_by_role("dialog", name="Your own data").wait_for(state="hidden")
    lab.page.get_by_text("passes over 30 observations").wait_for(timeout=60_000)
    lab.press("Play")
    lab.reach(2)


TASKS = {compare_on_the_banana: 5, open_own_data: 7, type_a_formula: 4}  # presses that each may take


@pytest.mark.parametrize("task", TASKS, ids=lambda task: task.__name__)
def test_a_task_takes_at_most_so_many_presses(open_lab, task):
    lab = open_lab(accept_downloads=True)
    lab.page.evaluate(COUNT_JS)
    task(lab)
    assert lab.page.evaluate("window.presses") <= TASKS[task]
