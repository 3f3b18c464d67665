"""Data that a person brings in a file: named in a recipe by the path and the first digits of the content's SHA-256.

A served page reads no file that a visitor names; one that the process has read before stays readable.
"""

from __future__ import annotations

import hashlib
import re
import threading
from pathlib import Path

import numpy as np

from pmdviz.errors import InputError, shown

SUFFIXES = (".csv", ".npy")
DIGITS = 12  # of the SHA-256
PINNED = re.compile(rf"(.+)#([0-9a-f]{{{DIGITS}}})")
MOST_BYTES = 2_000_000_000

_read: dict[str, np.ndarray] = {}  # by the pinned name
_lock = threading.RLock()
_forbidden = False


def names_file(text: object) -> bool:
    """Whether a text is meant as the path of a file of data, pinned or not."""
    return isinstance(text, str) and _split(text)[0].lower().endswith(SUFFIXES)


def forbid_reading() -> None:
    """From here on only files that were read before can be used: this process serves pages to others."""
    global _forbidden
    _forbidden = True


def pinned(text: str) -> str:
    """`text` as "path#digits" of what the file holds now.

    Raises InputError for a file that cannot be read or that has changed since it was pinned.
    """
    with _lock:
        if text in _read:
            return text
        if _forbidden:
            raise InputError(
                f"a served page reads no files; use pmdviz.run, pmdviz.Lab or the command line; given: {shown(text)}"
            )
        return _pin(*_split(text))


def read_rows(text: str) -> np.ndarray:
    """The rows (n, k) of a pinned file, float64, read once. Raises InputError as `pinned` does."""
    with _lock:
        return _read[pinned(text)]


def _split(text: str) -> tuple[str, str]:
    match = PINNED.fullmatch(text)
    return (match[1], match[2]) if match else (text, "")


def _pin(path: str, wanted: str) -> str:
    content = _content(path)
    digits = hashlib.sha256(content).hexdigest()[:DIGITS]
    if wanted and digits != wanted:
        raise InputError(f"file {shown(path)} has changed since the recipe was made (SHA-256 {digits}, then {wanted})")
    name = f"{path}#{digits}"
    if name not in _read:
        _read[name] = _checked(path, _parsed(path))
    return name


def _content(path: str) -> bytes:
    try:
        file = Path(path).expanduser()
        if file.stat().st_size > MOST_BYTES:
            raise InputError(f"file {shown(path)} has more than {MOST_BYTES:,} bytes; give its rows to a custom target")
        return file.read_bytes()
    except OSError as error:
        raise InputError(f"file {shown(path)} cannot be read: {error.strerror or error}") from None


def _parsed(path: str) -> np.ndarray:
    file = Path(path).expanduser()
    try:
        if file.suffix.lower() == ".npy":
            return np.load(file, allow_pickle=False)
        return np.loadtxt(file, delimiter=",", ndmin=2, skiprows=_header_lines(file))
    except (ValueError, OSError, EOFError) as error:
        raise InputError(f"file {shown(path)} holds no table of numbers: {str(error).splitlines()[0]}") from None


def _header_lines(file: Path) -> int:
    """1 where no cell of the first line is a number: names of columns; else 0."""
    with file.open(encoding="utf-8-sig") as lines:
        cells = lines.readline().split(",")
    return int(not any(_is_number(cell) for cell in cells))


def _is_number(cell: str) -> bool:
    try:
        float(cell)
    except ValueError:
        return False
    return True


def _checked(path: str, table: np.ndarray) -> np.ndarray:
    numeric = table.dtype.kind in "biuf"
    if not numeric or table.ndim != 2 or table.shape[0] < 2 or table.shape[1] < 2:
        raise InputError(
            f"file {shown(path)} must hold a table of numbers, at least 2 rows and 2 columns; "
            f"it holds {table.dtype} of shape {table.shape}"
        )
    rows = np.array(table, dtype=np.float64)
    bad = np.argwhere(~np.isfinite(rows))
    if len(bad):
        row, column = bad[0] + 1
        raise InputError(f"file {shown(path)} has {rows[tuple(bad[0])]} in row {row}, column {column}")
    rows.flags.writeable = False
    return rows
