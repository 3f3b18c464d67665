"""Data that a person brings in a file: named in a recipe by the path and the first digits of the content's SHA-256.

A served page reads no file that a visitor names; one that the process has read before stays readable.
"""

from __future__ import annotations

import hashlib
import os
import re
import threading
from pathlib import Path

import numpy as np

from pmdviz.data.cells import NUMBERS, Cells
from pmdviz.data.formats import (
    BATCH,
    FORMATS,
    IDX,
    MOST_BYTES,
    Documents,
    labels_beside,
    parsed,
    suffix_of,
    tokens_beside,
    too_large,
)
from pmdviz.data.tables import DIGITS, Table, held, hold
from pmdviz.errors import InputError, shown

SUFFIXES_IN_WORDS = f"{', '.join([*FORMATS][:-1])} or {[*FORMATS][-1]}"
PINNED = re.compile(rf"(.+)#([0-9a-f]{{{DIGITS}}})")
BLOCK, ROWS_CHECKED = 1 << 20, 10_000

Content = np.ndarray | Documents | Cells | Table
_read: dict[str, Content] = {}  # by the pinned name
_lock = threading.RLock()
_forbidden = False


def names_file(text: object) -> bool:
    """Whether a text is meant as the path of a file of data, pinned or not."""
    return isinstance(text, str) and suffix_of(_split(text)[0]) is not None


def holds_images(text: str) -> bool:
    """Whether a file holds images, bytes from 0 to 255."""
    return suffix_of(_split(text)[0]) in (IDX, BATCH)


def forbid_reading() -> None:
    """From here on only files that were read before can be used: this process serves pages to others."""
    global _forbidden
    _forbidden = True


def pinned(text: str) -> str:
    """`text` as "path#digits" of what the file holds now.

    Raises InputError for a file that cannot be read or that has changed since it was pinned.
    """
    with _lock:
        if text in _read or held(text) is not None:
            return text
        if _forbidden and PINNED.fullmatch(text):
            raise InputError(
                f"the data {shown(_split(text)[0])} are not here: a link holds data up to 2 kB; open the run's JSON "
                "file, or bring the table again"
            )
        if _forbidden:
            raise InputError(
                f"a served page reads no files; use pmdviz.run, pmdviz.Lab or the command line; given: {shown(text)}"
            )
        return _pin(*_split(text))


def content_of(text: str) -> Content:
    """What a pinned file holds, read once, or the table that is held under that name. Raises InputError as `pinned`."""
    if table := held(text):
        return table
    with _lock:
        return _read[pinned(text)]


def cells_in(path: str | os.PathLike[str]) -> Cells:
    """A file as a table in text form, whatever its name ends with. Raises InputError."""
    if _forbidden:
        raise InputError("a served page reads no files")
    found = _parsed(os.fspath(path))
    if not isinstance(found, Cells):
        raise InputError(f"file {shown(os.fspath(path))} holds no table in text form")
    return found


def words_of(text: str) -> tuple[str, ...]:
    """What the words of a pinned file of word counts are called, where that is known."""
    return tokens_beside(Path(path_of(text)).expanduser())


def path_of(text: str) -> str:
    """The path of a pinned file."""
    return _split(text)[0]


def _split(text: str) -> tuple[str, str]:
    match = PINNED.fullmatch(text)
    return (match[1], match[2]) if match else (text, "")


def _pin(path: str, wanted: str) -> str:
    digits = _digest(path)
    found: Content | None = None
    if wanted and digits != wanted and (table := _as_brought(path)) and table.digits == wanted:
        digits, found = wanted, table
    if wanted and digits != wanted:
        raise InputError(f"file {shown(path)} has changed since the recipe was made (SHA-256 {digits}, then {wanted})")
    name = f"{path}#{digits}"
    if name not in _read:
        found = _parsed(path) if found is None else found
        _read[name] = _checked(path, found) if isinstance(found, np.ndarray) else found
    return name


def _as_brought(path: str) -> Table | None:
    """The file of a table as a page used it: all its numbers, however they are written."""
    cells = _parsed(path)
    if not isinstance(cells, Cells) or any(column.kind != NUMBERS or column.missing for column in cells.columns):
        return None
    return hold(path, cells.names, np.column_stack([column.numbers for column in cells.columns]))


def _digest(path: str) -> str:
    """The first digits of the SHA-256 of a file, and of the labels beside its images."""
    try:
        found = hashlib.sha256()
        for file in _files(path):
            if file.stat().st_size > MOST_BYTES:
                raise too_large(f"file {shown(path)} has")
            with file.open("rb") as content:
                while block := content.read(BLOCK):
                    found.update(block)
        return found.hexdigest()[:DIGITS]
    except OSError as error:
        where = "" if error.filename is None or Path(error.filename) == _files(path)[0] else f" ({error.filename})"
        raise InputError(f"file {shown(path)} cannot be read: {error.strerror or error}{where}") from None


def _files(path: str) -> list[Path]:
    file = Path(path).expanduser()
    return [file, labels_beside(file)] if suffix_of(path) == IDX else [file]


def _parsed(path: str) -> np.ndarray | Documents | Cells:
    try:
        return parsed(Path(path).expanduser())
    except InputError:
        raise
    except MemoryError:
        raise InputError(f"file {shown(path)} does not fit into the memory of this machine") from None
    except (ValueError, OSError, EOFError) as error:
        words = (str(error).splitlines() or ["it is cut off"])[0]
        raise InputError(f"file {shown(path)} holds no table of numbers: {words}") from None


def too_small(path: str, table: np.ndarray) -> InputError:
    """The refusal of a table with less than two rows or columns."""
    return InputError(
        f"file {shown(path)} must hold a table of numbers, at least 2 rows and 2 columns; "
        f"it holds {table.dtype} of shape {table.shape}"
    )


def _checked(path: str, table: np.ndarray) -> np.ndarray:
    if table.dtype.kind not in "biuf" or table.ndim != 2 or 0 in table.shape:
        raise too_small(path, table)
    rows = np.array(table, order="C")  # a copy: what happens to the file from here on changes nothing
    for start in range(0, len(rows), ROWS_CHECKED):
        bad = np.argwhere(~np.isfinite(rows[start : start + ROWS_CHECKED]))
        if len(bad):
            row, column = bad[0] + (start, 0)
            raise InputError(f"file {shown(path)} has {rows[row, column]} in row {row + 1}, column {column + 1}")
    rows.flags.writeable = False
    return rows
