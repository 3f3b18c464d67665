"""The table of docs/theory.md, of what `pmdviz experiment costs --json FILE` measured: prints it as Markdown."""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from pmdviz.experiments.theory.costs import AXES, LINES

HEAD = "| method | time, paper | m | N | d | memory, paper | m | N | d |\n" + "|---" * 9 + "|\n"


def table(measured: Mapping[str, Any]) -> str:
    """A line a method: the paper's words and the fitted powers, of time and of memory."""
    powers = {entry["name"]: entry for entry in measured["summary"]}
    return HEAD + "".join(_line(line, powers[line.name]) for line in LINES)


def _line(line: Any, powers: Mapping[str, float | None]) -> str:
    cells = [line.name]
    for what, printed in (("time", line.time), ("memory", line.memory)):
        cells += [printed or "-", *(_power(powers[f"{what}_{letter}"]) for letter in AXES)]
    return "| " + " | ".join(cells) + " |\n"


def _power(value: float | None) -> str:
    """Two digits; no sign of a power that rounds to 0."""
    return "-" if value is None else f"{abs(value) if abs(value) < 0.005 else value:.2f}"


if __name__ == "__main__":
    sys.stdout.write(table(json.loads(Path(sys.argv[1]).read_text(encoding="utf-8"))))
