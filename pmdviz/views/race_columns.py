"""The plain arrays behind the traces of a race: clocks, thinned lines, bands over seeds."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from pmdviz.views.trace_columns import nice, thinned

CLOCKS = {
    "visited": "data visited (data points)",
    "gradient_evaluations": "gradient evaluations (pairs of θ and datum)",
    "density_evaluations": "density evaluations (pairs of θ and datum)",
    "seconds": "computing time of the steps (seconds)",
}
METRICS = {"tv": "TV (0 to 1)", "kl_forward": "forward KL (nats)"}
LOWEST = {"tv": 0.02, "kl_forward": 0.01}
HIGHEST = {"tv": 1.0, "kl_forward": 100.0}
MOST_POINTS = 600  # of a trace
BAND_POINTS, QUANTILES = 60, (0.1, 0.5, 0.9)

Columns = Mapping[str, np.ndarray]


def span(metric: str, values: Sequence[np.ndarray]) -> tuple[float, float]:
    """Where the axis of a metric begins and ends: fixed but for values below its usual lower end."""
    flat = np.concatenate([np.empty(0), *(np.asarray(v, float) for v in values)])
    flat = flat[np.isfinite(flat) & (flat > 1e-6)]
    low = nice(0.9 * float(flat.min()), up=False) if len(flat) else LOWEST[metric]
    return min(LOWEST[metric], low), HIGHEST[metric]


def line_columns(rows: Columns, spans: Mapping[str, tuple[float, float]]) -> dict[str, np.ndarray]:
    """Columns of one entrant's traces: all clocks, and each metric inside the axis; NaN (not to be had) is a gap."""
    chosen = thinned(len(rows["visited"]), MOST_POINTS)
    columns = {clock: np.asarray(rows[clock], np.float32)[chosen] for clock in CLOCKS}
    for metric in METRICS:
        columns[metric] = np.clip(np.asarray(rows[metric], np.float32)[chosen], *spans[metric])
    return columns


def clock_end(clock: str, ends: Sequence[float], budget: int | None) -> float:
    """Where the x axis ends: the budget for data visited, else a round number that nobody has passed."""
    last = max(ends, default=0.0)
    if clock == "visited" and budget and last <= 1.05 * budget:
        return 1.02 * budget
    return nice(max(1.02 * last, 1e-9))


def band(histories: Sequence[Columns], clock: str, metric: str) -> dict[str, np.ndarray]:
    """x and the 10 %, 50 % and 90 % quantiles over runs of a metric, between clock values that all runs have reached.

    Of each run the value is interpolated between its measured frames. Empty where it cannot be had.
    """
    nothing = dict.fromkeys(("x", "low", "middle", "high"), np.empty(0))
    if not histories or any(np.isnan(h[metric]).all() or h[clock][-1] <= 0 for h in histories):
        return nothing
    end = min(float(h[clock][-1]) for h in histories)
    x = np.linspace(0.0, end, BAND_POINTS)
    values = [np.interp(x, np.asarray(h[clock], float), np.asarray(h[metric], float)) for h in histories]
    low, middle, high = np.quantile(values, QUANTILES, axis=0)
    return {"x": x, "low": low, "middle": middle, "high": high}
