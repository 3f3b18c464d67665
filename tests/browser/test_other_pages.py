"""The pages beside the Lab: Theory with its experiments, Methods, Lessons, and the essay."""

import json
import re

import pytest

from pmdviz.essay.pictures import PICTURES, kept
from pmdviz.experiments.theory import RecurrenceKnobs
from pmdviz.lab.links import experiment_query
from pmdviz.lab.panels.sharing import Choice, asked_of
from pmdviz.lessons.progress import Progress
from pmdviz.lessons.reading import LESSONS
from tests.browser.conftest import SIZE
from tests.support.browser import axe

CHART = "pmdviz.model('picture-chart')"
POINTS = f"{CHART}.renderers.find((r) => r.glyph.type === 'Scatter').data_source.data.x.length"
# Every text that a tab ever has, however short the work is.
TOLD_JS = """(tab) => { window.told = []; new MutationObserver(() => told.push(tab.textContent))
.observe(tab, {childList: true, characterData: true, subtree: true}) }"""


@pytest.mark.nightly
def test_a_sweep_with_progress_on_every_page_until_its_slope_and_another_cancelled(lab):
    page = lab.page
    lab.go("Theory")
    lab.wait(f"Bokeh.index.find_one({CHART})?.bbox.width > 0 && {POINTS} === 120", 60)
    lab.type("seeds", "4")
    page.locator("button[name=theory]").evaluate(TOLD_JS)
    lab.press("Run the experiment")
    lab.go("Lab")
    lab.press("Step")
    lab.reach(1)
    lab.go("Theory")
    page.get_by_text("24 rows measured.").wait_for(timeout=180_000)
    lab.wait("told.at(-1) === 'Theory'")  # no words beside it any more
    assert any(re.fullmatch(r"Theory \(\d+ of 24\)", words) for words in page.evaluate("told"))
    lab.wait(f"{POINTS} === 24")
    found = page.get_by_text("Measured slope").inner_text()
    assert 0 < float(re.search(r"Measured slope −(\d\.\d\d) ", found)[1]) < 1.2
    lab.knob("error").select_option(label="forward KL (nats)")
    lab.wait(f"{CHART}.left[0].axis_label?.startsWith('forward KL')")
    lab.type("seeds", "50")
    lab.press("Run the experiment")
    lab.wait(f"{POINTS} >= 1 && {POINTS} !== 24", 120)
    lab.press("Cancel")
    page.get_by_text("Cancelled; finished measurements stay.").wait_for()
    assert 1 <= page.evaluate(POINTS) < 300


@pytest.mark.nightly
def test_an_experiment_of_a_link_with_live_pictures_cancel_and_a_file(open_lab, tmp_path):
    knobs = RecurrenceKnobs.checked({"runs": 2, "steps": 3})
    lab = open_lab("/" + experiment_query(asked_of(Choice("recurrence", knobs))))
    page = lab.page
    page.get_by_role("button", name="Run the experiment").click(timeout=120_000)
    page.get_by_text("6 rows measured.").wait_for(timeout=120_000)
    page.get_by_role("img", name=re.compile(r"^Chart: KL\(p.*measured")).wait_for()
    with page.expect_download() as saved:
        page.get_by_text("Download CSV").last.click()
    saved.value.save_as(tmp_path / "rows.csv")
    assert saved.value.suggested_filename == "pmdviz-recurrence.csv"
    assert len((tmp_path / "rows.csv").read_text().splitlines()) == 7
    page.get_by_label("Experiment", exact=True).select_option("Error against particles, steps or data")
    lab.wait("location.search === '?page=theory&experiment=convergence'")
    lab.press("Run the experiment")
    page.get_by_role("img", name=re.compile("^Chart: (Measured slope|error of bounded)")).wait_for(timeout=120_000)
    lab.press("Cancel")
    page.get_by_text("Cancelled; finished measurements stay.").wait_for()
    page.wait_for_function("document.getAnimations().length === 0")
    assert axe(page) == []


FIRST = next(iter(LESSONS.values()))
PHONE = {"viewport": {"width": 390, "height": 844}, "is_mobile": True, "has_touch": True, "user_agent": "Mobi"}


def at(lab, name):
    lab.go(name)
    lab.page.locator(f".pmdviz-{name.lower()} button").first.wait_for(timeout=60_000)


def traces(lab, title):
    lab.page.get_by_label("Traces", exact=True).locator("option:checked", has_text=title).wait_for(state="attached")


def test_menus_and_cells_run_a_method_and_show_that_part(open_lab):
    lab = open_lab("/?page=methods")
    page = lab.page
    at(lab, "Methods")
    page.get_by_label("Family", exact=True).focus()
    page.keyboard.type("Ens")
    page.get_by_text("1 of 36 methods.").wait_for()
    page.get_by_role("button", name="Show all").press("Enter")
    page.get_by_text("36 of 36 methods.").wait_for()
    page.get_by_role("button", name="Run Gibbs sampling").press("Enter")
    page.get_by_role("tab", name="Lab", selected=True).wait_for()
    lab.reach(1)
    at(lab, "Methods")
    page.get_by_role("button", name="One-pass sequential Monte Carlo, Resample").click()
    page.get_by_role("tab", name="Lab", selected=True).wait_for()
    lab.wait("pmdviz.words().includes('TV')")
    traces(lab, "ESS and ancestors")
    assert page.get_by_label("Method", exact=True).input_value() == "One-pass sequential Monte Carlo"
    at(lab, "Methods")
    page.get_by_role("button", name="Stein variational gradient descent, Move").click()
    page.locator(".pmdviz-inside-open").wait_for()
    traces(lab, "TV")
    page.get_by_role("button", name="apart").first.wait_for()  # a term of the step


@pytest.mark.nightly
def test_the_list_shows_the_progress_that_the_browser_has_kept_also_on_a_phone(open_lab):
    lab = open_lab("/?page=lessons", **PHONE)
    line = lab.page.locator("li", has_text=FIRST.title).first
    line.get_by_role("button", name="Begin").wait_for(timeout=60_000)
    for name in ("Methods", "Lessons"):
        at(lab, name)
        assert lab.page.evaluate("document.documentElement.scrollWidth") <= 390
        box = lab.page.get_by_role("button", name="More", exact=True).bounding_box()  # it has the pages here
        assert box["x"] >= 0 and box["x"] + box["width"] <= 390 and box["height"] >= 24, name
    begun = Progress.begin(FIRST).to_json()
    for text, says, button in (
        (begun, f"step 1 of {len(FIRST.steps)}", "Continue"),
        (json.dumps(json.loads(begun) | {"done": True}), "✓ done", "Again"),
        ("{", "", "Begin"),
        (json.dumps(json.loads(begun) | {"path": ["no such step"]}), "", "Begin"),
        (json.dumps(json.loads(begun) | {"scores": {FIRST.steps[0].name: 71.4}}), "best score 71", "Continue"),
    ):
        lab.page.evaluate("(text) => localStorage.setItem(...text)", [f"pmdviz-lesson-{FIRST.name}", text])
        lab.page.evaluate("dispatchEvent(new StorageEvent('storage'))")  # as another tab of it would
        line.get_by_role("button", name=button).wait_for()
        assert line.locator(".state").inner_text().endswith(says)


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
