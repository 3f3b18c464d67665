"""A table of finished runs on disk. It is whole at every moment: each state of it is written aside and moved in place.

Writing all of it costs more the longer it is, so the next time comes only after ten times as long as the last one took.
"""

from __future__ import annotations

import csv
import fcntl
import importlib.util
import io
import os
import time
from collections.abc import Iterable, Mapping
from pathlib import Path
from types import TracebackType
from typing import Any

from pmdviz.errors import InputError, shown
from pmdviz.files import atomic_write, file_path, real_path

SHARE = 10.0  # so many times what a write costs goes by before the next one
SUFFIXES = (".parquet", ".csv")
Row = dict[str, Any]
Kinds = Mapping[str, type]  # column -> int, float, str or bool


class Table:
    """Rows in `path` (.parquet, .csv, or neither: Parquet where pyarrow is there), to be used in a `with`.

    Within it no other process can write the same table. Raises InputError for a file that cannot be read or written,
    or that has other columns.
    """

    def __init__(self, path: str | os.PathLike[str], kinds: Kinds) -> None:
        self.path, self._kinds = table_path(path), dict(kinds)
        place = real_path(self.path)  # one lock, whatever links lead to the table
        self._lock_path = place.with_name(place.name + ".lock")
        self._lock, self._next = -1, 0.0
        self.rows: list[Row] = []

    def __enter__(self) -> Table:
        self._take_lock()
        try:
            self.rows = self._read() if self.path.exists() else []
            self.write()  # what cannot be written is said before hours of work
        except BaseException:
            self._let_go()
            raise
        return self

    def __exit__(self, kind: type | None, error: BaseException | None, trace: TracebackType | None) -> None:
        try:
            self.write()
        finally:
            self._let_go()

    def add(self, *rows: Row) -> None:
        """Add rows together; they are on disk at once, or soon where writing has become slow."""
        self.rows += rows
        if time.monotonic() >= self._next:
            self.write()

    def sort(self, wanted: Iterable[Any], identity: Any) -> None:
        """Put the rows named by `wanted` (values of `identity(row)`) last and in that order; others stay before."""
        place = {name: k for k, name in enumerate(wanted)}
        self.rows.sort(key=lambda row: place.get(identity(row), -1))

    def write(self) -> None:
        """Write all rows aside and move them in place."""
        began = time.monotonic()
        as_parquet = self.path.suffix == ".parquet"
        text = _parquet(self.rows, self._kinds) if as_parquet else csv_text(self.rows, self._kinds).encode()
        with atomic_write(self.path) as part:
            part.write_bytes(text)
        now = time.monotonic()
        self._next = now + SHARE * (now - began)

    def _read(self) -> list[Row]:
        try:
            if not self.path.is_file():  # reading a FIFO would wait for ever
                raise ValueError("it is no regular file")
            columns, rows = (_from_parquet if self.path.suffix == ".parquet" else _from_csv)(self.path)
            if twice := [name for name in self._kinds if columns.count(name) > 1]:
                raise ValueError(f"its header names the column {twice[0]!r} twice (line 1)")
            if set(columns) != set(self._kinds):
                raise InputError(
                    f"{str(self.path)!r} is another table: its columns are {', '.join(columns) or 'none'}; those of "
                    f"this sweep {', '.join(self._kinds)}. Give another path"
                )
            return [{name: _parsed(row[name], kind) for name, kind in self._kinds.items()} for row in rows]
        except (OSError, ValueError, TypeError, KeyError, csv.Error) as error:
            if isinstance(error, InputError):
                raise
            raise InputError(f"cannot read {str(self.path)!r} as a table of a sweep: {error}") from error

    def _take_lock(self) -> None:
        try:
            while True:
                self._lock = os.open(self._lock_path, os.O_CREAT | os.O_RDWR, 0o644)
                fcntl.flock(self._lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
                if self._lock_path.exists() and os.stat(self._lock_path).st_ino == os.fstat(self._lock).st_ino:
                    return  # otherwise another process took the file away between the two lines
                os.close(self._lock)
        except BlockingIOError as error:
            os.close(self._lock)
            raise InputError(f"{str(self.path)!r} is being written by another sweep") from error
        except OSError as error:
            raise InputError(f"cannot write {str(self.path)!r}: {error}") from error

    def _let_go(self) -> None:
        self._lock_path.unlink(missing_ok=True)
        os.close(self._lock)  # a killed process's lock goes with it


def table_path(path: str | os.PathLike[str]) -> Path:
    """`path` with a suffix that says its kind. Raises InputError for another kind, or Parquet without pyarrow."""
    path = file_path(path)
    if path.suffix not in SUFFIXES and path.suffix:
        raise InputError(f"a sweep is written as {' or '.join(SUFFIXES)}; given: {shown(path.name)}")
    if path.suffix == ".parquet" and not _has_pyarrow():
        raise InputError("a .parquet table needs pyarrow: pip install 'pmdviz[parquet]', or give a .csv")
    return path if path.suffix else path.with_suffix(".parquet" if _has_pyarrow() else ".csv")


def _has_pyarrow() -> bool:
    return importlib.util.find_spec("pyarrow") is not None


def csv_text(rows: Iterable[Row], names: Iterable[str]) -> str:
    """Rows as comma-separated values, with a line of names; floats are written in full."""
    names, out = [*names], io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(names)
    writer.writerows([row[name] for name in names] for row in rows)
    return out.getvalue()


def _from_csv(path: Path) -> tuple[list[str], list[Row]]:
    with path.open(newline="", encoding="utf-8") as file:
        reader, rows = csv.DictReader(file, strict=True), []
        for row in reader:
            if None in row:
                raise ValueError(f"line {reader.line_num} has more values than the header has columns")
            rows.append(row)
        return list(reader.fieldnames or []), rows


def _parquet(rows: list[Row], kinds: Kinds) -> bytes:
    import pyarrow as pa
    import pyarrow.parquet as parquet

    arrow = {int: pa.int64(), float: pa.float64(), str: pa.string(), bool: pa.bool_()}
    columns = {name: pa.array([row[name] for row in rows], arrow[kind]) for name, kind in kinds.items()}
    out = io.BytesIO()
    parquet.write_table(pa.table(columns), out)
    return out.getvalue()


def _from_parquet(path: Path) -> tuple[list[str], list[Row]]:
    import pyarrow.parquet as parquet

    with path.open("rb") as file:  # once: by its name it is opened several times, and may be another file meanwhile
        table = parquet.read_table(file)
    return table.column_names, table.to_pylist()


def _parsed(value: Any, kind: type) -> Any:
    if kind is bool and isinstance(value, str):
        return {"True": True, "False": False}[value]
    if value is None:
        raise ValueError("a row is cut short")
    return kind(value)
