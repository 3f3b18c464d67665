"""Tables with columns of words, such as UCI's adult.data: one-hot columns for them, and no row with a question mark."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from pmdviz.errors import InputError, shown

MISSING, MOST_KINDS = "?", 200  # different words of a column
FEWEST = 2  # rows


def words_table(lines: Iterable[bytes], path: str) -> tuple[np.ndarray, tuple[str, ...]]:
    """The table (n, k) of comma-separated cells, and what its columns are called: "x2=Private" of column 2.

    A column of words becomes one of 0 and 1 for each word, in the order of the alphabet; the last column, the outcome,
    0 and 1 if it has two words. Lines that are empty or begin with "|" are no rows, and a full stop that ends a line,
    as in UCI's adult.test, is none of the outcome's. Raises InputError for rows of different lengths, fewer than two
    without a question mark, and columns of too many different words.
    """
    rows = _rows(lines, path)
    kept = [row for row in rows if MISSING not in row]
    if len(kept) < FEWEST:
        raise InputError(f"file {shown(path)}: no two rows are left without a question mark, of {len(rows):,}")
    columns, names = [], []
    for number, cells in enumerate(zip(*kept, strict=True), 1):
        last = number == len(kept[0])
        parts, called = _column(cells, f"x{number}", last, f"file {shown(path)}, column {number}")
        columns += parts
        names += called
    return np.column_stack(columns), tuple(names)


def _rows(lines: Iterable[bytes], path: str) -> list[list[str]]:
    rows: list[list[str]] = []
    first = 0
    for number, line in enumerate(lines, 1):
        text = line.decode("utf-8", "replace").strip().removesuffix(".")
        if not text or text.startswith("|"):
            continue
        cells = [cell.strip().strip('"') for cell in text.split(",")]
        if rows and len(cells) != len(rows[0]):
            raise InputError(
                f"line {number:,} of file {shown(path)} has {len(cells)} cells, and line {first} has {len(rows[0])}"
            )
        first = first or number
        rows.append(cells)
    return rows


def _column(cells: tuple[str, ...], name: str, last: bool, where: str) -> tuple[list[np.ndarray], list[str]]:
    try:
        return [np.array([float(cell) for cell in cells])], [name]
    except ValueError:
        kinds = sorted(set(cells))
    if last:
        if len(kinds) > 2:
            raise InputError(
                f"{where}: the outcome has words of {len(kinds)} kinds; it must hold two values, or numbers"
            )
        return [np.array([float(cell == kinds[-1]) for cell in cells])], [name]
    if len(kinds) > MOST_KINDS:
        raise InputError(f"{where} has {len(kinds):,} different words, and at most {MOST_KINDS} can be told apart")
    return [np.array([float(cell == kind) for cell in cells]) for kind in kinds], [f"{name}={kind}" for kind in kinds]
