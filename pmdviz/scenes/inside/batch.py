"""The batch of one step among all data, and the density of new data that the batch alone implies."""

from __future__ import annotations

from typing import Any

import numpy as np

from pmdviz.scenes import data_columns
from pmdviz.scenes.words import count
from pmdviz.targets import Target

DOTS, TICKS = 500, 400  # of all data and of a batch, drawn at most
THETAS = 300  # over which the density is averaged


def batch_picture(frame: Any) -> dict[str, Any] | None:
    """The batch that led to `frame`; None where the data cannot be drawn, or the step was given none."""
    target, rows = frame.target, frame.batch_rows
    if rows is None or not data_columns.applies(target):
        return None
    batch = target.data_rows[rows]
    if not len(batch):
        return None
    ground, points = data_columns.ground_of(target), data_columns.plane(target, batch)
    shown = points[_some(len(points), TICKS)]
    flat = points.shape[1] == 1
    curve = _implied(target, frame.particles, batch, ground.ranges[0]) if flat else data_columns.EMPTY_LINE
    height = 1.05 * max([ground.ranges[1][1], *curve["y"]]) if flat else 0.0
    return {
        "title": _title(len(batch), target.num_data),
        "words": _words(flat, len(curve["x"]) > 0),
        "flat": flat,
        "x": list(ground.ranges[0]),
        "y": [0.0, float(height)] if flat else list(ground.ranges[1]),
        "labels": list(ground.labels),
        "bars": {name: _single(values) for name, values in ground.bars.items()},
        "dots": {name: _single(values[_some(len(values), DOTS)]) for name, values in ground.dots.items()},
        "exact": {name: _single(values) for name, values in ground.exact.items()},
        "batch": {name: _single(column) for name, column in zip("xy", shown.T, strict=False)},
        "curve": {name: _single(values) for name, values in curve.items()},
    }


def _implied(target: Target, particles: np.ndarray, batch: np.ndarray, across: tuple[float, float]) -> dict[str, Any]:
    """Σ w p(x | θ) with weights w ∝ p(batch | θ), over some particles; nothing where a row has no density."""
    if "row_density" not in target.offers:
        return data_columns.EMPTY_LINE
    thetas = particles[_some(len(particles), THETAS)]
    log_weights = target.log_likelihood(thetas, batch)
    weights = np.exp(log_weights - log_weights.max())
    x = np.linspace(*across, data_columns.CURVE)
    rows = x.reshape(-1, *target.data_rows.shape[1:])
    return {"x": x, "y": weights @ np.exp(target.row_log_likelihood(thetas, rows)) / weights.sum()}


def _title(rows: int, num_data: int) -> str:
    if rows == num_data:
        return f"The batch: all {count(num_data)} data points"
    return f"The batch: {count(rows)} of {count(num_data)} data points"


def _words(flat: bool, curve: bool) -> str:
    if not flat:
        return "Large dots: the batch. Small dots: all data."
    drawn = "Bars: all data. Ticks: the batch."
    return f"{drawn} Dashed: the density that the batch alone implies, averaged over the particles." if curve else drawn


def _some(n: int, limit: int) -> np.ndarray:
    """At most `limit` of n rows, evenly."""
    return np.linspace(0, n - 1, min(n, limit)).astype(np.int64)


def _single(values: np.ndarray) -> np.ndarray:
    return np.asarray(values, np.float32)
