"""The table of every measured row, for a page of claims; and the runs of its CSV as arrays."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np


def arrays_by_row(lines: Iterable[Mapping[str, str]]) -> dict[str, dict[str, np.ndarray]]:
    """Values of every number of every row, in the order of the lines."""
    found: dict[str, dict[str, list[float]]] = {}
    for line in lines:
        found.setdefault(line["row"], {}).setdefault(line["name"], []).append(float(line["value"]))
    return {row: {name: np.array(v) for name, v in numbers.items()} for row, numbers in found.items()}


def every_row(rows: Mapping[str, Any]) -> str:
    """Mean and standard error of every number of every row, with what a prototype had."""
    head = "\n## Every row\n\nMean ± standard error; what a prototype had in brackets, **bold** where it is further off"
    head += " than two standard errors.\n\n| row | runs | figures |\n|---|---|---|\n"
    return head + "".join(f"| {row} | {one['runs']} | {_numbers(one)} |\n" for row, one in rows.items())


def _numbers(one: Mapping[str, Any]) -> str:
    wanted, met = one.get("specified", {}), one.get("within_two_standard_errors", {})
    told = []
    for name, (mean, error) in one["means"].items():
        if name == "evaluations":
            continue
        known = f" ({wanted[name]:.3g})" if name in wanted else ""
        told.append(f"{name} {mean:.3g} ± {error:.1g}{known if met.get(name, True) else f' **{known.strip()}**'}")
    return ", ".join(told)
