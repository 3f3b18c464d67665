"""Tabs and the Race page in a real browser."""

import io

import numpy as np
import pytest
from PIL import Image

from tests.browser.conftest import STILL_JS

PHONE = {"viewport": {"width": 390, "height": 844}, "is_mobile": True, "has_touch": True, "user_agent": "Mobi"}
DRAWN = "pmdviz.model('race-acknowledge')?.drawn"
WORDS = (
    "(() => { const a = pmdviz.model('race-acknowledge')?.words; return a ? JSON.parse(a)['pmdviz-status'] : '' })()"
)
ITERATION = f"Number(({WORDS}.match(/iteration ([\\d,]+)/) ?? [0, '-1'])[1].replaceAll(',', ''))"


ALL_BACK = 7  # looks: who comes back from a long step while nobody plays is drawn 0.3 s later


def to_race(lab):
    lab.page.get_by_role("tab", name="Race").click()
    lab.wait(f"{DRAWN} > 0", 60)
    lab.wait(f"{ITERATION} >= 0")
    lab.wait("Bokeh.documents[0].is_idle")  # every part of it has been laid out
    return lab


def iteration(lab):
    return lab.page.evaluate(ITERATION)


def pixels(lab):
    shot = lab.page.locator(".pmdviz-race-tiles").screenshot()
    return np.asarray(Image.open(io.BytesIO(shot)).convert("L"), float)


def column(lab, name):
    return lab.page.locator(f".scroller td.{name}").all_inner_texts()


@pytest.fixture
def race(lab):
    return to_race(lab)


def test_a_race_plays_pixels_change_and_it_pauses(race):
    assert race.page.get_by_text("Press Play: which methods find both modes?").is_visible()
    before = pixels(race)
    race.press("Play")
    race.wait(f"{ITERATION} > 100", 60)
    race.press("Pause")
    race.page.get_by_role("button", name="Play", exact=True).wait_for()
    stood, picture = race.at_rest(ITERATION, ALL_BACK), pixels(race)
    assert not race.page.get_by_role("button", name="Continue").is_visible()  # it is not over
    assert (np.abs(picture - before) > 40).mean() > 0.005
    for _ in range(20):  # a long step on a busy machine may come back later still
        race.page.wait_for_timeout(500)
        last, picture = picture, pixels(race)
        if np.array_equal(last, picture):
            break
    race.page.wait_for_timeout(500)
    assert iteration(race) == stood and np.array_equal(pixels(race), picture)


def test_tiles_are_square_and_nothing_moves_while_it_plays(race):
    race.page.evaluate(STILL_JS)
    size = race.page.evaluate(
        "(() => { const {inner_width: w, inner_height: h, x_range: x, y_range: y} = pmdviz.model('race');"
        " return [w / (x.end - x.start), h / (y.end - y.start)] })()"
    )
    assert abs(size[0] / size[1] - 1) < 0.01
    edge = "pmdviz.find('{}', pmdviz.find('.pmdviz-race').shadowRoot).getBoundingClientRect().{}"
    tiles = race.page.evaluate(edge.format(".pmdviz-race-tiles", "bottom"))
    assert tiles <= race.page.evaluate(edge.format(".pmdviz-options", "top"))
    race.page.evaluate(
        """() => { window.shift = 0; new PerformanceObserver(list => {
        for (const e of list.getEntries()) window.shift += e.value }).observe({type: "layout-shift"}) }"""
    )
    race.press("Play")
    race.wait(f"{ITERATION} > 60", 60)
    assert race.page.evaluate("window.shift") == 0


def test_the_table_sorts_both_ways(race):
    race.press("Step")
    race.wait(f"{ITERATION} > 5")
    race.at_rest(ITERATION, ALL_BACK)
    about = race.page.get_by_text("mass in the basin of each mode")
    assert not about.is_visible()
    race.page.get_by_text("What the columns mean").click()  # reached without a pointer that rests
    assert about.is_visible() and race.page.get_by_text("A method can score lower: weights").is_visible()
    numbers = [float(text) for text in column(race, "first")]
    assert len(numbers) == 6 and numbers == sorted(numbers)
    head = race.page.locator(".scroller th.visited")
    head.get_by_role("button").click()
    assert head.get_attribute("aria-sort") == "ascending"
    visited = [int(text.replace(",", "")) for text in column(race, "visited")]
    assert visited == sorted(visited) and len(set(visited)) > 1
    head.get_by_role("button").click()
    assert head.get_attribute("aria-sort") == "descending"
    assert [int(text.replace(",", "")) for text in column(race, "visited")] == sorted(visited, reverse=True)


