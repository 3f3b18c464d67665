"""A question that is answered before what it asks about is seen: for notebooks that teach."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple, Protocol

from pmdviz.errors import InputError, shown
from pmdviz.knobs import real_number
from pmdviz.lessons.lesson import Answer, checked_answer, within

OF_A_NUMBER = ("close", "low", "high")  # what is told to whoever was near enough, below and above


class Unanswered(InputError):
    """What comes next is closed until an answer is stored."""

    def _render_traceback_(self) -> list[str]:
        """What a notebook shows: the sentence alone, as nothing is broken."""
        return [f"Not yet: {self}"]


class Judgement(NamedTuple):
    """What is right, how far off is near enough (a relative or an absolute tolerance), and a text for every answer."""

    right: str | float
    tolerance: float
    absolute: float
    texts: Mapping[str, str]

    def fits(self, value: str | float) -> str:
        """Which of the texts an answer is told: its own letter, or where a number lies."""
        if isinstance(value, str) or isinstance(self.right, str):
            return str(value)
        if within(value, self.right, *((self.absolute, 1.0) if self.absolute else (self.tolerance, 0.0))):
            return "close"
        return "low" if value < self.right else "high"


class Buttons(Protocol):
    """What a question has on show in a notebook."""

    def update(self) -> None:
        """Say which answer is stored."""

    def close(self) -> None:
        """Take no more answers."""


class Question:
    """A question with named choices, or for a number. An answer is stored first; only then `reveal` lets the run go on.

    `ask` shows it in a notebook with buttons. It needs no front end: `answer` stores an answer as well.

    Parameters
    ----------
    text : str
        Markdown, with formulas between dollars.
    unit : str
        Of the number that is asked for, where there are no choices.
    **choices : str
        At least two, by the letter that an answer gives: a="...", b="..."; none for a number.

    Attributes
    ----------
    name : str
        Of the variable that holds it, once it was asked in a notebook.
    stored : str, float or None
        The answer: the letter of a choice, or a number; None before.
    confidence : str
        "a guess", "rather sure" or "sure", where it was said.
    judgement : Judgement or None
        What `verdict` was given.

    Raises
    ------
    InputError
        A single choice, an empty text, an answer that is none, an answer after the reveal, a verdict that leaves an
        answer without a text.

    Examples
    --------
    >>> guess = pmdviz.Question("Does TV fall?", a="yes", b="no")
    >>> guess.ask()  # buttons; without them: guess.answer("a")
    >>> guess.reveal()  # refuses unless an answer is stored
    >>> guess.verdict("b", a="A redraw adds h² each time.", b="With `always` it rises.")
    >>> count = pmdviz.Question("How many still count?", unit="particles")
    >>> count.answer(20, "a guess").verdict(
    ...     3.7, tolerance=0.3, close="m / (1 + χ²).", low="Not quite.", high="m alone says nothing."
    ... )
    """

    def __init__(self, text: str, /, unit: str = "", **choices: str) -> None:
        if not isinstance(text, str) or not text.strip():
            raise InputError(f"a question needs a text; given: {shown(text)}")
        if len(choices) == 1 or (choices and unit) or not all(isinstance(w, str) for w in (unit, *choices.values())):
            given = {"unit": unit, **choices} if unit else choices
            raise InputError(
                'a question needs at least two choices, such as a="up", b="down", or none and the unit of a number; '
                f"given: {shown(given)}"
            )
        self.text, self.unit, self.choices = text, unit, choices
        self.stored: str | float | None = None
        self.confidence = ""
        self.judgement: Judgement | None = None
        self.name, self._open = "question", False
        self._buttons: Buttons | None = None

    def ask(self) -> None:
        """Show it, in a notebook with buttons that store an answer; as the last line of a cell."""
        from pmdviz.question_buttons import show

        self._buttons = show(self)

    def answer(self, value: str | float, confidence: str = "") -> Question:
        """Store an answer; it may be changed until the reveal. Returns the question, for the cell to show."""
        if self._open:
            raise InputError(
                f"the answer {self.stored!r} is already revealed; run the question's cell again to ask anew"
            )
        checked: Answer = checked_answer(value, confidence, self.choices)
        self.stored, self.confidence = checked
        if self._buttons is not None:
            self._buttons.update()
        return self

    def reveal(self) -> None:
        """Let what comes after it happen. Raises Unanswered, an InputError, until an answer is stored."""
        if self.stored is None:
            raise Unanswered(f"answer the question above first, by its buttons or with {self.example}")
        if self._buttons is not None and not self._open:
            self._buttons.close()
        self._open = True

    def verdict(
        self, right: str | float, /, *, tolerance: float = 0.0, absolute: float = 0.0, **texts: str
    ) -> Question:
        """Say what is right, with a text for every answer; reveals.

        Parameters
        ----------
        right : str or float
            The letter of the right choice, or the number.
        tolerance, absolute : float
            Of a number: how far off is near enough, as a share of the right one, or in its unit. One of the two.
        **texts : str
            Markdown for each choice: why it is right, or what is wrong with it. Of a number: `close`, `low`, `high`.

        Returns
        -------
        Question
            For the cell to show: what was said, what is right, and why.
        """
        self.reveal()
        wanted = tuple(self.choices) or OF_A_NUMBER
        if set(texts) != set(wanted) or not all(isinstance(words, str) and words.strip() for words in texts.values()):
            raise InputError(f"a verdict needs a text for each of {', '.join(wanted)}; given: {shown(texts)}")
        self.judgement = Judgement(self._right(right, tolerance, absolute), tolerance, absolute, texts)
        return self

    def _right(self, right: str | float, tolerance: float, absolute: float) -> str | float:
        checked = checked_answer(right, "", self.choices).value
        given = [value for value in (tolerance, absolute) if value]
        if len(given) != (not self.choices) or not all((real_number(value) or 0.0) > 0 for value in given):
            raise InputError(
                "the verdict on a number needs `tolerance` or `absolute`, above 0, and that on a choice neither; "
                f"given: {shown((tolerance, absolute))}"
            )
        if checked == 0.0 and tolerance:
            raise InputError("no share of 0 is near enough: give `absolute` in place of `tolerance`")
        return checked

    @property
    def example(self) -> str:
        """How it is answered in code."""
        return f"{self.name}.answer({_quoted(next(iter(self.choices), 100))})"

    @property
    def words(self) -> str:
        """The question and its choices, in Markdown."""
        if not self.choices:
            return f"**Question.** {self.text} *Your answer: a number{f' ({self.unit})' if self.unit else ''}.*"
        lines = [f"- **{name}**: {words}" for name, words in self.choices.items()]
        return "\n".join([f"**Question.** {self.text}", "", *lines])

    @property
    def stored_words(self) -> str:
        """What is stored, in Markdown; "" before."""
        if self.stored is None:
            return ""
        words = f", {self.choices[self.stored]}" if isinstance(self.stored, str) else f" {self.unit}".rstrip()
        return f"Your answer is stored: **{plain(self.stored)}**{words}{_in_brackets(self.confidence)}."

    @property
    def stored_as(self) -> str:
        """What is stored, in short and without Markdown: the words of a choice may hold formulas."""
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


def _quoted(value: str | float) -> str:
    return f'"{value}"' if isinstance(value, str) else str(value)


def _in_brackets(words: str) -> str:
    return f" ({words})" if words else ""
