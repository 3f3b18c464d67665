"""What a person wants to do on the Lab, each in a browser with at most so many presses of the pointer.

The same of a notebook is in `test_jupyter`.
"""

import re

import pytest
from PIL import Image
from playwright.sync_api import expect

from pmdviz.methods import METHODS
from pmdviz.targets.without_data import EXAMPLES
from tests.browser.test_race import DRAWN, ITERATION
from tests.browser.test_timeline import MORE_JS, OnTheLine
from tests.support.browser import open_sheet

COUNT_JS = "addEventListener('pointerdown', (e) => { window.presses += e.isTrusted }, true); window.presses = 0"


def play(lab, iteration):
    lab.press("Play")
    lab.reach(iteration)


def break_by_bandwidth(lab):
    play(lab, 20)
    box = lab.page.get_by_role("slider", name="Bandwidth h").locator("visible=true").first.bounding_box()
    lab.page.mouse.click(box["x"] + 2, box["y"] + box["height"] / 2)
    lab.page.locator(".pmdviz-verdict", has_text="every particle became a spike").wait_for()


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


def make_a_film(lab):
    """Before Play: the film is of the whole run."""
    open_sheet(lab.page, "Share")
    lab.page.get_by_text("Save a file: film, page, picture or data").locator("visible=true").click()
    lab.page.get_by_role("button", name="Export", exact=True).click()
    lab.page.locator(".pmdviz-export-status", has_text="pmdviz.gif is ready.").wait_for(timeout=180_000)
    with lab.page.expect_download() as coming:
        lab.page.get_by_text(re.compile("^Download pmdviz.gif")).evaluate("(button) => button.click()")
    with Image.open(coming.value.path()) as film:
        assert film.n_frames > 10


def branch_at_ten(lab):
    play(lab, 30)
    on = OnTheLine(lab)
    lab.page.mouse.click(*on.x_of(10))
    lab.wait("Math.abs(pmdviz.iteration() - 10) <= 2")
    on.line.focus()
    while (k := lab.at_rest()) != 10:
        lab.page.keyboard.press("ArrowLeft" if k > 10 else "ArrowRight")
        lab.wait(f"pmdviz.iteration() !== {k}")
    box = lab.page.get_by_role("slider", name="Bandwidth h").locator("visible=true").first.bounding_box()
    lab.page.mouse.click(box["x"] + box["width"] / 4, box["y"] + box["height"] / 2)
    lab.wait(f"{MORE_JS}.includes('Branch at iteration 10')")


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


def present(lab):
    lab.press("Present")
    lab.wait("pmdviz.find('.pmdviz-lab').classList.contains('pmdviz-large')")
    expect(lab.page.locator(".pmdviz-brief input[type=range]")).to_have_count(3)


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
    play(lab, 2)


def ask_about_ess(lab):
    lab.go("Lessons")
    lab.page.get_by_role("button", name=re.compile("^Begin: .*(ESS|effective)", re.I)).first.click()
    lab.page.locator(".pmdviz-lesson .card").wait_for()


TASKS = {  # presses that each may take
    break_by_bandwidth: 3,
    compare_on_the_banana: 5,
    make_a_film: 3,
    branch_at_ten: 3,
    open_own_data: 7,
    type_a_formula: 4,
    ask_about_ess: 4,
    present: 1,
}


@pytest.mark.parametrize("task", TASKS, ids=lambda task: task.__name__)
def test_a_task_takes_at_most_so_many_presses(open_lab, task):
    lab = open_lab(accept_downloads=True)
    lab.page.evaluate(COUNT_JS)
    task(lab)
    assert lab.page.evaluate("window.presses") <= TASKS[task]
