"""The plain arrays of a chart: its lines and bands, the ends of its axes, slopes where there is room, levels."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

import numpy as np

from pmdviz.experiments.pictures import Chart, Series
from pmdviz.scenes.legend import MUTED, NUMBER, SLOPE_DASHES, Entry
from pmdviz.scenes.slopes import Block, extended, placed

MOST_DECADES = 12  # below the largest value: what is smaller is rounding
PAD = 0.06  # room round the data, as a share of an axis
ALONE = 2.0  # factor of room round a single value
SERIES_DASHES: tuple[tuple[int, ...], ...] = ((7, 3), (2, 3), (9, 3, 2, 3), (14, 4))  # of series that are dashes
MANY = 40  # points, beyond which a line is drawn without them
TICK_STEPS = ((0.7, (1, 1.5, 2, 3, 4, 5, 7)), (2.2, (1, 2, 5)), (3.5, (1, 3)), (np.inf, (1,)))  # decades: ticks in each
MOST_TICKS = 12
NEAR = 0.08  # levels as near as this, in shares of the axis, have their words on different sides


class Axis(NamedTuple):
    """An axis in its own coordinates: the logarithms of the values where it is a log axis."""

    log: bool
    start: float
    end: float

    @property
    def length(self) -> float:
        """From end to end."""
        return self.end - self.start

    @property
    def span(self) -> tuple[float, float]:
        """Its ends, as values."""
        return float(self.value(self.start)), float(self.value(self.end))

    def own(self, values: np.ndarray) -> np.ndarray:
        """Values in the coordinates of the axis."""
        return np.log(values) if self.log else np.asarray(values, float)

    def value(self, own: np.ndarray | float) -> np.ndarray:
        """The inverse of `own`."""
        return np.exp(own) if self.log else np.asarray(own, float)

    def share(self, values: np.ndarray) -> np.ndarray:
        """Where values lie between the ends, 0 to 1."""
        return (self.own(values) - self.start) / self.length

    def at(self, share: np.ndarray | float) -> np.ndarray:
        """The inverse of `share`."""
        return self.value(self.start + self.length * np.asarray(share, float))

    @property
    def ticks(self) -> list[float] | None:
        """1, 2 and 5 times powers of ten on a log axis; None: a linear axis finds its own."""
        return log_ticks(*self.span) if self.log else None


class Lines(NamedTuple):
    """One series as it is drawn."""

    points: dict[str, np.ndarray]  # x, y
    band: dict[str, np.ndarray]  # x, low, high
    look: str
    marked: bool  # whether its points are drawn


class ChartColumns(NamedTuple):
    """Everything that is drawn of a chart; the coordinates are values."""

    series: list[Lines]
    x: Axis
    y: Axis
    slopes: list[dict[str, np.ndarray]]  # x, y of the slanted side of each triangle
    legs: dict[str, list[np.ndarray]]  # xs, ys of the other sides
    levels: dict[str, list]  # y, text, below


def chart_columns(chart: Chart) -> ChartColumns:
    """What is drawn of `chart`. What has no place on a log axis is left out, and drawn in no other way."""
    kept = [_usable(series, chart) for series in chart.series]
    levels = [(words, y) for words, y in chart.levels if np.isfinite(y) and (y > 0 or not chart.y_log)]
    x = axis((points["x"] for points, _ in kept), chart.x_log)
    heights = [values for points, band in kept for values in (points["y"], band["low"], band["high"])]
    y = axis([*heights, np.array([y for _, y in levels])], chart.y_log, from_zero=True)
    blocks: list[Block] = []
    if chart.slopes and any(len(points["x"]) for points, _ in kept):
        blocks, room = placed(chart.slopes, (x.length, y.length), _obstacles(kept, levels, x, y))
        y = y._replace(start=extended(y.start, y.length, room))
    series = [
        Lines(points, _clipped(band, y), one.look, one.look == "points" or len(points["x"]) <= MANY)
        for (points, band), one in zip(kept, chart.series, strict=True)
    ]
    ends = [({"x": x.at(u), "y": y.at(v)}) for block in blocks for u, v in block.slants]
    order = [number for block in blocks for number in block.numbers]
    slopes = [ends[order.index(k)] for k in range(len(order))]
    legs = {"xs": [x.at(block.leg[0]) for block in blocks], "ys": [y.at(block.leg[1]) for block in blocks]}
    return ChartColumns(series, x, y, slopes, legs, level_columns(levels, y))


def axis(parts: Iterable[np.ndarray], log: bool, from_zero: bool = False) -> Axis:
    """An axis with room around all values; a linear one may begin at 0 where values are near it."""
    values = np.concatenate([np.empty(0), *parts])
    values = values[np.isfinite(values) & ((values > 0) | (not log))]
    if not len(values):
        return Axis(log, np.log(0.1), np.log(10.0)) if log else Axis(log, 0.0, 1.0)
    low, high = float(values.min()), float(values.max())
    if log:
        low, high = np.log(max(low, high / 10**MOST_DECADES)), np.log(high)
        pad = PAD * (high - low) if high > low else np.log(ALONE)
        return Axis(log, float(low - pad), float(high + pad))
    pad = PAD * (high - low) if high - low > 1e-9 * max(abs(low), abs(high)) else 0.5 * abs(high) or 1.0
    start = 0.0 if from_zero and 0 <= low <= 0.5 * high else low - pad
    return Axis(log, start, high + pad)


def log_ticks(low: float, high: float) -> list[float]:
    """Round values on a log axis, at least two: finer ones over less than a decade, every k-th power over many."""
    decades = np.log10(high / low)
    steps = next(steps for most, steps in TICK_STEPS if decades <= most)
    powers = np.arange(np.floor(np.log10(low)), np.ceil(np.log10(high)) + 1)
    found = [float(step * 10.0**power) for power in powers for step in steps]
    found = [tick for tick in found if low <= tick <= high]
    if len(found) < 2:
        step = 10.0 ** np.floor(np.log10(high - low))
        found = [float(step * k) for k in np.arange(np.ceil(low / step), np.floor(high / step) + 1)]
    return found[:: -(-len(found) // MOST_TICKS) or 1]


def level_columns(levels: Sequence[tuple[str, float]], y: Axis) -> dict[str, list]:
    """Horizontal lines and their words; of two that are near one another the lower one's stand below it."""
    ordered = sorted(levels, key=lambda each: each[1])
    places = y.share(np.array([height for _, height in ordered])) if ordered else np.empty(0)
    below = [bool(gap < NEAR) for gap in np.diff(places)] + [False] * bool(ordered)
    return {"y": [height for _, height in ordered], "text": [words for words, _ in ordered], "below": below}


