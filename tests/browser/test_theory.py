"""The Theory page as a person uses it: a measurement in the background, its progress everywhere, Cancel, tables."""

import re

from pmdviz.experiments.link import pack
from pmdviz.experiments.theory.recurrence import RecurrenceKnobs
from pmdviz.lab.links import Asked, experiment_query
from tests.browser.conftest import Lab
from tests.browser.test_accessible import AXE, FOUND

POINTS = "pmdviz.model('theory').renderers.find((r) => r.glyph.type === 'Scatter').data_source.data.x.length"

# Everything that ever stands on a tab, however short the work is.
TOLD_JS = """(tab) => { window.told = []; new MutationObserver(() => told.push(tab.textContent))
  .observe(tab, {childList: true, characterData: true, subtree: true}) }"""
# The browser keeps the model of a figure that has gone for a while.
DARK = """Bokeh.documents.flatMap((doc) => [...doc._all_models.values()])
  .some((m) => m.name === "picture-chart" && m.background_fill_color !== "#ffffff")"""


def opened(lab: Lab) -> Lab:
    lab.page.get_by_role("tab", name="Theory").click()
    lab.page.locator(".pmdviz-theory-status").first.wait_for()
    lab.wait("pmdviz.model('theory')?.inner_width > 0")
    return lab


def said(lab: Lab) -> str:
    return lab.page.locator(".pmdviz-theory-status").first.inner_text()


def choose(lab: Lab, label: str, option: str) -> None:
    lab.page.locator(".pmdviz-theory-setup").get_by_label(label, exact=True).select_option(option)


def test_a_sweep_with_progress_on_every_page_until_its_slope(lab):
    opened(lab)
    assert said(lab) == "Nothing has been measured yet."
    choose(lab, "Runs at each value", "4")
    lab.page.get_by_role("tab", name="Theory").evaluate(TOLD_JS)
    lab.press("Measure")
    lab.page.get_by_role("tab", name="Lab").click()
    lab.press("Step")
    lab.reach(1)
    lab.page.get_by_role("tab", name=re.compile("Theory")).click()
    lab.page.get_by_text("24 runs measured.").wait_for(timeout=180_000)
    lab.wait("told.at(-1) === 'Theory'")  # no words beside it any more
    told = lab.page.evaluate("told")
    assert any(re.fullmatch(r"Theory \(\d+ of 24\)", words) for words in told), told
    lab.wait(f"{POINTS} === 24")
    found = lab.page.get_by_text("Measured slope").inner_text()
    slope = float(re.search(r"Measured slope (-?\d\.\d\d) ± \d\.\d\d \(all 24 points\)", found)[1])
    assert -1.2 < slope < 0 and "Theorem 5: slope -0.50" in found
    choose(lab, "Error", "Forward KL (nats)")
    lab.wait("pmdviz.model('theory').left[0].axis_label.startsWith('forward KL')")


def test_cancel_ends_it_and_keeps_what_was_measured(lab):
    opened(lab)
    choose(lab, "Runs at each value", "50")
    lab.press("Measure")
    lab.wait(f"{POINTS} >= 1", 120)
    lab.press("Cancel")
    lab.page.get_by_text("Cancelled; what was measured stays.").wait_for()
    assert 1 <= lab.page.evaluate(POINTS) < 300
    assert not lab.page.get_by_role("button", name="Measure", exact=True).is_disabled()


def test_theorem_2_term_by_term(lab):
    opened(lab)
    lab.press("Theorem 2, term by term")
    lab.page.get_by_text("After 15 steps").wait_for(timeout=120_000)
    table = lab.page.get_by_role("table", name="Theorem 2, term by term")
    assert table.locator("tbody tr").count() == 15
    lab.wait("pmdviz.model('recurrence')?.inner_width > 0")
    table = lab.page.get_by_role("table", name="Table 1 of the paper")
    assert "not measured yet" in table.inner_text() and "Ω(d m² N + d² N)" in table.inner_text()


def test_on_a_phone_nothing_is_wider_than_the_screen(open_lab):
    lab = open_lab(viewport={"width": 390, "height": 844}, has_touch=True, is_mobile=True,
                   user_agent="Mozilla/5.0 (Linux; Android 14) Mobile")  # fmt: skip
    opened(lab)
    assert lab.page.evaluate("document.documentElement.scrollWidth") <= 390
    box = lab.page.get_by_role("button", name="Measure", exact=True).bounding_box()
    assert box["height"] >= 32 and box["x"] >= 0
    assert lab.page.evaluate("pmdviz.model('theory').inner_width") > 200
    lab.page.get_by_role("tab", name="Geometry").tap()
    lab.wait("pmdviz.model('geometry-triangle')?.inner_width > 250")
    assert lab.page.evaluate("document.documentElement.scrollWidth") <= 390
    for one in (lab.page.get_by_label("Toggle theme"), lab.page.get_by_role("button", name="Play", exact=True)):
        box = one.bounding_box()
        assert box["x"] >= 0 and box["x"] + box["width"] <= 391 and box["y"] + box["height"] <= 844


def test_an_experiment_of_a_link_with_live_pictures_cancel_a_file_and_the_dark_theme(server, browser, tmp_path):
    knobs = RecurrenceKnobs.checked({"runs": 2, "steps": 3})
    lab = Lab(browser, server.url + "/" + experiment_query(Asked("recurrence", pack(knobs))))
    page = lab.page
    page.get_by_role("button", name="Run the experiment").wait_for(timeout=120_000)
    heading = page.get_by_role("heading", name="Every experiment")
    page.wait_for_function("(h) => h.getBoundingClientRect().top < innerHeight / 2", arg=heading.element_handle())
    assert page.get_by_label("Experiment", exact=True).input_value() == "Theorem 2, term by term"
    lab.press("Run the experiment")
    page.get_by_text("6 rows measured.").wait_for(timeout=120_000)
    page.get_by_role("img", name=re.compile("^Chart: KL.*measured")).wait_for()
    assert page.get_by_role("table", name="What comes out").locator("tbody tr").count() == 3
    with page.expect_download() as saved:
        page.get_by_text("Download CSV").last.click()
    saved.value.save_as(tmp_path / "rows.csv")
    assert saved.value.suggested_filename == "pmdviz-recurrence.csv"
    assert len((tmp_path / "rows.csv").read_text().splitlines()) == 7
    page.get_by_label("Experiment", exact=True).select_option("Error against particles, steps or data")
    lab.wait("location.search === '?page=theory&experiment=convergence'")
    lab.press("Run the experiment")
    page.get_by_role("img", name=re.compile("^Chart: error of bounded functions")).wait_for(timeout=120_000)
    lab.press("Cancel")
    page.get_by_text("Cancelled; what was measured stays.").wait_for()
    page.get_by_label("Toggle theme").click()
    page.wait_for_function(DARK)
    page.mouse.move(700, 400)
    page.wait_for_function("document.getAnimations().length === 0")
    page.evaluate(AXE.read_text(encoding="utf-8"))
    assert page.evaluate(FOUND) == [] and lab.problems == []
    lab.context.close()
