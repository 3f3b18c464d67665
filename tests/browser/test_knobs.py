"""The form of settings in a real browser: folded, explained, reset, remembered; other presets and targets."""

import pytest

from tests.browser.test_page import SHOWN

pytestmark = pytest.mark.ci


def more(lab):
    return lab.page.get_by_role("button", name="More settings").first


def test_settings_fold_are_reset_and_the_browser_remembers(lab):
    lab.settings()
    assert lab.knob("eta").is_visible() and not lab.knob("n0").is_visible()
    lab.type("eta", "5")
    reset = lab.page.get_by_role("button", name="Reset Step size η to 2")
    reset.click()
    lab.wait(f"{SHOWN}.eta === 2")
    reset.wait_for(state="hidden")
    more(lab).click()
    lab.type("n0", "5")
    lab.wait(f"{SHOWN}.n0 === 5")
    lab.page.get_by_role("button", name="Fewer settings").first.click()
    lab.knob("kappa").wait_for(state="hidden")
    assert lab.knob("n0").is_visible(), "a setting that was changed does not fold"
    more(lab).click()
    lab.page.reload()
    lab.page.get_by_role("button", name="All settings").wait_for(timeout=60_000)
    lab.settings()
    lab.knob("kappa").wait_for(timeout=60_000)
    lab.page.get_by_label("Step-size schedule", exact=True).select_option("constant")
    lab.knob("step_size").wait_for()
    lab.knob("eta").wait_for(state="hidden")


def test_a_label_explains_by_click_and_keyboard_and_esc_closes_that_alone(lab):
    lab.settings()
    label = lab.page.get_by_role("button", name="Rejuvenation", exact=True).first
    label.focus()
    label.press("Enter")
    box = lab.page.get_by_role("dialog", name="Rejuvenation")
    box.get_by_role("button", name="ESS").first.click()
    lab.page.get_by_role("dialog", name="ESS: effective sample size").wait_for()
    presses = lab.page.evaluate("pmdviz.model('acknowledge').presses")
    lab.page.keyboard.press("Escape")
    assert lab.page.locator(".pmdviz-explain:visible").count() == 0
    assert lab.page.evaluate("pmdviz.model('acknowledge').presses") == presses, "Esc was given to the run too"
    assert "Rejuvenation" in lab.page.evaluate("pmdviz.find('.name:focus').textContent")
    label.click()
    box.wait_for()
    lab.page.locator(".pmdviz-stage").click()
    box.wait_for(state="hidden")
    lab.endless()
    lab.press("Play")
    lab.reach(3)
    lab.page.locator(".pmdviz-glossary .pmdviz-term", has_text="TV").click()
    box = lab.page.get_by_role("dialog", name="TV: total variation")
    lab.reach(lab.iteration() + 3)
    assert box.is_visible()
