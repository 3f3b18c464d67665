"""What Han's thesis claims of Stein methods and of their rivals: every row of its figures, over seeds."""

from __future__ import annotations

from argparse import Namespace
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any, NamedTuple, Protocol

import numpy as np

from benchmarks.helpers import (
    adaptive_rows,
    black_box_rows,
    discrete_rows,
    gp_classification_rows,
    gradient_free_rows,
    lattice_rows,
    net_rows,
    stein_rows,
    svgd_rows,
)
from benchmarks.helpers.claims_runs import read_rows, write_rows
from benchmarks.helpers.contest import figures
from pmdviz.engine.session import Session

Measured = dict[str, float]
Specified = Mapping[str, Mapping[str, tuple[float, float]]]  # by row and number: mean and its standard error, elsewhere
SEEDS = {
    "svgd": range(400, 404),
    "moments": range(400, 430),
    "warped": range(400, 404),
    "machine": range(400, 408),
    "surrogates": range(900, 906),
    "many dimensions": range(900, 903),
    "black box": range(900, 912),
    "random walks": range(900, 908),
    "categorical": range(900, 908),
    "lattices": range(900, 906),
    "nets": range(900, 904),
    "classifier": range(900, 904),
}
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


def _svgd(row: svgd_rows.Row) -> Row:
    def measure(seed: int) -> Measured:
        session = Session(row.recipe.replaced(seed=seed), metrics_every=10**9)
        while not session.done:
            session.advance(10**9)
        return {"value": row.statistic(session.run)}

    known = {} if row.wanted is None else {"value": (row.wanted, 0.006)}  # sd 0.011 of three runs
    return Row("svgd", row.name, measure, known)


def _adaptive(row: adaptive_rows.Row) -> Row:
    known = {} if np.isnan(row.reported) else {"kl_forward": (row.reported, 0.0)}
    return Row("warped", row.name, lambda seed: adaptive_rows.statistics(adaptive_rows.run_of(row, seed)), known)


def _table(name: str, rows: Iterable[Measurable], specified: Specified) -> list[Row]:
    return [Row(name, row.name, row.measure, specified.get(row.name, {})) for row in rows]


def rows() -> list[Row]:
    """All of them, table by table."""
    return [
        *map(_svgd, svgd_rows.svgd_rows()),
        *_table("moments", [*stein_rows.MOMENTS, *stein_rows.PATH], stein_rows.SPECIFIED),
        *_table("warped", stein_rows.WARPED, stein_rows.SPECIFIED),
        *_table("machine", stein_rows.MACHINE, stein_rows.SPECIFIED),
        *map(_adaptive, adaptive_rows.ROWS),
        *_table("surrogates", gradient_free_rows.PLANE_ROWS, gradient_free_rows.SPECIFIED),
        *_table("many dimensions", gradient_free_rows.MANY_ROWS, gradient_free_rows.SPECIFIED),
        *_table("black box", black_box_rows.BLACK_BOX, black_box_rows.SPECIFIED),
        *_table("random walks", black_box_rows.WALKS, black_box_rows.SPECIFIED),
        *_table("categorical", discrete_rows.CATEGORICAL, discrete_rows.SPECIFIED),
        *_table("lattices", lattice_rows.ROWS, lattice_rows.SPECIFIED),
        *_table("nets", net_rows.net_rows(), net_rows.SPECIFIED),
        *_table("classifier", gp_classification_rows.CLASSIFIERS, gp_classification_rows.SPECIFIED),
    ]


def run(options: Namespace) -> dict[str, Any]:
    """Every row over its seeds; each number of a run is a line of a CSV beside the JSON, and is not made again."""
    path = Path(options.json).with_suffix(".csv") if options.json and options.json != "-" else None
    lines: list[dict[str, Any]] = [*read_rows(path)] if path is not None and path.exists() else []
    done = {(line["row"], int(line["seed"])) for line in lines}
    for row in rows():
        for seed in SEEDS[row.table][: QUICK if options.quick else None]:
            if (row.words, seed) not in done:
                found = row.measure(seed)
                lines += [{"row": row.words, "seed": seed, "name": name, "value": v} for name, v in found.items()]
        if path is not None:
            write_rows(path, ({**line, "value": float(line["value"])} for line in lines))
    return {
        "seeds": {table: [some[0], some[-1]] for table, some in SEEDS.items()},
        "rows": {row.words: described(row, by_name(lines, row.words)) for row in rows()},
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
