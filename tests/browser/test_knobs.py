"""Knobs, presets, targets: turned while playing and while paused, refused, undone."""

import json
import re

from pmdviz.methods import METHODS
from pmdviz.presets import PRESETS
from pmdviz.scenes.stage import SceneChoice
from pmdviz.views.figures import DIM


def test_bandwidth_while_paused_redraws_at_once(lab):
    stood, picture, words = lab.paused_at(8), lab.picture(), lab.words()
    lab.type("bandwidth", "2e0")
    lab.wait(f"pmdviz.picture() !== {picture}")
    assert lab.iteration() == stood
    assert lab.words() != words
    assert lab.knob("bandwidth").input_value() == "2"


def test_a_knob_turned_while_playing_acts(lab):
    lab.endless()
    lab.press("Play")
    lab.reach(3)
    lab.type("batch_size", "10")
    lab.page.get_by_text("batch of 10 ").wait_for()
    at = lab.iteration()
    lab.reach(at + 3)


def test_out_of_range_is_refused_beside_the_box_and_play_works_after_it(lab):
    for text in ("0", "-1", "2e9", "nan", "much"):
        lab.type("num_particles", text)
        said = f"Particles m must be a whole number at least 1 and at most 100,000; given: '{text}'"
        lab.wait(f"pmdviz.find('#knob-num_particles-message').textContent === {json.dumps(said)}")
        assert lab.knob("num_particles").input_value() == text
    lab.press("Play")
    lab.reach(3)


def test_numbers_may_be_written_either_way(lab):
    for text in ("0.05", "5e-2"):
        lab.type("bandwidth", text)
        lab.wait("JSON.parse(pmdviz.model('acknowledge').shown).bandwidth === 0.05")
        lab.type("bandwidth", "1")
        lab.wait("JSON.parse(pmdviz.model('acknowledge').shown).bandwidth === 1")


def test_a_new_particle_count_forces_a_rejuvenation(lab):
    lab.paused_at(5)
    lab.type("num_particles", "20000")
    label = METHODS["pmd"].Knobs.specs()["num_particles"].label
    note = lab.page.get_by_text(f"{label}: takes effect at the next step")
    note.wait_for()
    lab.press("Step")
    lab.page.get_by_role("checkbox", name="particles (5,000 of 20,000 drawn)").wait_for(timeout=60_000)
    lab.page.get_by_text("particles 1,500 → 20,000").first.wait_for()


def test_reset_to_default_and_what_differs_is_marked(lab):
    lab.type("eta", "5")
    reset = lab.page.get_by_role("button", name="Reset Step size η to 2")
    reset.wait_for()
    reset.click()
    lab.wait("JSON.parse(pmdviz.model('acknowledge').shown).eta === 2")
    reset.wait_for(state="hidden")


def test_knobs_that_do_nothing_are_not_shown(lab):
    assert not lab.knob("step_size").is_visible()
    more(lab).click()
    lab.page.get_by_label("Step-size schedule", exact=True).select_option("constant")
    lab.knob("step_size").wait_for()
    lab.knob("eta").wait_for(state="hidden")


def more(lab):
    return lab.page.get_by_role("button", name="More settings").first


def test_more_settings_fold_but_not_one_that_was_changed_and_the_browser_remembers(lab):
    assert lab.knob("eta").is_visible() and not lab.knob("n0").is_visible()
    more(lab).click()
    lab.type("n0", "5")
    lab.wait("JSON.parse(pmdviz.model('acknowledge').shown).n0 === 5")
    lab.page.get_by_role("button", name="Fewer settings").first.click()
    lab.knob("kappa").wait_for(state="hidden")
    assert lab.knob("n0").is_visible()
    more(lab).click()
    lab.page.reload()
    lab.knob("kappa").wait_for(timeout=60_000)


def test_a_label_explains_by_click_and_keyboard_and_esc_closes_that_alone(lab):
    label = lab.page.get_by_role("button", name="Rejuvenation", exact=True).first
    label.focus()
    label.press("Enter")
    box = lab.page.get_by_role("dialog", name="Rejuvenation")
    box.get_by_text("Takes effect: at the next step.").wait_for()
    box.get_by_role("button", name="ESS").first.click()
    lab.page.get_by_role("dialog", name="ESS: effective sample size").get_by_text("1 / Σ").wait_for()
    presses = lab.page.evaluate("pmdviz.model('acknowledge').presses")
    lab.page.keyboard.press("Escape")
    assert lab.page.locator(".pmdviz-explain").count() == 0
    assert lab.page.evaluate("pmdviz.model('acknowledge').presses") == presses, "Esc was given to the run too"
    assert "Rejuvenation" in lab.page.evaluate("pmdviz.find('.name:focus').textContent")
    label.click()
    box.wait_for()
    assert box.evaluate("e => getComputedStyle(e).color") == "rgb(26, 26, 26)"
    lab.page.locator(".pmdviz-stage").click()
    box.wait_for(state="hidden")
    lab.page.get_by_label("Toggle theme").click()
    lab.wait("pmdviz.model('stage').background_fill_color !== '#ffffff'")
    label.click()
    assert box.evaluate("e => getComputedStyle(e).color") == "rgb(242, 242, 242)", "a white card in the dark"


