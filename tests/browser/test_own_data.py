"""A person's own problem as a person brings it: from a table to a film, modes that are dragged, data by the click."""

import re

import pytest
from PIL import Image

from tests.browser.test_accessible import AXE, FOUND

DIALOG = "Your own data …"
TABLES = {
    "Two-mode mixture (2-D)": "id,height\n" + "\n".join(f"{k},{150 + 37 * k % 31}" for k in range(1, 31)),
    "Logistic regression": "dose;cured\n" + "\n".join(f"{k % 7},5;{'yes' if k % 7 > 3 else 'no'}" for k in range(40)),
    "Linear regression (any dimension)": "x\ty\n" + "\n".join(f"{k / 9:.2f}\t{k / 4 + k % 3:.2f}" for k in range(40)),
}
MOST_ACTIONS = 8
LINES = "pmdviz.model('moved').data_source.data.x.length"
PLACES = "[...pmdviz.find('.layer').querySelectorAll('.handle')].map((one) => one.getAttribute('aria-valuetext'))"


class Person:
    """Counts what a person does."""

    def __init__(self, page):
        self.page, self.actions = page, 0

    def click(self, label):
        self.page.get_by_role("button", name=label, exact=isinstance(label, str)).locator("visible=true").first.click()
        self.actions += 1

    def choose(self, label, value):
        self.page.get_by_label(label, exact=True).first.select_option(value)
        self.actions += 1

    def paste(self, text):
        self.page.get_by_label("or paste rows").fill(text)
        self.actions += 1

    def choose_file(self, name, content):
        files = {"name": name, "mimeType": "text/csv", "buffer": content}
        self.page.get_by_label("A file (CSV)").set_input_files(files)
        self.actions += 1


def use(page):
    """Wait for what was read, and take it."""
    button = page.get_by_role("button", name="Use these data")
    page.wait_for_function("(button) => !button.disabled", arg=button.element_handle())
    button.click()
    page.get_by_role("dialog", name="Your own data").wait_for(state="hidden")


@pytest.mark.slow
def test_from_a_csv_to_a_film_of_its_posterior_in_at_most_8_actions(lab, tmp_path):
    page = lab.page

    def visits(num_data):
        page.get_by_text(f"passes over {num_data} data points").wait_for(timeout=60_000)

    for at, (target, text) in enumerate(TABLES.items()):
        person = Person(page)
        if at:
            person.choose("Target", target)
            visits((200, 500)[at - 1])
        person.click(DIALOG)
        person.paste(text) if at else person.choose_file("heights.csv", text.encode("utf-16"))
        use(page)
        person.actions += 1
        visits((30, 32, 40)[at])
        person.click("Play")
        lab.reach(2)
        if not page.get_by_label("Kind of file").count():
            page.get_by_text("Export: film, page, picture, table").locator("visible=true").click()
        person.actions += 1
        person.click("Export")
        page.locator(".pmdviz-export-status", has_text="pmdviz.gif is ready.").wait_for(timeout=120_000)
        with page.expect_download() as coming:
            person.click(re.compile(r"^Download pmdviz.gif"))
        coming.value.save_as(tmp_path / "film.gif")
        with Image.open(tmp_path / "film.gif") as film:
            assert film.n_frames >= 2
        assert person.actions <= MOST_ACTIONS, target
        if page.get_by_role("button", name="Pause", exact=True).count():
            lab.press("Pause")


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
    page.get_by_role("button", name="Undo: previous run").wait_for()
    lab.wait(f"{LINES} === 0")
    moved = page.evaluate(PLACES)
    assert moved[0].endswith("θ₂ \N{MINUS SIGN}2.00") and not moved[0].startswith("θ₁ 1.00")
    lab.press("Undo: previous run")
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
    page.get_by_role("button", name="Undo: previous run").wait_for()
    lab.wait(f"{PLACES}[0].startsWith('θ₁ 1.00') && !{PLACES}[0].endsWith('2.00')")
    assert page.evaluate("pmdviz.find('.handle:focus') !== null")  # it can be moved on


def test_data_are_added_and_removed_in_their_picture(lab):
    page = lab.page
    page.get_by_label("Traces", exact=True).select_option("Data and predictions")
    switch = page.get_by_label("Edit data")
    switch.check()
    said = page.locator(".said:visible")
    assert said.inner_text() == "1,000 data"
    picture = page.locator(".pmdviz-traces:not(.pmdviz-hidden)")
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
    lab.press("Undo: previous run")
    page.get_by_text("1,002 data", exact=True).wait_for()


def test_hostile_tables_get_a_sentence_and_the_dialog_has_no_serious_finding(lab):
    page = lab.page
    person = Person(page)
    person.click(DIALOG)
    alert = page.get_by_role("alert").locator("visible=true")
    for content in (b"PK\x03\x04" + bytes(99), b"a,b\n1,2\n3\n", b"", b"\x80\x04K\x01.", b"1," * 3000):
        person.choose_file("hostile.csv", content) if content else person.paste("a,b")
        alert.wait_for()
        assert alert.inner_text().endswith(".")
        page.get_by_label("A file (CSV)").set_input_files([])
        page.get_by_label("or paste rows").fill("1\n2.5\n7\n")
        page.get_by_text("3 rows of 1 column will be used.").wait_for()
    person.choose_file("rows.csv", b"1.5\n" * 60_000)
    page.get_by_text("60,000 rows of 1 column will be used.").wait_for()
    person.choose_file("large.csv", b"1\n" * 2_100_000)
    page.get_by_text("A table may have 4,000,000 bytes here; this one has 4,200,000.").wait_for()
    page.get_by_label("or paste rows").fill(
        "<img src=x onerror=alert(1)>,b\n5,'; DROP TABLE x\n7,<script>alert(1)</script>\n"
    )
    page.get_by_label("Role of column b").wait_for()
    page.get_by_label("Role of column b").select_option("input")
    alert.wait_for()
    assert "where a number is needed" in page.locator(".misfit:visible").inner_text()
    page.evaluate(AXE.read_text(encoding="utf-8"))
    assert page.evaluate(FOUND) == []
    page.keyboard.press("Escape")
    page.get_by_role("dialog", name="Your own data").wait_for(state="hidden")
    lab.press("Step")
    lab.reach(1)
