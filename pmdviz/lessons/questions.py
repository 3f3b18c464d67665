"""For notebooks that teach: a question before what it asks about is seen, and a check of what a student computed."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from pmdviz.errors import InputError, shown, words_of
from pmdviz.files import put_text
from pmdviz.knobs import real_number
from pmdviz.lessons.lesson import GRADES, NEAR, Answer, checked_answer, side, within
from pmdviz.lessons.progress import file_name, row, sheet, to_json

OF_A_NUMBER = ("close", "low", "high")  # the texts for answers near enough, below and above


class Unanswered(InputError):
    """What comes next is closed until an answer is stored."""

    def _render_traceback_(self) -> list[str]:
        """What a notebook shows: the sentence alone, as nothing is broken."""
        return [f"Not yet: {self}"]


class Judgement(NamedTuple):
    """The right answer, its tolerance (relative or absolute), and a text for every answer."""

    right: str | float
    tolerance: float
    absolute: float
    texts: Mapping[str, str]

    def fits(self, value: str | float, times: float = 1.0) -> str:
        """The key of the text for an answer: its own letter, or where a number lies by so many tolerances."""
        if isinstance(value, str) or isinstance(self.right, str):
            return str(value)
        return side(value, self.right, times * (self.absolute or self.tolerance), 1.0 if self.absolute else 0.0)

    def grade(self, value: str | float) -> str:
        """One of GRADES; a number within three tolerances is close."""
        right = (self.right, "close")
        return GRADES[0 if self.fits(value) in right else 1 if self.fits(value, NEAR) == "close" else 2]


class Question:
    """A question, its answer and the verdict on it; `pmdviz.Question` shows it with buttons."""

    def __init__(self, text: str, /, unit: str = "", **choices: str) -> None:
        if not isinstance(text, str) or not text.strip():
            raise InputError(f"a question needs a text; got {shown(text)}")
        if len(choices) == 1 or (choices and unit) or not all(isinstance(w, str) for w in (unit, *choices.values())):
            given = {"unit": unit, **choices} if unit else choices
            words = 'at least two choices, such as a="up", b="down", or none and the unit of a number'
            raise InputError(f"a question needs {words}; got {shown(given)}")
        self.text, self.unit, self.choices = text, unit, choices
        self.stored: str | float | None = None
        self.confidence = ""
        self.judgement: Judgement | None = None
        self.name, self._open = "question", False
        self.buttons: Any = None  # shown in a notebook, by `pmdviz.Question`

    def answer(self, value: str | float, confidence: str = "") -> Question:
        """Store an answer; it may be changed until the reveal. Returns the question, for the cell to show."""
        if self._open:
            words = f"the answer {self.stored!r} is already revealed"
            raise InputError(f"{words}; run the question's cell again for a new answer")
        checked: Answer = checked_answer(value, confidence, self.choices)
        self.stored, self.confidence = checked
        if self.buttons is not None:
            self.buttons.update()
        return self

    def reveal(self) -> None:
        """Let what comes after it happen. Raises Unanswered, an InputError, until an answer is stored."""
        if self.stored is None:
            raise Unanswered(f"answer the question above first, by its buttons or with {self.example}")
        if self.buttons is not None and not self._open:
            self.buttons.close()
        self._open = True

    def verdict(
        self, right: str | float, /, *, tolerance: float = 0.0, absolute: float = 0.0, **texts: str
    ) -> Question:
        """Give the right answer, with a text for every answer; reveals.

        Parameters
        ----------
        right : str or float
            The letter of the right choice, or the number.
        tolerance, absolute : float
            Of a number: how far off is near enough: a share of the right one, or in its unit. One of the two.
        **texts : str
            Markdown for each choice: why it is right or wrong. Of a number: `close`, `low`, `high`.

        Returns
        -------
        Question
            For the cell to show: the given answer, the right one, and why.
        """
        self.reveal()
        wanted = tuple(self.choices) or OF_A_NUMBER
        if set(texts) != set(wanted) or not all(isinstance(words, str) and words.strip() for words in texts.values()):
            raise InputError(f"a verdict needs a text for each of {', '.join(wanted)}; got {shown(texts)}")
        self.judgement = Judgement(self._right(right, tolerance, absolute), tolerance, absolute, texts)
        if self.stored is not None:
            grade = self.judgement.grade(self.stored)
            _record(row(self.name, self.text, self.stored, self.confidence, grade))
        return self

    def _right(self, right: str | float, tolerance: float, absolute: float) -> str | float:
        checked = checked_answer(right, "", self.choices).value
        given = [value for value in (tolerance, absolute) if value]
        if len(given) != (not self.choices) or not all((real_number(value) or 0.0) > 0 for value in given):
            words = "the verdict on a number needs `tolerance` or `absolute`, above 0, and that on a choice neither"
            raise InputError(f"{words}; got {shown((tolerance, absolute))}")
        if checked == 0.0 and tolerance:
            raise InputError("the right number is 0, so a relative `tolerance` has no meaning: give `absolute`")
        return checked

    @property
    def example(self) -> str:
        """How it is answered in code."""
        letter = next(iter(self.choices), "")
        return f'{self.name}.answer("{letter}")' if letter else f"{self.name}.answer(100)"

    @property
    def words(self) -> str:
        """The question and its choices, in Markdown."""
        if not self.choices:
            return f"**Question.** {self.text} *Your answer: a number{f' ({self.unit})' if self.unit else ''}.*"
        lines = [f"- **{name}**: {words}" for name, words in self.choices.items()]
        return "\n".join([f"**Question.** {self.text}", "", *lines])

    @property
    def stored_words(self) -> str:
        """The stored answer, in Markdown; "" before."""
        if self.stored is None:
            return ""
        words = f", {self.choices[self.stored]}" if isinstance(self.stored, str) else f" {self.unit}".rstrip()
        return f"Your answer is stored: **{plain(self.stored)}**{words}{_in_brackets(self.confidence)}."

    @property
    def stored_as(self) -> str:
        """The stored answer, in short and without Markdown: the words of a choice may hold formulas."""
        return "" if self.stored is None else f"Stored: {plain(self.stored)}{_in_brackets(self.confidence)}."

    def _repr_markdown_(self) -> str:
        if self.judgement is not None and self.stored is not None:
            return self._verdict_words(self.stored, self.judgement)
        return self.stored_words or self.words

    def _verdict_words(self, stored: str | float, judgement: Judgement) -> str:
        fits, right = judgement.fits(stored), plain(judgement.right)
        said = f"You said **{plain(stored)}**{_in_brackets(self.confidence)}"
        because = judgement.texts[fits]
        if not self.choices:
            told = "near enough" if fits == "close" else f"too {fits}"
            return f"{said}; it is **{right}**{f' {self.unit}' if self.unit else ''}: {told}. {because}"
        if fits == right:
            return f"{said}, and so it is: {self.choices[right]}. {because}"
        return f"{said}; it is **{right}**: {self.choices[right]}. {because}\n\n{judgement.texts[right]}"

    def __repr__(self) -> str:
        return self._repr_markdown_().replace("**", "")


def plain(value: str | float) -> str:
    """A letter as it is; a number in three figures, or whole from 100 on."""
    if isinstance(value, str):
        return value
    return f"{value:,.0f}" if 100 <= abs(value) < 1e9 else f"{value:.3g}"


def _in_brackets(words: str) -> str:
    return f" ({words})" if words else ""


# A student's result, compared with the right one.

NOTHING = "Nothing to check yet: put your value in `mine`."


@dataclass(frozen=True)
class Checked:
    """What `check` found. A notebook shows its words as text.

    Attributes
    ----------
    right : bool
    words : str
        Markdown.
    wanted : number, array or function
        The right value.
    slips : sequence of (value, str)
        The known wrong values, and the text for each.
    """

    right: bool
    words: str
    wanted: Any
    slips: Sequence[tuple[Any, str]]

    def _repr_markdown_(self) -> str:
        return self.words

    def __repr__(self) -> str:
        return self.words.replace("**", "")


def check(
    mine: Any,
    right: Any,
    tolerance: float = 0.05,
    *,
    absolute: float = 0.0,
    wrong: Mapping[Any, str] | Iterable[tuple[Any, str]] = (),
    on: Iterable[Any] = (),
) -> Checked:
    """Judge a number, an array or a function of a student's; as the last line of a cell.

    Parameters
    ----------
    mine : number, array or function
        The student's own; `...`, which the cell is left with, gets the text that there is nothing to check.
    right : number, array or function
        What it should be.
    tolerance : float
        How far off is near enough: a share of the right number; in an array of its largest entry.
    absolute : float
        The same in the number's own unit, instead of `tolerance`.
    wrong : mapping or pairs
        Known slips: a wrong value (for a function: a function) and the words that name it.
    on : iterable
        The arguments at which a function is tried; a tuple is several arguments.

    Returns
    -------
    Checked
        `.right`, `.words`; never an error for what the student has.

    Raises
    ------
    InputError
        For the one who wrote the exercise: a slip that counts as right, a function without `on`, no number to compare.

    Examples
    --------
    >>> pmdviz.check(0.41, 1 / 6, wrong={6**-0.5: "That is the standard deviation, not the variance."})
    Not yet: yours, 0.41, is 146 % too high.
    """
    slips = [*(wrong.items() if isinstance(wrong, Mapping) else wrong)]
    places = [*on]
    if callable(right) and not places:
        raise InputError("a function is checked at some arguments: give them as `on=[...]`")
    wanted = _values(right, places)
    limit = (absolute, 1.0) if absolute else (tolerance, 0.0)
    if wanted is None:
        raise InputError(f"the right value must be a number, numbers or a function; got {shown(right)}")
    for value, words in slips:
        if _near(_values(value, places), wanted, limit):
            raise InputError(f"this slip is within the tolerance of the right value: {shown(value)}, {shown(words)}")
    found, words = _judged(mine, wanted, limit, [(_values(value, places), said) for value, said in slips], places)
    if _task:
        grade = "" if mine is ... else GRADES[0 if found else 2]
        _record(row(_task[-1], "", "" if mine is ... else shown(mine), "", grade))
    return Checked(found, words, right, slips)


def _judged(mine: Any, wanted: np.ndarray, limit: tuple[float, float], slips: list, places: list) -> tuple[bool, str]:
    if mine is ...:
        return False, NOTHING
    if places and not callable(mine):
        return False, f"Not yet: `mine` should be a function; yours is {shown(mine)}."
    try:
        values = _values(mine, places)
    except Exception as error:  # the student's own function may fail in any way
        return False, f"Not yet: your function fails with {type(error).__name__}: {words_of(error)}."
    if values is None:
        given = "it gives something else, or nothing: does it `return`?" if places else f"yours is {shown(mine)}."
        return False, f"Not yet: numbers are needed; {given}"
    if _near(values, wanted, limit):
        return True, "**Right**" + (f": {plain(float(values))}." if values.ndim == 0 else ".")
    slip = next((said for value, said in slips if _near(values, value, limit)), "")
    return False, f"Not yet: {slip}" if slip else f"Not yet: {_how_far(values, wanted, places)}"


def _values(thing: Any, places: Sequence[Any]) -> np.ndarray | None:
    """The compared numbers, as floats; of a function its values at all places in a row. None if one is not finite."""
    if callable(thing):
        found = [_values(thing(*(place if isinstance(place, tuple) else (place,))), ()) for place in places]
        whole = [values.ravel() for values in found if values is not None]
        return np.concatenate(whole) if whole and len(whole) == len(found) else None
    try:
        values = np.asarray(thing, dtype=float)
    except (TypeError, ValueError):
        return None
    return values if values.size and np.isfinite(values).all() else None


def _near(values: np.ndarray | None, wanted: np.ndarray | None, limit: tuple[float, float]) -> bool:
    if values is None or wanted is None or values.shape != wanted.shape:
        return False
    tolerance, scale = limit
    scale = scale or float(np.abs(wanted).max())
    return all(within(a, b, tolerance, scale) for a, b in zip(values.flat, wanted.flat, strict=True))


def _how_far(values: np.ndarray, wanted: np.ndarray, places: Sequence[Any]) -> str:
    if values.shape != wanted.shape:
        sizes = [f"an array of shape {one.shape}" if one.ndim else "one number" for one in (values, wanted)]
        return f"yours is {sizes[0]}, and {sizes[1]} is wanted."
    if values.ndim == 0:
        return f"yours, {plain(float(values))}, is {_share(float(values), float(wanted))}."
    worst = int(np.abs(values - wanted).argmax())
    where = f"at {shown(places[worst])}" if len(places) == wanted.size else f"at entry {worst}"
    return f"farthest off {where}: {_share(float(values.flat[worst]), float(wanted.flat[worst]))}."


def _share(value: float, right: float) -> str:
    side = "too high" if value > right else "too low"
    if value * right < 0:
        return f"{side}: it has the wrong sign"
    if right == 0 or abs(value) > 10 * abs(right):
        return f"far {side}" if right else f"{side} by {plain(abs(value - right))}"
    return f"{100 * abs(value - right) / abs(right):.0f} % {side}"


# The answers and checks of this notebook, and the file that a student hands in.

_done: dict[str, dict[str, Any]] = {}  # task -> row of a sheet
_task: list[str] = []  # the task whose check runs


def _record(one: dict[str, Any]) -> None:
    _done[one["task"]] = one


@contextmanager
def as_task(task: str) -> Iterator[None]:
    """What `check` finds within counts for this task of the sheet."""
    _task.append(task)
    try:
        yield
    finally:
        _task.pop()


def points(task: str) -> float:
    """The points of a task of this notebook so far, by the name of a question or of a sealed check.

    nbgrader takes the number that a cell shows as the points of that cell.
    """
    return float(_done[task]["points"]) if task in _done else 0.0


def report(student: str, name: str, folder: str | Path = ".") -> Path:
    """Write all answers of this notebook, with points, as one JSON; the path of the file `name-student.json`.

    Parameters
    ----------
    student : str
        Your name or number: up to 40 letters, digits, dots, dashes or underscores.
    name : str
        Of the sheet, such as "02-weighted-particles".
    folder : str or Path

    Raises
    ------
    InputError
        For a student whose name has other characters.
    """
    found = sheet(name, student, _done.values(), {})
    path = Path(folder) / file_name(found)
    put_text(path, to_json(found))
    return path
