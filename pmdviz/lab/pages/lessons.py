"""The Lessons page: the lessons in the order of a course, and the tuning challenges; one is begun or gone on with."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import param
from panel.custom import JSComponent

from pmdviz.lab import css
from pmdviz.lab.loop.locked import soon
from pmdviz.lab.pages.page import PlainPage, headed
from pmdviz.lessons.lesson import Lesson
from pmdviz.lessons.progress import FORMAT
from pmdviz.lessons.reading import LESSONS

FIRST = "A lesson asks first: say what you expect, then see the run."
HOW = (
    "You decide when to reveal what happens. A wrong guess is as good a start as a right one.",
    "The lab shows the steps, and leaving a lesson brings your own run back. How far you are is kept in this browser "
    "alone.",
)
CHALLENGES = "A challenge sets a goal and a budget. Your score compares the run with independent draws."


class LessonsList(JSComponent):
    """The list. How far somebody is the browser reads from what it keeps; the server is not told."""

    lessons = param.List(default=[], doc="Name, title, question, minutes and names of the steps of each.")
    challenges = param.List(default=[], doc="The same of each tuning challenge.")
    format = param.Integer(default=FORMAT, doc="Of what the browser keeps.")
    looks = param.Integer(default=0, doc="Raised by the server: the page came into sight.")

    _esm = css.static("make.js") + css.static("lessons.js")
    _stylesheets = [css.static("lessons.css")]

    def __init__(self, choose: Callable[[str], None], **params: Any) -> None:
        self._choose = choose
        super().__init__(**params)

    def _handle_msg(self, data: Mapping[str, Any]) -> None:
        """The name of a lesson."""
        if isinstance(data.get("lesson"), str):
            soon(self._choose, data["lesson"])


class LessonsPage(PlainPage):
    """The list of `lessons`, name -> Lesson; a page of the app."""

    def __init__(self, lessons: Mapping[str, Lesson] = LESSONS) -> None:
        self._lessons = lessons
        parts = {
            part: [_row(each) for each in lessons.values() if each.is_challenge == challenge]
            for part, challenge in {"lessons": False, "challenges": True}.items()
        }
        self.list = LessonsList(self.choose, sizing_mode="stretch_width", margin=0, **parts)
        words = headed("Lessons", *HOW) + (headed("Challenges", CHALLENGES) if parts["challenges"] else "")
        super().__init__(FIRST, self.list, words, "pmdviz-lessons")

    def choose(self, name: str) -> None:
        """Open a lesson in the lab; a name that is none is what a browser made up."""
        if name in self._lessons and self.on_open is not None:
            self.on_open("lab", self._lessons[name])

    def look(self, on: bool) -> None:
        """In sight again the browser reads anew how far somebody is."""
        if on:
            self.list.looks += 1


def _row(lesson: Lesson) -> list[Any]:
    return [lesson.name, lesson.title, lesson.question, lesson.minutes, [*lesson.places]]
