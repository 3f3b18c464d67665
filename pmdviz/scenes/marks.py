"""What happened during a run, as marks on the axis of the traces: rejuvenations, limited steps and turned knobs."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

import numpy as np

STEP_WORDS = {"limited": "step limited"}


class Kind(NamedTuple):
    """How marks of a kind are drawn."""

    marker: str  # Bokeh's name
    height: float  # above the axis, as a share of the picture
    title: str  # in the legend


KINDS = {
    "rejuvenated": Kind("triangle", 0.025, "new particles"),
    "limited": Kind("inverted_triangle", 0.05, "shorter step"),
    "knob": Kind("diamond", 0.075, "setting changed"),
    "diverged": Kind("asterisk", 0.1, "divergence"),
}
OTHER = Kind("circle", 0.125, "other event")


class Mark(NamedTuple):
    """Something that happened during the run, to be found on the axis."""

    iteration: int
    visited: int
    evaluations: int
    seconds: float
    kind: str  # that of the step's event, or "knob"
    text: str

    @property
    def look(self) -> Kind:
        """How it is drawn."""
        return KINDS.get(self.kind, OTHER)


def kinds_of(marks: Iterable[Mark], expected: Iterable[str] = ()) -> list[Kind]:
    """The kinds among some marks and those that may come, in the order of the legend."""
    found = {mark.look for mark in marks} | {KINDS.get(kind, OTHER) for kind in expected}
    return [kind for kind in (*KINDS.values(), OTHER) if kind in found]


def step_marks(frame: Any) -> list[Mark]:
    """The marks of the step that led to `frame`: that it drew the particles anew, that it was made shorter."""
    if frame.info is None:
        return []
    at, now = (frame.iteration, frame.visited, frame.evaluations, frame.seconds), f"iteration {frame.iteration:,}"
    said = {event.kind: STEP_WORDS.get(event.kind, event.kind) for event in frame.info.events}
    return [Mark(*at, event.kind, f"{now}: {said[event.kind]} ({event.words})") for event in frame.info.events]


def knob_marks(
    changes: Iterable[tuple[int, Mapping[str, Any]]], history: Mapping[str, np.ndarray], now: int
) -> list[Mark]:
    """Marks of a recipe's knob changes up to iteration `now`, where the clocks stood then (between measured frames)."""
    past = [(at, values) for at, values in changes if at <= now]
    if not past:
        return []
    at_all = np.array([at for at, _ in past])
    clocks = "visited", "evaluations", "seconds"
    visited, evaluations, seconds = (np.interp(at_all, history["iteration"], history[c]) for c in clocks)
    marks = []
    for k, (at, values) in enumerate(past):
        became = ", ".join(f"{name} became {value}" for name, value in values.items())
        marks.append(
            Mark(at, int(visited[k]), int(evaluations[k]), float(seconds[k]), "knob", f"iteration {at:,}: {became}")
        )
    return marks
