"""What a run says of the present step of a lesson: goal, verdicts, diagnosis and score. It changes nothing."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from pmdviz.errors import InputError
from pmdviz.expressions import Expression, Scope
from pmdviz.lessons.asking import Ask, Verdict
from pmdviz.lessons.lesson import Step
from pmdviz.lessons.progress import Progress
from pmdviz.presets.diagnosis import diagnose


@dataclass(frozen=True)
class Judgement:
    """What was found.

    Attributes
    ----------
    reached : bool
        Whether the goal holds.
    values : mapping
        The names of the goal and what they are now; None where the run has no value.
    verdicts : mapping
        `question` and `after` -> Verdict, of what is answered and may be judged.
    right : mapping
        `question` and `after` -> the letters of the options that are right of the run.
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
    right: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    diagnosis: str = ""
    score: float | None = None
    trouble: str = ""


def judged(progress: Progress, scope: Scope, at_end: bool) -> Judgement:
    """What `scope` says of the present step; before the end of its run that is the goal alone."""
    step = progress.step
    values = {name: _tried(scope, name) for name in sorted(step.goal.names)} if step.goal is not None else {}
    reached, trouble = _reached(step, scope)
    if not at_end:
        return Judgement(reached, values, trouble=trouble)
    verdicts: dict[str, Verdict] = {}
    right: dict[str, tuple[str, ...]] = {}
    diagnosis, score = "", None
    try:
        right = {part: _right(ask, scope) for part, ask in step.asks.items() if progress.is_revealed}
        verdicts = _verdicts(progress, scope)
        diagnosis = diagnose(step.diagnosis, scope) if may_tell(progress) else ""
    except InputError as error:
        trouble = str(error)
    if step.score is not None:
        score, trouble = _score(step.score, scope, trouble)
    return Judgement(reached, values, verdicts, right, diagnosis, score, trouble)


def may_tell(progress: Progress) -> bool:
    """Whether what the step shows may be told: it was revealed, or nothing is asked before."""
    return progress.is_revealed or progress.step.question is None


def _reached(step: Step, scope: Scope) -> tuple[bool, str]:
    try:
        return step.goal is not None and step.goal.holds(scope), ""
    except InputError as error:
        return False, str(error)


def _tried(scope: Scope, name: str) -> Any:
    try:
        return Expression(name).value(scope)
    except InputError:
        return None


def _right(ask: Ask, scope: Scope) -> tuple[str, ...]:
    return tuple(letter for letter, option in ask.options.items() if option.is_right(scope))


def _verdicts(progress: Progress, scope: Scope) -> dict[str, Verdict]:
    found = {}
    for part, ask in progress.step.asks.items():
        answer = progress.answer_to(part)
        if answer is not None and progress.is_revealed and progress.verdict_on(part) is None:
            found[part] = ask.judged(answer, scope)
    return found


def _score(score: Expression, scope: Scope, trouble: str) -> tuple[float | None, str]:
    try:
        value = score.value(scope)
    except InputError as error:
        return None, str(error)
    return (None if value is None else float(value)), trouble
