"""Pages that compute nothing: the lessons, and the methods; a choice there opens in the lab."""

from __future__ import annotations

import html
import secrets
from collections.abc import Mapping
from typing import NamedTuple

import panel as pn
import param

from pmdviz.engine.recipe import Recipe
from pmdviz.files import Json
from pmdviz.lab import css
from pmdviz.lab.controls.widgets import WIDE, Component, text
from pmdviz.lab.loop import limits
from pmdviz.lab.pages.page import Page
from pmdviz.lessons.lesson import Lesson
from pmdviz.lessons.practice import practice_named
from pmdviz.lessons.progress import FORMAT
from pmdviz.lessons.reading import DEMOS, LESSONS, demo_link
from pmdviz.methods import METHODS, Method, by_family, usual_target
from pmdviz.methods.step import COLUMNS
from pmdviz.scenes.trace_columns import GROUPS
from pmdviz.scenes.words import marked

SENTENCE = '<div class="pmdviz-heading" role="heading" aria-level="2">{}</div><p>{}</p>'


class PlainPage(Page):
    """A page with a heading and a sentence above a component; `name` is its class in style sheets."""

    def __init__(self, heading: str, sentence: str, component: Component, name: str) -> None:
        words = SENTENCE.format(html.escape(heading), marked(html.escape(sentence)))
        above = text(words, stylesheets=[css.TEXT, css.static("pages.css", "above")])
        self.view = pn.Column(above, component, css_classes=[name], **WIDE)
        self.foot = pn.Row(margin=0)  # nothing plays here


# Cards of the lessons by topic, of the tuning challenges and of the practice.

LESSONS_FIRST = "Predict what a run will do, then watch it"
HOW = (
    "A wrong prediction teaches as much as a right one. After a lesson your own run comes back. "
    "Your progress is saved in this browser only."
)
CHALLENGES = "Challenges: reach a goal within a budget"
PRACTICE = Lesson(
    "practice",
    "Keep or rerun?",
    "Judge twelve runs as you would in practice: without the exact posterior, on new cases each time.",
    "",
    (),
    minutes=30,
    topic="Practice",
    sketch="M10 22l10 12L40 6M58 8l26 26M84 8L58 34",
)


class LessonsList(Component):
    """The cards. The browser reads from its own storage how far a person is; the server does not learn it."""

    lessons = param.List(default=[], doc="Name, title, question, minutes, names of steps, topic and sketch of each.")
    demos = param.List(default=[], doc="Title, question and link of each; a link opens it in presenter mode.")
    format = param.Integer(default=FORMAT, doc="Of what the browser keeps.")
    looks = param.Integer(default=0, doc="Raised by the server: the page came into sight.")

    _esm = css.MAKE + css.static("lists.js", "lessons")
    _stylesheets = [css.static("pages.css", "lessons")]


class LessonsPage(PlainPage):
    """The list of `lessons`, name -> Lesson; a page of the app."""

    def __init__(self, lessons: Mapping[str, Lesson] = LESSONS) -> None:
        self._lessons = lessons
        ordered = sorted(lessons.values(), key=lambda each: each.is_challenge)
        rows = [_lesson_row(each) for each in [*ordered, PRACTICE]]
        demos = [[demo.title, demo.question, demo_link(name)] for name, demo in DEMOS.items()]
        self.list = LessonsList(self._hear, lessons=rows, demos=demos)
        super().__init__(LESSONS_FIRST, HOW, self.list, "pmdviz-lessons")

    def _hear(self, message: Mapping[str, Json]) -> None:
        name = message.get("lesson")
        self.choose(f"practice-{secrets.randbelow(10**6)}" if name == PRACTICE.name else name)

    def choose(self, name: Json) -> None:
        """Open a lesson in the lab; an unknown name is ignored."""
        if not isinstance(name, str) or self.on_open is None:
            return
        lesson = self._lessons.get(name) or practice_named(name)
        if lesson is not None:
            self.on_open("lab", lesson)

    def look(self, on: bool) -> None:
        """The browser reads the progress again when the page comes into sight."""
        if on:
            self.list.looks += 1


