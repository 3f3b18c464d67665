"""The same recipe with other seeds: whether a value is typical."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cached_property, reduce
from typing import NamedTuple

import numpy as np

from pmdviz.engine.recipe import MAX_BUDGET, Recipe
from pmdviz.engine.session import Session
from pmdviz.errors import TargetError

SHARE = 0.8  # of the other seeds, inside which a value is typical
QUANTILES = (1 - SHARE) / 2, 0.5, (1 + SHARE) / 2


class SeedRun(NamedTuple):
    """One run: its history, and why it stopped before its end ("" where it did not)."""

    seed: int
    history: Mapping[str, np.ndarray]
    stopped: str = ""


class Judged(NamedTuple):
    """A value among the values of other seeds at the same iteration."""

    iteration: int
    value: float
    lower: int  # how many of the others are lower
    others: int
    low: float  # the middle 80 % of the others
    high: float

    @property
    def place(self) -> int:
        """-1 below the middle 80 % of the others, 1 above it, 0 inside."""
        return (self.value > self.high) - (self.value < self.low)


def other_seeds(seed: int, number: int) -> tuple[int, ...]:
    """The first `number` seeds of 0, 1, 2, ... without `seed`."""
    return tuple([k for k in range(number + 1) if k != seed][:number])


def run_seed(recipe: Recipe, seed: int, tell: Callable[[float], None] = lambda share: None) -> SeedRun:
    """The run of a recipe, its log of knob changes included, with another seed.

    It is measured at the iterations of every session (`history.is_due`), which depend on no seed. `tell` hears of the
    share of the budget that is spent, in [0, 1], after each iteration. A target that fails ends the run where it is.
    """
    session = Session(recipe.replaced(seed=seed), memory_cap=0)
    try:
        while not session.done:
            session.advance(1)
            tell(min(1.0, session.frame.spent / (recipe.budget or MAX_BUDGET)))
    except TargetError as error:
        return SeedRun(seed, session.history.columns, str(error))
    return SeedRun(seed, session.history.columns)


class SeedRuns:
    """Runs of one recipe that differ in their seeds, side by side: row k is the same iteration in each of them.

    Where they do not end at the same iteration, their ends are one more row. Runs that stopped before their end are
    omitted.
    """

    def __init__(self, runs: Sequence[SeedRun]) -> None:
        self.whole = [run for run in runs if not run.stopped]
        self.stopped = [run for run in runs if run.stopped]

    @cached_property
    def _rows(self) -> list[np.ndarray]:
        """For each run the rows of its history that all have."""
        steps = [run.history["iteration"] for run in self.whole]
        if not steps:
            return []
        common, last = reduce(np.intersect1d, steps), [each[-1] for each in steps]
        rows = [np.searchsorted(each, common) for each in steps]
        if len(set(last)) == 1:
            return rows
        kept = common < min(last)  # the end of the shortest is one of the ends
        return [np.append(one[kept], len(each) - 1) for one, each in zip(rows, steps, strict=True)]

    def values(self, name: str) -> np.ndarray:
        """A column of their histories, (runs, rows); NaN where it is unavailable."""
        gaps = [np.full(len(run.history["iteration"]), np.nan) for run in self.whole]
        columns = [run.history.get(name, gap) for run, gap in zip(self.whole, gaps, strict=True)]
        return np.array([np.asarray(each, float)[rows] for each, rows in zip(columns, self._rows, strict=True)])

    def band(self, clock: str, name: str) -> dict[str, np.ndarray]:
        """x, the median of a clock, with the 10 %, 50 % and 90 % quantiles of a column: x, low, middle, high.

        Empty where no run is whole, or one of them lacks a value before its end.
        """
        values = self.values(name)
        if not values.size or np.isnan(values).all(axis=1).any():
            return dict.fromkeys(("x", "low", "middle", "high"), np.empty(0))
        known = np.isfinite(values).all(axis=0)
        low, middle, high = np.quantile(values[:, known], QUANTILES, axis=0)
        return {"x": np.median(self.values(clock)[:, known], axis=0), "low": low, "middle": middle, "high": high}

    def judge(self, own: Mapping[str, np.ndarray], name: str, over: bool, seed: int | None = None) -> Judged | None:
        """The last value of a run with this history, at an iteration that the others were measured at too.

        `over`: whether its budget is used up: then ends are compared; a run of the same `seed` is left out. None if
        no two can be compared.
        """
        if name not in own or not self.whole:
            return None
        all_steps = self.values("iteration")
        steps, alike = all_steps[0], (all_steps == all_steps[0]).all(axis=0)
        here = -1 if over else np.flatnonzero(alike & np.isin(steps, own["iteration"]))[-1]
        row = -1 if over else int(np.flatnonzero(own["iteration"] == steps[here])[0])
        others = self.values(name)[[run.seed != seed for run in self.whole], here]
        return _judged(int(own["iteration"][row]), float(own[name][row]), others)


def _judged(iteration: int, value: float, others: np.ndarray) -> Judged | None:
    known = others[np.isfinite(others)]
    if not np.isfinite(value) or not len(known):
        return None
    low, _, high = np.quantile(known, QUANTILES)
    return Judged(iteration, value, int(np.sum(known < value)), len(known), float(low), float(high))
