"""The plain arrays of the Theory page's pictures."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

BELOW, REACH = 0.45, 0.6  # a triangle stands so far below the first mean, over this share of the x axis (in logarithms)
BAND = (0.1, 0.9)


def usable(x: Sequence[float], y: Sequence[float]) -> tuple[np.ndarray, np.ndarray]:
    """The points that have a place on two log axes."""
    xs, ys = np.asarray(x, float), np.asarray(y, float)
    kept = np.isfinite(xs) & np.isfinite(ys) & (xs > 0) & (ys > 0)
    return xs[kept], ys[kept]


def groups(x: np.ndarray, y: np.ndarray) -> dict[str, np.ndarray]:
    """For each x: the mean over runs, and the band that holds 80 % of them."""
    levels = np.unique(x)
    found = [y[x == level] for level in levels]
    return {
        "x": levels,
        "mean": np.array([values.mean() for values in found]),
        "low": np.array([np.quantile(values, BAND[0]) for values in found]),
        "high": np.array([np.quantile(values, BAND[1]) for values in found]),
    }


def triangle(x: np.ndarray, mean: np.ndarray, slope: float, place: int = 0) -> dict[str, list[Any]]:
    """A slope triangle under the means: its slanted side falls like x^slope; further ones stand lower."""
    left, right = x[0], x[0] * (x[-1] / x[0]) ** REACH
    top = mean[0] * BELOW ** (place + 1)
    bottom = top * (right / left) ** slope
    return {"xs": [left, right, left, left], "ys": [top, bottom, bottom, top]}


def line(x: np.ndarray, intercept: float, slope: float) -> dict[str, np.ndarray]:
    """The fitted law over the x axis."""
    ends = np.array([x.min(), x.max()])
    return {"x": ends, "y": np.exp(intercept + slope * np.log(ends))}


def ticks(low: float, high: float) -> list[float]:
    """1, 2 and 5 times the powers of ten between two ends; over more than two decades the powers alone."""
    first, last = int(np.floor(np.log10(low))), int(np.ceil(np.log10(high)))
    steps = (1,) if np.log10(high / low) > 2.5 else (1, 2, 5)
    found = [step * 10.0**power for power in range(first, last + 1) for step in steps]
    return [tick for tick in found if low <= tick <= high]
