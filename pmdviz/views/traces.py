"""The traces of runs and races: how far each approximation is from the exact posterior, with bands over seeds."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import numpy as np
from bokeh.models import ColumnDataSource

from pmdviz.experiments.sweep import SHARE, SeedRuns
from pmdviz.metrics import METRICS, Metric
from pmdviz.pictures import Mark as Layer
from pmdviz.pictures import Picture
from pmdviz.scenes import style
from pmdviz.scenes.race import CLOCKS as RACE_CLOCKS
from pmdviz.scenes.race import Columns, Difference, difference_picture, race_traces_picture, span
from pmdviz.scenes.trace_columns import (
    AT_THE_END,
    CLOCK_OF,
    CLOCKS,
    GROUPS,
    Bands,
    Group,
    Mark,
    Standing,
    clock_end,
    column,
    traces_axes,
    traces_picture,
)
from pmdviz.views.drawing import PictureFigure

WAITING = "Press Play:\n{} will be drawn here"
NO_ROWS: Mapping[str, np.ndarray] = {name: np.empty(0, np.float32) for name in CLOCKS}


class TracesView(PictureFigure):
    """One Bokeh figure with all traces; `show` changes data, ranges and words, never the user's zoom along x.

    Other runs and where a person is in the run so far are drawn as well (`Standing`).
    """

    def __init__(self, group: str = "tv") -> None:
        self.group, self.clock = group, "visited"
        self._seeds: SeedRuns | None = None
        self._bands: Bands = {}
        self._seeds_said = ""
        self._last: tuple[Any, ...] = (NO_ROWS, {}, (), None, "data", (), AT_THE_END)
        self._playing = False
        longest = (
            max((each for each in GROUPS.values() if each.log == log), key=lambda each: len(each.metrics))
            for log in (True, False)
        )
        more = [self._picture(each) for each in longest]
        super().__init__("traces", self._picture(GROUPS[group]), zoom="width", more=more)
        self.figure.on_event("doubletap", lambda event: self.follow())

    @property
    def source(self) -> ColumnDataSource:
        """The columns of the run."""
        return self.sources["traces"]

    @property
    def marks(self) -> ColumnDataSource:
        """What happened in it."""
        return self.sources["marks"]

    def begin(self, on: bool) -> None:
        """Whether it plays: then an empty picture no longer says to press Play."""
        self._playing = on
        if on:
            self.follow()

    def choose(self, group: str | None = None, clock: str | None = None) -> None:
        """Show another group of traces (a key of GROUPS) or another x axis (a key of CLOCKS)."""
        self.group, self.clock = group or self.group, clock or self.clock
        self._bands = bands_of(self._seeds, self.clock, tuple(GROUPS[self.group].metrics))
        self.follow()

    def show_seeds(self, runs: SeedRuns | None) -> None:
        """Have a band over the same run with other seeds behind each trace; None for no bands."""
        if runs is not self._seeds:
            self._seeds = runs
            self._bands = bands_of(runs, self.clock, tuple(GROUPS[self.group].metrics))
            self.show(*self._last)

    def say_seeds(self, words: str) -> None:
        """A few words on the other seeds, in the upper right corner."""
        self._seeds_said = words
        self.show(*self._last)

    def follow(self) -> None:
        """Let the x axis follow the run again after the user's zoom."""
        self._spans.clear()
        self.show(*self._last)

    def iteration_at(self, x: float) -> int | None:
        """The iteration of the run so far that is nearest to a place on the axis; None where nothing has been run."""
        history = self._history(GROUPS[self.group])
        if len(history["iteration"]) < 2:
            return None
        return round(float(np.interp(x, history[self.clock], history["iteration"])))

    def show(
        self,
        history: Mapping[str, np.ndarray] | Callable[[Iterable[str]], Mapping[str, np.ndarray]],
        floors: Mapping[str, float | None],
        marks: Sequence[Mark] = (),
        budget: int | None = None,
        unit: str = "data",
        expected: Sequence[str] = (),
        standing: Standing = AT_THE_END,
    ) -> None:
        """Draw a history (equal-length columns), the floors (floor_tv, floor_kl) and the marks of a run.

        The history may be a function of some metrics, where not every row has each of them.
        Kinds of marks that are `expected` are in the legend from the start: it does not move while the run plays.
        """
        self._last = history, floors, marks, budget, unit, expected, standing
        self.draw_picture(self._picture(GROUPS[self.group]))

    def _history(self, group: Group) -> Mapping[str, np.ndarray]:
        history = self._last[0]
        return history(group.metrics) if callable(history) else history

    def _picture(self, group: Group) -> Picture:
        """The picture shown last."""
        _, floors, marks, budget, unit, expected, standing = self._last
        history = self._history(group)
        beside = [band[edge] for band in self._bands.values() for edge in ("low", "high")]
        if standing.ghost is not None:
            ghost = standing.ghost(group.metrics)
            beside += [column(ghost, name) for name in group.metrics]
        axes = traces_axes(history, group, self.clock, floors, budget, unit, beside)
        happened = {*expected, *(mark.kind for mark in marks)}
        number = len(self._seeds.whole) if self._seeds is not None else 0
        seeds = f"middle {SHARE:.0%} of {number} seeds".replace("%", "\u00a0%") if number else ""
        made = traces_picture(history, group, self.clock, axes, floors, marks, happened, standing, self._bands, seeds)
        middle = made.middle
        if len(history["iteration"]) < 2:
            middle = "" if self._playing else WAITING.format(group.title)
        corner = "\n".join(filter(None, (made.corner, self._seeds_said)))
        return labelled(made._replace(middle=middle, corner="" if middle else corner), group, self.clock)


