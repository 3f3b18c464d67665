"""Play, Pause, Step, Back, Restart, Replay, Continue and the keys, in a real browser."""

import pytest


def test_opening_shows_posterior_words_and_play(lab):
    assert "iteration 0, 0 of 20,000 data visited" in lab.words()
    assert lab.page.get_by_text("Press Play. Particles stay in place").is_visible()
    assert lab.page.get_by_role("button", name="Play", exact=True).is_enabled()
    for name in ("exact", "approximate", "particles"):
        layer = f"pmdviz.model('stage').renderers.find(r => r.name === '{name}')"
        assert lab.page.evaluate(f"{layer}.data_source.data.x.length > 100"), name


def test_play_changes_pixels_and_iteration_and_pause_stops(lab):
    lab.endless()
    before = lab.picture()
    lab.press("Play")
    lab.reach(5)
    assert lab.picture() != before
    lab.press("Pause")
    lab.page.get_by_role("button", name="Play", exact=True).wait_for()
    lab.at_rest("pmdviz.picture()")
    stood, picture = lab.iteration(), lab.picture()
    lab.page.wait_for_timeout(500)
    assert (lab.iteration(), lab.picture()) == (stood, picture)


DOTS_JS = """(() => {
  const source = pmdviz.model("stage").renderers.find((r) => r.name == "particles").data_source
  const data = source.now ?? source.data  // Bokeh's own columns follow later
  return ["x", "y", "size"].map((name) => data[name].join()).join()
})()"""

# The sums of all dot sizes that are seen of each parcel until there have been so many iterations.
SIZES_JS = """async (iterations) => {
  const source = pmdviz.model("stage").renderers.find((r) => r.name == "particles").data_source
  const ack = pmdviz.model("acknowledge"), seen = {}
  while (pmdviz.iteration() < iterations) {
    (seen[ack.parcel] ??= new Set()).add((source.now ?? source.data).size.reduce((sum, size) => sum + size, 0))
    await new Promise(requestAnimationFrame)
  }
  return Object.values(seen).map((sums) => sums.size)
}"""


@pytest.mark.parametrize("motion", ["no-preference", "reduce"])
def test_between_two_slow_frames_dots_glide_unless_one_wants_less_motion(open_lab, motion):
    lab = open_lab(reduced_motion=motion)
    lab.page.get_by_label("Speed").select_option(label="1 iteration a second")
    lab.press("Play")
    sums = lab.page.evaluate(SIZES_JS, 4)
    assert max(sums) > 1 if motion == "no-preference" else max(sums) == 1
    lab.press("Pause")
    lab.page.get_by_role("button", name="Play", exact=True).wait_for()
    stood, dots = lab.at_rest(), lab.at_rest(DOTS_JS)
    lab.press("Back")
    lab.wait(f"pmdviz.iteration() === {stood - 1}")
    lab.press("Step")
    lab.wait(f"pmdviz.iteration() === {stood}")
    assert lab.at_rest(DOTS_JS) == dots, "at rest they are the frame's own"


def test_step_back_and_restart(lab):
    lab.press("Step")
    lab.wait("pmdviz.iteration() === 1")
    lab.settled()
    first = lab.at_rest("pmdviz.picture()")
    lab.press("Step")
    lab.wait("pmdviz.iteration() === 2")
    lab.settled()
    lab.press("Back")
    lab.wait("pmdviz.iteration() === 1")
    lab.settled()
    lab.wait(f"pmdviz.picture() === {first}")
    lab.press("Restart")
    lab.wait("pmdviz.iteration() === 0")


def test_replay_shows_the_same_again(lab):
    lab.press("Step")
    lab.wait("pmdviz.iteration() === 1")
    lab.type("bandwidth", "0.5")
    lab.wait("JSON.parse(pmdviz.model('acknowledge').shown || '{}').bandwidth === 0.5")
    stood = lab.paused_at(10)
    words = without_floor(lab)
    lab.press("Replay")
    lab.wait(f"pmdviz.iteration() < {stood} || pmdviz.iteration() > {stood}")
    lab.press("Pause")
    lab.wait("pmdviz.model('acknowledge').sent === pmdviz.model('acknowledge').drawn")
    for _ in range(lab.at_rest()):
        lab.press("Back")
    lab.wait("pmdviz.iteration() === 0")
    for iteration in range(1, stood + 1):
        lab.press("Step")
        lab.wait(f"pmdviz.iteration() === {iteration}")
    assert without_floor(lab) == words


def without_floor(lab):
    """Iteration, data visited and TV; how far the floor is depends on the moment."""
    return lab.words().partition(", exact samples")[0]


def test_the_end_says_the_result_and_continue_goes_on(lab):
    lab.page.get_by_label("Budget (data visited)").select_option("2,000")
    lab.wait("pmdviz.words().includes('of 2,000')")
    lab.hurry()
    lab.press("Play")
    lab.reach(20)
    result = lab.page.get_by_text("Done: 2,000 data points visited. TV 0.")
    result.wait_for()
    assert "exact samples:" in result.inner_text()
    assert not lab.page.get_by_role("button", name="Step", exact=True).is_visible()
    words = without_floor(lab)
    lab.press("Replay")
    lab.wait("pmdviz.iteration() < 20")
    lab.reach(20)
    assert without_floor(lab) == words
    lab.press("Continue")
    lab.reach(40)
    assert "4,000 of 4,000" in lab.words()


def test_keys(lab):
    lab.page.keyboard.press("ArrowRight")
    lab.wait("pmdviz.iteration() === 1")
    lab.page.keyboard.press("ArrowLeft")
    lab.wait("pmdviz.iteration() === 0")
    lab.page.keyboard.press("Space")
    lab.reach(3)
    lab.page.keyboard.press("Space")
    lab.page.get_by_role("button", name="Play", exact=True).wait_for()
    lab.page.keyboard.press("r")
    lab.wait("pmdviz.iteration() === 0")
    seed = lab.knob("seed").input_value()
    lab.page.keyboard.press("n")
    lab.wait(f"pmdviz.find('input#knob-seed').value !== '{seed}'")
    lab.page.keyboard.press("?")
    lab.page.get_by_role("dialog", name="Help").wait_for()
    lab.page.get_by_role("button", name="Close", exact=True).click()
    lab.page.keyboard.press("p")
    lab.wait("parseInt(pmdviz.model('stage').below[0].axis_label_text_font_size) >= 18")
    lab.knob("bandwidth").wait_for(state="hidden")


def test_keys_typed_into_a_box_are_text(lab):
    lab.knob("bandwidth").click()
    lab.page.keyboard.press("n")
    lab.page.keyboard.press("Space")
    lab.page.wait_for_timeout(500)
    assert lab.iteration() == 0
    assert lab.knob("seed").input_value() == "0"
