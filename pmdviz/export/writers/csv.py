"""A table in plain text."""

from __future__ import annotations

import csv
import io
from collections.abc import Mapping
from typing import Any

import numpy as np

from pmdviz.export.tables import UNITS
from pmdviz.export.writer import Job, Writer


def table_csv(columns: Mapping[str, np.ndarray]) -> str:
    """Comma-separated values: a comment line with the units, a line of names, one line a row.

    An unavailable value is an empty cell; an infinite one is `inf`.
    """
    text = io.StringIO()
    known = [f"{name}: {UNITS[name]}" for name in columns if name in UNITS]
    text.write(f"# {'; '.join(known)}\n")
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(columns)
    writer.writerows([_cell(value) for value in row] for row in zip(*columns.values(), strict=True))
    return text.getvalue()


def _cell(value: Any) -> str:
    if isinstance(value, str):
        return value
    if isinstance(value, (float, np.floating)) and np.isnan(value):
        return ""
    return repr(value.item() if isinstance(value, np.generic) else value)


def _write(job: Job) -> None:
    job.path.write_text(table_csv(job.film.columns()), encoding="utf-8")


CSV = Writer(".csv", "a table of numbers as plain text: the history, the particles, ...", ("table",), _write)
