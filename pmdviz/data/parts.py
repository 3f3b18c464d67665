"""The tables of a person as parts of a recipe and of work that is sent to other processes."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import is_dataclass
from functools import partial
from typing import Any

import numpy as np

from pmdviz.data.cells import read_cells
from pmdviz.data.tables import Table, held, hold
from pmdviz.errors import InputError, shown

MOST_TABLES = 4  # of a recipe


def tables_in(values: Iterable[Any]) -> tuple[Table, ...]:
    """The held tables among the values of options; whoever keeps them keeps them held."""
    found = {value: held(value) for value in values if isinstance(value, str) and "#" in value}
    return tuple(table for table in found.values() if table is not None)


def texts_in(value: Any, depth: int = 8) -> Iterator[str]:
    """Every text of a value made of mappings, sequences, records and partial functions; for `tables_in`."""
    if isinstance(value, str):
        yield value
        return
    if isinstance(value, partial):
        parts: Iterable[Any] = (*value.args, value.keywords)
    elif isinstance(value, Mapping):
        parts = value.values()
    elif isinstance(value, (list, tuple, set, frozenset)):
        parts = value
    else:
        parts = getattr(value, "__dict__", {}).values() if is_dataclass(value) else ()
    if depth:
        for part in parts:
            yield from texts_in(part, depth - 1)


def packed(tables: Iterable[Table]) -> dict[str, str]:
    """pin -> text, as a recipe's JSON form carries tables."""
    return {table.pin: table.text for table in tables}


@contextmanager
def holding(plain: Any) -> Iterator[None]:
    """Hold the tables of `packed`'s form meanwhile; whoever uses one keeps it. Raises InputError for what is none."""
    kept = _unpacked(plain)
    yield
    kept.clear()


def _unpacked(plain: Any) -> list[Table]:
    if not isinstance(plain, Mapping) or len(plain) > MOST_TABLES:
        raise InputError(f"the data of a recipe are an object NAME.csv#DIGITS: CSV text; given: {shown(plain)}")
    tables = []
    for pin, text in plain.items():
        if not isinstance(text, str):
            raise InputError(f"the data {shown(pin)} of a recipe must be CSV text; given: {shown(text)}")
        cells = read_cells(text)
        rows = np.column_stack([column.numbers for column in cells.columns])
        table = hold(str(pin).partition("#")[0], cells.names, rows)
        if table.pin != pin:
            raise InputError(f"the data {shown(pin)} of the recipe were changed on the way: their digits do not fit")
        tables.append(table)
    return tables
