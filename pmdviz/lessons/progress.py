"""How far a learner is in a lesson: an immutable value with one JSON form, which a browser keeps over a reload.

The gate is that an answer is stored, not that it is right; a page also waits for the verdict. Hints open one after the
other. After the reveal the answer can no longer be changed.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from pmdviz.errors import InputError, shown
from pmdviz.expressions import Expression, Scope
from pmdviz.lessons.lesson import Answer, Lesson, Step, Verdict
from pmdviz.presets import diagnose

FORMAT = 1
LONGEST = 100_000


@dataclass(frozen=True)
class Progress:
    """Where a learner stands. Keys of answers and verdicts are `step/question` and `step/after`.

    Attributes
    ----------
    path : tuple of str
        The steps that led here, the present one last.
    answers, verdicts : mapping
        A verdict is there once the answer's question was revealed.
    hints : mapping
        Step -> how many of its hints are open.
    reached : frozenset of str
        Steps whose goal was reached.
    revealed : frozenset of str
        Steps that were revealed.
    scores : mapping
        Step of a challenge -> the best score so far.
    done : bool
        Whether the last step was left.
    """

    lesson: Lesson
    path: tuple[str, ...]
    answers: Mapping[str, Answer] = field(default_factory=dict)
    verdicts: Mapping[str, Verdict] = field(default_factory=dict)
    hints: Mapping[str, int] = field(default_factory=dict)
    reached: frozenset[str] = frozenset()
    revealed: frozenset[str] = frozenset()
    scores: Mapping[str, float] = field(default_factory=dict)
    done: bool = False

    @classmethod
    def begin(cls, lesson: Lesson) -> Progress:
        """At the first step."""
        return cls(lesson, (lesson.steps[0].name,))

    @property
    def step(self) -> Step:
        """The present step."""
        return self.lesson.step(self.path[-1])

    def key(self, part: str) -> str:
        """The key of the present step's `question` or `after`."""
        return f"{self.step.name}/{part}"

    def answer_to(self, part: str) -> Answer | None:
        """The answer of the present step; None before."""
        return self.answers.get(self.key(part))

    def verdict_on(self, part: str) -> Verdict | None:
        """How that compared with the right answer; None until it was revealed."""
        return self.verdicts.get(self.key(part))

    @property
    def is_revealed(self) -> bool:
        """Whether the present step was revealed."""
        return self.step.name in self.revealed

    @property
    def hidden(self) -> tuple[str, ...]:
        """The parts of the page that the step hides: until it is revealed, or its only question `after` is judged."""
        step = self.step
        answered = self.is_revealed if step.question is not None else self.verdict_on("after") is not None
        return () if answered or self.done else step.hide

    def answer(self, part: str, value: Any, confidence: str = "") -> Progress:
        """Store an answer; it may be changed until it is judged. Raises InputError."""
        ask = self.step.asks.get(part)
        if ask is None:
            asked = ", ".join(map(repr, self.step.asks)) or "none"
            raise InputError(f"step {self.step.name!r} has no question {shown(part)}; its questions: {asked}")
        if self.verdict_on(part) is not None:
            raise InputError("this answer was judged already; restart the lesson to answer again")
        if part == "after" and not self.is_revealed:
            raise InputError("the second question comes after the reveal: answer the first one and play the run")
        return replace(self, answers={**self.answers, self.key(part): ask.checked(value, confidence)})

    def judged(self, part: str, verdict: Verdict) -> Progress:
        """Store how the answer compares with the right one. Raises InputError without an answer."""
        if self.answer_to(part) is None:
            raise InputError("submit your answer first")
        return replace(self, verdicts={**self.verdicts, self.key(part): verdict})

    def may_reveal(self, may_skip: bool = False) -> bool:
        """Whether an answer is stored, none is asked for, or skipping is allowed."""
        answered = self.step.question is None or self.answer_to("question") is not None
        return answered or may_skip or self.step.skip

    def reveal(self, may_skip: bool = False) -> Progress:
        """Open what the step shows. Raises InputError before an answer is stored, unless it may be skipped."""
        if not self.may_reveal(may_skip):
            raise InputError("submit your answer first")
        return replace(self, revealed=self.revealed | {self.step.name})

    def hint(self) -> Progress:
        """Open the next hint. Raises InputError where there is none left."""
        opened = self.open_hints
        if opened >= len(self.step.hints):
            raise InputError("the step has no more hints; try a change of your own")
        return replace(self, hints={**self.hints, self.step.name: opened + 1})

    @property
    def open_hints(self) -> int:
        """How many hints of the present step are open: the first ones."""
        return self.hints.get(self.step.name, 0)

    def reach(self) -> Progress:
        """The goal of the present step was reached; that stays."""
        return replace(self, reached=self.reached | {self.step.name})

    def score(self, value: float) -> Progress:
        """A score of the present step at the end of a run; the best one stays."""
        best = max(float(value), self.scores.get(self.step.name, float("-inf")))
        return replace(self, scores={**self.scores, self.step.name: best})

    def may_go_on(self, may_skip: bool = False) -> bool:
        """Whether the present step may be left: its answers are stored, or skipping is allowed."""
        answered = all(self.answer_to(part) is not None for part in self.step.asks)
        return answered or may_skip or self.step.skip

    @property
    def following(self) -> Step | None:
        """The step after the present one, by the branch of the answer; None at the end."""
        answer = self.answer_to("question")
        return self.lesson.following(self.step, str(answer.value) if answer else "")

    def go_on(self, may_skip: bool = False) -> Progress:
        """To the next step, by the branch of the answer; past the last one the lesson is done. Raises InputError."""
        if not self.may_go_on(may_skip):
            raise InputError("submit your answer first")
        after = self.following
        return replace(self, done=True) if after is None else replace(self, path=(*self.path, after.name))

    def jump(self, name: str) -> Progress:
        """To a step that a link names; the way back leads here. Raises InputError for the name of none."""
        step = self.lesson.step(name)
        path = self.path if self.path != Progress.begin(self.lesson).path else ()
        return replace(self, path=(*path, step.name), done=False)

    def go_back(self) -> Progress:
        """To the step before; the answers stay. At the first step the call has no effect."""
        if self.done:
            return replace(self, done=False)
        return replace(self, path=self.path[:-1]) if len(self.path) > 1 else self

    def to_json(self) -> str:
        """For the browser to keep."""
        plain = {"pmdviz_progress": FORMAT, **vars(self), "lesson": self.lesson.name}
        plain |= {"reached": sorted(self.reached), "revealed": sorted(self.revealed)}
        return json.dumps(plain, ensure_ascii=False, allow_nan=False)

    @classmethod
    def from_json(cls, lesson: Lesson, text: str) -> Progress:
        """Restore what a browser kept. Raises InputError if it does not fit: the file may have changed since."""
        try:
            return _read(lesson, text)
        except InputError:
            raise
        except (ValueError, LookupError, TypeError, AttributeError, RecursionError):
            words = f"this is not the stored progress of lesson {lesson.name!r}: {shown(text)}"
            raise InputError(f"{words}; the lesson begins again") from None


