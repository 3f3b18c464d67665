"""The essay in a browser: sliders move pictures and numbers, it fits a phone, and the lab is one click away."""

import pytest

from pmdviz.essay.pictures import PICTURES, kept
from tests.browser.conftest import SIZE
from tests.support.browser import axe

pytestmark = pytest.mark.ci

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


def seen(page, name):
    figure, pixels = page.locator(f"#picture-{name}"), "each => each.map((one) => one.toDataURL())"
    return figure.locator("figcaption output").all_inner_texts(), figure.locator("canvas").evaluate_all(pixels)


def test_the_arrow_keys_move_pictures_and_numbers(essay):
    for name, picture in PICTURES.items():
        slider, before = essay.locator(f"#{name}"), seen(essay, name)
        told = slider.get_attribute("aria-valuetext")
        slider.press("ArrowLeft" if picture.start else "ArrowRight")
        assert all(one != other for one, other in zip(seen(essay, name), before, strict=True))
        assert slider.get_attribute("aria-valuetext") != told
        slider.press("End")
        row = kept()[name]["rows"][{"bayes": "mean", "step": "gamma"}.get(name, [*kept()[name]["rows"]][0])]
        assert float(essay.locator(f"#picture-{name} .controls output").inner_text().replace("−", "-")) == row[-1]


@pytest.mark.nightly
def test_axe_finds_nothing_and_all_fits_on_desktop_and_phone_in_both_themes(essay):
    papers = []
    for size in (SIZE, {"width": 390, "height": 844}):
        essay.set_viewport_size(size)
        assert essay.evaluate(WIDER) == []
        for theme in ("Dark theme", "Light theme"):
            papers.append(essay.evaluate("getComputedStyle(document.body).backgroundColor"))
            assert axe(essay) == []
            essay.get_by_role("button", name=theme).click()
    essay.set_viewport_size({"width": 340, "height": 640})
    assert essay.evaluate(WIDER) == [] and len({*papers}) == 2 and papers[:2] == papers[2:]
