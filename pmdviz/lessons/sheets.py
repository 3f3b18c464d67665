"""A sheet: what a student answered in a lesson or a notebook, as one JSON; its points; and the table of a class."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import Any

from pmdviz.errors import InputError
from pmdviz.lessons.lesson import GRADES, STUDENT, Answer, Lesson, Step
from pmdviz.lessons.playing import Player, compute_floor
from pmdviz.lessons.progress import Progress
from pmdviz.lessons.reading import find_lesson
from pmdviz.presets import scope_of

FORMAT = 1
LONGEST = 1_000_000  # characters of a file
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
    return {
        "pmdviz_answers": FORMAT,
        "sheet": name,
        "student": student,
        "lesson": lesson,
        "answers": [*answers],
        "recipes": dict(recipes),
    }


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
    source = _source(lesson, step)
    made = source.race.recipe if source.race is not None else source.recipe
    return {} if made is None else json.loads(made.to_json())


def _source(lesson: Lesson, step: Step) -> Step:
    """The step whose run is on show in a step; the step itself where there is none."""
    name = next(iter(lesson.on_show(step)), "")
    return lesson.step(name) if name else step


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
    verdict = ask.judged(answer, _scope(_source(lesson, step), player))
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
        if len(text) > LONGEST:
            raise ValueError
        found = json.loads(text)
        if found["pmdviz_answers"] != FORMAT:
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
