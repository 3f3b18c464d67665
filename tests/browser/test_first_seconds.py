"""A tab's first seconds: a stored film until Play or six seconds, the words above the picture, and the tour."""

import pytest

from tests.browser.conftest import SIZE

PICTURE = "document.getElementById('opening') === null"
FILM = "#film.placed img"


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


def test_a_film_covers_the_pictures_until_play(visit):
    page = visit()
    page.locator(FILM).wait_for()
    assert page.evaluate("document.querySelector('#film img').decode().then(() => true)")
    page.get_by_role("button", name="Play", exact=True).click()
    page.locator(FILM).wait_for(state="detached")
    page.reload()
    page.wait_for_function(PICTURE)
    assert page.locator("#film").count() == 0  # once a tab


def test_the_film_goes_by_itself(visit):
    page = visit()
    page.locator(FILM).wait_for()
    page.locator(FILM).wait_for(state="detached", timeout=30_000)


@pytest.mark.parametrize(("query", "options"), [("", {"reduced_motion": "reduce"}), ("?preset=too_bold", {})])
def test_no_film_for_less_motion_and_for_another_run(visit, query, options):
    assert visit(query, **options).locator("#film").count() == 0


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
