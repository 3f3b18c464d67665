"""Lessons in folders: those that come with the package, and a lecturer's own beside them."""

from __future__ import annotations

import logging
import os
from importlib.resources.abc import Traversable
from pathlib import Path

from pmdviz.errors import InputError, shown, words_of
from pmdviz.lessons.lesson import Lesson
from pmdviz.lessons.reading import read_lesson

FOLDER = "PMDVIZ_LESSONS"  # environment variable: a folder with lessons of one's own
SUFFIX = ".md"
log = logging.getLogger(__name__)

Placed = tuple[Lesson, int]  # a lesson and its position in the list


def text_of(file: Traversable) -> str:
    """What a file holds. Raises InputError where it cannot be opened."""
    try:
        return file.read_text(encoding="utf-8-sig")  # some editors write a mark of it at the start
    except (OSError, UnicodeError) as error:
        reason = getattr(error, "strerror", None) or "it is no text in UTF-8"
        raise InputError(f"{shown(str(file))} cannot be opened: {reason}") from None


def read_file(file: Traversable) -> Placed:
    """The lesson of a file, named as the file is. Raises InputError."""
    return read_lesson(file.name.removesuffix(SUFFIX), text_of(file))


def read_folder(folder: Traversable) -> dict[str, Placed]:
    """The lessons of a folder by name. Raises InputError for a file that is none."""
    return {name: read_file(file) for name, file in _files(folder).items()}


def with_own(ours: dict[str, Placed], folder: Traversable | None) -> dict[str, Placed]:
    """Ours and those of a folder; a file that is no lesson, or has a name of ours, is left out, which the log says."""
    found = dict(ours)
    for name, file in _files(folder).items() if folder is not None else ():
        try:
            if name in ours:
                raise InputError(f"there is a lesson {name!r} already; give the file another name")
            found[name] = read_file(file)
        except InputError as error:
            log.warning("lesson %s is left out: %s", file.name, words_of(error))
    return found


def own_folder() -> Path | None:
    """The folder that the environment names; None where it names none. Raises InputError for what is no folder."""
    name = os.environ.get(FOLDER)
    if not name:
        return None
    if not Path(name).is_dir():
        raise InputError(f"lessons of your own must be in a folder; given: {shown(name)}")
    return Path(name)


def _files(folder: Traversable) -> dict[str, Traversable]:
    found = sorted(
        (one for one in folder.iterdir() if one.name.endswith(SUFFIX) and one.is_file()), key=lambda one: one.name
    )
    return {one.name.removesuffix(SUFFIX): one for one in found}
