"""Presenter mode and the theme change how the page looks and nothing that it says."""

from collections.abc import Callable

import pytest

from tests.browser.conftest import Lab
from tests.browser.test_race import ITERATION, to_race

SAID_JS = """(page) => {
  const panel = pmdviz.find(".pmdviz-statusbar", pmdviz.find(page).shadowRoot)
  const words = [...panel.shadowRoot.querySelectorAll(".grid > :not(.bar)")].map((e) => e.textContent)
  const bar = panel.shadowRoot.querySelector(".bar")
  const share = [bar.getAttribute("aria-valuenow"), bar.getAttribute("aria-valuetext"), bar.firstChild.style.width]
  return {words, share, large: panel.classList.contains("pmdviz-large")}
}"""


@pytest.fixture(params=["Lab", "Race"])
def paused(request: pytest.FixtureRequest, lab: Lab) -> tuple[Lab, str]:
    """A page that has played and was paused; and where it is in the document."""
    race = request.param == "Race"
    now = ITERATION if race else "pmdviz.iteration()"
    if race:
        to_race(lab)
    lab.press("Play")
    lab.wait(f"{now} >= 20", 60)
    lab.press("Pause")
    lab.page.get_by_role("button", name="Play", exact=True).wait_for()
    lab.wait("!pmdviz.words().includes('being computed')", 60)  # the floor, which says how far it is
    lab.at_rest(now, 7)
    return lab, ".pmdviz-race" if race else ".pmdviz-lab"


def said(lab: Lab, page: str) -> dict:
    return lab.page.evaluate(SAID_JS, page)


def after(lab: Lab, page: str, change: Callable[[], None], large: bool) -> dict:
    """What the panel says when its letters have become `large` or not, and all has been laid out anew."""
    change()
    lab.wait(f"({SAID_JS})('{page}').large === {str(large).lower()}")
    lab.at_rest(f"({SAID_JS})('{page}')")
    return said(lab, page)


def test_status_and_progress_stay_in_presenter_mode_and_in_the_other_theme(paused):
    lab, page = paused
    before = said(lab, page)
    assert "iteration" in before["words"][0] and float(before["share"][2].rstrip("%")) > 0
    presented = after(lab, page, lambda: lab.page.keyboard.press("P"), True)
    assert presented == {**before, "large": True}
    assert after(lab, page, lambda: lab.page.keyboard.press("P"), False) == before
    dark = after(lab, page, lambda: lab.page.get_by_label("Toggle theme").click(), False)
    assert dark == before
    assert after(lab, page, lambda: lab.page.keyboard.press("P"), True) == presented
    assert after(lab, page, lambda: lab.page.keyboard.press("P"), False) == before
