"""What is drawn of tests: power curves, a kernel matrix, and a null distribution."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from pmdviz.experiments.goodness_of_fit.scenarios import Scenario
from pmdviz.experiments.goodness_of_fit.statistics import FIT_TESTS
from pmdviz.experiments.pictures import Chart, HeatMap, Histogram, Series

SHOWN = 100  # rows of a kernel matrix
BINS = 40


def power_curves(rates: Sequence[dict[str, Any]], varied: str, scenario: Scenario, alpha: float) -> Chart:
    """Rates of rejection with their intervals; `rates` is the summary."""
    series = []
    for test in dict.fromkeys(rate["test"] for rate in rates):
        mine = [rate for rate in rates if rate["test"] == test]
        x, y, low, high = (np.array([rate[column] for rate in mine], float) for column in (varied, *RATE))
        series.append(Series(FIT_TESTS[test].title, x, y, low, high))
    by_size = varied == "num_points"
    label = "points n of a sample" if by_size else scenario.axis
    levels = [(f"α = {alpha:g}", alpha)]
    return Chart(series, label, "share of samples rejected", by_size, False, levels=levels, title=scenario.title)


RATE = ("rejected", "low", "high")


def kernel_picture(title: str, kernel: np.ndarray, points: np.ndarray) -> HeatMap:
    """The first 100 points' kernel matrix off its diagonal, points alike beside one another."""
    count = min(SHOWN, len(points))
    order = np.lexsort(points[:count].T[::-1])
    order = order[np.argsort(points[:count].sum(axis=1)[order], kind="stable")]
    values = kernel[np.ix_(order, order)].copy()
    np.fill_diagonal(values, 0.0)
    axis = "points of the sample, by the sum of their coordinates"
    return HeatMap(values, axis, axis, "kernel", f"{title}: kernel matrix, without its diagonal")


def null_picture(title: str, values: np.ndarray) -> Histogram:
    """Draws of the null distribution, and the statistic (the first of the values)."""
    finite = values[1:][np.isfinite(values[1:])]
    counts, edges = np.histogram(finite, BINS)
    marks = [("the sample's statistic", float(values[0]))] if np.isfinite(values[0]) else []
    return Histogram(edges, counts, marks, "statistic", "null draws", f"{title}: null distribution")
