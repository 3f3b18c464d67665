"""From the cells of a person's table to the numbers that a target takes; a sentence for whatever does not fit."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from pmdviz.data.cells import Cells
from pmdviz.data.tables import Table, hold
from pmdviz.errors import InputError, shown
from pmdviz.knobs import KnobSpec
from pmdviz.lab.panels.own_data.columns import INPUT, LEAVE_OUT, MOST_CLASSES, NUMBERS, OUTCOME, Column
from pmdviz.targets.table_form import TableForm

SCALED_TO = 5  # decimals of a scaled value: more would only make a link long
FAR_MEAN, NARROW, WIDE = 3.0, 0.2, 5.0  # beyond these a prior of sd 1 around 0 is of little use
HELD_OUT = 5  # one row of so many, where a target holds some out
SCALING = "Each column less its mean, divided by its sd: what priors of sd 1 around 0 expect."


class Chosen(NamedTuple):
    """What is taken of a table."""

    columns: tuple[str, ...]
    rows: np.ndarray  # (n, inputs, and 1 with an outcome)
    said: tuple[str, ...]  # sentences on what was done


def should_scale(columns: Sequence[Column], roles: Sequence[str], form: TableForm) -> bool:
    """Whether one of the columns that are numbers is far from mean 0 and sd 1, where that matters."""
    return not form.as_given and any(
        abs(column.mean) > FAR_MEAN or not NARROW <= column.sd <= WIDE
        for column, role in zip(columns, roles, strict=True)
        if column.kind == NUMBERS and _is_scaled(role, form)
    )


def _is_scaled(role: str, form: TableForm) -> bool:
    return role == INPUT or (role == OUTCOME and form.outcome == "number")


def chosen(cells: Cells, columns: Sequence[Column], roles: Sequence[str], form: TableForm, scale: bool) -> Chosen:
    """The rows without a missing value, inputs first and the outcome last. Raises InputError for what does not fit."""
    inputs = [k for k, role in enumerate(roles) if role == INPUT]
    outcomes = [k for k, role in enumerate(roles) if role == OUTCOME]
    _check_roles(len(inputs), len(outcomes), form)
    values = [_numbers(cells, columns[k], k) for k in inputs]
    said: list[str] = []
    for k in outcomes:
        values.append(_outcome(cells, columns[k], k, form, said))
    rows = np.column_stack(values)
    rows = _complete(rows, said)
    if scale:
        rows = _scaled(rows, [_is_scaled(roles[k], form) for k in (*inputs, *outcomes)])
        said.append("Scaled to mean 0 and sd 1.")
    if form.held_out:
        said.append(f"{held_out_of(len(rows), form):,} of the {len(rows):,} rows are held out, to judge predictions.")
    return Chosen(tuple(columns[k].name for k in (*inputs, *outcomes)), rows, tuple(said))


def _check_roles(inputs: int, outcomes: int, form: TableForm) -> None:
    if outcomes != bool(form.outcome):
        raise InputError(f"choose one column as the outcome; chosen: {outcomes}")
    if not form.least <= inputs <= form.most:
        raise InputError(f"this target takes {form.columns_words}; chosen as input: {inputs or 'none'}")


def _numbers(cells: Cells, column: Column, k: int) -> np.ndarray:
    if misfit := cells.first_misfit(k):
        raise InputError(f"column {shown(column.name, 40)} has {misfit}, where a number is needed; leave it out")
    return cells.numbers(k)


def _outcome(cells: Cells, column: Column, k: int, form: TableForm, said: list[str]) -> np.ndarray:
    if form.outcome in ("class", "classes"):
        return _classes(cells, column, k, form, said)
    return _numbers(cells, column, k)


def _classes(cells: Cells, column: Column, k: int, form: TableForm, said: list[str]) -> np.ndarray:
    """0, 1, ... for the different values, the first in order as 0; NaN where there is none."""
    found, name = len(column.values), shown(column.name, 40)
    least, most = (2, 2) if form.outcome == "class" else (2, MOST_CLASSES)
    if not least <= found <= most:
        wanted = "two classes are" if most == 2 else f"2 to {MOST_CLASSES} classes are"
        many = f"more than {MOST_CLASSES}" if found > MOST_CLASSES else f"{found}"
        raise InputError(f"column {name} has {many} different values, where {wanted} needed; choose another outcome")
    if column.kind == NUMBERS:
        values = cells.numbers(k)
        codes = np.where(np.isnan(values), np.nan, np.searchsorted(np.unique(values[np.isfinite(values)]), values))
    else:
        at = {text: float(code) for code, text in enumerate(column.values)}
        codes = np.array([at.get(row[k], np.nan) for row in cells.rows])
    if column.values != tuple(str(code) for code in range(found)):
        meant = ", ".join(f"{shown(text, 24)} is {code}" for code, text in reversed([*enumerate(column.values[:8])]))
        said.append(f"In {name}, {meant}.")
    return codes


def _complete(rows: np.ndarray, said: list[str]) -> np.ndarray:
    whole = np.isfinite(rows).all(axis=1)
    if not whole.any():
        raise InputError("every row has a missing value in one of the chosen columns: leave some columns out")
    lost = int((~whole).sum())
    if lost:
        said.append(f"{lost:,} row{'s' * (lost > 1)} with missing values {'are' if lost > 1 else 'is'} left out.")
    return rows[whole]


def _scaled(rows: np.ndarray, which: Sequence[bool]) -> np.ndarray:
    """Columns less their mean, divided by their sd; a column of one value is 0."""
    with np.errstate(over="ignore", invalid="ignore"):
        mean, sd = rows.mean(axis=0), rows.std(axis=0)
        made = np.round((rows - mean) / np.where(sd > 0, sd, 1.0), SCALED_TO)
    if not np.isfinite((made + sd)[:, np.array(which)]).all():
        raise InputError("some numbers are too large to be scaled: leave that column out, or give them in other units")
    return np.where(which, made, rows)


def held_out_of(n: int, form: TableForm) -> int:
    """How many of n rows are held out."""
    return max(form.held_out, n // HELD_OUT) if form.held_out else 0


def table_options(table: Table, form: TableForm, specs: Mapping[str, KnobSpec], held_out: int = 0) -> dict[str, Any]:
    """The options of a target with such `specs` with which it takes a table, all but `held_out` rows.

    Raises InputError where the rows are too few.
    """
    n = len(table.rows)
    if n <= form.held_out:
        raise InputError(f"at least {form.held_out + 1} rows are needed: some are held out, to judge predictions")
    return {"data": table.pin, **form.options(specs, n, len(table.columns), held_out)}


def first_rows(cells: Cells, most: int) -> Iterator[list[str]]:
    """The first rows as a page shows them, long texts cut."""
    for row in cells.rows[:most]:
        yield [cell if len(cell) <= 24 else f"{cell[:23]}…" for cell in row]


def role_names(form: TableForm) -> list[str]:
    """The roles that a column may have."""
    return [INPUT, OUTCOME, LEAVE_OUT] if form.outcome else [INPUT, LEAVE_OUT]


def held_table(name: str, found: Chosen) -> Table:
    """The table, held as long as somebody keeps it."""
    return hold(name, found.columns, found.rows)
