"""What happened during a run, as marks on the axis of the traces: rejuvenations and turned knobs."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

import numpy as np


class Mark(NamedTuple):
    """Something that happened during the run, to be found on the axis."""

    iteration: int
    visited: int
    seconds: float
    kind: str  # "rejuvenation" or "knob"
    text: str


def rejuvenation_mark(frame: Any) -> Mark | None:
    """The mark of the step that led to `frame`, if it drew the particles anew."""
    if frame.info is None or not frame.info.rejuvenated:
        return None
    text = f"iteration {frame.iteration:,}: rejuvenated ({frame.info.rejuvenated})"
    return Mark(frame.iteration, frame.visited, frame.seconds, "rejuvenation", text)


def knob_marks(
    changes: Iterable[tuple[int, Mapping[str, Any]]], history: Mapping[str, np.ndarray], now: int
) -> list[Mark]:
    """Marks of a recipe's knob changes up to iteration `now`, at the data visited then (between measured frames)."""
    past = [(at, values) for at, values in changes if at <= now]
    if not past:
        return []
    at_all = np.array([at for at, _ in past])
    visited, seconds = (np.interp(at_all, history["iteration"], history[c]) for c in ("visited", "seconds"))
    marks = []
    for k, (at, values) in enumerate(past):
        became = ", ".join(f"{name} became {value}" for name, value in values.items())
        marks.append(Mark(at, int(visited[k]), float(seconds[k]), "knob", f"iteration {at:,}: {became}"))
    return marks
