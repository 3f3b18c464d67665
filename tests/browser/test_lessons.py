"""Lessons as a person takes them: by keyboard alone, over a reload, and back to the run that was there before."""

import pytest

from pmdviz.lessons.reading import LESSONS
from tests.browser import lesson_by_keys as keys
from tests.browser.conftest import axe

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
    lab.wait("pmdviz.words().includes('of 20 data')")
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
    keys.complete(lab, ONE)
    assert keys.told(lab)["is_done"] and "3 answers right" in lab.page.locator(CARD).inner_text()
    keyboard.press("l")
    keys.wait(lab, "!t.lesson")
    lab.wait("!location.search.includes('lesson=') && pmdviz.words().includes('of 20,000 data')")  # over the reload
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
    before, words = lab.page.evaluate("location.search"), lab.words().partition(", exact")[0]
    lab.go("Lessons")
    lab.page.get_by_role("button", name=f"Begin: {ONE.title}").click(timeout=120_000)
    keys.wait(lab, "t.lesson")
    lab.wait("pmdviz.words().includes('of 20 data')")
    assert axe(lab.page) == []
    lab.page.keyboard.press("p")
    keys.wait(lab, "t.part === 'text'")
    for part in ("question", "reveal", "found", "after"):
        lab.page.keyboard.press("PageDown")
        keys.wait(lab, f"t.part === '{part}'")
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
    assert lab.words().partition(", exact")[0] == words
