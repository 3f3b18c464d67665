"""Play, Pause, Step, Back, Restart, Replay, Continue and the keys, in a real browser."""


def test_opening_shows_posterior_words_and_play(lab):
    assert "iteration 0, 0 of 20,000 data visited" in lab.words()
    assert lab.page.get_by_text("Press Play. Particles stay in place").is_visible()
    assert lab.page.get_by_role("button", name="Play", exact=True).is_enabled()
    assert lab.page.evaluate(
        "pmdviz.model('stage').renderers.filter(r => r.name).every(r => r.data_source.data.x.length > 100)"
    )


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
    lab.type("bandwidth", "0.5")
    lab.wait("JSON.parse(pmdviz.model('acknowledge').shown || '{}').bandwidth === 0.5")
    stood = lab.paused_at(10)
    words = without_floor(lab)
    lab.press("Replay")
    lab.wait(f"pmdviz.iteration() < {stood} || pmdviz.iteration() > {stood}")
    lab.press("Pause")
    lab.press("Restart")
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
    lab.press("Play")
    lab.reach(20)
    result = lab.page.get_by_text("Done: 2,000 data points processed. TV 0.")
    result.wait_for()
    assert "exact samples:" in result.inner_text()
    assert lab.page.get_by_role("button", name="Play", exact=True).is_disabled()
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