LABELS, LEAST_GAP, BESIDE, END = 2, 0.15, 0.1, 0.06  # traces; shares of the picture's height


def labelled(picture: Picture, group: Group, clock: str) -> Picture:
    """The names of one or two traces at their ends; of more there is the legend.

    The upper one is above its curve and the lower one below it.
    """
    if len(group.metrics) > LABELS:
        return picture
    ends = sorted(filter(None, (_end(picture, name, clock) for name in group.metrics)), key=lambda end: -end[1])
    heights = [min(max(end[1] + (-BESIDE if k else BESIDE), END), 1 - END) for k, end in enumerate(ends)]
    if len(heights) == LABELS and heights[0] - heights[1] < LEAST_GAP:
        heights = [max(heights[0], END + LEAST_GAP), min(heights[1], 1 - END - LEAST_GAP)]
    marks = dict(picture.marks)
    for k in range(LABELS):
        there = k < len(ends)
        name, at = (ends[k][2], ends[k][0]) if there else (next(iter(group.metrics)), 0.0)
        words = group.metrics[name].title if there else ""
        columns: dict[str, list] = {"x": [at], "y": [heights[k] if there else 0.0], "text": [words]}
        look = {"edge": True, "align": "right" if at > picture.x.high / 2 else "left", "baseline": "middle"}
        marks[f"label {k}"] = Layer("words", group.metrics[name].colour, columns, look, moves=True)
    legend = {key: words for key, words in picture.legend.items() if key not in group.metrics}
    return picture._replace(marks=marks, legend=legend)


def _end(picture: Picture, name: str, clock: str) -> tuple[float, float, str] | None:
    """Where a trace ends: the clock, the share of the picture's height, and its name; None before it has begun."""
    columns, y = picture.marks[name].columns, picture.y
    values = np.asarray(columns[name], float)
    known = np.flatnonzero(np.isfinite(values))
    if len(known) < 2:
        return None
    low, high, at = (np.log(v) if y.log else v for v in (y.low, y.high, values[known[-1]]))
    return float(columns[clock][known[-1]]), float((at - low) / (high - low)), name


