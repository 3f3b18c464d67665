"""The runs that judge a paper's claims: made in parallel, grouped by setting, kept as a table."""

from __future__ import annotations

import csv
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from joblib import Parallel, delayed

Row = dict[str, Any]
Setting = dict[str, Any]


def by_setting(
    run: Callable[[Setting, int, int], list[Row]], settings: Sequence[Setting], data: range, seeds: range
) -> list[list[Row]]:
    """For each setting the rows of all its runs; `run(knobs, data_seed, seed)` gives those of one."""
    jobs = [(knobs, data_seed, seed) for knobs in settings for data_seed in data for seed in seeds]
    done = Parallel(n_jobs=-1)(delayed(run)(*job) for job in jobs)
    each = len(data) * len(seeds)
    return [[row for one in done[k : k + each] for row in one] for k in range(0, len(done), each)]


def write_rows(path: Path, rows: Iterable[Row]) -> None:
    """Every run that judged, a line or a few each, for checks by other means."""
    rows = list(rows)
    with path.open("w", newline="", encoding="utf-8") as file:
        table = csv.DictWriter(file, list(rows[0]), lineterminator="\n")
        table.writeheader()
        table.writerows({name: f"{v:.6g}" if isinstance(v, float) else v for name, v in row.items()} for row in rows)


def read_rows(path: Path) -> list[dict[str, str]]:
    """The runs in a file."""
    with path.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def arrays_by_row(lines: Iterable[Mapping[str, str]]) -> dict[str, dict[str, np.ndarray]]:
    """Values of every number of every row, in the order of the lines."""
    found: dict[str, dict[str, list[float]]] = {}
    for line in lines:
        found.setdefault(line["row"], {}).setdefault(line["name"], []).append(float(line["value"]))
    return {row: {name: np.array(v) for name, v in numbers.items()} for row, numbers in found.items()}
