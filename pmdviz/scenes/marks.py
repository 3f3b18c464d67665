"""What happened during a run, as marks on the axis of the traces: rejuvenations, limited steps and turned knobs."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

import numpy as np


class Mark(NamedTuple):
    """Something that happened during the run, to be found on the axis."""

    iteration: int
    visited: int
    seconds: float
    kind: str  # "rejuvenation", "limited" or "knob"
    text: str


def step_marks(frame: Any) -> list[Mark]:
    """The marks of the step that led to `frame`: that it drew the particles anew, that it was made shorter."""
    if frame.info is None:
        return []
    said = {
        "rejuvenation": f"rejuvenated ({frame.info.rejuvenated})" if frame.info.rejuvenated else "",
        "limited": f"step limited ({frame.info.limited})" if frame.info.limited else "",
    }
    at = frame.iteration, frame.visited, frame.seconds
    return [Mark(*at, kind, f"iteration {frame.iteration:,}: {text}") for kind, text in said.items() if text]


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
