"""A run is taken home from the page: formed, made in the background, cancelled, downloaded."""

import re

import pytest
from PIL import Image

import pmdviz
from pmdviz.export.options import Look

pytestmark = pytest.mark.ci

CARD = "Save a file: film, page, picture or data"
FORMER_JS = "names => { window.former = names.map((name) => pmdviz.find(`#knob-${name}`)).filter(Boolean) }"


class Panel:
    """The Export card of a lab's page."""

    def __init__(self, lab):
        self.lab, self.page = lab, lab.page
        if lab.page.get_by_role("button", name="Share", exact=True).is_visible():  # a lab's; a race has it beside it
            lab.share()
        self.page.get_by_text(CARD).locator("visible=true").click()
        self.page.get_by_label("Kind of file").wait_for()

    def kind(self, suffix):
        """Choose a kind of file and wait for the form of its options: what is typed into the one before is lost."""
        box = self.page.get_by_label("Kind of file")
        title = next(t for t in box.locator("option").all_inner_texts() if t.startswith(suffix.upper() + ":"))
        if box.evaluate("box => box.selectedOptions[0].innerText") != title:
            self.page.evaluate(FORMER_JS, [*Look.specs()])
            box.select_option(title)
            self.lab.wait("window.former.every((one) => !one.isConnected)", 60)

    def set(self, name, value):
        """Type a value and wait until the server has taken it."""
        self.lab.type(name, value)
        self.lab.wait(f"pmdviz.find('#knob-{name}').closest('.knob').classList.contains('changed')")

    def begin(self):
        self.page.get_by_role("button", name="Export", exact=True).click()

    def await_words(self, words, seconds=240):
        self.page.locator(".pmdviz-export-status", has_text=words).wait_for(timeout=seconds * 1000)

    def made(self, suffix, tmp_path, name="pmdviz"):
        """Export, download, and the file as the browser keeps it."""
        self.kind(suffix)
        self.begin()
        self.await_words(f"{name}.{suffix} is ready.")
        with self.page.expect_download() as coming:
            self.page.get_by_text(re.compile(rf"^Download {name}.{suffix} \([0-9.]+ MB\)$")).click()
        path = tmp_path / coming.value.suggested_filename
        coming.value.save_as(path)
        return path


def test_a_film_a_page_and_a_recipe_of_the_run_and_a_refusal(open_lab, tmp_path):
    lab = open_lab(accept_downloads=True)
    iteration = lab.paused_at(8)
    panel = Panel(lab)
    panel.kind("mp4")
    panel.set("width", "961")
    panel.begin()
    panel.await_words("961x540")
    lab.type("width", "99")
    panel.page.locator("#knob-width-message", has_text="at least 160").wait_for()
    panel.kind("gif")
    assert panel.page.get_by_role("radio", name="Film").is_checked()
    panel.set("frames", "5")
    panel.set("width", "320")
    panel.set("height", "180")
    with Image.open(panel.made("gif", tmp_path)) as image:
        assert (image.n_frames, image.size) == (5, (320, 180))
    page = panel.made("html", tmp_path).read_text(encoding="utf-8")
    assert f"iteration {iteration}, " in page and 'id="play"' in page
    recipe = pmdviz.Recipe.from_json(panel.made("json", tmp_path).read_text(encoding="utf-8"))
    assert recipe == pmdviz.Recipe(budget=100 * iteration)  # the run that is seen, and not a step more
    assert lab.iteration() == iteration
