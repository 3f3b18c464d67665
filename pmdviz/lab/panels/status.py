"""The state of a run in words, and its time line."""

from __future__ import annotations

import html
from collections.abc import Mapping
from typing import Any

from pmdviz.lab.loop.limits import heaviest, label_of, step_seconds
from pmdviz.lab.loop.runner import Snapshot
from pmdviz.scenes.trace_columns import WHAT_IF, line_end, place_words
from pmdviz.scenes.words import (
    INDEPENDENT_DRAWS,
    UNKNOWN,
    below_words,
    count,
    duration,
    headline,
    marked,
    observations_used,
    state,
)

# The time line in the status panel, and the buttons of a branch; `timeline` in frames.js brings them up to date.

BRANCH_BUTTONS = {  # act -> label, what it does
    "what_if": (WHAT_IF, "Go on with other settings from here; the run as it was stays as a ghost"),
    "keep": ("Keep", "The branch is the run from now on; the other run goes"),
    "swap": ("Swap A/B", "The branch and the other run change places"),
    "drop": ("Drop", "Back to the run that the branch left; the branch goes"),
}


PLACE = "iteration"  # what the time line counts; of a race rounds
NO_PAST: dict[str, Any] = {"counts": PLACE, "at": 0, "last": 0, "end": 1, "branch": False, "place": place_words(0, 0)}


def past_fields(snapshot: Snapshot) -> dict[str, Any]:
    """The time line: where one stands, how far the run has come, what its right end is."""
    at, last = snapshot.frame.iteration, snapshot.last
    end = line_end(last, snapshot.last_spent, snapshot.recipe.budget)
    branch, place = snapshot.ghost is not None, place_words(at, last)
    return {"counts": PLACE, "at": at, "last": last, "end": end, "branch": branch, "place": place}


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
        f'max="{f["end"]}" value="{f["at"]}" aria-label="{f["counts"].capitalize()}" '
        f'aria-valuetext="{f["place"]}"></div>'
    )


START = "Press Play. {}"
FORETELL_S = 1.0


def step_words(snapshot: Snapshot) -> str:
    """What the last step did, or what to do first."""
    info = snapshot.frame.info
    return (
        f"Step {count(snapshot.frame.iteration)}: {info.words}"
        if info
        else START.format(snapshot.frame.method.what_moves)
    )


def result_words(snapshot: Snapshot, unknown: str = UNKNOWN) -> str:
    """The result once the run is over: "Done: 20,000 observations used. TV 0.086; independent draws: 0.088"."""
    frame, why = snapshot.frame, f" ({snapshot.ended})" if snapshot.ended else ""
    counted = "observations used" if frame.budget_unit == "data" else "evaluations made"
    over = f"Done: {count(frame.spent)} {counted}{why}."
    found = headline(frame, f"; {INDEPENDENT_DRAWS}: ", unknown)
    return (
        f"{over} {found[0]}"
        if found
        else f"{over} TV needs an exact posterior; see KSD, k-hat, R-hat or importance shift under Traces"
    )


def passes_words(snapshot: Snapshot) -> str:
    """How often the data have been gone through: "12.0 passes over 1,000 observations"."""
    frame = snapshot.frame
    if frame.target.data is None:
        return f"{count(frame.iteration)} iterations; the target has no data"
    return f"{frame.visited / frame.num_data:.1f} passes over {count(frame.num_data)} observations"


def slow_words(snapshot: Snapshot) -> str:
    """Predict a slow step: from the last one measured, or from the work that the knobs declare."""
    seconds = step_seconds(snapshot.frame.knobs, snapshot.frame.target)
    if seconds < FORETELL_S and snapshot.step_seconds < FORETELL_S:
        return ""
    longest = duration(max(seconds, snapshot.step_seconds))
    knobs = snapshot.frame.knobs
    name, value = heaviest(knobs, snapshot.frame.target)
    return f"{label_of(knobs, name)} = {count(value)}: expect up to {longest} per step"


def status_fields(snapshot: Snapshot, extra: str = "", playing: bool = False, unknown: str = UNKNOWN) -> dict[str, Any]:
    """What the status panel says: budget bar, state, what the step did, and one line for all else.

    `unknown` is shown for a floor that is not known.
    """
    below = "" if playing else below_words(snapshot.frame)
    more = [words for words in (extra, below, slow_words(snapshot)) if words]
    if snapshot.pending:
        specs = snapshot.frame.knobs.specs()
        more.insert(0, "; ".join(f"{specs[name].label}: {words}" for name, words in snapshot.pending.items()))
    if snapshot.done:
        more.insert(0, result_words(snapshot, unknown))
    if snapshot.ghost:
        more.insert(0, snapshot.ghost.words)
    budget, spent = snapshot.recipe.budget, snapshot.frame.spent
    return {
        "share": 100.0 * min(1.0, spent / budget) if budget else 0.0,
        "of": observations_used(snapshot.frame) if budget else "no budget: endless",
        "pmdviz-status": state(snapshot.frame, unknown),
        "passes": passes_words(snapshot),
        "step": step_words(snapshot),
        "more": " · ".join(more),
        "live": "off" if playing else "polite",
        **past_fields(snapshot),
    }


def waiting_fields(words: str, share: float | None = None) -> dict[str, Any]:
    """The status panel before the first frame: a progress line."""
    return {"share": 100.0 * (share or 0.0), "of": words, "pmdviz-status": words, "live": "polite"} | EMPTY


EMPTY = {"passes": "", "step": "", "more": ""}


def fields_html(fields: Mapping[str, Any]) -> str:
    """The status panel as HTML."""
    f = {name: html.escape(value) if isinstance(value, str) else value for name, value in fields.items()}
    if f["live"] != "off":
        f |= {name: marked(f[name]) for name in ("pmdviz-status", "step", "more")}
    timed = "last" in f
    filled = 100.0 * f["at"] / f["end"] if timed else f["share"]
    return (
        f'<div class="grid{" timed" if timed else ""}">'
        f'<div class="bar" role="progressbar" aria-label="Budget of data" aria-valuemin="0" '
        f'aria-valuemax="100" aria-valuenow="{f["share"]:.0f}" aria-valuetext="{f["of"]}">'
        f'<div class="fill" style="width:{filled:.2f}%"></div></div>'
        f'<div class="pmdviz-status" role="status" aria-live="{f["live"]}">{f["pmdviz-status"]}</div>'
        f'<div class="passes">{f["passes"]}</div><div class="step">{f["step"]}</div>'
        f'<div class="more">{f["more"]}</div>{time_line_html(f) if timed else ""}</div>'
    )
