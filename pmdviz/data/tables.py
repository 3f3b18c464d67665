"""A person's tables: held by name, as parts of recipes, and made of arrays.

A recipe names such a table "NAME.csv#DIGITS", in the same way as a file that was read: DIGITS are the first of the
SHA-256 of the table's own text, which is names of columns and numbers in their shortest form, and of its units.
"""

from __future__ import annotations

import hashlib
import json
import re
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, is_dataclass
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any
from weakref import WeakValueDictionary

import numpy as np

from pmdviz.data.cells import LONGEST_NAME, MOST_ROWS, read_cells, safe_names, too_long
from pmdviz.errors import InputError, shown
from pmdviz.files import Json

if TYPE_CHECKING:
    import pandas as pd
    from numpy.typing import ArrayLike

DIGITS = 12  # of the SHA-256
Units = tuple[tuple[float, float], ...]  # mean and sd of each column before it was standardised; () where none was
MOST_HELD = 3_800_000  # of a table's own text: the file of a recipe has 4,000,000 at most, and escapes each line's end


@dataclass(frozen=True, eq=False)
class Table:
    """Numbers (n, k) with the names of their columns; immutable, and held in every process that it is sent to."""

    name: str  # NAME.csv
    columns: tuple[str, ...]
    rows: np.ndarray = field(repr=False)
    origin: str | None = field(default=None, repr=False)  # the Python that makes it; "" without a file
    units: Units = field(default=(), repr=False)

    @cached_property
    def text(self) -> str:
        """The canonical CSV text: one table of numbers has one."""
        lines = [",".join(self.columns), *(",".join(map(_shortest, row)) for row in self.rows.tolist())]
        return "\n".join(lines) + "\n"

    @cached_property
    def digits(self) -> str:
        """The first of the SHA-256 of the text, and of the units where there are any."""
        units = json.dumps(self.units) if self.units else ""
        return hashlib.sha256((self.text + units).encode()).hexdigest()[:DIGITS]

    @property
    def pin(self) -> str:
        """NAME.csv#DIGITS."""
        return f"{self.name}#{self.digits}"

    @property
    def needs_recipe(self) -> bool:
        """Whether neither a file nor Python gives it again: a file of its numbers would lack the units."""
        return bool(self.units) and not self.origin

    def __reduce__(self) -> tuple[Callable[..., Table], tuple[Any, ...]]:
        return hold, (self.name, self.columns, self.rows, self.origin, self.units)


def _shortest(value: float) -> str:
    return str(int(value)) if value.is_integer() and abs(value) < 1e15 else repr(value)


_held: WeakValueDictionary[str, Table] = WeakValueDictionary()
_lock = threading.Lock()


def hold(name: str, columns: Sequence[str], rows: np.ndarray, origin: str | None = None, units: Units = ()) -> Table:
    """The table of these finite numbers (n, k). Its pin names it while the table is in use.

    `units` are the mean and the sd that each column had before it was standardised, () where none was.
    Names are made such that a page can show them. Raises InputError, also where a recipe could not carry the table.
    """
    rows = np.array(rows, dtype=float, order="C", ndmin=2) + 0.0  # a copy, and no -0
    made = Table(file_name(name), safe_names(columns), rows, origin, units)
    if not np.isfinite(rows).all():
        row, column = np.argwhere(~np.isfinite(rows))[0]
        where = f"row {row + 1:,} of column {shown(made.columns[column], 40)}"
        raise InputError(f"{where} is not a finite number; correct it")
    rows.flags.writeable = False
    if len(rows) > MOST_ROWS:
        raise too_long()
    if len(made.text) > MOST_HELD:
        words = f"this one has {len(made.text):,}: keep fewer rows or columns"
        raise InputError(f"a table may have {MOST_HELD:,} bytes as text; {words}")
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

    def __reduce__(self) -> tuple[type[Pin], tuple[Table]]:
        return Pin, (self.table,)


def held(pin: str) -> Table | None:
    """The table that a pin names, while it is in use."""
    with _lock:
        return _held.get(pin)


def file_name(name: str) -> str:
    """The last part of a path as "NAME.csv", of letters, digits, spaces and - _ alone."""
    stem = re.split(r"[/\\]", name)[-1].rsplit(".", 1)[0]
    kept = "".join(c for c in stem if c.isalnum() or c in " -_")[:LONGEST_NAME].strip()
    return f"{kept or 'table'}.csv"


# The tables of a person as parts of a recipe and of work that is sent to other processes.

MOST_TABLES = 4  # of a recipe


def tables_in(values: Iterable[Json]) -> tuple[Table, ...]:
    """The held tables among the values of options; the caller keeps them held by keeping them."""
    found = {value: held(value) for value in values if isinstance(value, str) and "#" in value}
    return tuple(table for table in found.values() if table is not None)


