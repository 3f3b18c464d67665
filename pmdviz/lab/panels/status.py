"""The state of a run in words, its time line, and one sentence on its result or on the effect of a change."""

from __future__ import annotations

import html
from collections.abc import Callable
from typing import Any, NamedTuple

import panel as pn

from pmdviz.knobs import KnobSpec, Value
from pmdviz.lab import css
from pmdviz.lab.loop.limits import heaviest, label_of, step_seconds
from pmdviz.lab.loop.runner import Snapshot
from pmdviz.lab.panels.setup import DiagnosisPanel
from pmdviz.lab.panels.widgets import WIDE, Turn, small_button, text, update
from pmdviz.scenes import words as wording
from pmdviz.scenes.trace_columns import WHAT_IF, line_end
from pmdviz.scenes.words import INDEPENDENT_DRAWS, count, number, whole_sentence
from pmdviz.targets import Target

# The status panel with its time line and the buttons of a branch; `words` and `timeline` in frames.js fill it.

BRANCH_BUTTONS = {  # act -> label, what it does
    "what_if": (WHAT_IF, "Go on with other settings from here; the run as it was stays as a ghost"),
    "keep": ("Keep", "The branch is the run from now on; the other run goes"),
    "swap": ("Swap A/B", "The branch and the other run change places"),
    "drop": ("Drop", "Back to the run that the branch left; the branch goes"),
}


Fields = dict[str, Value]


def past_fields(at: int, last: int, end: int, counts: str = "iteration", branch: bool = False) -> Fields:
    """The time line: where one stands, how far the run has come, its right end, and what it counts."""
    place = f"{counts} {count(at)} of {count(last)}"
    return {"counts": counts, "at": at, "last": last, "end": max(1, end), "branch": branch, "place": place}


def status_html(words: str) -> str:
    """The status panel before its first fields, which the script writes into it."""
    buttons = "".join(
        f'<button type="button" data-act="{act}" title="{about}" hidden>{label}</button>'
        for act, (label, about) in BRANCH_BUTTONS.items()
    )
    return (
        f'<div class="grid timed"><div class="bar" role="progressbar" aria-label="Budget of data" aria-valuemin="0" '
        f'aria-valuemax="100" aria-valuenow="0" aria-valuetext="{words}"><div class="fill" style="width:0"></div></div>'
        f'<div class="time"><div class="ran" style="background-size:0 100%"></div><svg aria-hidden="true"><path d="">'
        f'</path></svg><input type="range" class="pmdviz-time" min="0" step="1" max="1" value="0" '
        f'aria-label="Iteration"></div><div class="pmdviz-status" role="status" aria-live="off">{words}</div>'
        f'<div class="passes"></div><div class="step"></div><div class="more"></div>'
        f'<div class="past" role="group" aria-label="Branch">{buttons}</div></div>'
    )


START = "Press Play. {}"
FORETELL_S = 1.0


def step_words(snapshot: Snapshot) -> str:
    """What the last step did, or what to do first."""
    frame = snapshot.frame
    return f"Step {count(frame.iteration)}: {frame.info.words}" if frame.info else START.format(frame.method.what_moves)


def result_words(snapshot: Snapshot, unknown: str = wording.UNKNOWN) -> str:
    """The result once the run is over: "Done: 20,000 observations used. TV 0.086; independent draws: 0.088"."""
    frame, why = snapshot.frame, f" ({snapshot.ended})" if snapshot.ended else ""
    counted = "observations used" if frame.budget_unit == "data" else "evaluations made"
    found = wording.headline(frame, f"; {INDEPENDENT_DRAWS}: ", unknown)
    no_tv = "TV needs an exact posterior; see KSD, k-hat, R-hat or importance shift under Traces"
    return f"Done: {count(frame.spent)} {counted}{why}. {found[0] if found else no_tv}"


def passes_words(visited: int, target: Target) -> str:
    """How often the data have been gone through: "12.0 passes over 1,000 observations"; "" without data."""
    if target.data is None:
        return ""
    return f"{visited / target.num_data:.1f} passes over {count(target.num_data)} observations"


def slow_words(snapshot: Snapshot) -> str:
    """Predict a slow step: from the last one measured, or from the work that the knobs declare."""
    knobs, target = snapshot.frame.knobs, snapshot.frame.target
    longest = max(step_seconds(knobs, target), snapshot.step_seconds)
    if longest < FORETELL_S:
        return ""
    name, value = heaviest(knobs, target)
    return f"{label_of(knobs, name)} = {count(value)}: expect up to {wording.duration(longest)} per step"


def more_words(snapshot: Snapshot, extra: str = "", playing: bool = False, unknown: str = wording.UNKNOWN) -> str:
    """The line of the status panel for all but the state and the step."""
    below = "" if playing else wording.below_words(snapshot.frame)
    more = [words for words in (extra, below, slow_words(snapshot)) if words]
    if snapshot.pending:
        specs = snapshot.frame.knobs.specs()
        more.insert(0, "; ".join(f"{specs[name].label}: {words}" for name, words in snapshot.pending.items()))
    if snapshot.done:
        more.insert(0, result_words(snapshot, unknown))
    if snapshot.ghost:
        more.insert(0, snapshot.ghost.words)
    return " · ".join(more)