def _lesson_row(lesson: Lesson) -> list[Json]:
    topic = CHALLENGES if lesson.is_challenge else lesson.topic
    return [lesson.name, lesson.title, lesson.question, lesson.minutes, [*lesson.places], topic, lesson.sketch]


# What a method hands to the lab: itself, with the part of it that is to be seen.

UPDATES = {"weights": "reweight", "move": "move", "ratio": "move"}  # kind of an update -> the column that it shows
WEIGHTS = ("reweight", "resample")  # columns that the ESS and the ancestors show
TOLD = {  # term of "adapt" -> the number of a step that shows it
    "step size": "step_size",
    "kernel width": "length_scale",
    "temperatures": "temperature",
    "proposal": "components",
    "surrogate": "surrogate_ess",
    "stopping": "moving_ess",
    "preconditioner": "typical_move",
}


class Opening(NamedTuple):
    """A method that is to be run on the target that it is usually shown on."""

    method: str
    trace: str = ""  # key of the traces that show the lesson's metric; "" for the usual ones
    inside: bool = False  # whether the card "Inside this step" shows it

    def recipe(self) -> Recipe:
        """All at the defaults; for a worker thread, as some targets take a second."""
        return limits.fitted(Recipe(usual_target(self.method), self.method))


def opening(method: Method, column: str = "") -> Opening:
    """The run of a method with what shows a column of its grammar; "" for the method alone."""
    inside = method.update is not None and UPDATES[method.update.kind] == column
    return Opening(method.name, _trace(method, column), inside)


def _trace(method: Method, column: str) -> str:
    if column in WEIGHTS:
        return _showing("ess")
    if column != "adapt":
        return ""
    names = {scalar.name for scalar in method.scalars}
    return _showing(next((TOLD[term] for term in dict(method.grammar)["adapt"].terms if TOLD[term] in names), ""))


def _showing(name: str) -> str:
    """The key of the traces with the column `name` of a history."""
    return next((key for key, group in GROUPS.items() if name in group.metrics), "")


# What every method does in a step, in terms that they share; a cell runs its method in the lab.

METHODS_FIRST = "What does each method do in one step?"
READ_IT = (
    "Read a row from left to right. Press a cell to run that method in the Lab and see that part. "
    "Choose in the head of a column to keep the methods that have it."
)
TAU_M = "τ\N{NO-BREAK SPACE}m"


class MethodsTable(Component):
    """The table; filters are the browser's own affair, and it says which cell was pressed."""

    columns = param.List(default=[], doc="Name, title, meaning and terms of each column; a term with its meaning.")
    families = param.List(default=[], doc="Title, and the rows: name, title and cells of each method.")

    _esm = css.MAKE + css.static("lists.js", "methods")
    _stylesheets = [css.static("pages.css", "methods")]


class MethodsPage(PlainPage):
    """The table of all methods; a page of the app."""

    def __init__(self) -> None:
        columns = [
            [name, column.title, column.about, [*map(list, column.terms.items())]] for name, column in COLUMNS.items()
        ]
        families = [[title, [_method_row(method) for method in methods]] for title, methods in by_family().items()]
        self.table = MethodsTable(self._hear, columns=columns, families=families)
        super().__init__(METHODS_FIRST, READ_IT, self.table, "pmdviz-methods")

    def _hear(self, message: Mapping[str, Json]) -> None:
        """A method's name and a column's, "" for the method itself; anything else is what a browser made up."""
        method, column = message.get("method"), message.get("column")
        if isinstance(method, str) and isinstance(column, str) and method in METHODS and column in ("", *COLUMNS):
            self.pick(method, column)

    def pick(self, method: str, column: str) -> None:
        """Run a method, with what shows a column of its grammar."""
        if self.on_open is not None:
            self.on_open("lab", opening(METHODS[method], column))


def _method_row(method: Method) -> list[Json]:
    """Name, title, and of each cell the terms and the remark."""
    cells = [[list(cell.terms), cell.remark.replace("τ m", TAU_M)] for _, cell in method.grammar]
    return [method.name, method.title, cells]
