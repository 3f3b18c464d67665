"""The essay in a browser: sliders move pictures and numbers, it fits a phone, and the lab is one click away."""

import pytest

from pmdviz.essay.pictures import PICTURES, kept
from tests.browser.conftest import SIZE, axe

pytestmark = pytest.mark.ci

PHONE, SMALL_PHONE = {"width": 390, "height": 844}, {"width": 340, "height": 640}
WIDER = """() => [...document.querySelectorAll("math > *, figure *, main > *")].filter((one) =>
  one.getBoundingClientRect().right > innerWidth + 1).map((one) => one.outerHTML)"""


@pytest.fixture
def essay(server, browser):
    """The page, and nothing that it asks of another server than ours or says in the browser's log."""
    context = browser.new_context(viewport=SIZE)
    page, problems = context.new_page(), []
    page.on("console", lambda said: problems.append(said.text))
    page.on("pageerror", lambda error: problems.append(str(error)))
    page.on("request", lambda asked: problems.append(asked.url) if not asked.url.startswith(server.url) else None)
    page.goto(f"{server.url}/essay")
    yield page
    context.close()
    assert problems == []


def numbers(page, name):
    return page.locator(f"#picture-{name} figcaption output").all_inner_texts()


def pictures(page, name):
    return page.locator(f"#picture-{name} canvas").evaluate_all("each => each.map((one) => one.toDataURL())")


def test_the_arrow_keys_move_pictures_and_numbers(essay):
    for name, picture in PICTURES.items():
        slider, seen = essay.locator(f"#{name}"), (numbers(essay, name), pictures(essay, name))
        told = slider.get_attribute("aria-valuetext")
        slider.press("ArrowLeft" if picture.start else "ArrowRight")
        assert numbers(essay, name) != seen[0] and pictures(essay, name) != seen[1]
        assert slider.get_attribute("aria-valuetext") != told
        slider.press("End")
        row = kept()[name]["rows"][{"bayes": "mean", "step": "gamma"}.get(name, [*kept()[name]["rows"]][0])]
        assert float(essay.locator(f"#picture-{name} .controls output").inner_text().replace("−", "-")) == row[-1]


@pytest.mark.nightly
def test_axe_finds_nothing_and_all_fits_on_desktop_and_phone_in_both_themes(essay):
    papers = []
    for size in (SIZE, PHONE):
        essay.set_viewport_size(size)
        assert essay.evaluate(WIDER) == []
        for theme in ("Dark theme", "Light theme"):
            papers.append(essay.evaluate("getComputedStyle(document.body).backgroundColor"))
            assert axe(essay) == []
            essay.get_by_role("button", name=theme).click()
    essay.set_viewport_size(SMALL_PHONE)
    assert essay.evaluate(WIDER) == []
    assert len({*papers}) == 2 and papers[:2] == papers[2:]


@pytest.mark.nightly
def test_the_lab_links_the_essay_and_a_picture_opens_the_lab(open_lab):
    lab = open_lab()
    with lab.page.expect_popup() as opened:
        lab.page.get_by_role("button", name="More", exact=True).click()
        lab.page.get_by_role("link", name="Essay").click()
    essay = opened.value
    essay.get_by_role("heading", level=1, name="Inference as descent").wait_for()
    framed = essay.frame_locator("#picture-width iframe")
    essay.locator("#picture-width").get_by_role("button", name="Play it here").click()
    framed.get_by_role("button", name="Play", exact=True).wait_for(timeout=60_000)
    assert not framed.locator("input#knob-bandwidth").is_visible(), "neither bar nor drawer"
    with essay.expect_popup() as turned:
        essay.locator("#picture-width").get_by_role("link", name="Turn it yourself").click()
    turned.value.locator("input#slider-bandwidth").wait_for(timeout=60_000)
    turned.value.wait_for_function("document.querySelector('title') && window.Bokeh?.documents.length")
    assert turned.value.locator("input#knob-num_particles").input_value() == "200"
