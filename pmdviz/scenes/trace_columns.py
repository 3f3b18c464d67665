"""The plain arrays behind the traces: thinned, clamped to the axis, with the ranges that hold them."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

MAX_POINTS = 2_000
CEILING = 100.0  # a KL above this is drawn at the axis' edge and called "> 100"
CLOCKS = {"visited": "data visited (data points)", "iteration": "iteration", "seconds": "computing time (seconds)"}


class Group(NamedTuple):
    """Traces that share an axis."""

    title: str
    axis_label: str
    log: bool
    metrics: Mapping[str, str]  # metric -> its words in the legend
    floors: Mapping[str, str]  # floor -> the metric that it is a floor of


GROUPS = {
    "divergences": Group(
        "TV and KL",
        "TV (0 to 1), KL (nats)",
        True,
        {"tv": "TV", "kl_forward": "forward KL", "kl_reverse": "reverse KL"},
        {"floor_tv": "tv", "floor_kl": "kl_forward"},
    ),
    "cross_entropy": Group(
        "Cross entropy", "cross entropy −E log q (nats)", False, {"cross_entropy": "cross entropy"}, {}
    ),
    "ess": Group("ESS", "effective sample size (particles)", True, {"ess": "effective sample size"}, {}),
}
METRICS = tuple(metric for group in GROUPS.values() for metric in group.metrics)


def extremes(columns: Iterable[np.ndarray], limit: int = MAX_POINTS) -> np.ndarray:
    """Row numbers: all of them, or at most `limit`, the first and last included: no column loses a peak.

    Of every so many rows in a run those where a column is highest and lowest; NaN is neither.
    """
    values = [np.asarray(column, float) for column in columns]
    length = len(values[0])
    if length <= limit:
        return np.arange(length)
    starts = np.linspace(0, length, max((limit - 2) // (2 * len(values)), 1), endpoint=False).astype(np.int64)
    found = [np.array([0, length - 1])]
    for column in values:
        for worst, better in ((-np.inf, np.maximum), (np.inf, np.minimum)):
            known = np.where(np.isnan(column), worst, column)
            best = np.repeat(better.reduceat(known, starts), np.diff(starts, append=length))
            at = np.flatnonzero(known == best)
            found.append(at[np.unique(np.searchsorted(starts, at, side="right"), return_index=True)[1]])
    return np.unique(np.concatenate(found))


def nice(value: float, up: bool = True) -> float:
    """The nearest of 1, 2, 5 x 10^k at or above `value` (or at or below it)."""
    if not value > 0:
        return 1.0
    power = 10.0 ** math.floor(math.log10(value))
    steps = [power * step for step in (1, 2, 5, 10)]
    if up:
        return next(step for step in steps if step >= value * (1 - 1e-9))
    return next(step for step in reversed(steps) if step <= value * (1 + 1e-9))


def value_range(group: Group, values: Iterable[np.ndarray], floors: Sequence[float] = ()) -> tuple[float, float]:
    """A range for the axis that holds all finite values; on a log axis at most up to `CEILING` for divergences."""
    arrays = [np.asarray(v, float).ravel() for v in (*values, list(floors))]
    flat = np.concatenate(arrays) if arrays else np.empty(0)
    flat = flat[np.isfinite(flat)]
    if group.log:
        flat = flat[flat > 1e-6]
        if "tv" in group.metrics:
            flat = np.minimum(flat, CEILING)
        low, high = (float(flat.min()), float(flat.max())) if len(flat) else (0.05, 1.0)
        top = max(nice(high * 1.1), nice(low) * 10)
        return nice(low * 0.9, up=False), min(top, CEILING) if "tv" in group.metrics else top
    low, high = (float(flat.min()), float(flat.max())) if len(flat) else (0.0, 1.0)
    pad = 0.06 * max(high - low, 1e-3)
    step = nice(max(high - low, 1e-3)) / 5
    return math.floor((low - pad) / step) * step, math.ceil((high + pad) / step) * step


def clamped(values: np.ndarray, low: float, high: float) -> np.ndarray:
    """`values` with 0, inf and all beyond the axis put on its edge; NaN (not to be had) stays a gap."""
    return np.clip(values, low, high).astype(np.float32)


def over_words(history: Mapping[str, np.ndarray], group: Group) -> str:
    """Which divergences are beyond the axis at the last row: "reverse KL > 100"."""
    beyond = [m for m in group.metrics if "tv" in group.metrics and float(history[m][-1]) > CEILING]
    return ", ".join(f"{group.metrics[m]} > {CEILING:.0f}" for m in beyond)


def clock_end(clock: str, last: float, budget: int | None) -> float:
    """Where the x axis ends: the budget for data visited, else a round number that is reached last."""
    if clock == "visited" and budget and last <= budget * 1.05:
        return float(budget) * 1.02
    return max(nice(max(last, 1e-9) * 1.02), 10.0 if clock != "seconds" else 0.1)


def trace_columns(history: Mapping[str, np.ndarray], group: Group, span: tuple[float, float]) -> dict[str, np.ndarray]:
    """Columns of the traces' one source: the three clocks and the group's metrics inside `span`."""
    rows = extremes([history[metric] for metric in group.metrics])
    columns = {clock: np.asarray(history[clock], float)[rows].astype(np.float32) for clock in CLOCKS}
    for metric in METRICS:
        if metric in group.metrics:
            columns[metric] = clamped(np.asarray(history[metric], float)[rows], *span)
    return columns


def with_present(history: Mapping[str, np.ndarray], frame: Any) -> Mapping[str, np.ndarray]:
    """History columns that end with the present frame, so that the traces move with every frame."""
    if len(history["iteration"]) and history["iteration"][-1] >= frame.iteration:
        return history
    metrics = {name: frame.metrics[name] for name in METRICS}
    now = {"iteration": frame.iteration, "visited": frame.visited, "seconds": frame.seconds, **metrics}
    return {name: np.append(history[name], np.nan if value is None else value) for name, value in now.items()}