def chart_legend(chart: Chart, colours: Mapping[str, int]) -> list[Entry]:
    """The series, and the slopes with their words; `colours` are numbers by name."""
    series = enumerate(chart.series)
    entries = [Entry(one.name, one.look, colours.get(one.name, k), dash_of(k, one.look)) for k, one in series]
    slopes = [Entry(words, "slope", MUTED, slope_dash(k)) for k, (words, _) in enumerate(chart.slopes)]
    return entries + slopes


def dash_of(k: int, look: str) -> tuple[int, ...]:
    """Dashes of series k: of those that are dashes, and of lines whose colour another one has already."""
    again = k >= NUMBER
    return SERIES_DASHES[k % len(SERIES_DASHES)] if look == "dashes" or again else ()


def slope_dash(k: int) -> tuple[int, ...]:
    """Dashes of slope k."""
    return SLOPE_DASHES[k % len(SLOPE_DASHES)]


def _usable(series: Series, chart: Chart) -> tuple[dict[str, np.ndarray], dict[str, np.ndarray]]:
    """Points and band that have a place on the axes."""
    x, y = np.asarray(series.x, float), np.asarray(series.y, float)
    there = np.isfinite(x) & ((x > 0) | (not chart.x_log))
    seen = there & np.isfinite(y) & ((y > 0) | (not chart.y_log))
    points = {"x": x[seen], "y": y[seen]}
    if series.low is None or series.high is None:
        return points, dict.fromkeys(("x", "low", "high"), np.empty(0))
    low, high = np.asarray(series.low, float), np.asarray(series.high, float)
    held = there & np.isfinite(low) & np.isfinite(high) & ((high > 0) | (not chart.y_log))
    return points, {"x": x[held], "low": low[held], "high": high[held]}


def _clipped(band: dict[str, np.ndarray], y: Axis) -> dict[str, np.ndarray]:
    """On a log axis a band that reaches to 0 or below ends at the axis."""
    return {**band, "low": np.maximum(band["low"], y.span[0])} if y.log else band


def _obstacles(kept: Sequence[tuple], levels: Sequence[tuple[str, float]], x: Axis, y: Axis) -> np.ndarray:
    """Points (n, 2) along everything that is drawn, in shares of the axes."""
    found = [np.empty((0, 2))]
    for points, band in kept:
        found.append(_along(x.share(points["x"]), y.share(points["y"])))
        for name in ("low", "high"):
            edge = _clipped(band, y)[name]
            found.append(_along(x.share(band["x"]), y.share(edge)))
    for _, height in levels:
        across = np.linspace(0, 1, 60)
        for up in (0.0, 0.03, 0.06):  # the words above the line too
            found.append(np.column_stack([across, np.full(60, float(y.share(np.array(height))) + up)]))
    return np.concatenate(found)


def _along(u: np.ndarray, v: np.ndarray, steps: int = 24) -> np.ndarray:
    """A line through points, as many points that lie close."""
    if len(u) < 2:
        return np.column_stack([u, v])
    order = np.argsort(u, kind="stable")
    at = np.linspace(0, len(u) - 1, min(2000, steps * (len(u) - 1) + 1))
    return np.column_stack([np.interp(at, np.arange(len(u)), values[order]) for values in (u, v)])
