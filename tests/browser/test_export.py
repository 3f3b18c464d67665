"""A run is taken home from the page: as Python, a picture, a table, a film, a page and a recipe."""

import re

import pytest
from PIL import Image

import pmdviz
from pmdviz.export.options import Look

pytestmark = pytest.mark.ci

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
