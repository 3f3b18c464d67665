"""Tables of numbers that a person brings into a page, held while something refers to them.

A recipe names such a table "NAME.csv#DIGITS", as it names a file that was read: DIGITS are the first of the SHA-256 of
the table's own text, which is names of columns and numbers in their shortest form.
"""

from __future__ import annotations

import hashlib
import re
import threading
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any
from weakref import WeakValueDictionary

import numpy as np

from pmdviz.data.cells import LONGEST_NAME, MOST_ROWS, safe_names, too_long
from pmdviz.errors import InputError, shown

DIGITS = 12  # of the SHA-256
MOST_HELD = 3_800_000  # of a table's own text: the file of a recipe has 4,000,000 at most, and escapes each line's end


@dataclass(frozen=True, eq=False)
class Table:
    """Numbers (n, k) with the names of their columns; immutable, and held in every process that it is sent to."""

    name: str  # NAME.csv
    columns: tuple[str, ...]
    rows: np.ndarray = field(repr=False)
    origin: str | None = field(default=None, repr=False)  # the Python that makes it; "": there is no file of it

    @cached_property
    def text(self) -> str:
        """The canonical CSV text: one table of numbers has one."""
        lines = [",".join(self.columns), *(",".join(map(_shortest, row)) for row in self.rows.tolist())]
        return "\n".join(lines) + "\n"

    @cached_property
    def digits(self) -> str:
        """The first of the SHA-256 of the text."""
        return hashlib.sha256(self.text.encode()).hexdigest()[:DIGITS]

    @property
    def pin(self) -> str:
        """NAME.csv#DIGITS."""
        return f"{self.name}#{self.digits}"

    def __reduce__(self) -> tuple[Any, ...]:
        return hold, (self.name, self.columns, self.rows, self.origin)


def _shortest(value: float) -> str:
    return str(int(value)) if value.is_integer() and abs(value) < 1e15 else repr(value)


_held: WeakValueDictionary[str, Table] = WeakValueDictionary()
_lock = threading.Lock()


def hold(name: str, columns: Sequence[str], rows: np.ndarray, origin: str | None = None) -> Table:
    """The table of these finite numbers (n, k). Its pin names it while somebody keeps the table.

    Names are made such that a page can show them. Raises InputError, also where a recipe could not carry the table.
    """
    rows = np.array(rows, dtype=float, order="C", ndmin=2) + 0.0  # a copy, and no -0
    made = Table(file_name(name), safe_names(columns), rows, origin)
    if not np.isfinite(rows).all():
        row, column = np.argwhere(~np.isfinite(rows))[0]
        raise InputError(f"row {row + 1:,} of column {shown(made.columns[column], 40)} holds no finite number")
    rows.flags.writeable = False
    if len(rows) > MOST_ROWS:
        raise too_long()
    if len(made.text) > MOST_HELD:
        raise InputError(f"a table may have {MOST_HELD:,} bytes as text; this one has {len(made.text):,}: take a part")
    with _lock:
        found = _held.setdefault(made.pin, made)
        if found.origin is None and origin is not None:
            found = _held[made.pin] = made
        return found


class Pin(str):
    """The pin of a table that was given in Python: it keeps the table."""

    table: Table

    def __new__(cls, table: Table) -> Pin:  # noqa: D102
        made = super().__new__(cls, table.pin)
        made.table = table
        return made

    def __reduce__(self) -> tuple[Any, ...]:
        return Pin, (self.table,)


def held(pin: str) -> Table | None:
    """The table that a pin names, where somebody keeps it."""
    with _lock:
        return _held.get(pin)


def file_name(name: str) -> str:
    """The last part of a path as "NAME.csv", of letters, digits, spaces and - _ alone."""
    stem = re.split(r"[/\\]", name)[-1].rsplit(".", 1)[0]
    kept = "".join(c for c in stem if c.isalnum() or c in " -_")[:LONGEST_NAME].strip()
    return f"{kept or 'table'}.csv"
