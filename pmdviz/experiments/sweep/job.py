"""A sweep's work: one row for each run, computed by a crew of processes, kept in a table as they come."""

from __future__ import annotations

import functools
import os
from collections.abc import Callable, Mapping
from typing import Any

import cloudpickle

from pmdviz.engine.recipe import Recipe
from pmdviz.engine.recipe_parts import checked_whole
from pmdviz.engine.session import Session
from pmdviz.errors import InputError, check_function, words_of
from pmdviz.experiments.cases import run_cases
from pmdviz.experiments.sweep.measures import ERRORS, ErrorFunction, chosen_error, measured
from pmdviz.experiments.sweep.plan import Job, planned
from pmdviz.experiments.sweep.result import Sweep
from pmdviz.experiments.table import Row
from pmdviz.experiments.worker_process import init_worker
from pmdviz.targets.custom import CustomTarget

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
