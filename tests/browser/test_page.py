"""The Lab's page in a real browser: it plays, settings act, keys work, and what a person takes home is the run."""

import json

import pytest

from pmdviz.lessons.reading import LESSONS
from tests.browser import lesson_by_keys as keys
from tests.support.browser import set_speed

SHOWN = "JSON.parse(pmdviz.model('acknowledge').shown || '{}')"


def without_floor(lab):
    """Iteration, observations used and TV; how far the floor is depends on the moment."""
    return lab.words().partition(", independent draws")[0]


def test_a_page_plays_and_its_settings_act(lab):
    """The first page of the lab from its opening to Restart; no request leaves the machine (see `open_lab`)."""
    assert "iteration 0, 0 of 20,000" in lab.words()
    for name in ("exact", "approximate", "particles"):
        layer = f"pmdviz.model('stage').renderers.find(r => r.name === '{name}')"
        assert lab.page.evaluate(f"{layer}.data_source.data.x.length > 100"), name
    before = lab.picture()
    stood = lab.paused_at(5)
    assert lab.picture() != before
    picture, words = lab.at_rest("pmdviz.picture()"), lab.words()
    lab.type("bandwidth", "2e0")  # acts at once, also while paused
    lab.wait(f"pmdviz.picture() !== {picture} && pmdviz.words() !== {json.dumps(words)}")
    assert lab.iteration() == stood and lab.knob("bandwidth").input_value() == "2"
    lab.type("num_particles", "0")
    lab.wait("pmdviz.find('#knob-num_particles-message').textContent.includes('at least 1 and at most 100,000')")
    assert lab.knob("num_particles").input_value() == "0"
    slider = lab.page.locator("#slider-bandwidth")  # the one beside the stage
    slider.press("ArrowRight")
    lab.wait(f"{SHOWN}.bandwidth > 2")
    assert 2 < float(lab.knob("bandwidth").input_value()) < 2.2
    lab.press("Play")
    lab.reach(stood + 3)
    lab.type("batch_size", "10")
    lab.page.locator(".pmdviz-statusbar").get_by_text("batch of 10 ").wait_for()
    lab.press("Pause")
    lab.at_rest(looks=10)
    lab.press("Restart")
    lab.wait("pmdviz.iteration() === 0")
    lab.press("Step")
    lab.wait("pmdviz.iteration() === 1")
    lab.settled()
    first = lab.at_rest("pmdviz.picture()")
    lab.press("Step")
    lab.wait("pmdviz.iteration() === 2")
    lab.press("Back")
    lab.wait(f"pmdviz.iteration() === 1 && pmdviz.picture() === {first}")
    lab.wait("location.search.includes('at=1&')")
    lab.page.reload()
    lab.wait("window.pmdviz && pmdviz.iteration() === 1 && pmdviz.model('acknowledge')?.drawn > 0", 60)
    assert float(lab.knob("bandwidth").input_value()) > 2


@pytest.mark.ci
def test_the_tour_and_a_lesson_begin_and_tell_what_they_find(lab):
    """The other parts of the first visit, on one page; tests of their own go further before a change lands."""
    page, keyboard = lab.page, lab.page.keyboard
    page.locator(".pmdviz-verdict").get_by_text("1,500 particles start at the prior").wait_for()
    lab.help("What is this?")
    said = page.get_by_role("dialog", name="What is this?")
    assert said.locator("p").count() == 7 and "Dai, He, Dai, Song 2016" in said.inner_text()
    keyboard.press("Escape")
    said.wait_for(state="detached")
    lab.help("Tour")
    tour = page.get_by_role("dialog", name="Tour")
    for step in range(1, 4):
        tour.get_by_text(f"{step} of 3:").wait_for()
        if step == 3:
            page.get_by_role("button", name="Pause").click()
            at = lab.at_rest("pmdviz.iteration()")
            assert at >= 20  # Play was pressed
            assert page.locator("#slider-bandwidth").input_value() == "200"  # its right end
            tour.get_by_role("button", name="Do it for me").focus()
        keyboard.press("Enter")
    tour.wait_for(state="detached")
    lab.wait(f"pmdviz.iteration() < {at}")  # the last step goes back
    page.goto(f"{page.url.partition('?')[0]}?lesson=one_step")
    keys.wait(lab, "t.lesson", 120)
    keyboard.press(" ")  # Play is closed
    keys.wait(lab, "t.said.includes('answer first')")
    assert lab.iteration() == 0
    keys.answer(lab, LESSONS["one_step"].steps[0], "question", "b")
    page.wait_for_function(f"({keys.FOCUS}) === 'Reveal'")
    keyboard.press("Enter")
    keys.wait(lab, "t.asks.question.verdict !== null")
    assert keys.told(lab)["diagnosis"] in page.locator(".pmdviz-lesson .card").inner_text()


@pytest.mark.ci
def test_the_end_says_the_result_continue_goes_on_and_other_traces_can_be_chosen(lab):
    lab.choose("Run length (observations used)", "2,000")
    lab.wait("pmdviz.words().includes('of 2,000')")
    lab.hurry()
    lab.press("Play")
    lab.reach(20)
    lab.page.locator(".pmdviz-verdict").get_by_text("Done: 2,000").wait_for()
    assert lab.page.get_by_role("button", name="Step", exact=True).is_disabled()
    words, drawn = without_floor(lab), lab.drawn()
    lab.press("Replay")
    lab.wait(f"pmdviz.model('acknowledge').drawn > {drawn} + 2 && pmdviz.iteration() === 20", 60)
    assert without_floor(lab) == words
    lab.press("Continue")
    lab.reach(40)
    assert "4,000 of 4,000" in lab.words()
    lab.page.get_by_label("Traces", exact=True).select_option("ESS and ancestors")
    lab.wait("pmdviz.model('traces').left[0].axis_label?.startsWith('ESS')")
    lab.wait("parseInt(pmdviz.find('.number .value').textContent.replaceAll(',', '')) > 100")  # of 1,500
    lab.choose("x-axis", "iteration")
    lab.wait("pmdviz.model('traces').below[0].axis_label === 'iteration'")
    lab.page.get_by_label("Traces", exact=True).select_option("Data and predictions")
    lab.wait("Bokeh.index.find_one(pmdviz.model('data'))?.bbox.width > 100")  # drawn, where the traces were
    lab.wait("!Bokeh.index.find_one(pmdviz.model('traces')).el.checkVisibility()")


