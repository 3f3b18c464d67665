"""Lessons as a person takes them: by keyboard alone, over a reload, and back to the run that was there before."""

import re

import pytest

from pmdviz.lab.links import attempt_query
from pmdviz.lessons.catalogue import LESSONS
from pmdviz.lessons.playing import begun_with, compute_floor, play
from tests.browser import lesson_by_keys as keys
from tests.browser.conftest import Lab
from tests.browser.test_accessible import AXE, FOUND
from tests.support.marks import some_in_ci

ONE = LESSONS["one_step"]
HOST = ".pmdviz-lesson"
CARD = f"{HOST} .card"
OF_A_KIND = ("evidence", "which_distance", "dimension", "where_it_fails")  # with a run, a race, an experiment, a score


def opened(server, browser, query, **options):
    lab = Lab(browser, f"{server.url}/{query}", **options)
    keys.wait(lab, "t.lesson")
    return lab


def closed(lab):
    assert lab.problems == []
    lab.context.close()


def in_sight(lab, selector):
    """Whether it is in the window, above its foot."""
    return lab.page.evaluate(
        """(selector) => { const e = pmdviz.find(selector)?.getBoundingClientRect()
        const foot = document.getElementById("foot").getBoundingClientRect()
        return Boolean(e) && e.height > 0 && e.top >= 0 && e.top + Math.min(e.height, 200) <= foot.top + 1 }""",
        selector,
    )


def test_from_the_list_to_the_end_by_keyboard_alone_over_a_reload(server, browser):
    lab = Lab(browser, server.url)
    keyboard = lab.page.keyboard
    keys.tab_to(lab, "Lab")
    keyboard.press("ArrowRight")
    keys.wait(lab, "pmdviz.find('.pmdviz-lessons')", 120)
    lab.page.wait_for_timeout(500)
    keys.tab_to(lab, f"Begin: {ONE.title}")
    keyboard.press("Enter")
    keys.wait(lab, "t.lesson")
    lab.wait("pmdviz.words().includes('of 20 data')")
    lab.page.evaluate(AXE.read_text(encoding="utf-8"))
    assert lab.page.evaluate(FOUND) == []
    keyboard.press(" ")  # Play is closed
    keys.wait(lab, "t.said.includes('Store your answer first')")
    assert lab.iteration() == 0

    keys.answer(lab, ONE.steps[0], "question", "b")
    lab.page.wait_for_function(f"({keys.FOCUS}) === 'Reveal'")
    keyboard.press("Enter")
    keys.wait(lab, "t.asks.question.verdict !== null")
    assert keys.told(lab)["diagnosis"] in lab.page.locator(CARD).inner_text()
    assert lab.page.evaluate(FOUND) == []

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
    lab.wait("!location.search.includes('lesson=')")
    lab.wait("pmdviz.words().includes('of 20,000 data')")  # kept by the browser over the reload

    lab.page.evaluate("localStorage.clear()")  # an answer that the browser has lost is seen to be lost
    lab.page.goto(f"{server.url}/?lesson=one_step")
    keys.wait(lab, "t.lesson && t.count === 'Step 1 of 3' && t.asks.question.stored === null")
    closed(lab)


def test_leaving_gives_the_run_back_and_a_presenter_goes_on_by_page_down(server, browser):
    lab = Lab(browser, f"{server.url}/?preset=particles_die")
    for k in (1, 2, 3):
        lab.press("Step")
        lab.reach(k)
    lab.wait("location.search.includes('at=3')")
    before, words = lab.page.evaluate("location.search"), lab.words().partition(", exact")[0]
    lab.page.get_by_role("tab", name="Lessons").click()
    lab.page.get_by_role("button", name=f"Begin: {ONE.title}").click(timeout=120_000)
    keys.wait(lab, "t.lesson")
    lab.wait("pmdviz.words().includes('of 20 data')")
    lab.page.keyboard.press("p")
    keys.wait(lab, "t.part === 'text'")
    seen = []
    for _ in range(4):
        lab.page.keyboard.press("PageDown")
        lab.page.wait_for_timeout(300)
        seen.append(keys.told(lab)["part"])
    assert seen == ["question", "reveal", "found", "after"]
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
    closed(lab)


def test_an_attempt_at_a_challenge_is_replayed_and_scored(server, browser):
    lesson = LESSONS["five_passes"]
    step = lesson.steps[0]
    recipe = begun_with(step.recipe, step.solution[0])
    run = play(recipe)
    compute_floor(run)
    score = min(100, 100 * run.final.metrics["floor_tv"] / run.final.metrics["tv"])
    lab = opened(server, browser, attempt_query(lesson.name, step.name, recipe))
    keys.wait(lab, "t.score.includes('replayed from the link')", 120)
    assert keys.told(lab)["score"] == f"Score {score:.0f} of 100 (replayed from the link)."
    assert lab.page.evaluate("localStorage.getItem('pmdviz-lesson-five_passes') ?? ''").find('"tune"') < 0
    closed(lab)


def test_question_stage_and_play_are_in_sight(server, browser):
    lab = opened(server, browser, "?lesson=one_step", viewport={"width": 390, "height": 844})
    lab.wait("pmdviz.words().includes('of 20 data')")
    for width, height in ((390, 844), (1366, 625), (1280, 600), (1440, 900)):
        lab.page.set_viewport_size({"width": width, "height": height})
        lab.page.wait_for_timeout(700)
        assert in_sight(lab, ".pmdviz-stage") and in_sight(lab, HOST), (width, height)
        assert lab.page.get_by_text(re.compile("^500 particles come from the prior")).is_visible()
        assert lab.page.get_by_role("button", name="Play", exact=True).is_visible()
        assert lab.page.evaluate("document.documentElement.scrollWidth") <= width
    closed(lab)


@pytest.mark.parametrize("name", some_in_ci(LESSONS, OF_A_KIND))
def test_every_lesson_is_completed_by_keyboard_alone(server, browser, name):
    lab = opened(server, browser, f"?lesson={name}")
    keys.complete(lab, LESSONS[name])
    assert keys.told(lab)["is_done"]
    closed(lab)