def status_fields(snapshot: Snapshot, extra: str = "", playing: bool = False, unknown: str = wording.UNKNOWN) -> Fields:
    """What the status panel says: budget bar, state, what the step did, and one line for all else.

    `unknown` is shown for a floor that is not known.
    """
    budget, spent, frame = snapshot.recipe.budget, snapshot.frame.spent, snapshot.frame
    end = line_end(snapshot.last, snapshot.last_spent, budget)
    no_data = f"{count(frame.iteration)} iterations; the target has no data"
    return {
        "share": 100.0 * min(1.0, spent / budget) if budget else 0.0,
        "of": wording.observations_used(snapshot.frame) if budget else "no budget: endless",
        "pmdviz-status": wording.state(snapshot.frame, unknown),
        "passes": passes_words(frame.visited, frame.target) or no_data,
        "step": step_words(snapshot),
        "more": more_words(snapshot, extra, playing, unknown),
        "live": "off" if playing else "polite",
        **past_fields(frame.iteration, snapshot.last, end, branch=snapshot.ghost is not None),
    }


def waiting_fields(words: str) -> Fields:
    """The status panel before the first frame: a line of words."""
    empty: Fields = {**past_fields(0, 0, 1), **dict.fromkeys(("passes", "step", "more"), "")}
    return {**empty, "share": 0.0, "of": words, "pmdviz-status": words, "live": "polite"}


# The verdict: one sentence on the result of a run, or on the effect of a change, with Undo and Why.

WITHIN, TWICE, LEAST = 20, 2.0, 0.05  # iterations after a change; the factor, and the least rise of TV, that count
CLOSE = 1.25  # times the TV of independent draws: as good as they are
LOWER_HIGHER = {  # what a setting does to the approximation when it is lowered and when it is raised
    "bandwidth": ("every particle became a spike", "the kernels are wider than the posterior"),
    "num_particles": ("too few particles are left to cover the posterior", ""),
    **dict.fromkeys(("eta", "step_size"), ("the particles barely move", "each batch has too much to say")),
}
SLOWER = 3.0  # a step that takes so many times as long is reported
STILL = 0.1  # at most this share of TV changes in WITHIN iterations of a run that barely moves
RENEWED = {  # what another number of particles does at the next step, where they are fewer and where they are more
    "copies": ("a random subset stays", "copies join them"),
    "rejuvenation": ("new ones are drawn from the approximation",) * 2,
    "resampling": ("they are resampled",) * 2,
}


class Change(NamedTuple):
    """A setting that was changed while the run was there, and the distance before."""

    name: str
    old: Any
    new: Any
    iteration: int
    tv: float
    seconds: float  # of a step


def changed_setting(before: Snapshot, now: Snapshot) -> Change | None:
    """The one setting that differs within a run; None for none, or for several."""
    old, new = before.frame.knobs, now.frame.knobs
    tv = before.frame.metric("tv")
    if type(old) is not type(new) or before.frame.target is not now.frame.target or tv is None:
        return None
    values, differ = old.as_dict(), [n for n, value in new.as_dict().items() if value != old.as_dict()[n]]
    if len(differ) != 1:
        return None
    (name,) = differ
    return Change(name, values[name], new.as_dict()[name], before.frame.iteration, tv, before.step_seconds)


def fall_words(change: Change, now: Snapshot) -> str:
    """What a change did: "Bandwidth h 0.02: every particle became a spike. TV 0.08 → 0.86"; "" for nothing bad."""
    tv, since = now.frame.metric("tv"), now.frame.iteration - change.iteration
    if not 0 <= since <= WITHIN or not (_fallen(change, tv) or (tv is not None and _still(change, tv, since, now))):
        return ""
    knob = now.frame.knobs.specs()[change.name]
    why = LOWER_HIGHER.get(change.name, ("", ""))[change.new > change.old] if _numeric(change) else ""
    reached = "unknown: too few for a density" if tv is None else number(tv)
    return f"{_value(knob, change, change.new)}{f': {why}' if why else ''}. TV {number(change.tv)} → {reached}."


def _fallen(change: Change, tv: float | None) -> bool:
    """Whether the distance has doubled or the overlap halved, or too few particles are left for a distance."""
    if tv is None:
        return change.name == "num_particles" and change.new < change.old
    doubled, halved = tv >= TWICE * change.tv, 1 - tv <= (1 - change.tv) / TWICE
    return (doubled or halved) and tv - change.tv >= LEAST


