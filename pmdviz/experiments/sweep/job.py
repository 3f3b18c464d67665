"""A sweep's work, one row a run in a table on disk, and its result."""

from __future__ import annotations

import functools
import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

import cloudpickle
import numpy as np

from pmdviz.engine.recipe import Recipe
from pmdviz.engine.recipe_parts import checked_whole
from pmdviz.engine.session import Session
from pmdviz.errors import InputError, check_function, unknown, words_of
from pmdviz.experiments.running import run_cases
from pmdviz.experiments.sweep.measures import ERRORS, ErrorFunction, chosen_error, measured
from pmdviz.experiments.sweep.plan import Fit, Job, fitted, planned
from pmdviz.experiments.table import Row
from pmdviz.experiments.workers import init_worker
from pmdviz.targets.custom import CustomTarget

# What comes out of a sweep.


@dataclass(frozen=True, eq=False)
class Sweep:
    """The runs of a sweep, one row each, in the order of the plan.

    Attributes
    ----------
    recipe : Recipe
        What all runs have in common.
    over : tuple of str
        Names of what was varied.
    error : str
        The error that `fit` and `summary` take.
    failed : tuple of str
        A sentence for each run that could not be computed.
    path : Path or None
        Of the table.
    """

    recipe: Recipe
    over: tuple[str, ...]
    error: str
    kinds: dict[str, type] = field(repr=False)
    _rows: list[dict[str, Any]] = field(repr=False)
    failed: tuple[str, ...] = ()
    path: Path | None = None

    @cached_property
    def rows(self) -> dict[str, np.ndarray]:
        """Column -> array, all of equal length.

        What was varied, seed, iterations, visited, density_evaluations, gradient_evaluations, the errors (NaN where
        one is unavailable), seconds of the steps, failed (words, "" where nothing did) and the hash of the recipe.
        """
        return {name: np.array([row[name] for row in self._rows], dtype=kind) for name, kind in self.kinds.items()}

    def __len__(self) -> int:
        return len(self._rows)

    def to_frame(self) -> Any:
        """The rows as a pandas DataFrame. Raises ImportError with a cure where pandas is not installed."""
        try:
            import pandas
        except ImportError as error:
            raise ImportError("Sweep.to_frame needs pandas: pip install pandas") from error
        return pandas.DataFrame(self.rows)

    def fit(self, x: str | None = None, y: str | None = None) -> Fit:
        """The power law y ~ x^slope through ALL points, with the slope's standard error.

        `x` is a column, by default the first that was varied; `y` by default the sweep's error. Raises InputError.
        """
        return fitted(self.column(x or self.over[0]), self.column(y or self.error))

    def column(self, name: str) -> np.ndarray:
        """A column of numbers. Raises InputError for an unknown name."""
        numbers = [key for key, kind in self.kinds.items() if kind is not str]
        if name not in numbers:
            raise unknown("column", name, numbers)
        return self.rows[name]

    def summary(self, y: str | None = None) -> list[dict[str, Any]]:
        """For each combination of what was varied: the mean of y over seeds, its standard error, sd and runs."""
        values = self.column(y or self.error)
        groups: dict[tuple[Any, ...], list[float]] = {}
        for row, value in zip(self._rows, values, strict=True):
            if np.isfinite(value):
                groups.setdefault(tuple(row[name] for name in self.over), []).append(float(value))
        return [{**dict(zip(self.over, key, strict=True)), **_moments(found)} for key, found in groups.items()]

    def __repr__(self) -> str:
        varied = ", ".join(self.over)
        return f"<Sweep of {self.recipe.method} on {self.recipe.target} over {varied}: {len(self):,} runs>"


def _moments(values: list[float]) -> dict[str, float | int | None]:
    n = len(values)
    sd = float(np.std(values, ddof=1)) if n > 1 else None
    error = None if sd is None else sd / n**0.5
    return {"mean": float(np.mean(values)), "standard_error": error, "sd": sd, "runs": n}


