"""What a person wants to do on the Lab, each in a browser with at most so many presses of the pointer."""

import re

import pytest
from playwright.sync_api import expect

pytestmark = pytest.mark.ci

COUNT_JS = "addEventListener('pointerdown', (e) => { window.presses += e.isTrusted }, true); window.presses = 0"


def play(lab, iteration):
    lab.press("Play")
    lab.reach(iteration)


def break_by_bandwidth(lab):
    play(lab, 20)
    box = lab.page.get_by_role("slider", name="Bandwidth h").locator("visible=true").first.bounding_box()
    lab.page.mouse.click(box["x"] + 2, box["y"] + box["height"] / 2)
    lab.page.locator(".pmdviz-verdict", has_text="every particle became a spike").wait_for()


def look_inside(lab):
    lab.press("Step")
    lab.press("See inside this step")
    lab.page.locator(".pmdviz-inside").get_by_text(re.compile("Iteration 1:")).first.wait_for()


def type_a_formula(lab):
    lab.press("Problem: Two modes")
    lab.page.get_by_role("button", name=re.compile("formula", re.I)).locator("visible=true").last.click()
    lab.settings()
    lab.page.get_by_text("Data and options of the target").click()
    lab.type("density", "-x^2 - 3y^2 + 2(x + 1)")
    lab.wait("pmdviz.find('#knob-density').value.includes('3 * y')", 60)


def copy_python(lab):
    lab.share()
    lab.press("Copy Python")
    lab.page.get_by_text("Copied to the clipboard.").wait_for()
    assert "print(" in lab.page.evaluate("navigator.clipboard.readText()")


def share_a_link(lab):
    lab.share()
    lab.press("Copy link")
    lab.page.get_by_text("Copied to the clipboard.").wait_for()
    assert "?run=" in lab.page.evaluate("navigator.clipboard.readText()")


def present(lab):
    lab.press("Present")
    lab.wait("pmdviz.find('.pmdviz-lab').classList.contains('pmdviz-large')")
    expect(lab.page.locator(".pmdviz-brief input[type=range]")).to_have_count(3)


def open_own_data(lab):
    lab.settings()
    lab.press("Your own data …")
    lab.page.get_by_label("or paste rows").fill("x\n" + "\n".join(map(str, range(20))))
    lab.page.get_by_role("button", name="Use these data").click()
    lab.page.get_by_text("passes over 20 observations").wait_for(timeout=60_000)


def ask_about_ess(lab):
    lab.go("Lessons")
    lab.page.get_by_role("button", name=re.compile("^Begin: .*(ESS|effective)", re.I)).first.click()
    lab.page.locator(".pmdviz-lesson .card").wait_for()


TASKS = {  # presses that each may take
    break_by_bandwidth: 3,
    look_inside: 3,
    open_own_data: 7,
    type_a_formula: 4,
    ask_about_ess: 4,
    copy_python: 2,
    share_a_link: 2,
    present: 1,
}


@pytest.mark.parametrize("task", TASKS, ids=lambda task: task.__name__)
def test_a_task_takes_at_most_so_many_presses(open_lab, task):
    lab = open_lab(permissions=["clipboard-read", "clipboard-write"])
    lab.page.evaluate(COUNT_JS)
    task(lab)
    assert lab.page.evaluate("window.presses") <= TASKS[task]
