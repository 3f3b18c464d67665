"""A race in words: what stands at a tile, and the line that says where all stand."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from pmdviz.scenes.words import count, number


class TileWords(NamedTuple):
    """What stands at a tile."""

    title: str
    state: str  # "TV 0.123, 4,200 data"
    note: str  # why it ended or how its draws are judged, in a line that fits on a phone's tile; "" while it runs


def at_tile(label: str, frame: Any, ended: str) -> TileWords:
    """The words at the tile of an entrant; `ended` says why it has no next step ("" while it has one)."""
    tv = frame.metrics["tv"]
    known = f"TV {number(tv)}, " if tv is not None else ""
    note = f"ended: {ended}" if ended else frame.caveat.partition(":")[0]
    return TileWords(label, f"{known}{count(frame.visited)} data", note)


def best(labels: Sequence[str], tv: Sequence[float | None]) -> tuple[str, float] | None:
    """Who has the lowest TV, and that; None where none is known."""
    known = [(value, k) for k, value in enumerate(tv) if value is not None]
    return (labels[min(known)[1]], min(known)[0]) if known else None


def state(iteration: int, visited: Sequence[int], budget: int | None, first: tuple[str, float] | None) -> str:
    """One line: "iteration 420 of all together, 2,000 of 20,000 data visited by each, lowest TV 0.12 (pmd)".

    `visited` are the data of those who race.
    """
    low, high = min(visited), max(visited)
    each = f"{count(low)}" if low == high else f"{count(low)} to {count(high)}"
    within = budget is not None and high <= budget
    of = f" of {count(budget or 0)}" if within else ""
    beyond = "" if within or budget is None else f", {count(budget)} asked for"
    words = f"iteration {count(iteration)} of all together, {each}{of} data visited by each{beyond}"
    return words + (f", lowest TV {number(first[1])} ({first[0]})" if first else "")
