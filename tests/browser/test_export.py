"""A run is taken home from the page: formed, made in the background, cancelled, downloaded."""

import re

import pytest
from PIL import Image

import pmdviz

CARD = "Export: film, page, picture, table"


class Panel:
    """The Export card of a lab's page."""

    def __init__(self, lab):
        self.lab, self.page = lab, lab.page
        self.page.get_by_text(CARD).click()
        self.page.get_by_label("Kind of file").wait_for()

    def kind(self, suffix):
        box = self.page.get_by_label("Kind of file")
        title = next(t for t in box.locator("option").all_inner_texts() if t.startswith(suffix.upper() + ":"))
        box.select_option(title)

    def set(self, name, value):
        """Type a value and wait until the server has taken it."""
        self.lab.type(name, value)
        self.lab.wait(f"pmdviz.find('#knob-{name}').closest('.knob').classList.contains('changed')")

    def begin(self):
        self.page.get_by_role("button", name="Export", exact=True).click()

    def said(self):
        return self.page.locator(".pmdviz-export-status").inner_text()

    def await_words(self, words, seconds=240):
        self.page.locator(".pmdviz-export-status", has_text=words).wait_for(timeout=seconds * 1000)

    def made(self, suffix, tmp_path):
        """Export, download, and the file as the browser keeps it."""
        self.kind(suffix)
        self.begin()
        self.await_words(f"pmdviz.{suffix} is ready.")
        with self.page.expect_download() as coming:
            self.page.get_by_text(re.compile(rf"^Download pmdviz.{suffix} \([0-9.]+ MB\)$")).click()
        path = tmp_path / coming.value.suggested_filename
        coming.value.save_as(path)
        return path


@pytest.fixture
def panel(open_lab):
    lab = open_lab(accept_downloads=True)
    lab.paused_at(8)
    return Panel(lab)


def test_a_film_and_a_page_of_the_run(panel, tmp_path):
    iteration = panel.lab.iteration()
    panel.kind("gif")
    panel.set("frames", "5")
    panel.set("width", "320")
    panel.set("height", "180")
    with Image.open(panel.made("gif", tmp_path)) as image:
        assert (image.n_frames, image.size) == (5, (320, 180))
    page = panel.made("html", tmp_path).read_text(encoding="utf-8")
    assert f"iteration {iteration}, " in page and 'id="play"' in page
    recipe = pmdviz.Recipe.from_json(panel.made("json", tmp_path).read_text(encoding="utf-8"))
    assert recipe == pmdviz.Recipe()
    assert panel.lab.iteration() == iteration


def test_it_plays_on_while_a_film_is_made_and_cancel_ends_it(panel):
    panel.lab.endless()
    panel.lab.press("Play")
    panel.page.get_by_label("Size", exact=True).select_option("1920x1080")
    panel.begin()
    panel.await_words(" frames, ")
    before = panel.lab.iteration()
    panel.lab.reach(before + 3)
    panel.page.get_by_role("button", name="Cancel", exact=True).click()
    panel.await_words("Cancelled: no file was made.")
    panel.lab.press("Pause")
    assert panel.page.get_by_role("button", name="Export", exact=True).is_enabled()


def test_what_cannot_be_made_is_said(panel):
    panel.kind("mp4")
    panel.set("width", "961")
    panel.begin()
    panel.await_words("width and height of an MP4 must be even; given: 961x540")
    panel.lab.type("width", "99")
    panel.page.locator("#knob-width-message", has_text="at least 160 and at most 3,840; given: '99'").wait_for()
    panel.kind("gif")
    panel.lab.type("width", "960")
    panel.set("frames", "900")
    panel.begin()
    panel.await_words("given: 900")
