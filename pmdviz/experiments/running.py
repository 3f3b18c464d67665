"""An experiment from its name to its result: cases in worker processes, into a table on disk."""

from __future__ import annotations

import functools
import hashlib
import json
import os
from collections.abc import Callable, Hashable, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from pmdviz.engine.recipe_parts import checked_whole
from pmdviz.errors import InputError, check_function, shown, unknown, words_of
from pmdviz.experiments.base import EXPERIMENTS, Case, Experiment, Picture, Size, check_size
from pmdviz.experiments.table import Kinds, Row, Table, csv_text
from pmdviz.experiments.workers import init_worker, num_processes, results
from pmdviz.files import finite, write_json

# Cases computed in worker processes into a table on disk: with progress, cancel, and going on where one stopped.


class Computed(NamedTuple):
    """What there is of the cases."""

    rows: dict[Hashable, list[Row]]  # by case
    lost: list[str]  # a sentence for each case whose worker died
    path: Path | None  # of the table


def run_cases(
    cases: Mapping[Hashable, Any],
    work: Callable[[Any], list[Row]],
    *,
    kinds: Kinds,
    identity: Callable[[Row], Hashable],
    named: Callable[[Any], str],
    path: str | os.PathLike[str] | None = None,
    workers: int | None = None,
    progress: Callable[[int, int], object] | None = None,
    on_row: Callable[[Row], object] = lambda row: None,
    before: Callable[[list[Any]], object] = lambda cases: None,
) -> Computed:
    """`work` on every case whose rows are not in the table at `path` already.

    `work` is sent to other processes and must catch its own errors. `identity` of a row is its case's key; `named` says
    in words which case was lost. `progress(done, all)` is called after each and a few times a second; what it raises
    stops the workers, and the table keeps what was finished. `before(cases that are missing)` may refuse them.
    """
    table = Table(path, kinds) if path is not None else None
    with table or nullcontext():
        found: dict[Hashable, list[Row]] = {}
        for row in table.rows if table else ():
            found.setdefault(identity(row), []).append(row)
        missing, lost = [key for key in cases if key not in found], []

        def tell() -> None:
            if progress is not None:
                progress(sum(key in found for key in cases), len(cases))

        before([cases[key] for key in missing])
        for number, rows, why in results(work, [cases[key] for key in missing], workers, tell):
            if rows is None:
                lost.append(f"{named(cases[missing[number]])} is missing: {why}")
                continue
            found[missing[number]] = rows
            for row in rows:
                on_row(row)
            if table:
                table.add(*rows)
        tell()
        if table:
            table.sort([*cases], identity)
    return Computed({key: found[key] for key in cases if key in found}, lost, table and table.path)


CASE, FAILED = "case", "failed"  # columns of every table: the case as JSON, and why it has no numbers


@dataclass(frozen=True, eq=False)
class ExperimentResult:
    """What came out of an experiment.

    Attributes
    ----------
    experiment : str
    knobs : mapping
    failed : tuple of str
        A sentence for each case that could not be computed.
    path : Path or None
        Of the table.
    """

    experiment: str
    knobs: Mapping[str, Any]
    _rows: list[Row] = field(repr=False)
    failed: tuple[str, ...] = ()
    path: Path | None = None

    @property
    def rows(self) -> list[Row]:
        """One or several a case, in the order of the cases; a failed case has none."""
        return [{name: value for name, value in row.items() if name not in (CASE, FAILED)} for row in self._rows]

    @property
    def summary(self) -> list[dict[str, Any]]:
        """What comes out."""
        made = find_experiment(self.experiment)
        return made.summary(self.rows, made.Knobs.checked(dict(self.knobs)))

    @property
    def pictures(self) -> Sequence[Picture]:
        """What is drawn of the rows; empty for a table alone."""
        made = find_experiment(self.experiment)
        return made.pictures(self.rows, made.Knobs.checked(dict(self.knobs)))

    def examples(self) -> Sequence[Picture]:
        """What one case looks like from near; takes seconds at most."""
        made = find_experiment(self.experiment)
        return made.examples(made.Knobs.checked(dict(self.knobs)))

    def to_dict(self) -> dict[str, Any]:
        """Everything as plain values, None where a number is unavailable."""
        parts = {"experiment": self.experiment, "knobs": dict(self.knobs), "summary": self.summary}
        return finite({**parts, "rows": self.rows, "failed": [*self.failed]})

    def csv(self) -> str:
        """The rows as comma-separated values, as `export` writes them; "" where there are none."""
        rows = self.rows
        return csv_text(rows, rows[0]) if rows else ""

    def export(self, path: str | os.PathLike[str]) -> Path:
        """Write the rows as .csv or .parquet, or everything as .json; returns the path. Raises InputError."""
        path = Path(path)
        if path.suffix == ".json":
            write_json(str(path), self.to_dict())
            return path
        if not self._rows:
            raise InputError("there are no rows to write: every case failed")
        kinds = {name: type(value) for name, value in self.rows[0].items()}
        if path.exists():
            path.unlink()
        with Table(path, kinds) as table:
            table.add(*self.rows)
        return table.path

    def __repr__(self) -> str:
        return f"<{self.experiment}: {len(self._rows):,} rows>"


