"""How far a learner is in a lesson: an immutable value with one JSON form, which a browser keeps over a reload.

The answers of a lesson or a notebook are a sheet: one JSON that a student hands in, with points for a class table.

The gate is that an answer is stored, not that it is right; a page also waits for the verdict. Hints open one after the
other. After the reveal the answer can no longer be changed.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from pmdviz.errors import InputError, shown
from pmdviz.expressions import Expression, Scope
from pmdviz.lessons.lesson import GRADES, STUDENT, Answer, Lesson, Step, Verdict
from pmdviz.lessons.playing import Player, compute_floor
from pmdviz.lessons.reading import find_lesson
from pmdviz.presets import diagnose, scope_of

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


# A sheet: what a student answered in a lesson or a notebook, as one JSON; its points; and the table of a class.

SHEET_FORMAT = 1
LONGEST_SHEET = 1_000_000  # characters of a file
POINTS = dict(zip(GRADES, (1.0, 0.5, 0.0), strict=True))  # of each grade
COLUMNS = ("student", "sheet", "task", "answer", "confidence", "grade", "points", "of", "seed", "ask")  # of a row
Sheet = dict[str, Any]
NAMED = "a student is up to 40 letters, digits, dots, dashes or underscores"


def sheet(
    name: str, student: str, answers: Iterable[Mapping[str, Any]], recipes: Mapping[str, Any], lesson: str = ""
) -> Sheet:
    """The plain values of a sheet: its name, the student's, a row for each task; of a lesson each step's recipe.

    `lesson` is the name that it was opened by, which says whether the seeds were the student's own; "" for a notebook.
    """
    named = {"pmdviz_answers": SHEET_FORMAT, "sheet": name, "student": student, "lesson": lesson}
    return {**named, "answers": [*answers], "recipes": dict(recipes)}


def points(found: Sheet) -> tuple[float, float]:
    """The points of a sheet, and how many it can give."""
    return sum(row["points"] for row in found["answers"]), sum(row["of"] for row in found["answers"])


def row(task: str, ask: str, answer: Any, confidence: str, grade: str, of: float = 1.0) -> dict[str, Any]:
    """One task of a sheet; `grade` is one of GRADES, or "" for no answer."""
    earned = of * POINTS.get(grade, 0.0)
    said = {"task": task, "ask": ask, "answer": answer, "confidence": confidence, "grade": grade}
    return {**said, "points": earned, "of": of}


# The sheet of a lesson, and a sheet that is judged again by the lesson's own runs.


def lesson_sheet(progress: Progress) -> Sheet:
    """The sheet of a lesson: each question on the path, each goal, and each score as a share of 100."""
    lesson, rows, recipes = progress.lesson, [], {}
    for name in dict.fromkeys(progress.path):
        step = lesson.step(name)
        recipes[name] = recipe = _recipe(lesson, step)
        rows += [row | {"seed": recipe.get("seed", recipe.get("seeds"))} for row in _rows(progress, step)]
    return sheet(lesson.name.partition("@")[0], lesson.student, rows, recipes, lesson.name)


def _recipe(lesson: Lesson, step: Step) -> dict[str, Any]:
    """The run or race on show in a step, as plain values; of an experiment none."""
    source = lesson.source(step)
    made = source.race.recipe if source.race is not None else source.recipe
    return {} if made is None else json.loads(made.to_json())


def _rows(progress: Progress, step: Step) -> list[dict[str, Any]]:
    found = []
    for part, ask in step.asks.items():
        key = f"{step.name}/{part}"
        verdict, (value, confidence) = progress.verdicts.get(key), progress.answers.get(key, ("", ""))
        found.append(row(key, ask.text, value, confidence, verdict.grade if verdict is not None else ""))
    if step.goal is not None:
        grade = GRADES[0 if step.name in progress.reached else 2]
        found.append(row(f"{step.name}/goal", step.goal.text, "", "", grade))
    if step.score is not None:
        best = progress.scores.get(step.name, 0.0)
        scored = row(f"{step.name}/score", step.score.text, best, "", "")
        found.append(scored | {"points": min(max(best, 0.0), 100.0) / 100})
    return found


def judged_again(found: Sheet, player: Player) -> Sheet:
    """The sheet with its questions judged by runs that are played here; goals and scores stay as they came.

    A file that was saved in a browser can be edited; its answers are then still judged by the lesson's own run, one
    that was not judged gives no points, and each task of the lesson counts once. Raises InputError where the package
    has no such lesson.
    """
    lesson = find_lesson(found["lesson"])
    rows: dict[str, dict[str, Any]] = {}
    for one in found["answers"]:
        if one["task"] not in rows and (made := _row_again(one, lesson, player)) is not None:
            rows[one["task"]] = made
    return {**found, "answers": [*rows.values()]}


def _row_again(one: dict[str, Any], lesson: Lesson, player: Player) -> dict[str, Any] | None:
    """A row judged again; None for a task that the lesson does not have."""
    name, _, part = one["task"].partition("/")
    if name not in lesson.places:
        return None
    step = lesson.step(name)
    if part not in step.asks:
        return one if {"goal": step.goal, "score": step.score}.get(part) is not None else None
    ask = step.asks[part]
    if not one["grade"]:
        return one | row(one["task"], ask.text, one["answer"], one["confidence"], "")
    answer: Answer = ask.checked(one["answer"], one["confidence"])
    verdict = ask.judged(answer, _scope(lesson.source(step), player))
    return one | row(one["task"], ask.text, answer.value, answer.confidence, verdict.grade)


def _scope(source: Step, player: Player) -> Any:
    if source.race is not None:
        return scope_of(player.race(source.race))
    if source.recipe is None:
        return scope_of(None)
    run = player.run(source.recipe)
    compute_floor(run)
    return scope_of(run)


# The files that students hand in, and the table of a class.


def read_sheet(text: str, what: str) -> Sheet:
    """A sheet as a student saved it. Raises InputError for a file that is not one."""
    try:
        if len(text) > LONGEST_SHEET:
            raise ValueError
        found = json.loads(text)
        if found["pmdviz_answers"] != SHEET_FORMAT:
            raise ValueError
        rows = [_checked(one) for one in found["answers"]]
        name, student, lesson = (str(found[part]).strip() for part in ("sheet", "student", "lesson"))
        made = sheet(name, student, rows, found["recipes"], lesson)
        to_json(made).encode()  # no infinity, and no half of a letter, which no table can hold
        return made
    except (ValueError, LookupError, TypeError, AttributeError, OverflowError, RecursionError):
        raise InputError(f"{what} is not a file of answers; save it with “Save my answers” again") from None


def _checked(one: Mapping[str, Any]) -> dict[str, Any]:
    """A row with a task and points from 0 to what it gives; ValueError for another."""
    found = {name: one.get(name, "") for name in COLUMNS if name not in ("student", "sheet")}
    found["points"], found["of"] = float(one["points"]), float(one["of"])
    if not (isinstance(found["task"], str) and 0 <= found["points"] <= found["of"] <= 100):
        raise ValueError
    return found


def table(sheets: Iterable[Sheet]) -> list[dict[str, Any]]:
    """A row for each student: the points of each sheet (the best, of several), their sum, and how many there are."""
    best: dict[tuple[str, str], float] = {}
    most: dict[str, float] = {}
    for one in sheets:
        key, (earned, of) = (one["student"], one["sheet"]), points(one)
        best[key] = max(earned, best.get(key, 0.0))
        most[one["sheet"]] = max(of, most.get(one["sheet"], 0.0))
    rows = []
    for student in sorted({student for student, _ in best}):
        mine = {name: best.get((student, name), 0.0) for name in sorted(most)}
        rows.append({"student": student, **mine, "points": sum(mine.values()), "of": sum(most.values())})
    return rows


def rows_of(sheets: Iterable[Sheet]) -> list[dict[str, Any]]:
    """A row for each answer of each sheet, with COLUMNS."""
    return [{"student": one["student"], "sheet": one["sheet"], **each} for one in sheets for each in one["answers"]]


def file_name(found: Sheet) -> str:
    """`one_step-ada.json`. Raises InputError for the name of a student that is none."""
    if not STUDENT.fullmatch(found["student"]):
        raise InputError(f"{NAMED}, not {found['student']!r}")
    return f"{found['sheet']}-{found['student']}.json"


def to_json(found: Sheet) -> str:
    """The sheet as a file holds it."""
    return json.dumps(found, ensure_ascii=False, allow_nan=False, indent=1)
