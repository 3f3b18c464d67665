"""The time line in the status panel, and the buttons of a branch; `timeline.js` brings them up to date."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pmdviz.lab.loop.runner import Snapshot
from pmdviz.scenes.past import WHAT_IF, line_end, place_words

BRANCH_BUTTONS = {  # act -> label, what it does
    "what_if": (WHAT_IF, "Go on with other settings from here, beside the run as it was"),
    "keep": ("Keep", "The branch is the run from now on; the other run goes"),
    "swap": ("Swap A/B", "The branch and the other run change places"),
    "drop": ("Drop", "Back to the run that the branch left; the branch goes"),
}


NO_PAST: dict[str, Any] = {"at": 0, "last": 0, "end": 1, "branch": False, "place": place_words(0, 0)}


def past_fields(snapshot: Snapshot) -> dict[str, Any]:
    """The time line: where one stands, how far the run has come, what its right end is."""
    at, last = snapshot.frame.iteration, snapshot.last
    end = line_end(last, snapshot.last_spent, snapshot.recipe.budget)
    return {"at": at, "last": last, "end": end, "branch": snapshot.ghost is not None, "place": place_words(at, last)}


def time_line_html(f: Mapping[str, Any]) -> str:
    """The time line over the bar, and what can be done with a branch."""
    hidden = {act: "" if f["branch"] == (act != "what_if") else " hidden" for act in BRANCH_BUTTONS}
    buttons = "".join(
        f'<button type="button" data-act="{act}" title="{about}"{hidden[act]}>{label}</button>'
        for act, (label, about) in BRANCH_BUTTONS.items()
    )
    return (
        f'<div class="past" role="group" aria-label="Branch">{buttons}</div><div class="time">'
        f'<div class="ran" style="background-size:{100.0 * f["last"] / f["end"]:.2f}% 100%"></div>'
        f'<svg aria-hidden="true"><path d=""></path></svg><input type="range" class="pmdviz-time" min="0" step="1" '
        f'max="{f["end"]}" value="{f["at"]}" aria-label="Iteration" aria-valuetext="{f["place"]}"></div>'
    )
