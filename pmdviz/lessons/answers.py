"""The sheet of a lesson, and a sheet that is judged again by the lesson's own runs."""

from __future__ import annotations

import json
from typing import Any

from pmdviz.lessons.lesson import GRADES, Answer, Lesson, Step
from pmdviz.lessons.playing import Player, compute_floor
from pmdviz.lessons.progress import Progress
from pmdviz.lessons.reading import find_lesson
from pmdviz.lessons.sheets import Sheet, row, sheet
from pmdviz.presets import scope_of


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
    name = next(iter(lesson.on_show(step)), "")
    shown_in = lesson.step(name) if name else step
    made = shown_in.race.recipe if shown_in.race is not None else shown_in.recipe
    return {} if made is None else json.loads(made.to_json())


def _rows(progress: Progress, step: Step) -> list[dict[str, Any]]:
    found = []
    for part, ask in step.asks.items():
        key = f"{step.name}/{part}"
        answer, verdict = progress.answers.get(key), progress.verdicts.get(key)
        grade = verdict.grade if verdict is not None else ""
        value, confidence = answer if answer is not None else ("", "")
        found.append(row(f"{step.name}/{part}", ask.text, value, confidence, grade))
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
    verdict = ask.judged(answer, _scope(lesson, step, player))
    return one | row(one["task"], ask.text, answer.value, answer.confidence, verdict.grade)


def _scope(lesson: Lesson, step: Step, player: Player) -> Any:
    name = next(iter(lesson.on_show(step)), "")
    source = lesson.step(name) if name else step
    if source.race is not None:
        return scope_of(player.race(source.race))
    if source.recipe is None:
        return scope_of(None)
    run = player.run(source.recipe)
    compute_floor(run)
    return scope_of(run)
