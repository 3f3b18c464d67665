"""The lessons and challenges that are offered: name -> Lesson, in the order in which they are shown."""

from __future__ import annotations

from importlib import resources

from pmdviz.errors import InputError, unknown
from pmdviz.lessons.folders import log, own_folder, read_folder, with_own
from pmdviz.lessons.lesson import Lesson


def find_lesson(name: str) -> Lesson:
    """The lesson of that name. Raises InputError."""
    if name not in LESSONS:
        raise unknown("lesson", name, LESSONS)
    return LESSONS[name]


def _loaded() -> dict[str, Lesson]:
    try:
        folder = own_folder()
    except InputError as error:  # a server has said so as it started
        log.warning("%s", error)
        folder = None
    found = with_own(read_folder(resources.files(__package__) / "files"), folder)
    return {lesson.name: lesson for lesson, position in sorted(found.values(), key=lambda one: (one[1], one[0].name))}


LESSONS = _loaded()