def bands_of(runs: SeedRuns | None, clock: str, names: Sequence[str]) -> dict[str, dict[str, np.ndarray]]:
    """The bands of those columns that the runs have, against a clock."""
    found = {name: runs.band(clock, name) for name in names} if runs is not None and runs.whole else {}
    return {name: band for name, band in found.items() if len(band["x"])}


# The traces of a race: a metric of every method against a clock, and the difference between two entrants.

HEIGHT = 250  # px
NO_ENTRANT = dict.fromkeys(("iteration", *RACE_CLOCKS), np.empty(0, np.float32))
ROOM = [NO_ENTRANT] * len(style.ENTRANTS_LIGHT)  # for as many entrants as can be told apart


class RaceTraces(PictureFigure):
    """One figure with a metric of all entrants, whole, and a marker where each is at the moment that is shown."""

    def __init__(self, slot: str, metric: Metric) -> None:
        self.metric, self.clock = metric, "visited"
        self._seeds: Sequence[SeedRuns] = ()
        self._bands: Bands = {}
        self._last: tuple[Any, ...] = ((), (), {}, None, "data")
        other = next(each for each in METRICS.values() if each.axis and each.log != metric.log)
        room = [race_traces_picture(ROOM, each, "visited", 1.0, each.limits, None) for each in (other, metric)]
        super().__init__(f"race-{slot}", room[1], "width", more=room[:1], height=HEIGHT)
        self.figure.on_event("doubletap", lambda event: self.follow())

    @property
    def moving(self) -> list[ColumnDataSource]:
        """The columns of the entrants."""
        return [self.sources[f"traces-{k}"] for k in range(len(ROOM))]

    def show(
        self,
        rows: Sequence[Columns],
        here: Sequence[Columns],
        floors: Mapping[str, float | None],
        budget: int | None,
        unit: str,
    ) -> None:
        """Draw the entrants' measured frames (columns of clocks and metrics), those up to now, and the floors."""
        self._last = rows, here, floors, budget, unit
        floor = floors.get(self.metric.name)
        end = clock_end(self.clock, max((float(one[self.clock][-1]) for one in rows), default=0.0), budget, unit)
        limits = span(self.metric, rows, floor)
        made = race_traces_picture(rows, self.metric, self.clock, end, limits, floor, self._bands, here)
        waits = rows and all(len(one["visited"]) < 2 for one in rows)
        self.draw_picture(made._replace(middle=WAITING.format(self.metric.title)) if waits else made)

    def choose(self, metric: Metric | None = None, clock: str | None = None) -> None:
        """Show another metric or clock; the zoom along the old one means nothing any more."""
        self.metric, self.clock = metric or self.metric, clock or self.clock
        self._spans.clear()
        self.show_seeds(self._seeds)

    def show_seeds(self, entrants: Sequence[SeedRuns]) -> None:
        """Bands over the seeds of each entrant; none for an empty list."""
        self._seeds, name = entrants, self.metric.name
        found = {str(k): bands_of(runs, self.clock, [name]).get(name) for k, runs in enumerate(entrants)}
        self._bands = {k: one for k, one in found.items() if one is not None}
        self.show(*self._last)

    def spent_at(self, x: float) -> int | None:
        """What the entrant that was furthest at a place on the axis had spent; None where nothing has been run."""
        rows, *_, unit = self._last
        found = [np.interp(x, one[self.clock], one[CLOCK_OF[unit]]) for one in rows if len(one["visited"]) > 1]
        return round(float(max(found))) if found else None


class RaceDifference(PictureFigure):
    """One figure; above 0 the first entrant is closer, below 0 the second."""

    def __init__(self) -> None:
        nothing = Difference(np.empty(0), np.empty(0), METRICS["tv"], ("", ""), "data")
        super().__init__("race-difference", difference_picture(nothing, "visited", 1.0), "width", height=HEIGHT)

    def show(self, found: Difference, clock: str, end: float) -> None:
        """Draw a difference against a clock whose axis goes to `end`."""
        self.draw_picture(difference_picture(found, clock, end))