def test_on_a_phone_an_explanation_lies_over_the_drawer(open_lab):
    lab = open_lab(viewport={"width": 390, "height": 844}, has_touch=True, is_mobile=True)
    lab.knob("num_particles").wait_for(state="hidden")  # the drawer of a narrow window is closed at first
    lab.page.locator(".MuiAppBar-root button").first.tap()
    lab.page.get_by_role("button", name="Rejuvenation", exact=True).first.tap()
    box = lab.page.get_by_role("dialog", name="Rejuvenation")
    box.locator(".pmdviz-term").first.tap()  # Playwright taps only what nothing covers
    lab.page.get_by_role("dialog", name="ESS: effective sample size").wait_for()
    lab.page.keyboard.press("Escape")
    assert lab.page.locator(".pmdviz-explain").count() == 0 and lab.knob("num_particles").is_visible()


def test_words_explain_themselves_while_it_plays_and_in_the_status_line_of_a_pause(lab):
    lab.endless()
    lab.press("Play")
    lab.reach(3)
    lab.page.locator(".pmdviz-glossary .pmdviz-term", has_text="TV").click()
    box = lab.page.get_by_role("dialog", name="TV: total variation")
    box.get_by_text("0 (identical) to 1 (no overlap)").wait_for()
    at = lab.iteration()
    lab.reach(at + 3)
    assert box.is_visible()
    assert lab.page.locator(".pmdviz-status .pmdviz-term").count() == 0, "words that would move at every frame"
    lab.press("Pause")
    lab.page.locator(".pmdviz-status .pmdviz-term", has_text="exact samples").click()
    lab.page.get_by_role("dialog", name="Exact samples").wait_for()


# All that is written in the panel, choices of menus too, in whatever shadow root it is.
WRITTEN = """(() => { const read = (root) => [...root.childNodes].map((n) => n.nodeType === 3 ? n.data
    : n.tagName === "STYLE" ? "" : read(n) + (n.shadowRoot ? read(n.shadowRoot) : "")).join(" ")
  return read(pmdviz.find(".pmdviz-setup").shadowRoot) })()"""


def test_no_identifier_stands_in_the_panel_of_any_method(lab):
    menu = lab.page.get_by_label("Method", exact=True)
    for title, label in [
        ("Particle Mirror Descent", "Step-size schedule"),
        ("Stein variational gradient", "Kernel width rule"),
        ("Gradient-free SVGD", "Surrogate ρ"),
        ("Black-box importance sampling", "Score in the kernel"),
        ("Gradient-free annealed", "Number of temperatures T"),
        ("Nonparametric", "Initial means"),
        ("Hamiltonian Monte", "Leapfrog steps L"),
    ]:
        name = next(option for option in menu.locator("option").all_inner_texts() if title in option)
        menu.select_option(name)
        lab.wait(f"{WRITTEN}.includes({label!r})", 30)
        words = lab.page.evaluate(WRITTEN)
        assert "Seed of the run" in words
        assert re.findall(r"\w*_\w*", words) == []


def test_slider_moves_by_the_keyboard_and_shows_the_real_value(lab):
    slider = lab.page.get_by_role("slider", name="Bandwidth h", exact=True)
    slider.focus()
    slider.press("ArrowRight")
    lab.wait("JSON.parse(pmdviz.model('acknowledge').shown).bandwidth > 1")
    assert 1 < float(lab.knob("bandwidth").input_value()) < 1.1


def of_each_picture():
    """Titles of presets, the first of each scene; that every preset's run is sound is tested without a browser."""
    found = {}
    for preset in PRESETS.values():
        scene, _ = SceneChoice().of(preset.recipe.make_target(), preset.recipe.make_method())
        found.setdefault(scene.name, preset.title)
    return list(found.values())


def test_presets_of_every_picture_play(lab):
    select = lab.page.get_by_label("Preset")
    assert len([text for text in select.locator("option").all_inner_texts() if text != "Custom"]) == len(PRESETS)
    titles = of_each_picture()
    assert len(titles) >= 10
    for title in titles[1:] + titles[:1]:
        select.select_option(title)
        lab.wait(f"pmdviz.iteration() === 0 && pmdviz.find('.pmdviz-stage').style.opacity !== '{DIM}'", 30)
        lab.press("Play")
        lab.reach(3)
        lab.press("Pause")
        assert select.evaluate("s => s.selectedOptions[0].textContent") == title


def test_another_target_while_playing_and_undo(lab):
    lab.endless()
    lab.press("Play")
    lab.reach(5)
    lab.page.get_by_label("Target", exact=True).select_option("Two modes on a line (1-D)")
    lab.wait("pmdviz.model('stage').left[0].axis_label.startsWith('density')")
    lab.reach(2)
    lab.press("Pause")
    lab.press("Undo: previous run")
    lab.wait("!pmdviz.model('stage').left[0].axis_label.startsWith('density') && pmdviz.iteration() >= 5")
