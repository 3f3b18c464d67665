"""A run is taken home from the page: formed, made in the background, cancelled, downloaded."""

import io
import re

import numpy as np
import pytest
from PIL import Image

import pmdviz
from pmdviz.export.options import Look
from pmdviz.scenes.tiling import Tiling
from tests.browser.test_race import ALL_BACK, ITERATION, WORDS, to_race
from tests.support.likeness import similarity

CARD = "Export: film, page, picture, table"
FORMER_JS = "names => { window.former = names.map((name) => pmdviz.find(`#knob-${name}`)).filter(Boolean) }"


class Panel:
    """The Export card of a lab's page."""

    def __init__(self, lab):
        self.lab, self.page = lab, lab.page
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

    def said(self):
        return self.page.locator(".pmdviz-export-status").inner_text()

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
    assert recipe == pmdviz.Recipe(budget=100 * iteration)  # the run that is seen, and not a step more
    assert panel.lab.iteration() == iteration


def test_it_plays_on_while_a_film_is_made_and_cancel_ends_it(panel):
    panel.lab.endless()
    panel.lab.press("Play")
    panel.lab.reach(80)  # a film of so many frames is still being made when somebody presses Cancel
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


UNIT = 190.77  # px, a tile in a film of 960 x 540 with six entrants
SIZE = "(() => { const {inner_width: width, x_range: x} = pmdviz.model('race'); return [width, x.end - x.start] })()"


def with_tiles_of_the_films_size(lab):
    """Make the page so wide that its tiles are as wide as the film's; how many stand in a row."""
    for _ in range(20):
        lab.at_rest(SIZE, 3)
        width, tiles = lab.page.evaluate(SIZE)
        if abs(width / tiles - UNIT) < 0.5:
            return round(tiles)
        now = lab.page.viewport_size["width"]
        lab.page.set_viewport_size({"width": now + round(tiles * UNIT - width), "height": 900})
        lab.page.wait_for_timeout(100)
    raise AssertionError(f"the tiles do not become {UNIT} px wide: {width / tiles}")


def tiles_of(picture, columns):
    """The insides of the six tiles, without the notes at their feet; the first frame's edge says where they begin."""
    tiling, first = Tiling(6, columns), np.flatnonzero((picture[:, 4:180] < 160).all(axis=(1, 2)))[0]
    for k in range(6):
        x, y = tiling.corner(k)
        row, column = round(first - y * UNIT), round((x + 0.01) * UNIT)
        yield picture[row + 4 : row + 140, column + 4 : column + 186]


def likeness(page, film):
    """Similarity at the best of the shifts by a pixel: the page rounds where a tile begins."""
    shifts = [(slice(i, i + 134), slice(j, j + 180)) for i in range(3) for j in range(3)]
    return max(similarity(page[1:-1, 1:-1], film[shift]) for shift in shifts)


def test_a_race_as_it_stands(open_lab, tmp_path):
    lab = to_race(open_lab(accept_downloads=True, viewport={"width": 1063, "height": 900}))
    columns = with_tiles_of_the_films_size(lab)
    lab.press("Step")
    lab.wait(f"{ITERATION} > 3", 30)
    lab.at_rest(ITERATION, ALL_BACK)
    shot = lab.page.locator(".pmdviz-race-tiles").screenshot()
    page = [*tiles_of(np.asarray(Image.open(io.BytesIO(shot)).convert("RGB")), columns)]
    panel = Panel(lab)
    film = [*tiles_of(np.asarray(Image.open(panel.made("png", tmp_path, "pmdviz-race")).convert("RGB")), 3)]
    alike = [likeness(one, two) for one, two in zip(page, film, strict=True)]
    assert np.mean(alike) >= 0.9 and min(alike) >= 0.8, alike
    assert max(likeness(page[0], film[3]), likeness(page[3], film[0])) < 0.7
    recipe = pmdviz.RaceRecipe.from_json(panel.made("json", tmp_path, "pmdviz-race").read_text(encoding="utf-8"))
    assert [one.label for one in recipe.entrants][:2] == ["pmd", "pmd:warm_start=true"]
    seen = re.search(r"([\d,]+)(?: to [\d,]+)? of 20,000 data visited", lab.page.evaluate(WORDS))[1]
    assert recipe.budget == int(seen.replace(",", ""))