def find_experiment(name: Any) -> Experiment:
    """The experiment of a name. Raises InputError."""
    if not isinstance(name, str) or name not in EXPERIMENTS:
        raise unknown("experiment", name, EXPERIMENTS)
    return EXPERIMENTS[name]


def run_experiment(
    name: str,
    knobs: Mapping[str, Any],
    *,
    path: str | os.PathLike[str] | None = None,
    workers: int | None = None,
    progress: Callable[[int, int], object] | None = None,
    niceness: int = 0,
    on_row: Callable[[Row], object] = lambda row: None,
    insist: bool = False,
) -> ExperimentResult:
    """The experiment that `pmdviz.experiment` describes; workers give way to others by `niceness`."""
    experiment = find_experiment(name)
    chosen = experiment.Knobs.checked(dict(knobs))
    check_function("progress", progress)
    workers = None if workers is None else checked_whole("workers", workers, 1, 1000)
    cases = {_key(case): case for case in experiment.cases(chosen)}
    if not cases:
        raise InputError(f"experiment {name!r} has no cases with these knobs; given: {shown(dict(knobs))}")
    columns = dict(experiment.columns(chosen))
    found = run_cases(
        cases,
        functools.partial(_rows_of, experiment, columns, os.getpid(), niceness),
        kinds={CASE: str, **columns, FAILED: str},
        identity=lambda row: row[CASE],
        named=lambda case: f"the case {case}",
        path=path,
        workers=workers,
        progress=progress,
        on_row=on_row,
        before=lambda missing: check_size(_sizes(experiment, missing), num_processes(workers), insist),
    )
    rows = [row for each in found.rows.values() for row in each]
    failed = [f"{row[CASE]}: {row[FAILED]}" for row in rows if row[FAILED]]
    good = [row for row in rows if not row[FAILED]]
    return ExperimentResult(name, chosen.as_dict(), good, (*failed, *found.lost), found.path)


def _sizes(experiment: Experiment, cases: list[Case]) -> list[Size]:
    return [size for case in cases if (size := experiment.size(case)) is not None]


def _key(case: Case) -> str:
    """The case as JSON: what a table knows it by."""
    text = json.dumps(case, sort_keys=True, allow_nan=False)
    return text if len(text) <= 200 else hashlib.sha256(text.encode()).hexdigest()


def _rows_of(experiment: Experiment, columns: dict[str, type], home: int, niceness: int, case: Case) -> list[Row]:
    """The rows of a case; whatever goes wrong in it becomes words in a row."""
    init_worker(home, niceness)
    key = _key(case)
    try:
        found = experiment.run(case)
        return [{CASE: key, **{name: kind(row[name]) for name, kind in columns.items()}, FAILED: ""} for row in found]
    except (Exception, SystemExit) as error:  # other cases go on
        nothing: dict[type, Any] = {int: 0, float: np.nan, str: "", bool: False}
        empty = {name: nothing[kind] for name, kind in columns.items()}
        return [{CASE: key, **empty, FAILED: f"{type(error).__name__}: {words_of(error)}".strip()}]


# What a run will need, by the work that its method's knobs declare.
