"""A preset as a person meets it: question, what to watch, a run to its end, and the diagnosis once it is asked for."""

import re

import pytest

from pmdviz.lab.panels.diagnosis import UNDER_WAY, WAITING
from pmdviz.presets import PRESETS
from pmdviz.scenes.teaching.diagnosis import NOTHING_YET
from tests.browser.test_page import SHOWN

SAID = ".pmdviz-diagnosed"
TV = re.compile(r"TV (?:is )?([\d.]+\d)")


def said(lab, seconds=30):
    """The sentence, once it is of a run that has ended."""
    known = f"words && !{[NOTHING_YET, UNDER_WAY, WAITING]}.includes(words)"
    lab.wait(f"(words => {known})(pmdviz.find('{SAID}')?.textContent)", seconds)
    return lab.page.locator(SAID).inner_text()


def opening(preset, run):
    """The words of the first sentence up to its first number."""
    return PRESETS[preset].diagnosis[0].say.text.partition("{")[0] in run


@pytest.mark.ci
def test_a_preset_is_played_and_diagnosed_and_a_reload_keeps_its_question(lab):
    preset, heading = PRESETS["one_blob_for_two"], lab.page.locator(".pmdviz-heading")
    lab.hurry()
    lab.page.get_by_label("Preset").select_option(preset.title)
    heading.get_by_text(preset.question).wait_for()
    heading.get_by_text(f"Watch: {preset.watch}").wait_for()
    lab.page.locator(SAID).wait_for(state="hidden")  # until somebody asks, by keyboard here
    header = lab.page.locator(".pmdviz-diagnosis button").first
    header.focus()
    lab.page.keyboard.press("Enter")
    lab.page.locator(SAID).get_by_text(NOTHING_YET).wait_for()
    lab.press("Play")
    lab.page.get_by_role("button", name="Replay", exact=True).wait_for(timeout=60_000)
    words = said(lab)
    assert opening(preset.name, words), words
    shown, told = (TV.search(text)[1] for text in (lab.words(), words))
    assert float(told) == pytest.approx(float(shown), abs=0.51 * 10 ** -len(told.partition(".")[2]))
    lab.type("eta", "9")  # another setting keeps the question
    lab.wait(f"{SHOWN}.eta === 9 && window.location.search.includes('preset={preset.name}')")
    lab.page.reload()  # and so does its address
    lab.wait("window.pmdviz && pmdviz.iteration() > 0 && pmdviz.model('acknowledge')?.drawn > 0", 60)
    heading.get_by_text(preset.question).wait_for()
    assert not lab.page.locator(SAID).is_visible()
