"""The forms of a page: settings and their words, your own data and modes that you drag, what you take home."""

import re

from PIL import Image

import pmdviz
from pmdviz.export.options import Look
from tests.browser.test_page import SHOWN


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


FORMER_JS = "names => { window.former = names.map((name) => pmdviz.find(`#knob-${name}`)).filter(Boolean) }"


def made(lab, suffix, path, **options):
    box = lab.page.get_by_label("Kind of file")
    title = next(t for t in box.locator("option").all_inner_texts() if t.startswith(suffix.upper() + ":"))
    if box.evaluate("box => box.selectedOptions[0].innerText") != title:  # what is typed into the form before is lost
        lab.page.evaluate(FORMER_JS, [*Look.specs()])
        box.select_option(title)
        lab.wait("window.former.every((one) => !one.isConnected)", 60)
    for name, value in options.items():
        lab.type(name, value)
        lab.wait(f"pmdviz.find('#knob-{name}').closest('.knob').classList.contains('changed')")
    lab.page.get_by_role("button", name="Export", exact=True).click()
    lab.page.locator(".pmdviz-export-status", has_text=f"pmdviz.{suffix} is ready.").wait_for(timeout=240_000)
    return saved(lab, re.compile(rf"^Download pmdviz.{suffix} \([0-9.]+ MB\)$"), path / f"x.{suffix}")


def saved(lab, words, path):
    with lab.page.expect_download() as coming:
        lab.page.get_by_text(words).click()
    coming.value.save_as(path)
    return path


def test_what_is_taken_home_is_the_run(open_lab, tmp_path):
    lab = open_lab(accept_downloads=True, permissions=["clipboard-read", "clipboard-write"])
    iteration = lab.paused_at(8)
    lab.share()
    lab.press("Copy Python")
    lab.page.get_by_text("Copied to the clipboard").wait_for()
    text = lab.page.evaluate("navigator.clipboard.readText()")
    assert text.startswith("import pmdviz") and f"budget={100 * iteration}," in text.replace("_", "")
    assert saved(lab, "Save PNG", tmp_path / "stage.png").read_bytes().startswith(b"\x89PNG")
    lines = saved(lab, "Download CSV", tmp_path / "history.csv").read_text().splitlines()
    assert lines[1].split(",")[:3] == ["iteration", "visited", "tv"] and len(lines) >= 5
    lab.page.get_by_text("Save a file: film, page, picture or data").locator("visible=true").click()
    lab.page.get_by_label("Kind of file").wait_for()
    with Image.open(made(lab, "gif", tmp_path, frames="5", width="320", height="180")) as image:
        assert (image.n_frames, image.size) == (5, (320, 180))
    page = made(lab, "html", tmp_path).read_text(encoding="utf-8")
    assert f"iteration {iteration}, " in page and 'id="play"' in page
    recipe = pmdviz.Recipe.from_json(made(lab, "json", tmp_path).read_text(encoding="utf-8"))
    assert recipe == pmdviz.Recipe(budget=100 * iteration)  # the run that is seen, and not a step more
    assert lab.iteration() == iteration
