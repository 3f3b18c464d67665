"""Exported files: one writer a suffix, in one table."""

from __future__ import annotations

import os
import shutil
from collections.abc import Mapping
from pathlib import Path

from pmdviz.engine.run import Run
from pmdviz.errors import InputError, check_function, shown, unknown
from pmdviz.experiments.race import RaceResult
from pmdviz.export.films import Film, RaceFilm
from pmdviz.export.options import USUAL_FRAMES, Look, RaceLook, spelled_out
from pmdviz.export.player import HTML
from pmdviz.export.writers import CSV, GIF, MEGABYTE, MP4, PARQUET, PYTHON, RECIPE, STILLS, Job, Progress, Writer
from pmdviz.files import atomic_write, check_writable, file_path, real_path
from pmdviz.knobs import Raw

WRITERS: dict[str, Writer] = {w.suffix: w for w in (GIF, MP4, HTML, *STILLS, CSV, PARQUET, PYTHON, RECIPE)}
USUAL_DOTS = 1_500
SPARE = 20 * MEGABYTE  # of the disk are left free


def find_writer(path: str | os.PathLike[str]) -> Writer:
    """The kind of file that the suffix of `path` names. Raises InputError."""
    name = file_path(path).name
    suffix = Path(name).suffix.lower()
    if name.lower() in WRITERS:
        raise InputError(f"a file needs a name before its suffix, such as film{name.lower()}; got {shown(str(path))}")
    if suffix not in WRITERS:
        raise unknown("kind of file:", suffix or str(path), WRITERS)
    return WRITERS[suffix]


def check(
    path: str | os.PathLike[str], options: Mapping[str, Raw], looks: type[Look] = Look
) -> tuple[Writer, Look, Path]:
    """Everything that can be said before there is a run: the writer, its options and the file's place.

    `looks` declares the options: `Look` for a run, `RaceLook` for a race.

    Raises InputError: an unknown suffix or option, one out of bounds or without effect on this kind of file, a library
    that is missing, a folder that is not there or may not be written to, a disk that is too full.
    """
    writer, final = find_writer(path), file_path(path)
    plain = spelled_out(options)
    look = looks.checked(plain)
    if useless := [name for name in plain if name not in writer.options]:
        valid = ", ".join(writer.options) or "none"
        raise InputError(f"option {useless[0]} is not supported for a {writer.suffix} file; supported: {valid}")
    writer.check_installed()
    writer.check(look)
    _check_room(final, writer.forecast(look, look.frames or USUAL_FRAMES, USUAL_DOTS))
    return writer, look, final


def export(
    what: Run | RaceResult, path: str | os.PathLike[str], *, progress: Progress | None = None, **options: Raw
) -> Path:
    """Write a run or a race to a file whose suffix says its kind; returns the path.

    Parameters
    ----------
    what : Run or RaceResult
    path : str or Path
        Ends in a suffix of `WRITERS`. A file that is there is replaced when the new one is whole.
    progress : function (done, total)
        Called after every frame, and while one is waited for. What it raises ends the export and leaves no file.
    **options
        Those of `Look` (`RaceLook` for a race), or `size="960x540"` and `layers="exact,particles"`.

    Raises
    ------
    InputError
        Before any work: an unknown suffix or option, a missing library, a folder that is not there, too small a disk.
        During it: a disk that is full, an encoder that fails. No half-written file is left behind.
    """
    check_function("progress", progress)
    race = isinstance(what, RaceResult)
    writer, look, final = check(path, options, RaceLook if race else Look)
    film = RaceFilm(what, look) if race else Film(what, look)
    _check_room(final, writer.forecast(look, film.frames if "frames" in writer.options else 1, film.dots))
    with atomic_write(final) as part:
        writer.write(Job(film, part, progress or (lambda done, total: None)))
    return final


def _check_room(path: Path, needed: float) -> None:
    """Raise InputError where the file cannot be put at `path`."""
    free = shutil.disk_usage(real_path(check_writable(path)).parent).free
    if free < needed + SPARE:
        words = f"up to {_megabytes(needed)} may be needed, and {_megabytes(free)} are free"
        named = shown(str(path), 200)
        raise InputError(f"cannot write {named}: {words}, {_megabytes(SPARE)} of which are to stay so")


def _megabytes(size: float) -> str:
    return f"{max(size, 0) / MEGABYTE:,.1f} MB"
