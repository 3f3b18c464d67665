"""The Lab's page in a real browser: it plays, settings act, keys work, and what a person takes home is the run."""

import json

import pytest

from tests.support.browser import set_speed

SHOWN = "JSON.parse(pmdviz.model('acknowledge').shown || '{}')"
# The words in the middle of both traces; and whether they go from the second ones when these are painted at once, as
# after a new layout: BokehJS has then not yet made the view of the new text.
TRACES = "['traces', 'second_traces'].map((name) => Bokeh.index.find_one(pmdviz.model(name)))"
MIDDLE = f"{TRACES}.map((plot) => plot.model.center.find((each) => each.type === 'Label').text)"
LEAVES_JS = f"""async () => {{
  const [, plot] = {TRACES}, label = plot.model.center.find((each) => each.type === "Label"), words = label.text
  const look = () => pmdviz.canvases(plot.shadow_el).slice(0, 2).map((canvas) => canvas.toDataURL()).join()
  const painted = () => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))
  label.setv({{text: ""}}, {{sync: false}})
  plot.repaint()
  await painted()
  const without = look()
  plot.request_repaint()
  await painted()
  const anew = look()
  label.setv({{text: words}}, {{sync: false}})
  return [words, without === anew] }}"""


def without_floor(lab):
    """Iteration, observations used and TV; how far the floor is depends on the moment."""
    return lab.words().partition(", independent draws")[0]


def test_a_page_plays_and_its_settings_act(lab):
    """The first page of the lab from its opening to Restart; no request leaves the machine (see `open_lab`)."""
    assert "iteration 0, 0 of 20,000" in lab.words()
    for name in ("exact", "approximate", "particles"):
        layer = f"pmdviz.model('stage').renderers.find(r => r.name === '{name}')"
        lab.wait(f"{layer}.data_source.data.x.length > 100")
    assert lab.page.evaluate(LEAVES_JS) == ["Press Play:\nForward and reverse KL will be drawn here", True]
    before = lab.picture()
    lab.press("Play")
    lab.wait(f"{MIDDLE}.join() === ','")
    lab.press("Pause")
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
    pictures = {}
    for act, iteration in (("Restart", 0), ("Step", 1), ("Step", 2)):
        lab.press(act)
        lab.wait(f"pmdviz.iteration() === {iteration}")
        lab.settled()
        pictures[iteration] = lab.at_rest("pmdviz.picture()")
    lab.press("Back")
    lab.wait(f"pmdviz.iteration() === 1 && pmdviz.picture() === {pictures[1]}")
    lab.wait("location.search.includes('at=1&')")
    lab.page.reload()
    lab.wait("window.pmdviz && pmdviz.iteration() === 1 && pmdviz.model('acknowledge')?.drawn > 0", 60)
    assert float(lab.knob("bandwidth").input_value()) > 2


@pytest.mark.ci
def test_the_first_words_and_the_tour(lab):
    page = lab.page
    page.locator(".pmdviz-verdict").get_by_text("1,500 particles start at the prior").wait_for()
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
        page.keyboard.press("Enter")
    tour.wait_for(state="detached")
    lab.wait(f"pmdviz.iteration() < {at}")  # the last step goes back


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
    for key, iteration in (("ArrowRight", 1), ("ArrowLeft", 0)):
        keys.press(key)
        lab.wait(f"pmdviz.iteration() === {iteration}")
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
    iterations, sums = (60, 2) if motion == "no-preference" else (4, 1)
    assert lab.page.evaluate(SIZES_JS, iterations) == sums


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


VISIBLE = "pmdviz.model('stage').renderers.find((r) => r.name === '{}').visible"
# Pixels with colour in the layer of what moves, left of the frame and within it.
OUTSIDE_JS = """(() => {
  const view = Bokeh.index.find_one(pmdviz.model("stage")), {left} = view.frame.bbox
  const canvas = view.canvas_view.overlays.el, ratio = canvas.width / view.canvas_view.bbox.width
  const count = (x, width) => {
    const {data} = canvas.getContext("2d").getImageData(x, 0, width, canvas.height)
    return data.filter((value, k) => k % 4 === 3 && value > 0).length
  }
  const edge = Math.floor(left * ratio)
  return [count(0, edge - 1), count(edge, canvas.width - edge)]
})()"""
# The heaviest dot inside the frame: where it stands on the page.
DOT_JS = """(() => {
  const stage = pmdviz.model("stage"), view = Bokeh.index.find_one(stage)
  const {x, y} = stage.renderers.find((r) => r.name === "particles").data_source.data
  const k = [...x.keys()].find((k) => Math.abs(x[k]) < 1 && Math.abs(y[k]) < 1)
  const {left, top} = view.canvas_view.el.getBoundingClientRect()
  return [left + view.frame.x_scale.compute(x[k]), top + view.frame.y_scale.compute(y[k])]
})()"""
TIP_JS = """[...(function* all(root) {
  for (const e of root.querySelectorAll("*")) { yield e; if (e.shadowRoot) yield* all(e.shadowRoot) }
})(document)].some((e) => /^θ.*weight/s.test(e.textContent) && e.getBoundingClientRect().width > 0)"""


@pytest.mark.ci
def test_the_legend_switches_layers_and_what_moves_is_clipped_and_tells_what_it_is(lab):
    lab.settings()
    box = lab.page.get_by_role("checkbox", name="approximation")
    box.click()
    lab.wait(f"!{VISIBLE.format('approximate')}")
    lab.press("Step")
    lab.wait("pmdviz.iteration() === 1")
    assert not lab.page.evaluate(VISIBLE.format("approximate")) and not box.is_checked()
    prior = lab.page.get_by_role("checkbox", name="prior")
    prior.focus()
    lab.page.keyboard.press("Space")
    lab.wait(f"!{VISIBLE.format('prior')}")
    assert lab.iteration() == 1, "the key belonged to the box"
    prior.click()
    box.click()
    lab.wait(f"{VISIBLE.format('prior')} && {VISIBLE.format('approximate')}")
    lab.settled()
    x, y = lab.page.evaluate(DOT_JS)
    lab.page.mouse.move(x, y)
    lab.wait(TIP_JS)
    for axis in "xy":  # zoomed in, lines and dots go on beyond the frame
        lab.page.evaluate(f"pmdviz.model('stage').{axis}_range.setv({{start: -1, end: 1}})")
    lab.wait("Bokeh.documents[0].is_idle")
    lab.wait(f"{OUTSIDE_JS}[1] > 1000")
    assert lab.page.evaluate(OUTSIDE_JS)[0] == 0
