"""Tests of goodness of fit, and models of many machines made into one, as docs/replication/claims.md reports them."""

from __future__ import annotations

import re
from argparse import Namespace
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import yaml

from benchmarks.measuring import figures
from benchmarks.rules import pooled, rates, slope_of
from pmdviz.experiments.aggregation import AGAINST, VARIED
from pmdviz.experiments.running import ExperimentResult, run_experiment

GIVEN = yaml.safe_load((Path(__file__).parent / "tables" / "experiments.yaml").read_text(encoding="utf-8"))


def run(options: Namespace) -> dict[str, Any]:
    """What comes out of each experiment at each setting, and the bars.

    Rows go into tables in a folder named after the JSON file; what is in them is not computed again.
    """
    place = Path(options.json).with_suffix("") if options.json and options.json != "-" else None
    if place is not None:
        place.mkdir(parents=True, exist_ok=True)
    found = {words: measured(words, place, options.quick) for words in GIVEN["configurations"]}
    return {"measured": found, "bars": bars(found)}


def measured(words: str, place: Path | None, quick: bool) -> dict[str, Any]:
    """The summary of one experiment at one setting."""
    name, knobs = GIVEN["configurations"][words]
    knobs = {**knobs, **(GIVEN["quick"][name] if quick else {})}
    table = None if place is None else place / (re.sub(r"\W+", "-", words.lower()).strip("-") + ".csv")
    result = run_experiment(name, knobs, path=table, insist=True)
    entries = [
        {key: figures(value) if isinstance(value, float) else value for key, value in entry.items()}
        for entry in result.summary
    ]
    told = {"experiment": name, "knobs": knobs, "summary": entries, "failed": len(result.failed)}
    return {**told, "levels": levels(result)} if name == "aggregation" else told


def levels(result: ExperimentResult) -> list[dict[str, Any]]:
    """Error and loss of held-out log likelihood, mean and standard error, at each value of what is varied."""
    by, error = VARIED[result.knobs["varied"]].column, AGAINST[result.knobs["against"]].column
    groups: dict[tuple[str, int], list[Any]] = {}
    for row in result.rows:
        groups.setdefault((row["combiner"], row[by]), []).append(row)
    return [
        {"combiner": combiner, "level": level, "error": _mean(rows, error), "gap": _mean(rows, "gap")}
        for (combiner, level), rows in sorted(groups.items())
    ]


def _mean(rows: list[Any], column: str) -> list[float | None]:
    """None of fewer than two finite values."""
    values = np.array([row[column] for row in rows if np.isfinite(row[column])])
    mean, error = pooled(values) if len(values) > 1 else (np.nan, np.nan)
    return [figures(mean), figures(error, 2)]


def bars(found: Mapping[str, Any]) -> dict[str, dict[str, Any]]:
    """What each number with a bar is in the measured configurations, and whether the bar is met."""
    told = {}
    for name, (kind, words, which, *place, low, high) in GIVEN["bars"].items():
        if kind == "slope":
            value = slope_of(found, words, which)[0]
        else:
            rejected = [entry["rejected"] for entry in rates(found, words, which)]
            value = max(rejected) if place == ["highest"] else rejected[place[0]]
        told[name] = {"found": figures(value, 3), "met": bool(low <= value <= high)}
    return told
