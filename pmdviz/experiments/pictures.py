"""What an experiment gives to be drawn: plain numbers and words, for a view or for another library."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

BAND = (0.1, 0.9)  # the quantiles between which 80 % of the runs lie


class Series(NamedTuple):
    """One line, or points, of a chart.

    `look` is "line" (with points on it), "points" or "dashes"; a band reaches from `low` to `high` where there are.
    """

    name: str  # for the legend
    x: np.ndarray  # (n,)
    y: np.ndarray  # (n,)
    low: np.ndarray | None = None
    high: np.ndarray | None = None
    look: str = "line"


class Chart(NamedTuple):
    """Series over one pair of axes; `slopes` are words and slopes of triangles, `levels` words and heights of lines."""

    series: Sequence[Series]
    x_label: str  # with the unit
    y_label: str
    x_log: bool = True
    y_log: bool = True
    slopes: Sequence[tuple[str, float]] = ()
    levels: Sequence[tuple[str, float]] = ()
    title: str = ""


class HeatMap(NamedTuple):
    """A matrix (rows, columns) as colours around 0."""

    values: np.ndarray
    x_label: str
    y_label: str
    value_label: str
    title: str = ""


class Histogram(NamedTuple):
    """Counts (n,) between edges (n + 1,), and vertical lines, words and place of each."""

    edges: np.ndarray
    counts: np.ndarray
    marks: Sequence[tuple[str, float]]
    x_label: str
    y_label: str
    title: str = ""


class Group(NamedTuple):
    """Ellipses of one kind: Gaussians of means (k, 2) and covariances (k, 2, 2)."""

    name: str  # for the legend
    means: np.ndarray
    covs: np.ndarray
    bold: bool = False


class Ellipses(NamedTuple):
    """Ellipses that hold 68 % of each Gaussian, over points (n, 2)."""

    groups: Sequence[Group]
    points: np.ndarray
    x_label: str
    y_label: str
    title: str = ""


Picture = Chart | HeatMap | Histogram | Ellipses


def mean_series(name: str, rows: Sequence[dict[str, Any]], x: str, y: str, look: str = "line") -> Series:
    """Means of column `y` over the rows at each value of column `x`, and the band that holds 80 % of them."""
    found: dict[float, list[float]] = {}
    for row in rows:
        if np.isfinite(row[y]):
            found.setdefault(row[x], []).append(row[y])
    levels = sorted(found)
    values = [np.array(found[level], float) for level in levels]
    low, high = (np.array([np.quantile(each, q) for each in values]) for q in BAND)
    return Series(name, np.array(levels, float), np.array([each.mean() for each in values]), low, high, look)