def test_bands_say_how_far_they_are_and_are_cancelled(race):
    race.page.get_by_label("Bands over").select_option("32 seeds")
    race.press("Bands")
    race.page.get_by_text("Bands: PMD").wait_for(timeout=30_000)
    race.press("Cancel bands")
    race.page.get_by_text("Cancelled: no bands").wait_for(timeout=30_000)
    assert race.page.get_by_role("button", name="Bands", exact=True).is_visible()


def test_out_of_sight_nothing_computes_and_everything_is_still_there(lab):
    lab.endless()
    lab.type("bandwidth", "0.5")
    stood = lab.paused_at(4)
    lab.press("Play")
    to_race(lab)
    hidden = lab.at_rest()
    assert hidden >= stood
    race_stood = iteration(lab)
    lab.press("Play")
    lab.wait(f"{ITERATION} > {race_stood + 20}", 60)
    assert lab.iteration() == hidden
    lab.page.get_by_role("tab", name="Lab").click()
    lab.reach(hidden + 2)
    race_hidden = lab.at_rest(ITERATION, ALL_BACK)
    lab.reach(lab.iteration() + 10)
    assert iteration(lab) == race_hidden and lab.knob("bandwidth").first.input_value() == "0.5"
    lab.page.get_by_role("tab", name="Race").click()
    lab.wait(f"{ITERATION} > {race_hidden}", 60)


def test_tabs_by_keyboard_and_for_screen_readers(lab):
    tab = lab.page.get_by_role("tab", name="Lab")
    assert tab.get_attribute("aria-selected") == "true"
    tab.focus()
    lab.page.keyboard.press("ArrowRight")  # Lessons
    lab.page.keyboard.press("ArrowRight")
    lab.wait(f"{DRAWN} > 0", 60)
    race = lab.page.get_by_role("tab", name="Race")
    assert race.get_attribute("aria-selected") == "true" and race.evaluate("e => e === e.getRootNode().activeElement")
    assert lab.iteration() == 0
    lab.page.keyboard.press("Home")
    lab.page.get_by_text("Press Play. Particles stay in place").wait_for()
    assert tab.get_attribute("aria-selected") == "true"


def test_the_keys_belong_to_the_page_in_sight(race):
    race.page.locator(".pmdviz-race-tiles").hover()
    race.page.keyboard.press("ArrowRight")
    race.wait(f"{ITERATION} > 0")
    assert race.iteration() == 0


def test_an_entrant_can_be_taken_out_and_its_knobs_turned(race):
    race.page.get_by_text("SGLD", exact=True).first.click()
    race.page.get_by_role("button", name="Remove", exact=True).click()
    race.wait("JSON.parse(pmdviz.model('race-acknowledge').shown).entrants.length === 5", 30)
    race.page.get_by_text("One-pass SMC", exact=True).first.click()
    box = race.page.locator("input#knob-num_particles:visible")
    box.fill("300")
    box.press("Enter")
    race.wait("JSON.parse(pmdviz.model('race-acknowledge').shown).entrants.includes('smc:num_particles=300')", 30)


def test_on_a_phone(open_lab):
    lab = to_race(open_lab(**PHONE))
    lab.page.evaluate(STILL_JS)
    transport = lab.page.locator(".pmdviz-transport:visible").evaluate("e => e.getBoundingClientRect().toJSON()")
    assert transport["bottom"] <= 844 and transport["top"] > 600
    assert lab.page.evaluate("document.documentElement.scrollWidth") <= 390
    lab.press("Play")
    lab.wait(f"{ITERATION} > 20", 60)
