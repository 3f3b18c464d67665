"""What benches share: runs in parallel, tables of runs, CPU time in turn, figures, and their circumstances."""

from __future__ import annotations

import csv
import math
import os
import platform
import subprocess
import time
from argparse import Namespace
from collections.abc import Callable, Iterable, Mapping
from importlib import metadata
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np

MIN_S = 0.03  # a measurement repeats the call until it lasts so long
PACKAGES = ("pmdviz", "numpy", "numba", "llvmlite", "bokeh", "panel", "panel-material-ui")
Row = dict[str, Any]
Call = Callable[[], Any]


def figures(value: float, digits: int = 4) -> float | None:
    """`value` to so many significant digits; None where it is not finite."""
    return float(f"{value:.{digits}g}") if math.isfinite(value) else None


def csv_beside(options: Namespace) -> Path | None:
    """The file for runs, beside the JSON."""
    return Path(options.json).with_suffix(".csv") if options.json and options.json != "-" else None


def write_rows(path: Path | None, rows: list[Row]) -> None:
    """Every run, a line or a few each, for checks by other means."""
    if path is None:
        return
    with path.open("w", newline="", encoding="utf-8") as file:
        table = csv.DictWriter(file, list(rows[0]), lineterminator="\n")
        table.writeheader()
        table.writerows({name: f"{v:.6g}" if isinstance(v, float) else v for name, v in row.items()} for row in rows)


def read_rows(path: Path | None) -> list[Row]:
    """The runs in a file, if it is there."""
    if path is None or not path.exists():
        return []
    with path.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def arrays_by_row(lines: Iterable[Mapping[str, str]]) -> dict[str, dict[str, np.ndarray]]:
    """Values of every number of every row, in the order of the lines."""
    found: dict[str, dict[str, Any]] = {}
    for line in lines:
        found.setdefault(line["row"], {}).setdefault(line["name"], []).append(float(line["value"]))
    return {row: {name: np.array(v) for name, v in numbers.items()} for row, numbers in found.items()}


def arrays_of(rows: Iterable[Mapping[str, Any]]) -> dict[str, dict[str, dict[str, dict[str, np.ndarray]]]]:
    """The runs in a table as arrays (data seeds, run seeds, budgets), by problem, entrant and setting."""
    found: dict[tuple[str, str, str], list[Mapping[str, Any]]] = {}
    for row in rows:
        found.setdefault((row["problem"], row["entrant"], row["setting"]), []).append(row)
    arrays: dict[str, Any] = {}
    for (problem, entrant, setting), runs in found.items():
        names = [name for name in runs[0] if name not in ("problem", "entrant", "setting", "knobs")]
        columns = {name: np.array([float(row[name]) for row in runs]) for name in names}
        keys = [columns[name] for name in ("budget", "seed", "data_seed")]
        shape, order = [len(np.unique(key)) for key in reversed(keys)], np.lexsort(keys)
        made = {name: column[order].reshape(shape) for name, column in columns.items()}
        if "rmse" in made:  # differences are of the order of 0.001
            made["rmse × 1000"] = 1000 * made["rmse"]
        arrays.setdefault(problem, {}).setdefault(entrant, {})[setting] = made
    return arrays


def race(calls: Mapping[str, Call], rounds: int) -> dict[str, float]:
    """Median CPU milliseconds of each call. In every round each has its turn, so that all meet the same machine."""
    for call in calls.values():
        call()  # compiles
    repeats = {name: max(1, int(MIN_S * 1000 / max(cpu_ms(call), 1e-3))) for name, call in calls.items()}
    seen = [{name: cpu_ms(call, repeats[name]) for name, call in calls.items()} for _ in range(rounds)]
    return {name: median(times[name] for times in seen) for name in calls}


def cpu_ms(call: Call, repeats: int = 1) -> float:
    """CPU milliseconds of a call, a mean over some."""
    start = time.process_time()
    for _ in range(repeats):
        call()
    return (time.process_time() - start) / repeats * 1000


def circumstances() -> dict[str, Any]:
    """What decides about a figure besides the code under test."""
    return {
        "commit": _commit(),
        "versions": {"python": platform.python_version(), **{name: metadata.version(name) for name in PACKAGES}},
        "cpu": _cpu(),
        "cores": os.cpu_count(),
        "load_before": [round(x, 2) for x in os.getloadavg()],
    }


def _commit() -> str:
    """The checkout's commit, with "+" where files were changed since."""
    commands = (["rev-parse", "--short=12", "HEAD"], ["status", "--porcelain", "-uno"])
    pipes = {"cwd": Path(__file__).parent, "capture_output": True, "text": True}
    try:
        head, dirty = (subprocess.run(["git", *command], **pipes).stdout.strip() for command in commands)
    except OSError:
        return "unknown"
    return head + "+" * bool(dirty) or "unknown"


def _cpu() -> str:
    """The processor, and what numba was told about it: with other features a run may round differently."""
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
        name = next(line.split(":", 1)[1].strip() for line in lines if line.startswith("model name"))
    except (OSError, StopIteration):
        name = platform.processor() or platform.machine()
    told = (f", {key}={os.environ[key]}" for key in ("NUMBA_CPU_NAME", "NUMBA_CPU_FEATURES") if key in os.environ)
    return name + "".join(told)
