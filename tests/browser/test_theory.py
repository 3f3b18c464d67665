"""The Theory page as a person uses it: a measurement in the background, its progress everywhere, Cancel, tables."""

import re

from tests.browser.conftest import Lab

POINTS = "pmdviz.model('theory').renderers.find((r) => r.glyph.type === 'Scatter').data_source.data.x.length"

# Everything that ever stands on a tab, however short the work is.
TOLD_JS = """(tab) => { window.told = []; new MutationObserver(() => told.push(tab.textContent))
  .observe(tab, {childList: true, characterData: true, subtree: true}) }"""


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
