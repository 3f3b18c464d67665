"""The card of a lesson: what it shows, its settings, and what a learner does."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

import param
from panel.custom import Child

from pmdviz.engine.frame import Frame
from pmdviz.engine.recipe import MAX_BUDGET, Recipe
from pmdviz.errors import InputError
from pmdviz.files import Json
from pmdviz.knobs import Knobs, KnobSpec, Value
from pmdviz.lab import css
from pmdviz.lab.loop.limits import capped
from pmdviz.lab.loop.runner import Snapshot
from pmdviz.lab.panels.setup import BUDGET_OF, SEED, refused
from pmdviz.lab.panels.widgets import Component, KnobForm, Turn
from pmdviz.lessons import words
from pmdviz.lessons.lesson import CONFIDENCES, Ask
from pmdviz.lessons.progress import Judgement, Progress, lesson_sheet, may_tell
from pmdviz.lessons.reading import DEMOS, following
from pmdviz.lessons.words import plain


class LessonCard(Component):
    """It hears of what a person does: a mapping with `act` from the browser."""

    told = param.Dict(default={}, doc="The present content, in plain values.")
    form = Child(doc="The settings of the step.")
    asked = param.Dict(default={}, doc="The lesson whose progress the browser is asked for, and how often it was.")
    kept = param.Dict(default={}, doc="Lesson and progress: for the browser to keep.")
    before = param.String(default="", doc="Query of the run that the lesson took the place of.")

    _esm = css.MAKE + css.static("lesson.js")
    _stylesheets = [css.component("pages.css", "lesson") + css.TERM]


# What the card of a lesson says, in plain values: elements of Markdown, and sentences.

ANSWER_FIRST = "Answer first, then press Play."
NEXT_CLOSED = "Submit your answer and play the run to its end, then press Next."
WAITS = "Play the run to its end to see how your answer compares."
COMPUTING = "Waiting for a number that is still being computed."
GOAL = "Goal: {}."
NOT_YET, NOT_REACHED, REACHED = "Not yet: {}.", "Not reached: {}. Change a setting and play the run again.", "Reached."
NO_ATTEMPT = "No score: this run changes a setting that the challenge fixes ({})."
PARTS = ("text", "question", "reveal", "found", "after")  # of a step: a presenter shows them one by one


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
        The changed settings that a challenge fixes.
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
    listed: bool = False  # whether there is a page that lists the lessons
    said: str = ""


def is_closed(progress: Progress, standing: Standing) -> bool:
    """Whether the run may not be played yet."""
    return not (progress.is_revealed or progress.may_reveal(standing.may_skip) or progress.done)


def may_leave(progress: Progress, standing: Standing) -> bool:
    """Whether the step may be left: its answers were compared with the run, or no run can judge them."""
    step = progress.step
    if standing.may_skip or step.skip:
        return True
    cannot_tell = bool(standing.at_end and standing.found.trouble) or not any(progress.lesson.on_show(step))
    compared = all(progress.verdict_on(part) is not None for part in step.asks)
    return compared or (cannot_tell and progress.may_go_on())


def parts_of(progress: Progress) -> list[str]:
    """The parts that the present step has."""
    step = progress.step
    has = {
        "question": step.question is not None,
        "reveal": step.question is not None or bool(step.reveal) or step.shows,
        "found": bool(step.diagnosis) or step.goal is not None or step.score is not None,
        "after": step.after is not None,
    }
    return [part for part in PARTS if has.get(part, True)]


def told(progress: Progress, standing: Standing) -> dict[str, Json]:
    """All that the card shows."""
    lesson, step = progress.lesson, progress.step
    place, parts, part = lesson.places[step.name], parts_of(progress), standing.part
    first = place == 0 and len(progress.path) == 1
    return {
        "lesson": lesson.name,
        "lesson_title": lesson.title,
        "count": f"Step {place + 1} of {len(lesson.steps)}",
        "key": f"{lesson.name}/{len(progress.path)}/{step.name}/{progress.done}",
        "title": "The end" if progress.done else plain(step.title),
        "part": part,  # where a presenter is within the step
        "part_words": f"part {parts.index(part) + 1} of {len(parts)}" if part in parts and not progress.done else "",
        "text": [*(words.markdown(lesson.text) if first else []), *words.markdown(step.text)],
        "asks": {
            name: _ask(progress, standing, name, ask)
            for name, ask in step.asks.items()
            if name == "question" or progress.is_revealed
        },
        "closed": ANSWER_FIRST if is_closed(progress, standing) else "",
        "reveal": {  # the button, and what it opens; where there is nothing to open, Play does the same
            "label": "Reveal" if step.question is not None or not step.hide else "Play the run",
            "offered": bool(step.asks or step.reveal) and not progress.is_revealed,
            "closed": is_closed(progress, standing),
            "text": words.markdown(step.reveal) if progress.is_revealed and not progress.hidden else [],
        },
        "verdict_waits": _waits(progress, standing),
        "diagnosis": standing.found.diagnosis if may_tell(progress) else "",
        "goal": _goal(progress, standing),
        "score": _score(progress, standing),
        "hints": [words.inline(hint.say) for hint in step.hints[: progress.open_hints]],
        "num_hints": len(step.hints),
        "solution": bool(step.solution),
        "controls": bool(step.controls),
        "may_go_on": may_leave(progress, standing),
        "may_go_back": progress.done or len(progress.path) > 1,
        "next": "Finish" if progress.following is None else "Next",
        "done": words.summary(progress) if progress.done else [],
        "sheet": lesson_sheet(progress) if progress.done and lesson.name not in DEMOS else {},
        "is_done": progress.done,
        "following": [after.name, after.title] if progress.done and (after := following(lesson)) else [],
        "listed": standing.listed,
        "skip": standing.may_skip and not standing.part,
        "challenge": step.score is not None,
        "playing": standing.playing,
        "at_end": standing.at_end,
        "said": standing.said,
    }


def _ask(progress: Progress, standing: Standing, part: str, ask: Ask) -> dict[str, Json]:
    answer, verdict = progress.answer_to(part), progress.verdict_on(part)
    right, why = standing.found.right.get(part, ((), ""))
    shown = verdict is not None or (bool(standing.part) and progress.is_revealed)  # a presenter has stored none
    said: list[Json] | None = ["right", "", words.inline(why)] if shown and why else None
    if answer is not None and verdict is not None:
        said = [verdict.grade.lower(), words.grade_words(verdict, answer.confidence), words.inline(verdict.words)]
    return {
        "text": words.inline(ask.text),
        "options": [[letter, words.inline(one.say), shown and letter in right] for letter, one in ask.options.items()],
        "unit": ask.number.unit if ask.number is not None else "",
        "confidences": [*CONFIDENCES] if ask.confidence else [],
        "stored": None if answer is None else [str(answer.value), answer.confidence],
        "locked": verdict is not None or (part == "question" and progress.is_revealed and answer is not None),
        "verdict": said,
    }


def _waits(progress: Progress, standing: Standing) -> str:
    """What the verdict on an answer waits for."""
    asked = progress.step.asks
    waiting = any(progress.answer_to(part) is not None and progress.verdict_on(part) is None for part in asked)
    if not waiting or not progress.is_revealed:
        return ""
    return (standing.found.trouble and COMPUTING) if standing.at_end else WAITS


def _goal(progress: Progress, standing: Standing) -> Mapping[str, Json]:
    goal = progress.step.goal
    if goal is None:
        return {}
    reached, now = progress.step.name in progress.reached, words.values_words(standing.found.values)
    over = standing.at_end and not standing.playing
    state = REACHED if reached else (NOT_REACHED if over else NOT_YET).format(now) if now else ""
    return {"words": GOAL.format(words.goal_words(goal)), "state": state, "reached": reached}


def _score(progress: Progress, standing: Standing) -> str:
    """Of the run at the end of its budget, and the best so far."""
    if progress.step.score is None:
        return ""
    if standing.foreign:
        return NO_ATTEMPT.format(", ".join(name.replace("_", " ") for name in standing.foreign))
    best = progress.scores.get(progress.step.name)
    beside = f" Best: {words.score_words(best)}." if best is not None else ""
    if not standing.at_end:
        return f"Score: at the end of the budget.{beside}"
    if standing.found.score is None:
        return f"{COMPUTING}{beside}"
    came = " (replayed from the link)" if standing.replayed else ""
    return f"Score {words.score_words(standing.found.score)}{came}.{beside}"


# The settings of a lesson's step: knobs, options of the target, seed and budget that the learner may turn.

BUDGET = replace(SEED, name="budget", default=20_000, bounds=(1, MAX_BUDGET), help="How much the run may use.")


class StepControls:
    """One form. A change goes by `knob(name, value)`, `option(name, value)` or `part(name, value)`."""

    def __init__(self, knob: Turn, option: Turn, part: Turn) -> None:
        self._ways = {"knobs": knob, "target_options": option, "parts": part}
        self._kinds: dict[str, str] = {}
        self._made: tuple[tuple[str, ...], type[Knobs], type[Knobs], Recipe] | None = None
        self.form = KnobForm(self._turn)

    def _turn(self, name: str, value: Value) -> None:
        self._ways[self._kinds[name]](name, value)

    def show(self, names: tuple[str, ...], start: Recipe, snapshot: Snapshot) -> None:
        """The step's settings as they are in the run; where it started is what a reset goes back to."""
        frame = snapshot.frame
        made = names, type(frame.knobs), type(frame.target.options), start
        if self._made != made:
            self._made = made
            self._build(names, frame, start, snapshot.recipe.budget_unit)
        now, usual = _values(snapshot.recipe, frame), _values(start)
        plain = frame.knobs.as_dict()
        for name, control in self.form.controls.items():
            seen = self._kinds[name] != "knobs" or frame.knobs.matters(name, plain)
            control.show(now[name], usual.get(name, now[name]), snapshot.pending.get(name, ""), visible=seen)

    def _build(self, names: tuple[str, ...], frame: Frame, start: Recipe, unit: str) -> None:
        knobs, options = type(frame.knobs), type(frame.target.options)
        tables: dict[str, Mapping[str, KnobSpec]] = {
            "knobs": {name: capped(spec, knobs) for name, spec in knobs.specs().items()},
            "target_options": options.specs(),
            "parts": {SEED.name: SEED, BUDGET.name: replace(BUDGET, label=BUDGET_OF[unit])},
        }
        found = {name: kind for kind, table in tables.items() for name in names if name in table}
        self._kinds = {name: found[name] for name in names if name in found}
        specs = {name: replace(tables[kind][name], basic=True) for name, kind in self._kinds.items()}
        usual = _values(start)
        self.form.build(specs, {name: usual.get(name, spec.default) for name, spec in specs.items()})

    def refuse(self, error: InputError) -> bool:
        """Put a refusal next to its control; False where there is none."""
        return refused(self.form.controls.get(error.field), error)


def _values(recipe: Recipe, frame: Frame | None = None) -> dict[str, Value]:
    """All that a step may offer, by name, from a recipe's start or from a frame."""
    knobs = recipe.knobs if frame is None else frame.knobs.as_dict()
    return {**recipe.target_options, **knobs, "seed": recipe.seed, "budget": recipe.budget or 0}
