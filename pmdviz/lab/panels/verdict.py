"""One sentence on the result of a run, or on the effect of a change, with Undo and Why."""

from __future__ import annotations

import html
from collections.abc import Callable
from typing import Any, NamedTuple

import panel as pn

from pmdviz.lab import css
from pmdviz.lab.controls.setup import DiagnosisPanel
from pmdviz.lab.controls.widgets import WIDE, set_words, small_button, text
from pmdviz.lab.loop.runner import Snapshot
from pmdviz.scenes.words import INDEPENDENT_DRAWS, headline, number, short

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
    return Change(
        differ[0], values[differ[0]], new.as_dict()[differ[0]], before.frame.iteration, tv, before.step_seconds
    )


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


def _value(knob: Any, change: Change, value: Any) -> str:
    """A setting with a value, in words."""
    return f"{knob.label} {short(value) if _numeric(change) else knob.said(str(value))}"


def rest_words(snapshot: Snapshot) -> str:
    """How good the run is at a pause, by the TV of independent draws."""
    frame = snapshot.frame
    tv, floor = frame.metric("tv"), frame.floors["floor_tv"]
    if tv is None or not floor:
        return ", ".join(headline(frame))
    good = tv <= CLOSE * floor
    judged = f"as close as {INDEPENDENT_DRAWS}" if good else f"{tv / floor:.1f} times the TV of {INDEPENDENT_DRAWS}"
    return f"TV {number(tv)}: {judged}."


def _sentence(words: str) -> str:
    """With a capital and a full stop."""
    return f"{words[0].upper()}{words[1:]}".rstrip(".") + "."


class Verdict:
    """The sentence below the stage; `undo()` restores a run, `restore(name, value)` a setting, `explain()` says why."""

    def __init__(
        self,
        diagnosis: DiagnosisPanel,
        undo: Callable[[], None],
        restore: Callable[[str, Any], None],
        explain: Callable[[], None],
    ) -> None:
        self._diagnosis, self._undo_run, self._restore, self._explain = diagnosis, undo, restore, explain
        self._last: Snapshot | None = None
        self._change: Change | None = None
        self._fall = self._turned = ""  # the words on a change; the setting that a person has just turned
        self.said = text(css_classes=["pmdviz-verdict"], stylesheets=[css.VERDICT])
        self.undo = small_button("Undo", self._undo, visible=False)
        self.why = small_button("Why?", self._why, visible=False)
        row = pn.Row(self.said, self.undo, self.why, styles={"gap": "8px", "align-items": "center"}, **WIDE)
        self.view = pn.Column(row, diagnosis.view, **WIDE)

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
        self.say(" ".join(map(_sentence, filter(None, parts))) or ("" if snapshot.frame.iteration else start))
        for button, on in ((self.undo, can_undo or bool(self._fall)), (self.why, at_rest or bool(self._fall))):
            if button.visible != on:
                button.visible = on

    def say(self, words: str) -> None:
        """Put words there."""
        set_words(self.said, f'<div role="status">{html.escape(words)}</div>')

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
