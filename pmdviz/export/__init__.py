"""Files to take home: one writer a suffix, in one table."""

from __future__ import annotations

import errno
import os
import shutil
from pathlib import Path
from typing import Any

from pmdviz.errors import InputError, shown, unknown
from pmdviz.export.csv import CSV
from pmdviz.export.gif import GIF
from pmdviz.export.mp4 import MP4
from pmdviz.export.options import Look, spelled_out
from pmdviz.export.parquet import PARQUET
from pmdviz.export.player import HTML
from pmdviz.export.still import STILLS
from pmdviz.export.words import PYTHON, RECIPE
from pmdviz.export.writer import MEGABYTE, Job, Progress, Writer
from pmdviz.result import Run

WRITERS: dict[str, Writer] = {w.suffix: w for w in (GIF, MP4, HTML, *STILLS, CSV, PARQUET, PYTHON, RECIPE)}
SPARE = 20 * MEGABYTE  # of the disk are left free


def find_writer(path: str | os.PathLike[str]) -> Writer:
    """The kind of file that the suffix of `path` names. Raises InputError."""
    suffix = Path(path).suffix.lower()
    if suffix not in WRITERS:
        raise unknown("kind of file:", suffix or str(path), WRITERS)
    return WRITERS[suffix]


def checked_look(writer: Writer, given: dict[str, Any]) -> Look:
    """Options for a kind of file. Raises InputError for one that is unknown, out of bounds or without effect there."""
    plain = spelled_out(given)
    look = Look.checked(plain)
    if useless := [name for name in plain if name not in writer.options]:
        valid = ", ".join(writer.options) or "none"
        raise InputError(f"{useless[0]} means nothing to a {writer.suffix} file; its options: {valid}")
    return look


def export(
    run: Run, path: str | os.PathLike[str], *, progress: Progress = lambda done, total: None, **options: Any
) -> Path:
    """Write `run` to a file whose suffix says its kind; returns the path.

    Parameters
    ----------
    run : Run
    path : str or Path
        Ends in a suffix of `WRITERS`. A file that is there is replaced when the new one is whole.
    progress : function (done, total)
        Called after every frame, and while one is waited for. What it raises ends the export and leaves no file.
    **options
        Those of `Look`, or `size="960x540"` and `layers="exact,particles"`.

    Raises
    ------
    InputError
        Before any work: an unknown suffix or option, a missing library, a folder that is not there, too small a disk.
        During it: a disk that is full, an encoder that fails. No half file is left.
    """
    writer = find_writer(path)
    look = checked_look(writer, options)
    writer.check_installed()
    final = Path(path).expanduser()
    temporary = final.with_name(f".{final.name}.{os.getpid()}.part")
    job = Job(run, look, temporary, progress)
    writer.check(job)
    _check_place(final, writer.forecast(job))
    try:
        writer.write(job)
        temporary.replace(final)
    except OSError as error:
        raise InputError(_failed(final, error)) from error
    finally:
        temporary.unlink(missing_ok=True)
    return final


def _check_place(path: Path, needed: float) -> None:
    """Raise InputError where the file cannot be put at `path`."""
    folder = path.parent
    if not folder.is_dir():
        raise InputError(f"cannot write {shown(str(path))}: there is no folder {shown(str(folder))}")
    if path.is_dir():
        raise InputError(f"cannot write {shown(str(path))}: it is a folder")
    if not os.access(folder, os.W_OK):
        raise InputError(f"cannot write {shown(str(path))}: the folder {shown(str(folder))} may not be written to")
    free = shutil.disk_usage(folder).free
    if free < needed + SPARE:
        words = f"up to {_megabytes(needed)} may be needed, and {_megabytes(free)} are free"
        raise InputError(f"cannot write {shown(str(path))}: {words}, {_megabytes(SPARE)} of which are to stay so")


def _megabytes(size: float) -> str:
    return f"{max(size, 0) / MEGABYTE:,.1f} MB"


def _failed(path: Path, error: OSError) -> str:
    why = "the disk is full" if error.errno in (errno.ENOSPC, errno.EDQUOT) else error.strerror or str(error)
    return f"cannot write {shown(str(path))}: {why}"