def _still(change: Change, tv: float, since: int, now: Snapshot) -> bool:
    """Whether a smaller step size keeps the run where it is."""
    if change.name not in ("eta", "step_size") or change.new > change.old or since < WITHIN:
        return False
    size = now.frame.info.step_size if now.frame.info else None
    return size is not None and size < STILL**2 and abs(tv - change.tv) < STILL * change.tv


def changed_words(change: Change, now: Snapshot) -> str:
    """The last change: "Particles m 1,500 → 300: a random subset stays."; "" once it is long ago."""
    if now.frame.iteration - change.iteration > WITHIN:
        return ""
    knob = now.frame.knobs.specs()[change.name]
    how = RENEWED[knob.acts][change.new > change.old] if knob.acts in RENEWED else ""
    old, new = (_value(knob, change, value) for value in (change.old, change.new))
    slower = now.step_seconds / change.seconds if change.seconds and now.frame.iteration > change.iteration else 0.0
    longer = f"; a step takes {slower:.0f} times as long" if slower > SLOWER else ""
    return f"{old} → {new.removeprefix(knob.label).strip()}{how and f': {how}'}{longer}"


def _numeric(change: Change) -> bool:
    return isinstance(change.new, (int, float)) and not isinstance(change.new, bool)


def _value(knob: KnobSpec, change: Change, value: Any) -> str:
    """A setting with a value, in words."""
    return f"{knob.label} {wording.short(value) if _numeric(change) else knob.said(str(value))}"


def rest_words(snapshot: Snapshot) -> str:
    """How good the run is at a pause, by the TV of independent draws."""
    frame = snapshot.frame
    tv, floor = frame.metric("tv"), frame.floors["floor_tv"]
    if tv is None or not floor:
        return ", ".join(wording.headline(frame))
    good = tv <= CLOSE * floor
    judged = f"as close as {INDEPENDENT_DRAWS}" if good else f"{tv / floor:.1f} times the TV of {INDEPENDENT_DRAWS}"
    return f"TV {number(tv)}: {judged}."


class Verdict:
    """The sentence below the stage; `undo()` restores a run, `restore(name, value)` a setting, `explain()` says why."""

    def __init__(
        self, diagnosis: DiagnosisPanel, undo: Callable[[], None], restore: Turn, explain: Callable[[], None]
    ) -> None:
        self._diagnosis, self._undo_run, self._restore, self._explain = diagnosis, undo, restore, explain
        self._last: Snapshot | None = None
        self._change: Change | None = None
        self._fall = self._turned = ""  # the words on a change; the setting that a person has just turned
        self.said = text(css_classes=["pmdviz-verdict"], stylesheets=[css.VERDICT])
        self.undo = small_button("Undo", self._undo, visible=False)
        self.why = small_button("Why?", self._why, visible=False)
        row = pn.Row(self.said, self.undo, self.why, styles={"gap": "8px", "align-items": "center"}, **WIDE)
        self.view = pn.Column(diagnosis.view, row, styles={"position": "relative"}, **WIDE)

    def show(self, snapshot: Snapshot, playing: bool, words: str, can_undo: bool, start: str) -> None:
        """Follow the run; `words` come from the status, `start` is shown before the first step."""
        before, self._last = self._last, snapshot
        change = changed_setting(before, snapshot) if before is not None and self._turned else None
        if change is not None and change.name == self._turned:
            self._change, self._turned, self._fall = change, "", ""
        if self._change is not None:
            self._fall = fall_words(self._change, snapshot) or self._fall
        at_rest = not playing and snapshot.frame.iteration > 0
        judged = rest_words(snapshot) if at_rest and not snapshot.done else ""
        caveat = snapshot.frame.caveat if at_rest else ""
        changed = changed_words(self._change, snapshot) if self._change is not None else ""
        parts = (self._fall, words) if self._fall else (changed, judged, caveat, words)
        self.say(" ".join(map(whole_sentence, filter(None, parts))) or ("" if snapshot.frame.iteration else start))
        seen = {self.undo: can_undo or bool(self._fall), self.why: at_rest or bool(self._fall)}
        for button, on in seen.items():
            update(button, visible=on)

    def say(self, words: str) -> None:
        """Put words there."""
        update(self.said, object=f'<div role="status">{html.escape(words)}</div>')

    def turned(self, name: str) -> None:
        """A person has turned a setting: a rise of the distance is its effect."""
        self._turned = name

    def forget(self) -> None:
        """Another run, or another moment of it: the sentence on a change goes."""
        self._change, self._fall, self._turned = None, "", ""

    def _undo(self) -> None:
        """The setting as it was, where the sentence is about a change; else the run before."""
        change, fall = self._change, self._fall
        self.forget()
        if fall and change is not None:
            self._restore(change.name, change.old)
        else:
            self._undo_run()

    def _why(self) -> None:
        """The preset's diagnosis, with the numbers of the run; without a preset, how the method works."""
        if self._diagnosis.card.visible:
            self._diagnosis.card.collapsed = not self._diagnosis.card.collapsed
        else:
            self._explain()
