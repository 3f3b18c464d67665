"""A tab's first seconds: Play moves at once on a cold machine too; the words above the picture, and the tour."""

import sys

import pytest

from tests.browser.conftest import SIZE, Lab, look_alike, running, stage_pixels

PICTURE = "document.getElementById('opening') === null"


@pytest.fixture
def visit(server, browser):
    """Opens the page as a newcomer's browser does, with nothing remembered."""
    made = []

    def visited(query="", **options):
        made.append(browser.new_context(viewport=SIZE, **options))
        page = made[-1].new_page()
        page.goto(server.url + "/" + query)
        page.wait_for_function(PICTURE, timeout=120_000)
        return page

    yield visited
    for context in made:
        context.close()


@pytest.mark.ci
def test_play_moves_while_no_kernel_is_compiled(browser, tmp_path, monkeypatch):
    """The cache of kernels is empty: recorded frames are drawn until other processes have compiled the kernels."""
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(tmp_path / "kernels"))
    with running([sys.executable, "-m", "pmdviz", "serve"], tmp_path / "log") as server:
        lab = Lab(browser, server.url)
        assert "iteration 0, 0 of 20,000" in lab.words() and "Live in" not in lab.words()
        start = stage_pixels(lab.page)
        lab.press("Play")
        lab.wait("pmdviz.iteration() >= 4", 120)
        lab.wait("!pmdviz.model('acknowledge').recorded", 300)  # the live run has taken over
        at = lab.iteration()
        lab.wait(f"pmdviz.iteration() > {at} || pmdviz.iteration() === 200", 60)
        assert not look_alike(start, stage_pixels(lab.page)) and lab.problems == []
        lab.context.close()


def test_the_words_above_the_picture_what_is_this_and_the_tour(visit):
    page = visit(reduced_motion="reduce")
    page.get_by_role("heading", name="Particle Mirror Descent Two explanations fit the data equally well.").wait_for()
    page.get_by_text("1,500 particles start where we know nothing (prior)").wait_for()
    page.get_by_role("button", name="What is this?").click()
    said = page.get_by_role("dialog", name="What is this?")
    assert said.locator("p").count() == 7 and "Dai, He, Dai, Song 2016" in said.inner_text()
    page.keyboard.press("Escape")
    said.wait_for(state="detached")
    page.get_by_role("button", name="Tour", exact=True).click()
    for step in range(1, 5):
        page.get_by_role("dialog", name="Tour").get_by_text(f"{step} of 4:").wait_for()
        page.keyboard.press("Enter")
    page.get_by_role("dialog", name="Tour").wait_for(state="detached")
