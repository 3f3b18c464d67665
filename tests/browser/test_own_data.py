"""A person's own problem as a person brings it: from a table to a run, modes that are dragged, data by the click."""

import re

import pytest

pytestmark = pytest.mark.ci

LINES = "pmdviz.model('moved').data_source.data.x.length"
PLACES = "[...pmdviz.find('.layer').querySelectorAll('.handle')].map((one) => one.getAttribute('aria-valuetext'))"


def test_a_mode_is_dragged_by_the_pointer_and_by_arrow_keys(lab):
    page = lab.page
    first = page.get_by_role("slider", name=re.compile("^first mode"))
    lab.wait(f"{PLACES}.length === 2")
    assert page.evaluate(PLACES) == ["θ₁ 1.00, θ₂ \N{MINUS SIGN}2.00", "θ₁ \N{MINUS SIGN}1.00, θ₂ 2.00"]
    box = first.bounding_box()
    x, y = box["x"] + box["width"] / 2, box["y"] + box["height"] / 2
    view = lab.view()
    page.mouse.move(x, y)
    page.mouse.down()
    for k in range(1, 8):
        page.mouse.move(x + 8 * k, y)
    lab.wait(f"{LINES} > 20")  # before the release
    assert lab.view() == view  # the picture itself is not dragged
    page.mouse.up()
    page.get_by_role("button", name="Undo", exact=True).wait_for()
    lab.wait(f"{LINES} === 0")
    moved = page.evaluate(PLACES)
    assert moved[0].endswith("θ₂ \N{MINUS SIGN}2.00") and not moved[0].startswith("θ₁ 1.00")
    lab.press("Undo")
    lab.wait(f"{PLACES}[0].startsWith('θ₁ 1.00')")

    first.focus()
    page.keyboard.press("ArrowUp")
    page.keyboard.press("ArrowUp")
    assert lab.iteration() == 0  # the page's own keys are silent meanwhile
    lab.wait(f"{LINES} > 20")
    page.keyboard.press("Escape")
    lab.wait(f"{LINES} === 0 && {PLACES}[0].endsWith('2.00')")
    page.keyboard.press("ArrowUp")
    page.keyboard.press("Enter")
    page.get_by_role("button", name="Undo", exact=True).wait_for()
    lab.wait(f"{PLACES}[0].startsWith('θ₁ 1.00') && !{PLACES}[0].endsWith('2.00')")
    assert page.evaluate("pmdviz.find('.handle:focus') !== null")  # it can be moved on


def test_data_are_added_and_removed_in_their_picture(lab):
    page = lab.page
    page.get_by_label("Traces", exact=True).select_option("Data and predictions")
    lab.settings()
    switch = page.get_by_label("Edit data")
    switch.check()
    said = page.locator(".said:visible")
    assert said.inner_text() == "1,000 data"
    picture = page.locator(".pmdviz-traces:not(.pmdviz-hidden)").first  # the second traces are below it
    picture.evaluate("(one) => one.scrollIntoView({block: 'center'})")
    lab.wait("pmdviz.model('rug')?.data_source.data.x.length === 1000")
    (box,) = lab.boxes(".pmdviz-traces:not(.pmdviz-hidden)")
    page.mouse.click(box["x"] + 0.85 * box["width"], box["y"] + 0.4 * box["height"])
    page.get_by_text("1,001 data", exact=True).wait_for()
    page.get_by_label("x", exact=True).fill("12.5")
    page.keyboard.press("Enter")
    page.get_by_text("1,002 data", exact=True).wait_for()
    lab.wait("pmdviz.model('rug').data_source.data.x.includes(12.5)")
    assert page.locator(".handle:visible").count() == 0  # of a person's own data there is no true parameter
    lab.press("Remove last")
    page.get_by_text("1,001 data", exact=True).wait_for()
    lab.press("Undo")
    page.get_by_text("1,002 data", exact=True).wait_for()
