"""Rows of a table, each measured by its seed: mean and standard error over seeds, beside what is specified."""

from __future__ import annotations

from argparse import Namespace
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple, Protocol

import numpy as np

from benchmarks.helpers.claims_runs import read_rows, write_rows
from benchmarks.helpers.contest import figures

Measured = dict[str, float]
Specified = Mapping[str, Mapping[str, tuple[float, float]]]  # by row and number: mean and its standard error, elsewhere
QUICK = 2  # seeds


class Measurable(Protocol):
    """A row as the helpers declare it."""

    @property
    def name(self) -> str:
        """Its words."""

    def measure(self, seed: int) -> Measured:
        """The numbers of one run."""


class Row(NamedTuple):
    """A line of a table: what is measured of a run by its seed, and what the specification has for some of it."""

    table: str
    words: str
    measure: Callable[[int], Measured]
    specified: Mapping[str, tuple[float, float]] = {}  # name -> mean and its standard error, elsewhere


def table(name: str, rows: Iterable[Measurable], specified: Specified) -> list[Row]:
    """The rows of one table."""
    return [Row(name, row.name, row.measure, specified.get(row.name, {})) for row in rows]


def measured(rows: Sequence[Row], seeds: Mapping[str, range], options: Namespace) -> list[dict[str, Any]]:
    """Every row over its table's seeds: a line for each number of a run.

    They stand in a CSV beside the JSON, and what is there is not made again.
    """
    path = Path(options.json).with_suffix(".csv") if options.json and options.json != "-" else None
    lines: list[dict[str, Any]] = [*read_rows(path)] if path is not None and path.exists() else []
    done = {(line["row"], int(line["seed"])) for line in lines}
    for row in rows:
        for seed in seeds[row.table][: QUICK if options.quick else None]:
            if (row.words, seed) not in done:
                found = row.measure(seed)
                lines += [{"row": row.words, "seed": seed, "name": name, "value": v} for name, v in found.items()]
        if path is not None:
            write_rows(path, ({**line, "value": float(line["value"])} for line in lines))
    return lines


def summary(rows: Sequence[Row], seeds: Mapping[str, range], lines: list[dict[str, Any]]) -> dict[str, Any]:
    """Means and standard errors of every row."""
    return {
        "seeds": {table: [some[0], some[-1]] for table, some in seeds.items()},
        "rows": {row.words: described(row, by_name(lines, row.words)) for row in rows},
    }


def by_name(lines: list[dict[str, Any]], row: str) -> dict[str, np.ndarray]:
    """The numbers of a row's runs, in the order of their seeds."""
    found: dict[str, list[float]] = {}
    for line in sorted((line for line in lines if line["row"] == row), key=lambda line: int(line["seed"])):
        found.setdefault(line["name"], []).append(float(line["value"]))
    return {name: np.array(values) for name, values in found.items()}


def described(row: Row, found: dict[str, np.ndarray]) -> dict[str, Any]:
    """Mean and standard error of every number, and whether what is specified lies within two standard errors."""
    means = {name: (float(v.mean()), float(v.std(ddof=1) / np.sqrt(len(v)))) for name, v in found.items()}
    told = {
        "table": row.table,
        "runs": len(next(iter(found.values()))),
        "means": {name: [figures(mean), figures(error, 2)] for name, (mean, error) in means.items()},
    }
    if row.specified:
        told["specified"] = {name: wanted for name, (wanted, _) in row.specified.items()}
        told["within_two_standard_errors"] = {
            name: bool(abs(means[name][0] - wanted) <= 2 * np.hypot(means[name][1], error))
            for name, (wanted, error) in row.specified.items()
        }
    return told
