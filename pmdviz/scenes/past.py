"""What is said and measured of a run's past: how long its time line is, what a branch differs in."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from pmdviz.knobs import KnobSpec
from pmdviz.scenes.trace_columns import nice
from pmdviz.scenes.words import count, number

SHORTEST = 500  # iterations that a time line has room for at most while few have been made
GHOST, BRANCH = "the previous run", "the branch"
SAME = "no setting differs yet"
WHAT_IF = "What if …"


def line_end(last: int, spent: int, budget: int | None) -> int:
    """The iteration at the right end of the time line.

    The last one that the budget allows at the mean cost so far; of an endless or a long run a round number that leaves
    room for what is to come.
    """
    room = int(max(SHORTEST, nice(5.0 * last)))
    if budget is None or spent == 0:
        return room if budget is None else max(last, 1)
    return max(last, min(room, math.ceil(last * budget / spent)))


def place_words(iteration: int, last: int) -> str:
    """Where one stands: "iteration 40 of 120"."""
    return f"iteration {count(iteration)} of {count(last)}"


def ghost_name(is_branch: bool) -> str:
    """What the run beside the one that is looked at is called."""
    return BRANCH if is_branch else GHOST


def difference_words(specs: Mapping[str, KnobSpec], before: Mapping[str, Any], after: Mapping[str, Any]) -> str:
    """The settings that differ: "Bandwidth 0.75 → 0.3, Batch size 100 → 10"."""
    turned = [name for name in specs if before[name] != after[name]]
    said = {name: specs[name].said for name in turned}
    each = (f"{specs[name].label} {said[name](before[name])} → {said[name](after[name])}" for name in turned)
    return ", ".join(each) or SAME


def branch_words(at: int, difference: str, frame: Any, other: Any, name: str) -> str:
    """What a branch is: "Branch at iteration 40: Bandwidth 0.75 → 0.3. TV 0.081; the previous run: 0.094"."""
    said = f"Branch at iteration {count(at)}: {difference}."
    if frame.tv is None or other.tv is None:
        return said
    when = "" if other.iteration == frame.iteration else f" at iteration {count(other.iteration)}"
    return f"{said} TV {number(frame.tv)}; {name}{when}: {number(other.tv)}"
