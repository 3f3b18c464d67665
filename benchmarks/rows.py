"""What the works on Stein methods, annealing and mean fields claim of single runs: every row of tables/rows.yaml."""

from __future__ import annotations

from argparse import Namespace
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import yaml

from benchmarks import statistics
from benchmarks.measuring import arrays_by_row, csv_beside, figures, read_rows, write_rows
from benchmarks.rules import pooled
from pmdviz.densities.density import normalise
from pmdviz.engine.recipe import Recipe
from pmdviz.engine.session import Session
from pmdviz.targets import make_target

TABLES = Path(__file__).parent / "tables" / "rows.yaml"
QUICK = 2  # seeds
Bounds = tuple[float, float]


class Row(NamedTuple):
    """A method at one setting on one target, or without a method independent draws; see the heading of rows.yaml."""

    name: str
    target: str
    method: str = ""
    statistic: str = "value"
    steps: int | None = None  # none: the method's own budget
    options: Mapping[str, Any] = {}
    knobs: Mapping[str, Any] = {}
    count: int = 0  # draws, where there is no method
    seeded: Mapping[str, int] = {}  # options that follow the seed: their value is the seed minus this
    specified: Mapping[str, Bounds] = {}  # mean and standard error, elsewhere

    def measure(self, seed: int) -> dict[str, float]:
        """The numbers of the run of this seed."""
        statistic = getattr(statistics, self.statistic)
        if not self.method:
            return statistic(self.drawn(seed))
        options = {**self.options, **{name: seed - first for name, first in self.seeded.items()}}
        asked = {"target_options": options, "seed": seed, **({} if self.steps is None else {"budget": None})}
        session = Session(Recipe(self.target, self.method, **asked, **self.knobs), metrics_every=10**9)
        if self.statistic not in statistics.ON_THE_WAY:
            session.advance(10**9 if self.steps is None else self.steps)
        frame = session.frame
        end = statistics.End(session.target, frame.particles, frame.weights, seed, session, self.steps)
        found = statistic(end)
        return {**found, **{name: float(getattr(session.frame, name)) for name in ("evaluations", "seconds")}}

    def drawn(self, seed: int) -> statistics.End:
        """Independent draws of the target, or weighted ones of a Gaussian surrogate."""
        target, rng = make_target(self.target, **self.options), np.random.default_rng([seed, 1])
        if not self.knobs:
            points = target.reference().sample(rng, self.count) if self.count else target.reference().draws
            return statistics.End(target, points, np.full(len(points), 1 / len(points)), seed)
        mean, sd = self.knobs["surrogate_mean"], self.knobs["surrogate_sd"] * self.options["q0_sd"]
        points = mean + sd * rng.standard_normal((self.count, target.dim))
        log_w = target.log_joint(points) + 0.5 * (((points - mean) / sd) ** 2).sum(axis=1)
        return statistics.End(target, points, np.exp(normalise(log_w)), seed)


def given(bench: str) -> dict[str, Any]:
    """The tables and bars of a bench as they are written."""
    return yaml.safe_load(TABLES.read_text(encoding="utf-8"))[bench]


def tables_of(bench: str) -> dict[str, tuple[range, list[Row]]]:
    """The tables of a bench: their seeds and rows."""
    return {
        name: (range(*table["seeds"]), [Row(**{**table.get("all", {}), **row}) for row in table["rows"]])
        for name, table in given(bench)["tables"].items()
    }


def run(options: Namespace) -> dict[str, Any]:
    """Every row over its seeds; a number is a line of a CSV beside the JSON, and is not made again if it is there."""
    tables, path = tables_of(options.name), csv_beside(options)
    lines = read_rows(path)
    done = {(line["row"], int(line["seed"])) for line in lines}
    for seeds, rows in tables.values():
        for row in rows:
            for seed in seeds[: QUICK if options.quick else None]:
                if (row.name, seed) not in done:
                    found = row.measure(seed)
                    lines += [{"row": row.name, "seed": seed, "name": name, "value": v} for name, v in found.items()]
            write_rows(path, [{**line, "value": float(line["value"])} for line in lines])
    runs = arrays_by_row(lines)
    every = [(name, row) for name, (_, rows) in tables.items() for row in rows]
    return {
        "seeds": {name: [some[0], some[-1]] for name, (some, _) in tables.items()},
        "rows": {row.name: described(name, row, runs[row.name]) for name, row in every},
        "bars": bars(given(options.name)["bars"], runs),
    }


def described(table: str, row: Row, found: Mapping[str, np.ndarray]) -> dict[str, Any]:
    """Mean and standard error of every number, and whether what is specified lies within two standard errors."""
    means = {name: pooled(values) for name, values in found.items()}
    told: dict[str, Any] = {
        "table": table,
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


def bars(asked: Mapping[str, Any], runs: Mapping[str, Mapping[str, np.ndarray]]) -> dict[str, dict[str, Any]]:
    """What the mean of each number with a bar is (over that of another row, if there is one), and whether it is met."""
    found = {}
    for words, (row, what, low, high, *over) in asked.items():
        value = float(runs[row][what].mean() / (runs[over[0]][what].mean() if over else 1.0))
        found[words] = {"found": figures(value, 3), "met": low <= value <= high}
    return found
