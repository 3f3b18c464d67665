"""A question of a lesson as a value: a choice with a text per option, or a number; and how an answer is judged."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

from pmdviz.errors import InputError, shown, unknown
from pmdviz.expressions import Expression, Scope, Template
from pmdviz.knobs import real_number

CONFIDENCES = ("a guess", "rather sure", "sure")


class Answer(NamedTuple):
    """What a learner said."""

    value: str | float  # the letter of an option, or a number
    confidence: str = ""  # one of CONFIDENCES, where it was asked


class Verdict(NamedTuple):
    """How an answer compares with what is right."""

    right: bool
    words: str


def within(value: float, right: float, tolerance: float, scale: float = 0.0) -> bool:
    """Whether abs(value - right) <= tolerance * scale; `scale` is abs(right) where it is 0."""
    return abs(value - right) <= tolerance * (scale or abs(right))


def checked_answer(value: Any, confidence: str, options: Collection[str]) -> Answer:
    """One of the options, or a number where there are none. Raises InputError for what is neither."""
    if confidence and confidence not in CONFIDENCES:
        raise unknown("confidence", confidence, CONFIDENCES)
    if options:
        if not isinstance(value, str) or value not in options:
            raise unknown("option", value, options)
        return Answer(str(value), confidence)
    number = real_number(value)
    if number is None:
        raise InputError(f"the answer is a number; given: {shown(value)}")
    return Answer(number, confidence)


@dataclass(frozen=True)
class Option:
    """One of the options of a choice.

    Attributes
    ----------
    say : str
    because : Template
        What is told to whoever chose it: why it is right, or what is wrong with it; with numbers of the run.
    right : bool
        Whether it is right whatever the run shows.
    when : Expression or None
        Where it is about the run: what makes it right.
    to : str
        The step where it leads on; "" for the one that follows.
    """

    say: str
    because: Template
    right: bool = False
    to: str = ""
    when: Expression | None = None

    def is_right(self, scope: Scope) -> bool:
        """Whether it is right of the run. Raises InputError for an unknown name."""
        return self.right if self.when is None else self.when.holds(scope)


@dataclass(frozen=True)
class Number:
    """A number that is asked for.

    Attributes
    ----------
    right : Expression
        Of the run once it is over, or a number.
    tolerance : float
        How far off counts as right, as a share of the right one; or of `scale`, where the right one may be 0.
    unit : str
    close, low, high : Template
        What is told to whoever was within the tolerance, below, or above.
    scale : float
    """

    right: Expression
    tolerance: float
    close: Template
    low: Template
    high: Template
    unit: str = ""
    scale: float = 0.0


@dataclass(frozen=True)
class Ask:
    """A question: `options` by letter, or a `number`."""

    text: str
    options: Mapping[str, Option]
    number: Number | None
    confidence: bool = False

    def checked(self, value: Any, confidence: str = "") -> Answer:
        """An answer to it. Raises InputError for what is none."""
        return checked_answer(value, confidence, self.options)

    def judged(self, answer: Answer, scope: Scope) -> Verdict:
        """How it compares with what is right, by the run. Raises InputError where the run lacks what that needs."""
        if self.number is None:
            option = self.options[str(answer.value)]
            return Verdict(option.is_right(scope), option.because.words(scope))
        right = self.number.right.value(scope)
        if right is None:
            raise InputError(f"{self.number.right.text!r} is not known in this run")
        said, right, number = float(answer.value), float(right), self.number
        near = within(said, right, number.tolerance, number.scale)
        words = number.close if near else number.low if said < right else number.high
        return Verdict(near, words.words(scope))