COUNTS: dict[str, type] = {"iterations": int, "visited": int, "density_evaluations": int, "gradient_evaluations": int}
ENDING: dict[str, type] = {"seconds": float, "failed": str, "recipe": str}
_targets: dict[tuple, CustomTarget] = {}  # of this process: a custom target's exact posterior is computed once


def run_sweep(
    recipe: Recipe,
    over: Mapping[str, Any],
    seeds: Any,
    path: str | os.PathLike[str] | None = None,
    error: Any = "tv",
    together: bool = False,
    workers: int | None = None,
    progress: Callable[[int, int], object] | None = None,
    niceness: int = 0,
    on_row: Callable[[Row], object] = lambda row: None,
) -> Sweep:
    """The sweep that `pmdviz.sweep` describes; its worker processes give way to others by `niceness`.

    `on_row` is given every row as it comes.
    """
    main, own = chosen_error(error)
    check_function("progress", progress)
    jobs = planned(recipe, over, seeds, together)
    workers = None if workers is None else checked_whole("workers", workers, 1, 1000)
    kinds = {name: type(value) for name, value in jobs[0].values.items()}
    kinds |= {"seed": int, **COUNTS, **dict.fromkeys([*measured_names(own)], float), **ENDING}
    _check_sendable(recipe, own)
    found = run_cases(
        {job.identity: job for job in jobs},
        functools.partial(rows_of, own=own, home=os.getpid(), niceness=niceness),
        kinds=kinds,
        identity=_identity,
        named=_name,
        path=path,
        workers=workers,
        progress=progress,
        on_row=on_row,
    )
    rows = [row for each in found.rows.values() for row in each]
    return Sweep(recipe, tuple(jobs[0].values), main, kinds, rows, (*_failures(rows), *found.lost), found.path)


def measured_names(own: Mapping[str, ErrorFunction]) -> list[str]:
    """Names of the errors in a row."""
    return [*ERRORS, *own]


def rows_of(job: Job, own: Mapping[str, ErrorFunction], home: int, niceness: int = 0) -> list[Row]:
    """The one row of a job."""
    return [row_of(job, own, home, niceness)]


def row_of(job: Job, own: Mapping[str, ErrorFunction], home: int, niceness: int = 0) -> Row:
    """Run a job and measure its last frame. Whatever goes wrong in it becomes words in the row."""
    init_worker(home, niceness)
    recipe = job.recipe
    if recipe.custom is not None:
        recipe = recipe.replaced(target=_targets.setdefault(recipe.custom.key, recipe.custom))
    key, seed = job.identity
    row: Row = {**job.values, "seed": seed, **dict.fromkeys(COUNTS, 0)}
    row |= dict.fromkeys(measured_names(own), float("nan")) | {"seconds": 0.0, "failed": "", "recipe": key}
    try:
        session = Session(recipe, metrics_every=10**9)
        frame = session.advance(10**9)
        counts = {name: getattr(frame, name) for name in COUNTS if name != "iterations"}
        return row | {"iterations": frame.iteration, **counts, "seconds": frame.seconds, **measured(frame, own)}
    except (Exception, SystemExit) as error:  # a person's own function may raise anything; other rows go on
        return row | {"failed": f"{type(error).__name__}: {words_of(error)}".strip()}


def _check_sendable(recipe: Recipe, own: Mapping[str, ErrorFunction]) -> None:
    """Say at once that a person's functions cannot go to other processes, rather than once a run."""
    if recipe.custom is None and not own:
        return
    try:
        cloudpickle.dumps((recipe.custom, dict(own)))
    except Exception as error:
        raise InputError(
            f"the target or error function cannot be sent to other processes: {words_of(error)}"
        ) from error


def _identity(row: Row) -> tuple[str, int]:
    return row["recipe"], row["seed"]


def _name(job: Job) -> str:
    values = ", ".join(f"{name} = {value}" for name, value in job.values.items())
    return f"the run with {values}, seed {job.recipe.seed}"


def _failures(rows: list[Row]) -> list[str]:
    return [f"seed {row['seed']}: {row['failed']}" for row in rows if row["failed"]]
