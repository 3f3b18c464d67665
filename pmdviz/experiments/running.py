"""An experiment from its name to its result: cases in worker processes, into a table on disk."""

from __future__ import annotations

import hashlib
import importlib
import json
import os
import pkgutil
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Unpack

import pmdviz.experiments
from pmdviz.errors import InputError, entry, shown
from pmdviz.experiments import EXPERIMENTS, Case, Experiment, Picture, check_size
from pmdviz.experiments.workers import FAILED, Row, Way, csv_text, run_cases, table_bytes, table_path
from pmdviz.files import Json, atomic_write, file_path, finite, write_json
from pmdviz.knobs import Knobs, Raw, Value

# All experiments of the package: every module of its folders is imported: a new file is found without a list.

for _module in pkgutil.walk_packages(pmdviz.experiments.__path__, "pmdviz.experiments."):
    if _module.name != __name__:
        importlib.import_module(f"pmdviz.experiments.{_module.name.removeprefix('pmdviz.experiments.')}")

CASE = "case"  # the column of every table that names the case, as JSON


@dataclass(frozen=True, eq=False)
class ExperimentResult:
    """The rows of an experiment, with what follows from them.

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
    knobs: Mapping[str, Value]
    _rows: list[Row] = field(repr=False)
    failed: tuple[str, ...] = ()
    path: Path | None = None

    @property
    def rows(self) -> list[Row]:
        """One or several a case, in the order of the cases; a failed case has none."""
        return [{name: value for name, value in row.items() if name not in (CASE, FAILED)} for row in self._rows]

    @cached_property
    def _made(self) -> tuple[Experiment, Knobs]:
        made = find_experiment(self.experiment)
        return made, made.Knobs.checked(self.knobs)

    @property
    def summary(self) -> list[Row]:
        """Means with standard errors, slopes and verdicts over the rows."""
        made, chosen = self._made
        return made.summary(self.rows, chosen)

    @property
    def pictures(self) -> Sequence[Picture]:
        """The pictures of the rows; empty for an experiment that gives a table alone."""
        made, chosen = self._made
        return made.pictures(self.rows, chosen)

    def examples(self) -> Sequence[Picture]:
        """Pictures of one case in detail; takes seconds at most."""
        made, chosen = self._made
        return made.examples(chosen)

    def to_dict(self) -> Json:
        """Everything as plain values, None where a number is unavailable."""
        parts: dict[str, Json] = {"experiment": self.experiment, "knobs": dict(self.knobs), "summary": self.summary}
        return finite({**parts, "rows": self.rows, "failed": [*self.failed]})

    def csv(self) -> str:
        """The rows as comma-separated values, as `export` writes them; "" where there are none."""
        rows = self.rows
        return csv_text(rows, rows[0]) if rows else ""

    def export(self, path: str | os.PathLike[str]) -> Path:
        """Write the rows as .csv or .parquet, or everything as .json; returns the path. Raises InputError."""
        path = file_path(path)
        if path.suffix == ".json":
            write_json(str(path), self.to_dict())
            return path
        if not (rows := self.rows):
            raise InputError(f"every case failed, so no rows can be written; the first: {self.failed[0]}")
        path = table_path(path)
        content = table_bytes(path, rows, {name: type(value) for name, value in rows[0].items()})
        with atomic_write(path) as part:
            part.write_bytes(content)
        return path

    def __repr__(self) -> str:
        return f"<{self.experiment}: {len(self._rows):,} rows>"


def find_experiment(name: str) -> Experiment:
    """The experiment of a name. Raises InputError."""
    return entry("experiment", name, EXPERIMENTS)


def run_experiment(name: str, knobs: Mapping[str, Raw], insist: bool = False, **way: Unpack[Way]) -> ExperimentResult:
    """The experiment that `pmdviz.experiment` describes; `way`: how its cases are run, as `run_cases` takes it."""
    experiment = find_experiment(name)
    chosen = experiment.Knobs.checked(dict(knobs))
    cases = {_key(case): case for case in experiment.cases(chosen)}
    if not cases:
        words = f"experiment {name!r} has no cases with these settings"
        raise InputError(f"{words}; change one of {shown(dict(knobs), 200)}")

    def check(missing: list[Case], processes: int) -> None:
        check_size([size for case in missing if (size := experiment.size(case)) is not None], processes, insist)

    rows, lost, path = run_cases(
        cases,
        experiment.run,
        kinds={CASE: str, **experiment.columns(chosen), FAILED: str},
        labels=_labels,
        identity=lambda row: row[CASE],
        named=lambda case: f"the case {case}",
        before=check,
        **way,
    )
    failed = [f"{row[CASE]}: {row[FAILED]}" for row in rows if row[FAILED]]
    good = [row for row in rows if not row[FAILED]]
    return ExperimentResult(name, chosen.as_dict(), good, (*failed, *lost), path)


def _key(case: Case) -> str:
    """The case as JSON: what a table knows it by."""
    text = json.dumps(case, sort_keys=True, allow_nan=False)
    return text if len(text) <= 200 else hashlib.sha256(text.encode()).hexdigest()


def _labels(case: Case) -> Row:
    return {CASE: _key(case)}
