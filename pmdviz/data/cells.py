"""The text of a CSV file that a person brings, as cells. Nothing that comes in is executed."""

from __future__ import annotations

import csv
import re
import time
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from pmdviz.errors import InputError, shown

MOST_BYTES = 4_000_000  # of a text; a server may allow less
MOST_ROWS, MOST_COLUMNS, LONGEST_CELL, LONGEST_NAME = 100_000, 200, 200, 40
REST_S = 1e-4
DELIMITERS = ",;\t|"
MISSING = frozenset({"", "na", "n/a", "nan", "null", "none", "?", "-", "."})
OTHER_FILES = {
    b"PK\x03\x04": "a workbook or an archive",
    b"\xd0\xcf\x11\xe0": "a workbook",
    b"%PDF": "a PDF",
    b"\x1f\x8b": "a compressed file",
    b"\x89PNG": "a picture",
    b"\x80": "a pickle, which is never opened",
}
FORMULAS = "=+-@ "  # what a cell begins with that spreadsheets compute
DECIMAL_COMMA = re.compile(r"[+-]?\d+,\d+")
NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?")


@dataclass(frozen=True)
class Cells:
    """A table as it was brought: what its columns are called, and its rows of texts, all of one length."""

    columns: tuple[str, ...]
    rows: list[list[str]]
    decimal_comma: bool = False

    def numbers(self, column: int) -> np.ndarray:
        """The numbers (n,) of a column; NaN where a cell is missing or holds something else."""
        return np.array([_number(row[column], self.decimal_comma) for row in unhurried(self.rows)])

    def first_misfit(self, column: int) -> str:
        """The first text of a column that is neither a number nor missing, with its row; "" where there is none."""
        for at, row in enumerate(self.rows, 1):
            if row[column].lower() not in MISSING and not np.isfinite(_number(row[column], self.decimal_comma)):
                return f"{shown(row[column], 30)} in row {at:,}"
        return ""


def read_cells(content: bytes | str, most_bytes: int = MOST_BYTES) -> Cells:
    """The table of a CSV text. Raises InputError with one sentence for what is none.

    Cells are divided by commas, semicolons, tabs or bars; where it is not by commas, a decimal comma is read as such.
    The first row names the columns if no cell of it is a number. A byte order mark, blank lines and spaces around a
    cell are left out.
    """
    text = _decoded(content, most_bytes)
    lines = [line for line in text.splitlines() if line.strip()]
    if not lines:
        raise InputError("there is no data in it: give rows of numbers, such as 'height,weight' and '170,65' below it")
    delimiter = _delimiter(lines[:20])
    rows = _rows(lines, delimiter)
    decimal_comma = delimiter != "," and any(DECIMAL_COMMA.fullmatch(cell) for row in rows[:50] for cell in row)
    named = not any(np.isfinite(_number(cell, decimal_comma)) for cell in rows[0])
    columns = safe_names(rows[0]) if named else tuple(f"column {k}" for k in range(1, len(rows[0]) + 1))
    if len(rows) - named > MOST_ROWS:
        raise too_long()
    if len(rows) - named < 1:
        raise InputError("there are names of columns and no rows below them")
    return Cells(columns, rows[named:], decimal_comma)


def _decoded(content: bytes | str, most_bytes: int) -> str:
    size = len(content) if isinstance(content, bytes) else len(content.encode("utf-8", "replace"))
    if size > most_bytes:
        raise InputError(f"a table may have {most_bytes:,} bytes here; this one has {size:,}")
    if isinstance(content, str):
        text = content
    else:
        if found := next((words for mark, words in OTHER_FILES.items() if content.startswith(mark)), ""):
            raise InputError(f"this is {found}, not a table in text form: save the table as CSV first")
        wide = content.startswith((b"\xff\xfe", b"\xfe\xff"))
        try:
            text = content.decode("utf-16" if wide else "utf-8-sig")
        except UnicodeDecodeError:
            text = content.decode("latin-1")
    text = text.removeprefix("\ufeff")
    if odd := re.search(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f]", text):
        raise InputError(f"this is no text: it holds the control character {odd[0]!r}; save the table as CSV first")
    return text


def _delimiter(lines: Sequence[str]) -> str:
    """What divides the cells: what the lines have, and equally often if there are several; a comma for one column."""

    def merit(delimiter: str) -> tuple[bool, int]:
        counts = [line.count(delimiter) for line in lines]
        return min(counts) == max(counts) and counts[0] > 0, min(counts)

    best = max(DELIMITERS[1:] + ",", key=merit)  # decimal commas are counted too: the others go first
    return best if merit(best)[1] else ","


def _rows(lines: Sequence[str], delimiter: str) -> list[list[str]]:
    rows: list[list[str]] = []
    found = csv.reader(lines, delimiter=delimiter, strict=True, skipinitialspace=True)
    try:
        for row in unhurried(found, lines[0].count(delimiter) + 1):
            if len(row) > MOST_COLUMNS:
                at = len(rows) + 1
                raise InputError(f"a table may have {MOST_COLUMNS} columns; row {at:,} has {len(row):,}")
            rows.append([cell.strip() for cell in row])
            _check_row(rows)
    except csv.Error as error:
        raise InputError(f"row {len(rows) + 1:,} cannot be read: {error}") from None
    return rows


def too_long() -> InputError:
    """The refusal of a table with more than MOST_ROWS rows."""
    return InputError(f"a table may have {MOST_ROWS:,} rows; this one has more: take a part of them")


def _check_row(rows: list[list[str]]) -> None:
    row, at = rows[-1], len(rows)
    if at > MOST_ROWS + 1:
        raise too_long()
    if len(row) != len(rows[0]):
        raise InputError(f"row {at:,} has {len(row)} cells, and the first row has {len(rows[0])}")
    if long := next((cell for cell in row if len(cell) > LONGEST_CELL), ""):
        raise InputError(f"row {at:,} has a cell of {len(long):,} characters: {shown(long, 30)}")


def unhurried(rows: Iterable[list[str]], cells: int = 1) -> Iterator[list[str]]:
    """The rows, with a short rest after every thousand cells: the steps of others wait for this thread's lock."""
    every = max(1, 1000 // cells)
    for at, row in enumerate(rows, 1):
        if at % every == 0:
            time.sleep(REST_S)
        yield row


def safe_names(cells: Sequence[str]) -> tuple[str, ...]:
    """Names that a page can show, and that no reader takes for a number or a spreadsheet for a formula, each once.

    Names so made stay as they are.
    """
    names: dict[str, None] = {}
    for k, cell in enumerate(cells, 1):
        name = "".join(c for c in cell if c.isprintable() and c not in '#,"').lstrip(FORMULAS)[:LONGEST_NAME].strip()
        name = f"column {name}".strip()[:LONGEST_NAME].strip() if reads_as_number(name) else name or f"column {k}"
        more = k
        while name in names:
            end = f" ({more})"
            name, more = name[: LONGEST_NAME - len(end)].strip() + end, more + 1
        names[name] = None
    return tuple(names)


def reads_as_number(cell: str | bytes) -> bool:
    """Whether any of those who read CSV files would: Python takes inf, nan and 1_000 for numbers too."""
    try:
        float(cell)
    except ValueError:
        return False
    return True


def _number(cell: str, decimal_comma: bool) -> float:
    text = cell.replace(",", ".", 1) if decimal_comma else cell
    return float(text) if NUMBER.fullmatch(text) and text.isascii() else np.nan
