"""Knobs, presets, targets: turned while playing and while paused, refused, undone."""

import pytest

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


@pytest.mark.parametrize("text", ["0", "-1", "2e9", "nan", "much"])
def test_out_of_range_is_refused_beside_the_box_and_play_works_after_it(lab, text):
    lab.type("num_particles", text)
    lab.page.wait_for_function("pmdviz.find('#knob-num_particles-message').textContent !== ''")
    assert "num_particles must be a whole number" in lab.message("num_particles")
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
    note = lab.page.get_by_text("num_particles: takes effect at the next step")
    note.wait_for()
    lab.press("Step")
    label = "'particles (5,000 of 20,000 drawn)'"
    lab.wait(f"pmdviz.model('stage').above.some(l => l.items?.some(i => i.label.value === {label}))", 60)
    lab.page.get_by_text("particles 1,500 → 20,000").first.wait_for()


def test_reset_to_default_and_what_differs_is_marked(lab):
    lab.type("eta", "5")
    reset = lab.page.get_by_role("button", name="Reset Step size: η to 2")
    reset.wait_for()
    reset.click()
    lab.wait("JSON.parse(pmdviz.model('acknowledge').shown).eta === 2")
    reset.wait_for(state="hidden")


def test_knobs_that_do_nothing_are_not_shown(lab):
    assert not lab.knob("step_size").is_visible()
    lab.page.locator("select#knob-schedule").select_option("constant")
    lab.knob("step_size").wait_for()
    lab.knob("eta").wait_for(state="hidden")


def test_slider_moves_by_the_keyboard_and_shows_the_real_value(lab):
    slider = lab.page.get_by_role("slider", name="Bandwidth", exact=True)
    slider.focus()
    slider.press("ArrowRight")
    lab.wait("JSON.parse(pmdviz.model('acknowledge').shown).bandwidth > 1")
    assert 1 < float(lab.knob("bandwidth").input_value()) < 1.1


def test_every_preset_plays(lab):
    select = lab.page.get_by_label("Preset")
    titles = [text for text in select.locator("option").all_inner_texts() if text != "your own settings"]
    assert len(titles) == 8
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
    lab.press("Undo: back to the run before")
    lab.wait("!pmdviz.model('stage').left[0].axis_label.startsWith('density') && pmdviz.iteration() >= 5")