def texts_in(value: Json | partial, depth: int = 8) -> Iterator[str]:
    """Every text of a value made of mappings, sequences, records and partial functions; for `tables_in`."""
    if isinstance(value, str):
        yield value
        return
    if isinstance(value, partial):
        parts: Iterable[Json] = (*value.args, value.keywords)
    elif isinstance(value, Mapping):
        parts = value.values()
    elif isinstance(value, (list, tuple, set, frozenset)):
        parts = value
    else:
        parts = getattr(value, "__dict__", {}).values() if is_dataclass(value) else ()
    if depth:
        for part in parts:
            yield from texts_in(part, depth - 1)


def packed(tables: Iterable[Table]) -> dict[str, Json]:
    """pin -> text, or -> text and units, in the way that a recipe's JSON form carries tables."""
    return {
        table.pin: {"text": table.text, "units": [*map(list, table.units)]} if table.units else table.text
        for table in tables
    }


def packed_text(given: Json) -> Json:
    """The text of one table in `packed`'s form."""
    return given.get("text") if isinstance(given, Mapping) else given


@contextmanager
def holding(plain: Json) -> Iterator[None]:
    """Hold the tables of `packed`'s form meanwhile; a user of one keeps it. Raises InputError for an invalid form."""
    kept = _unpacked(plain)
    yield
    kept.clear()


def _unpacked(plain: Json) -> list[Table]:
    if not isinstance(plain, Mapping) or len(plain) > MOST_TABLES:
        raise InputError(f"the data of a recipe are an object NAME.csv#DIGITS: CSV text; got {shown(plain)}")
    tables = []
    for pin, given in plain.items():
        text = packed_text(given)
        if not isinstance(text, str):
            raise InputError(f"the data {shown(pin)} of a recipe must be CSV text; got {shown(given)}")
        cells = read_cells(text)
        rows = np.column_stack([column.numbers for column in cells.columns])
        units = _read_units(given["units"], rows.shape[1]) if isinstance(given, Mapping) and "units" in given else ()
        table = hold(str(pin).partition("#")[0], cells.names, rows, units=units)
        if table.pin != pin:
            words = "their digits do not fit; open the original file"
            raise InputError(f"the data {shown(pin)} of the recipe were changed: {words}")
        tables.append(table)
    return tables


def _read_units(given: Json, width: int) -> Units:
    try:
        found = np.array(given, dtype=float)
    except (TypeError, ValueError, OverflowError):
        found = np.empty(0)
    if found.shape != (width, 2) or not np.isfinite(found).all() or not (found[:, 1] > 0).all():
        raise InputError(f"the units of a recipe's data are a mean and an sd for each column; got {shown(given)}")
    return tuple((mean, sd) for mean, sd in found.tolist())


# Data that a person gives in Python as arrays or data frames.


def is_frame(data: pd.DataFrame | ArrayLike | str | None) -> bool:
    """Whether something is a data frame of pandas."""
    return hasattr(data, "iloc") and hasattr(data, "columns")


def as_array(data: pd.DataFrame | ArrayLike) -> np.ndarray:
    """A copy of data as an array with at least one row; a `np.memmap` is read where it is.

    Columns of a frame may have different types of numbers, booleans among them. Raises InputError for masked rows,
    columns of words and rows of different lengths.
    """
    if np.ma.is_masked(data):
        mask = np.ma.getmaskarray(np.ma.asarray(data))
        row = 1 + int(mask.reshape(len(mask), -1).any(axis=1).argmax())
        raise InputError(f"data are masked in row {row:,}: leave masked rows out, or fill them in")
    try:
        # A copy, because the person's own array may change later; a memory map may be larger than memory.
        array = data.view(np.ndarray) if isinstance(data, np.memmap) else np.array(data)
        if array.dtype == object:
            array = _numbers(data) if is_frame(data) else array.astype(float)
    except (TypeError, ValueError) as error:
        if isinstance(error, InputError):
            raise
        array = np.empty(0)  # rows of different lengths, or words
    if array.ndim == 0 or len(array) == 0 or array.dtype.kind not in "biufcSUVmM":
        raise InputError(f"data must be an array with at least one row, rows of equal length; got {shown(data)}")
    return array


def _numbers(frame: pd.DataFrame) -> np.ndarray:
    columns = []
    for k, name in enumerate(frame.columns):
        try:
            columns.append(frame.iloc[:, k].to_numpy(dtype=float, na_value=np.nan))
        except (TypeError, ValueError):
            raise InputError(f"column {shown(name)} of data holds words: give numbers, or leave it out") from None
    return np.column_stack(columns)


def first_nan(data: np.ndarray) -> str:
    """The first row of data that holds NaN, such as "row 4"; "" where none does."""
    if data.dtype.kind not in "fc":
        return ""
    bad = np.isnan(data).reshape(len(data), -1).any(axis=1)
    return f"row {1 + int(bad.argmax()):,}" if bad.any() else ""
