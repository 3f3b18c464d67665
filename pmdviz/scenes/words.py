"""Numbers as a person reads them: thousands separators, three significant digits, never 1e-05."""

from __future__ import annotations

import math
from typing import Any

UNKNOWN = "being computed"  # what is said of a floor until it is known


def count(value: float) -> str:
    """A whole number with thousands separators: 12,000."""
    return f"{int(value):,}"


def number(value: float | None, digits: int = 3) -> str:
    """`value` to so many significant digits, without an exponent: 0.0872, 1,230, "below 0.0001"."""
    if value is None or math.isnan(value):
        return "not known"
    if math.isinf(value):
        return "infinite" if value > 0 else "minus infinite"
    if value == 0:
        return "0"
    if abs(value) < 1e-4:
        return "below 0.0001" if value > 0 else "just below 0"
    value = float(f"{value:.{digits - 1}e}")
    places = digits - 1 - math.floor(math.log10(abs(value)))
    return f"{value:,.{max(places, 0)}f}"


def short(value: float) -> str:
    """`number` without zeros at its end, for boxes and notes: 0.05, 1,500."""
    text = number(value, 4)
    return text.rstrip("0").rstrip(".") if "." in text else text


def state(frame: Any, unknown: str = UNKNOWN) -> str:
    """One line: "iteration 120, 12,000 of 20,000 data visited, TV 0.087, perfect draws 0.088"."""
    metrics = frame.metrics
    parts = [f"iteration {count(frame.iteration)}", data_visited(frame)]
    if metrics["tv"] is not None:
        parts.append(f"TV {number(metrics['tv'])}{floor(frame, ', perfect draws ', unknown)}")
    return ", ".join([*parts, frame.caveat] if frame.caveat else parts)


def data_visited(frame: Any) -> str:
    """How far the budget is used up, such as "12,000 of 20,000 data visited"; beyond it both numbers, and why."""
    visited, budget = frame.visited, frame.budget
    if budget is None:
        return f"{count(visited)} data visited"
    if visited <= budget:
        return f"{count(visited)} of {count(budget)} data visited"
    took = count(frame.info.visited)
    return f"{count(budget)} data asked for, {count(visited)} visited (the last step took {took})"


def floor(frame: Any, before: str, unknown: str = UNKNOWN) -> str:
    """What as many perfect draws get, after `before`; `unknown` while that is not known.

    "" for a method without particles.
    """
    if frame.num_draws is None:
        return ""
    tv = frame.metrics["floor_tv"]
    return f"{before}{number(tv)}" if tv is not None else f"{before.rstrip(': ')}: {unknown}"


def duration(seconds: float) -> str:
    """A time in words: "0.4 s", "12 s", "3 min"."""
    if seconds < 10:
        return f"{seconds:.1f} s"
    return f"{seconds:.0f} s" if seconds < 120 else f"{seconds / 60:.0f} min"
