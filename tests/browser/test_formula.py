"""A formula in a real browser: typed, refused beside its box, chosen from the menu of examples, by keyboard alone."""

import pytest
from playwright.sync_api import expect

from pmdviz.engine.recipe import Recipe
from pmdviz.targets.without_data import EXAMPLES

pytestmark = pytest.mark.ci

RECIPE = Recipe("formula", target_options={"density": "squiggle"}, budget=150_000)


def test_a_formula_is_typed_refused_and_chosen(open_lab):
    lab = open_lab(f"/?run={RECIPE.to_link()}")
    page = lab.page
    lab.settings()
    page.get_by_text("Data and options of the target").click()
    box, menu = page.locator("#knob-density"), page.get_by_label("Log density: examples")
    expect(box).to_have_value(EXAMPLES["squiggle"][1])
    assert menu.input_value() == "squiggle"
    box.fill("-hypot(x, y)$2")
    box.press("Enter")
    page.get_by_text("'$', at character 13").wait_for()
    assert box.input_value() == "-hypot(x, y)$2" and box.get_attribute("aria-invalid") == "true"
    box.fill("-square(x + y) - abs(x)")
    box.press("Enter")
    page.get_by_text("'$', at character 13").wait_for(state="hidden")
    assert menu.input_value() == "" and box.input_value() == "-square(x + y) - abs(x)"
    menu.select_option("ring")
    expect(box).to_have_value(EXAMPLES["ring"][1])
    assert box.get_attribute("aria-invalid") == "false"