def _read(lesson: Lesson, text: str) -> Progress:
    if not isinstance(text, str) or len(text) > LONGEST:
        raise ValueError
    plain = json.loads(text)
    if plain["pmdviz_progress"] != FORMAT or plain["lesson"] != lesson.name or not plain["path"]:
        raise ValueError
    scores = {name: float(score) for name, score in plain.get("scores", {}).items() if math.isfinite(score)}
    for name in (*plain["path"], *plain["reached"], *plain["revealed"], *scores):
        lesson.step(name)  # raises for one that is none
    answers = {key: _asked(lesson, key).checked(*one) for key, one in plain["answers"].items()}
    verdicts = {key: _verdict(*one) for key, one in plain["verdicts"].items() if key in answers}
    hints = {name: max(0, min(int(n), len(lesson.step(name).hints))) for name, n in plain["hints"].items()}
    reached, revealed = frozenset(plain["reached"]), frozenset(plain["revealed"])
    path, done = tuple(plain["path"]), bool(plain["done"])
    return Progress(lesson, path, answers, verdicts, hints, reached, revealed, scores, done)


def _verdict(right: Any, words: Any, near: Any = False) -> Verdict:
    return Verdict(bool(right), str(words), bool(near))


def _asked(lesson: Lesson, key: str) -> Any:
    name, _, part = key.partition("/")
    return lesson.step(name).asks[part]


# What a run says of the present step of a lesson: goal, verdicts, diagnosis and score. It does not change the progress.


@dataclass(frozen=True)
class Judgement:
    """The result of playing a step.

    Attributes
    ----------
    reached : bool
        Whether the goal holds.
    values : mapping
        The names of the goal and what they are now; None where the run has no value.
    verdicts : mapping
        `question` and `after` -> Verdict, of each answer that may be judged.
    right : mapping
        `question` and `after` -> the letters of the options that are right of the run, and why before an answer.
    diagnosis : str
        "" where none is true of the run.
    score : float or None
        None before the end of the run, and where it waits for something.
    trouble : str
        Why something could not be judged, in a sentence; "" for nothing.
    """

    reached: bool = False
    values: Mapping[str, Any] = field(default_factory=dict)
    verdicts: Mapping[str, Verdict] = field(default_factory=dict)
    right: Mapping[str, tuple[tuple[str, ...], str]] = field(default_factory=dict)
    diagnosis: str = ""
    score: float | None = None
    trouble: str = ""


def judged(progress: Progress, scope: Scope, at_end: bool) -> Judgement:
    """What `scope` says of the present step; before the end of its run that is the goal alone."""
    step = progress.step
    values, reached, trouble = {}, False, ""
    if step.goal is not None:
        values = {name: _value(Expression(name), scope)[0] for name in sorted(step.goal.names)}
        found, trouble = _value(step.goal, scope)
        reached = bool(found)
    if not at_end:
        return Judgement(reached, values, trouble=trouble)
    verdicts: dict[str, Verdict] = {}
    right: dict[str, tuple[tuple[str, ...], str]] = {}
    diagnosis, score = "", None
    try:
        for part, ask in step.asks.items() if progress.is_revealed else ():
            letters = tuple(letter for letter, option in ask.options.items() if option.is_right(scope))
            answer = progress.answer_to(part)
            right[part] = letters, ask.told(scope) if answer is None else ""
            if answer is not None and progress.verdict_on(part) is None:
                verdicts[part] = ask.judged(answer, scope)
        diagnosis = diagnose(step.diagnosis, scope) if may_tell(progress) else ""
    except InputError as error:
        trouble = str(error)
    if step.score is not None:
        value, unknown_words = _value(step.score, scope)
        score, trouble = (None if value is None else float(value)), unknown_words or trouble
    return Judgement(reached, values, verdicts, right, diagnosis, score, trouble)


def may_tell(progress: Progress) -> bool:
    """Whether what the step shows may be told: it was revealed, or nothing is asked before, and nothing is hidden."""
    return (progress.is_revealed or progress.step.question is None) and not progress.hidden


def _value(expression: Expression, scope: Scope) -> tuple[Any, str]:
    """The value of an expression, or None and why it has none."""
    try:
        return expression.value(scope), ""
    except InputError as error:
        return None, str(error)
