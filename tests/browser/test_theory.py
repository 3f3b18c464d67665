"""The Theory page as a person uses it: a measurement in the background, its progress everywhere, Cancel, tables."""

import re

import pytest

from pmdviz.experiments.theory import RecurrenceKnobs
from pmdviz.lab.links import experiment_query
from pmdviz.lab.panels.sharing import Choice, asked_of
from tests.browser.conftest import Lab
from tests.support.browser import axe

pytestmark = pytest.mark.ci

POINTS = "pmdviz.model('theory').renderers.find((r) => r.glyph.type === 'Scatter').data_source.data.x.length"
# Every text that a tab ever has, however short the work is.
TOLD_JS = """(tab) => { window.told = []; new MutationObserver(() => told.push(tab.textContent))
.observe(tab, {childList: true, characterData: true, subtree: true}) }"""


def choose(lab: Lab, label: str, option: str) -> None:
    lab.page.locator(".pmdviz-theory-setup").get_by_label(label, exact=True).select_option(option)


@pytest.mark.nightly
def test_a_sweep_with_progress_on_every_page_until_its_slope_and_another_cancelled(lab):
    page = lab.page
    lab.go("Theory")
    lab.wait("Bokeh.index.find_one(pmdviz.model('theory'))?.bbox.width > 0", 60)
    choose(lab, "Runs at each value", "4")
    page.locator("button[name=theory]").evaluate(TOLD_JS)
    lab.press("Measure")
    lab.go("Lab")
    lab.press("Step")
    lab.reach(1)
    lab.go("Theory")
    page.get_by_text("24 runs measured.").wait_for(timeout=180_000)
    lab.wait("told.at(-1) === 'Theory'")  # no words beside it any more
    assert any(re.fullmatch(r"Theory \(\d+ of 24\)", words) for words in page.evaluate("told"))
    lab.wait(f"{POINTS} === 24")
    found = page.get_by_text("Measured slope").inner_text()
    assert -1.2 < float(re.search(r"Measured slope (-?\d\.\d\d) ", found)[1]) < 0
    choose(lab, "Error", "Forward KL (nats)")
    lab.wait("pmdviz.model('theory').left[0].axis_label?.startsWith('forward KL')")
    choose(lab, "Runs at each value", "50")
    lab.press("Measure")
    lab.wait(f"{POINTS} >= 1 && {POINTS} !== 24", 120)
    lab.press("Cancel")
    page.get_by_text("Cancelled; finished measurements stay.").wait_for()
    assert 1 <= page.evaluate(POINTS) < 300
    lab.press("Theorem 2, term by term")
    page.get_by_text("After 15 steps").wait_for(timeout=120_000)
    assert page.get_by_role("table", name="Theorem 2, term by term").locator("tbody tr").count() == 15


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
    page.get_by_role("img", name=re.compile("^Chart: error of bounded functions")).wait_for(timeout=120_000)
    lab.press("Cancel")
    page.get_by_text("Cancelled; finished measurements stay.").wait_for()
    page.wait_for_function("document.getAnimations().length === 0")
    assert axe(page) == []
