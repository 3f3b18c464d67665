"""Data added and taken away one by one: from the present data to an own table; plain values, no page."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any, NamedTuple

import numpy as np

from pmdviz.data.cells import MOST_ROWS
from pmdviz.data.tables import Table, held, hold
from pmdviz.errors import InputError
from pmdviz.scenes import data_columns
from pmdviz.targets import Target

ADD, LAST, POINT = "add", "last", "point"
EDITED = "edited"  # at the end of the table's name
RUG_SHARE = 0.06  # of the height of a histogram: a click below it is on the data, one above it adds


class Edit(NamedTuple):
    """A datum to be added, the last one to be removed, or a click on the picture."""

    kind: str
    values: tuple[float, ...] = ()  # of a row, its outcome last
    reach: tuple[float, ...] = ()  # of a click: what lies as near is removed instead, in the units of the axes


def can_be_edited(target: Target) -> bool:
    """Whether the data of a target can be drawn, and a table of them would leave it the parameters that it has."""
    form = target.table
    if form is None or not data_columns.applies(target):
        return False
    options = edited_sizes(target, target.num_data + form.held_out, table_rows(target).shape[1])
    return form.dim_beyond is None or options[form.inputs_option] == getattr(target.options, form.inputs_option)


def edited_sizes(target: Target, rows: int, columns: int) -> dict[str, int]:
    """The options with which the target takes all rows of a table of this size that it may."""
    return target.table.options(type(target.options).specs(), rows, columns) if target.table else {}


def row_names(target: Target) -> tuple[str, ...]:
    """What the columns of a target's table are called, the outcome last."""
    source = getattr(target.options, "data", "")
    if table := held(source):
        return table.columns
    width = table_rows(target).shape[1]
    if target.predicts:
        inputs = target.input_names or tuple(f"x{k + 1}" if width > 2 else "x" for k in range(width - 1))
        return (*inputs, "class" if target.predicts == "class" else "y")
    return tuple(f"x{k + 1}" if width > 1 else "x" for k in range(width))


def table_rows(target: Target) -> np.ndarray:
    """The data as rows of a table (n, k); with one held-out row at the end where the target must have some."""
    rows = target.data_rows
    if target.table is not None and target.table.held_out and target.test_data is not None:
        rows = np.concatenate([rows, target.test_data[:1]])
    if target.predicts == "class":
        return np.column_stack([target.inputs(rows), target.outcomes(rows) > 0]).astype(float)
    return data_columns.without_ones(target, rows.reshape(len(rows), -1))


def edited(target: Target, edits: Iterable[Edit]) -> Table:
    """The table of a target's data after the edits. Raises InputError where one cannot be made."""
    rows = table_rows(target)
    for edit in edits:
        rows = _after(target, rows, edit)
    return hold(_name(target), row_names(target), rows, "")


def edited_options(target: Target, table: Table) -> dict[str, Any]:
    """The options with which the target takes the table of `edited`."""
    return {"data": table.pin, **edited_sizes(target, *table.rows.shape)}


def _after(target: Target, rows: np.ndarray, edit: Edit) -> np.ndarray:
    if edit.kind == LAST:
        return _without(rows, len(rows) - 1 - _extra(target))
    if len(edit.values) != rows.shape[1]:
        raise InputError(f"a datum has {rows.shape[1]} numbers here; given: {len(edit.values)}")
    if edit.kind == POINT and (at := _nearest(target, rows, edit)) is not None:
        return _without(rows, at)
    if len(rows) >= MOST_ROWS:
        raise InputError(f"a table may have {MOST_ROWS:,} rows, and this one has them: remove some first")
    return np.insert(rows, len(rows) - _extra(target), edit.values, axis=0)


def _extra(target: Target) -> int:
    """How many rows of `table_rows` are not among the data that are seen."""
    return len(table_rows(target)) - target.num_data


def _without(rows: np.ndarray, at: int) -> np.ndarray:
    if len(rows) < 2:
        raise InputError("the last datum stays: a run needs one")
    return np.delete(rows, at, axis=0)


def _nearest(target: Target, rows: np.ndarray, edit: Edit) -> int | None:
    """The row of the datum that a click is on."""
    if not edit.reach:
        return None
    seen = rows[: len(rows) - _extra(target), : len(edit.reach)]
    away = np.abs(seen - np.array(edit.values[: len(edit.reach)])) / np.array(edit.reach)
    distance = np.sqrt((away**2).sum(axis=1))
    at = int(distance.argmin())
    return at if distance[at] <= 1.0 else None


def _name(target: Target) -> str:
    source = getattr(target.options, "data", "")
    stem = source.partition("#")[0].rsplit(".", 1)[0] if held(source) is not None else target.name
    return f"{stem}.csv" if stem.endswith(EDITED) else f"{stem[:32]} {EDITED}.csv"


def tidy(value: float, span: float) -> float:
    """A place on an axis of this length, to about a thousandth of it."""
    return round(value, max(0, 3 - math.floor(math.log10(max(span, 1e-300))))) if span > 0 else value


def rug(target: Target, top: float) -> dict[str, np.ndarray]:
    """Dots for the data of a histogram, at its foot; none where the data lie in a plane."""
    points = data_columns.plane(target, target.data_rows)
    if points.shape[1] != 1:
        return {"x": np.empty(0), "y": np.empty(0)}
    at = np.linspace(0, len(points) - 1, min(len(points), data_columns.MAX_DOTS)).astype(np.int64)
    return {"x": points[at, 0], "y": np.full(len(at), top * RUG_SHARE / 3)}
