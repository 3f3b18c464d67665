"""Lessons as a person takes them: by keyboard alone, over a reload, and back to the run that was there before."""

from pathlib import Path

import pytest

from pmdviz.lessons.progress import points, read_sheet
from pmdviz.lessons.reading import DEMOS, LESSONS, find_lesson
from tests.browser import lesson_by_keys as keys
from tests.support.browser import axe

ONE = LESSONS["one_step"]
CARD = ".pmdviz-lesson .card"


@pytest.mark.nightly
def test_a_lesson_from_the_list_to_its_end_by_keyboard_alone_over_a_reload(open_lab, server):
    lab = open_lab()
    keyboard = lab.page.keyboard
    keys.tab_to(lab, "Lab")
    keyboard.press("ArrowRight")
    lab.page.get_by_role("button", name=f"Begin: {ONE.title}").wait_for(timeout=120_000)
    keys.tab_to(lab, f"Begin: {ONE.title}")
    keyboard.press("Enter")
    keys.wait(lab, "t.lesson")
    lab.wait("pmdviz.words().includes('of 20 observations')")
    keyboard.press(" ")  # Play is closed
    keys.wait(lab, "t.said.includes('answer first')")
    assert lab.iteration() == 0
    keys.answer(lab, ONE.steps[0], "question", "b")
    lab.page.wait_for_function(f"({keys.FOCUS}) === 'Reveal'")
    keyboard.press("Enter")
    keys.wait(lab, "t.asks.question.verdict !== null")
    assert keys.told(lab)["diagnosis"] in lab.page.locator(CARD).inner_text()
    lab.page.reload()
    keys.wait(lab, "t.lesson && t.asks.question.verdict !== null")
    lab.wait("pmdviz.iteration() === 1")  # the run is there too
    assert keys.told(lab)["asks"]["question"]["stored"] == ["b", ""] and keys.told(lab)["count"] == "Step 1 of 3"
    keys.answer(lab, ONE.steps[0], "after")
    keys.wait(lab, "t.asks.after.verdict !== null")
    keys.tab_to(lab, "Next")
    keyboard.press("Enter")
    keys.wait(lab, "t.count === 'Step 2 of 3'")
    keyboard.press("l")
    keys.wait(lab, "!t.lesson")
    lab.wait("!location.search.includes('lesson=') && pmdviz.words().includes('of 20,000 observations')")
    lab.page.evaluate("localStorage.clear()")  # an answer that the browser has lost is seen to be lost
    lab.page.goto(f"{server.url}/?lesson=one_step")
    keys.wait(lab, "t.lesson && t.count === 'Step 1 of 3' && t.asks.question.stored === null")


@pytest.mark.nightly
def test_leaving_gives_the_run_back_and_a_presenter_moves_by_page_down(open_lab):
    lab = open_lab("/?preset=particles_die")
    for k in (1, 2, 3):
        lab.press("Step")
        lab.reach(k)
    lab.wait("location.search.includes('at=3')")
    before, words = lab.page.evaluate("location.search"), lab.words().partition(", independent")[0]
    lab.go("Lessons")
    lab.page.get_by_role("button", name=f"Begin: {ONE.title}").click(timeout=120_000)
    keys.wait(lab, "t.lesson")
    lab.wait("pmdviz.words().includes('of 20 observations')")
    assert axe(lab.page) == []
    lab.page.keyboard.press("p")
    keys.wait(lab, "t.part === 'text'")
    for part in ("question", "reveal", "found", "after"):
        lab.page.keyboard.press("PageDown")
        keys.wait(lab, f"t.part === '{part}' && (t.part !== 'reveal' || (t.at_end && !t.playing))")
    keys.wait(lab, "t.diagnosis")
    lab.wait("pmdviz.iteration() === 1")
    lab.page.mouse.move(700, 400)
    lab.page.mouse.move(704, 404)
    lab.wait("/^θ₁ = .+, θ₂ = .+/.test(document.querySelector('.pmdviz-pointer')?.textContent)")
    lab.page.keyboard.press("PageDown")
    keys.wait(lab, "t.count === 'Step 2 of 3' && t.part === 'text'")
    lab.page.keyboard.press("PageUp")
    keys.wait(lab, "t.count === 'Step 1 of 3' && t.part === 'after'")
    lab.page.keyboard.press("p")
    keys.wait(lab, "t.part === ''")
    lab.press("Leave the lesson")
    keys.wait(lab, "!t.lesson")
    lab.wait(f"location.search === {before!r}")  # with the digest of the frame
    assert lab.words().partition(", independent")[0] == words


@pytest.mark.nightly
@pytest.mark.parametrize("name", [*LESSONS, *DEMOS, "practice-5", "practice-9"])
def test_each_lesson_demo_and_practice_case_is_completed_by_keyboard(open_lab, name):
    """The two practices have all cases; before an answer the page must not show it."""
    lab, lesson = open_lab(f"/?lesson={name}"), find_lesson(name)
    keys.wait(lab, "t.lesson")
    keys.complete(lab, lesson, most=30)
    words = lab.page.locator(CARD).inner_text()
    assert not any(step.asks for step in lesson.steps) or "answers right" in words or "answer right" in words
    assert not any(step.goal for step in lesson.steps) or "goals reached" in words


@pytest.mark.ci
def test_answers_are_saved_when_the_learner_wants_and_demos_follow_one_another(open_lab):
    lab = open_lab("/?lesson=one_step@ada")
    keys.wait(lab, "t.lesson === 'one_step@ada'")
    keys.complete(lab, find_lesson("one_step@ada"))
    keys.tab_to(lab, "student")
    assert lab.page.evaluate(keys.FOCUS.replace("at?.id ||", "at?.value ||")) == "ada"
    with lab.page.expect_download() as saved:
        lab.page.keyboard.press("Enter")
    assert saved.value.suggested_filename == "one_step-ada.json"
    found = read_sheet(Path(saved.value.path()).read_text(encoding="utf-8"), "it")
    earned, most = points(found)
    assert (found["sheet"], found["student"]) == ("one_step", "ada") and 0 < earned <= most == len(found["answers"])
    lab.go("Lessons")
    lab.page.get_by_role("link", name=DEMOS["demo_one_step"].title).wait_for(timeout=60_000)
    keys.tab_to(lab, DEMOS["demo_one_step"].title)
    lab.page.keyboard.press("Enter")
    keys.wait(lab, "t.lesson === 'demo_one_step' && t.part === 'text'")
    for part in ("question", "reveal", "found"):
        lab.page.keyboard.press("PageDown")
        keys.wait(lab, f"t.part === '{part}'")
    keys.wait(lab, "t.diagnosis")
    for condition in ("t.is_done", "t.lesson === 'demo_particles_die'"):
        lab.page.keyboard.press("PageDown")
        keys.wait(lab, condition)
