"""What happened during a run, as marks on the axis of the traces: rejuvenations, limited steps and turned knobs."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

import numpy as np

STEP_WORDS = {"limited": "step limited"}
# Kind -> Bokeh's name of its marker, and how high above the axis it stands, as a share of the picture.
MARKERS = {
    "rejuvenated": ("triangle", 0.025),
    "limited": ("inverted_triangle", 0.05),
    "knob": ("diamond", 0.075),
}
OTHER_MARKER = ("asterisk", 0.1)


class Mark(NamedTuple):
    """Something that happened during the run, to be found on the axis."""

    iteration: int
    visited: int
    evaluations: int
    seconds: float
    kind: str  # that of the step's event, or "knob"
    text: str

    @property
    def marker(self) -> str:
        """Bokeh's name of the marker."""
        return MARKERS.get(self.kind, OTHER_MARKER)[0]

    @property
    def height(self) -> float:
        """Where it stands above the axis, as a share of the picture."""
        return MARKERS.get(self.kind, OTHER_MARKER)[1]


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