@pytest.mark.ci
def test_keys_act_but_for_those_that_are_typed_into_a_box(lab):
    keys = lab.page.keyboard
    keys.press("ArrowRight")
    lab.wait("pmdviz.iteration() === 1")
    keys.press("ArrowLeft")
    lab.wait("pmdviz.iteration() === 0")
    keys.press("Space")
    lab.reach(3)
    keys.press("Space")
    lab.page.get_by_role("button", name="Play", exact=True).wait_for()
    keys.press("r")
    lab.wait("pmdviz.iteration() === 0")
    seed = lab.knob("seed").input_value()
    keys.press("n")
    lab.wait(f"pmdviz.find('input#knob-seed').value !== '{seed}'")
    seed = lab.knob("seed").input_value()
    lab.settings()
    lab.knob("bandwidth").click()
    keys.press("n")
    keys.press("Space")
    assert lab.at_rest(looks=6) == 0 and lab.knob("seed").input_value() == seed
    lab.page.locator(".pmdviz-stage").click()
    keys.press("?")
    lab.page.get_by_role("dialog", name="Help").wait_for()
    lab.page.get_by_role("dialog", name="Help").get_by_role("button", name="Close").click()
    keys.press("p")
    lab.wait("parseInt(pmdviz.model('stage').below[0].axis_label_text_font_size) >= 18")
    lab.page.get_by_role("button", name="All settings").wait_for(state="hidden")
    assert lab.page.locator("#slider-bandwidth").is_visible()  # a lecturer breaks it in class


# How many sums of all dot sizes are seen of one parcel: until two of one are, or so many iterations have been.
SIZES_JS = """async (iterations) => {
  const source = pmdviz.model("stage").renderers.find((r) => r.name == "particles").data_source
  const ack = pmdviz.model("acknowledge"), seen = {}
  while (pmdviz.iteration() < iterations && !Object.values(seen).some((sums) => sums.size > 1)) {
    (seen[ack.parcel] ??= new Set()).add((source.now ?? source.data).size.reduce((sum, size) => sum + size, 0))
    await new Promise(requestAnimationFrame)
  }
  return Math.max(...Object.values(seen).map((sums) => sums.size))
}"""


@pytest.mark.ci
@pytest.mark.parametrize("motion", ["no-preference", "reduce"])
def test_between_two_slow_frames_dots_glide_unless_a_person_wants_less_motion(open_lab, motion):
    lab = open_lab(reduced_motion=motion)
    set_speed(lab.page, "1 iteration a second")
    lab.press("Play")
    assert lab.page.evaluate(SIZES_JS, 60 if motion == "no-preference" else 4) == (
        2 if motion == "no-preference" else 1
    )


@pytest.mark.ci
def test_zoom_stays_while_it_plays_and_over_a_restart(lab):
    lab.endless()
    (middle,) = lab.boxes(".pmdviz-stage")
    lab.page.mouse.move(middle["x"] + middle["width"] * 0.6, middle["y"] + middle["height"] * 0.4)
    before = lab.view()
    lab.page.mouse.wheel(0, -300)  # alone it is the page's
    assert lab.at_rest("pmdviz.model('stage').x_range.start") == before[0]
    lab.page.keyboard.down("Control")
    lab.page.mouse.wheel(0, -300)
    lab.page.keyboard.up("Control")
    lab.wait(f"pmdviz.model('stage').x_range.start !== {before[0]}")
    lab.at_rest("pmdviz.model('stage').x_range.end")
    zoomed = lab.view()
    lab.press("Play")
    lab.reach(30)
    lab.type("bandwidth", "0.5")
    lab.reach(50)
    assert lab.view() == zoomed
    lab.press("Pause")
    lab.press("Restart")
    lab.wait("pmdviz.iteration() === 0")
    assert lab.view() == zoomed
    lab.settings()
    lab.press("Reset view")
    lab.wait(f"pmdviz.model('stage').y_range.end === {before[3]}")
    assert lab.view() == before


@pytest.mark.ci
def test_python_picture_and_table_are_those_of_the_run(open_lab, tmp_path):
    lab = open_lab(permissions=["clipboard-read", "clipboard-write"])
    lab.paused_at(10)
    lab.share()
    lab.press("Copy Python")
    lab.page.get_by_text("Copied to the clipboard").wait_for()
    text = lab.page.evaluate("navigator.clipboard.readText()")
    assert text.startswith("import pmdviz") and f"budget={100 * lab.iteration()}," in text.replace("_", "")
    for act, name in (("Save PNG", "stage.png"), ("Download CSV", "history.csv")):
        with lab.page.expect_download() as saved:
            lab.page.get_by_text(act).click()
        saved.value.save_as(tmp_path / name)
    assert (tmp_path / "stage.png").read_bytes().startswith(b"\x89PNG")
    lines = (tmp_path / "history.csv").read_text().splitlines()
    assert lines[1].split(",")[:3] == ["iteration", "visited", "tv"] and len(lines) >= 5
