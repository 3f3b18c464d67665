"""What the columns of a person's table hold, and which of them a target takes; plain values, no page."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from pmdviz.data.cells import MISSING, Cells, unhurried
from pmdviz.targets.table_form import TableForm

INPUT, OUTCOME, LEAVE_OUT = "input", "outcome", "leave out"  # roles
NUMBERS, WORDS, EMPTY = "numbers", "words", "empty"  # kinds
OUTCOME_NAMES = frozenset({"y", "outcome", "target", "label", "class", "response"})
ROW_NAMES = frozenset({"id", "index", "row", "no", "nr", "unnamed: 0"})
MOST_CLASSES = 100


@dataclass(frozen=True)
class Column:
    """A column as it was brought."""

    name: str
    kind: str  # NUMBERS, WORDS or EMPTY
    values: tuple[str, ...]  # the different ones, sorted, as far as MOST_CLASSES + 1 of them
    missing: int  # how many rows have none
    mean: float = 0.0
    sd: float = 0.0
    counts_rows: bool = False  # 1, 2, 3, ... down the rows

    @property
    def said(self) -> str:
        """Its kind in words, such as "two words: no, yes"."""
        missing = f", {self.missing:,} missing" if self.missing and self.kind != EMPTY else ""
        if self.kind == WORDS and len(self.values) == 2:
            return f"two words: {self.values[0]}, {self.values[1]}{missing}"
        return f"{self.kind}{missing}"


def described(cells: Cells) -> tuple[Column, ...]:
    """Every column of a table."""
    return tuple(_described(cells, k) for k in range(len(cells.columns)))


def _described(cells: Cells, k: int) -> Column:
    numbers = cells.numbers(k)
    known = numbers[np.isfinite(numbers)]
    texts = [cells.rows[row][k] for row in np.flatnonzero(~np.isfinite(numbers))]
    missing = sum(text.lower() in MISSING for text in texts)
    kind = WORDS if len(texts) > missing else NUMBERS if len(known) else EMPTY
    values = tuple(
        sorted({row[k] for row in unhurried(cells.rows) if row[k].lower() not in MISSING})[: MOST_CLASSES + 1]
    )
    if kind != NUMBERS:
        return Column(cells.columns[k], kind, values, missing)
    values = tuple(f"{value:g}" for value in np.unique(known)[: MOST_CLASSES + 1])
    with np.errstate(over="ignore", invalid="ignore"):  # what is too large is far from 1
        mean, sd, counts = float(known.mean()), float(known.std()), _counts(known)
    return Column(cells.columns[k], kind, values, missing, mean, sd, counts)


def _counts(known: np.ndarray) -> bool:
    return len(known) > 2 and bool((np.diff(known) == 1).all()) and known[0] in (0, 1)


def usual_roles(columns: Sequence[Column], form: TableForm) -> tuple[str, ...]:
    """A role for each column: what a person would choose most often, who may choose otherwise."""
    outcome = _usual_outcome(columns, form) if form.outcome else None
    numbers = [k for k, column in enumerate(columns) if column.kind == NUMBERS and k != outcome]
    telling = [k for k in numbers if not _names_rows(columns[k]) and len(columns[k].values) > 1]
    inputs = {*(telling if len(telling) >= form.least else numbers)[: form.most]}
    return tuple(OUTCOME if k == outcome else INPUT if k in inputs else LEAVE_OUT for k in range(len(columns)))


def settled(roles: Sequence[str], before: Sequence[str], form: TableForm) -> tuple[str, ...]:
    """The roles after one was chosen: the only outcome, or the only input, gives way to a new one."""
    made = list(roles)
    for role in (OUTCOME, *([INPUT] if form.most == 1 else [])):
        new = [k for k, (now, then) in enumerate(zip(roles, before, strict=True)) if now == role != then]
        if new:
            made = [LEAVE_OUT if each == role and k != new[0] else each for k, each in enumerate(made)]
    return tuple(made)


def _names_rows(column: Column) -> bool:
    return column.counts_rows or column.name.lower() in ROW_NAMES


def _usual_outcome(columns: Sequence[Column], form: TableForm) -> int | None:
    """The last column that can be one, or the last of those with the name of one."""
    fitting = [k for k, column in enumerate(columns) if _can_be(column, form.outcome) and not _names_rows(column)]
    named = [k for k in fitting if columns[k].name.lower() in OUTCOME_NAMES]
    return (named or fitting or [None])[-1]


def _can_be(column: Column, outcome: str) -> bool:
    if outcome == "class":
        return len(column.values) == 2
    if outcome == "classes":
        return 2 <= len(column.values) <= MOST_CLASSES
    return column.kind == NUMBERS
