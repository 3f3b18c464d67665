"""What the card of a lesson says, in plain values: elements of Markdown, and sentences."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from pmdviz.lessons.asking import CONFIDENCES, Ask
from pmdviz.lessons.judging import Judgement, may_tell
from pmdviz.lessons.progress import Progress
from pmdviz.scenes.teaching.lesson_words import goal_words, inline, markdown, plain, score_words, summary, values_words

ANSWER_FIRST = "Play is closed until your answer is stored."
NEXT_CLOSED = "Store your answer first: then Next is open."
WAITS = "Play the run to its end: then you see how your answer compares."
COMPUTING = "Waiting for a number that is still being computed."
GOAL = "Goal: {}."
NOT_YET, NOT_REACHED, REACHED = "Not yet: {}.", "Not reached: {}. Turn a setting and play again.", "Reached."
NO_ATTEMPT = "No score: this run changes what the challenge keeps fixed ({})."
PARTS = ("text", "question", "reveal", "found", "after")  # of a step, as a presenter shows them one by one


@dataclass(frozen=True)
class Standing:
    """How a lesson stands besides the learner's progress.

    Attributes
    ----------
    found : Judgement
        What the run says of the present step.
    at_end, playing : bool
        Of the run; `at_end` is also said of a step that shows nothing that could be played.
    may_skip : bool
        Whether the gates are open: by the teacher's link, or for a presenter.
    part : str
        The one of PARTS that a presenter shows; "" shows all.
    replayed : bool
        Whether the run came by a link.
    foreign : tuple of str
        What the run changes that a challenge keeps fixed.
    following : tuple of str
        Name and title of the lesson after this one; () for none.
    said : str
        The last sentence, read aloud.
    """

    found: Judgement = field(default_factory=Judgement)
    at_end: bool = False
    playing: bool = False
    may_skip: bool = False
    part: str = ""
    replayed: bool = False
    foreign: tuple[str, ...] = ()
    following: tuple[str, ...] = ()
    listed: bool = False  # whether there is a page that lists the lessons
    said: str = ""


def is_closed(progress: Progress, standing: Standing) -> bool:
    """Whether the run may not be played yet."""
    return not (progress.is_revealed or progress.may_reveal(standing.may_skip) or progress.done)


def parts_of(progress: Progress) -> list[str]:
    """The parts that the present step has."""
    step = progress.step
    shown = step.run is not None or step.race is not None or bool(step.experiment)
    has = {
        "question": step.question is not None,
        "reveal": step.question is not None or bool(step.reveal) or shown,
        "found": bool(step.diagnosis) or step.goal is not None or step.score is not None,
        "after": step.after is not None,
    }
    return [part for part in PARTS if has.get(part, True)]


def told(progress: Progress, standing: Standing) -> dict[str, Any]:
    """All that the card shows."""
    lesson, step = progress.lesson, progress.step
    place = lesson.places[step.name]
    first = place == 0 and len(progress.path) == 1
    return {
        "lesson": lesson.name,
        "lesson_title": lesson.title,
        "count": f"Step {place + 1} of {len(lesson.steps)}",
        "key": f"{lesson.name}/{len(progress.path)}/{step.name}/{progress.done}",
        "title": "The end" if progress.done else plain(step.title),
        "part": standing.part,
        "part_words": _part_words(progress, standing),
        "text": [*(markdown(lesson.text) if first else []), *markdown(step.text)],
        "asks": {
            part: _ask(progress, standing, part, ask) for part, ask in step.asks.items() if _is_open(progress, part)
        },
        "closed": ANSWER_FIRST if is_closed(progress, standing) else "",
        "reveal": _reveal(progress, standing),
        "verdict_waits": _waits(progress, standing),
        "diagnosis": standing.found.diagnosis if may_tell(progress) else "",
        "goal": _goal(progress, standing),
        "score": _score(progress, standing),
        "hints": [inline(hint.say) for hint in step.hints[: progress.open_hints]],
        "num_hints": len(step.hints),
        "solution": bool(step.solution),
        "controls": bool(step.controls),
        "may_go_on": progress.may_go_on(standing.may_skip),
        "may_go_back": progress.done or len(progress.path) > 1,
        "next": "Finish" if progress.following is None else "Next",
        "done": summary(progress) if progress.done else [],
        "is_done": progress.done,
        "following": [*standing.following],
        "listed": standing.listed,
        "skip": standing.may_skip and not standing.part,
        "challenge": step.score is not None,
        "playing": standing.playing,
        "at_end": standing.at_end,
        "said": standing.said,
    }


def _part_words(progress: Progress, standing: Standing) -> str:
    """Where a presenter is within the step."""
    parts = parts_of(progress)
    return (
        f"part {parts.index(standing.part) + 1} of {len(parts)}" if standing.part in parts and not progress.done else ""
    )


def _is_open(progress: Progress, part: str) -> bool:
    return part == "question" or progress.is_revealed


def _ask(progress: Progress, standing: Standing, part: str, ask: Ask) -> dict[str, Any]:
    answer, verdict, right = progress.answer_to(part), progress.verdict_on(part), standing.found.right.get(part, ())
    shown = verdict is not None or (bool(standing.part) and progress.is_revealed)  # a presenter has stored none
    return {
        "text": inline(ask.text),
        "options": [[letter, inline(one.say), shown and letter in right] for letter, one in ask.options.items()],
        "unit": ask.number.unit if ask.number is not None else "",
        "confidences": [*CONFIDENCES] if ask.confidence else [],
        "stored": None if answer is None else [str(answer.value), answer.confidence],
        "locked": verdict is not None or (part == "question" and progress.is_revealed),
        "verdict": None if verdict is None else [verdict.right, inline(verdict.words)],
    }


def _reveal(progress: Progress, standing: Standing) -> dict[str, Any]:
    """The button, and what it opens; where there is nothing to open, Play does the same."""
    step = progress.step
    opens = bool(step.asks) or bool(step.reveal)
    return {
        "offered": opens and not progress.is_revealed,
        "closed": is_closed(progress, standing),
        "text": markdown(progress.step.reveal) if progress.is_revealed else [],
    }


def _waits(progress: Progress, standing: Standing) -> str:
    """What the verdict on an answer waits for."""
    waiting = [
        part
        for part in progress.step.asks
        if progress.answer_to(part) is not None and progress.verdict_on(part) is None
    ]
    if not waiting or not progress.is_revealed:
        return ""
    return (standing.found.trouble and COMPUTING) if standing.at_end else WAITS


def _goal(progress: Progress, standing: Standing) -> Mapping[str, Any]:
    goal = progress.step.goal
    if goal is None:
        return {}
    reached, now = progress.step.name in progress.reached, values_words(standing.found.values)
    over = standing.at_end and not standing.playing
    state = REACHED if reached else (NOT_REACHED if over else NOT_YET).format(now) if now else ""
    return {"words": GOAL.format(goal_words(goal)), "state": state, "reached": reached}


def _score(progress: Progress, standing: Standing) -> str:
    """Of the run at the end of its budget, and the best so far."""
    if progress.step.score is None:
        return ""
    if standing.foreign:
        return NO_ATTEMPT.format(", ".join(name.replace("_", " ") for name in standing.foreign))
    best = progress.scores.get(progress.step.name)
    beside = f" Best: {score_words(best)}." if best is not None else ""
    if not standing.at_end:
        return f"Score: at the end of the budget.{beside}"
    if standing.found.score is None:
        return f"{COMPUTING}{beside}"
    came = " (replayed from the link)" if standing.replayed else ""
    return f"Score {score_words(standing.found.score)}{came}.{beside}"
