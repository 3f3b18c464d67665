"""The ways through a lesson: which steps can be reached, and from which of them its end."""

from __future__ import annotations

from collections.abc import Iterator

from pmdviz.lessons.lesson import Lesson

END = ""  # in place of a step's name


def reached(lesson: Lesson) -> set[str]:
    """Names of the steps that some path from the first step reaches."""
    found, todo = {lesson.steps[0].name}, [lesson.steps[0]]
    while todo:
        fresh = lesson.leads_to(todo.pop()) - found - {END}
        found |= fresh
        todo += map(lesson.step, fresh)
    return found


def ending(lesson: Lesson) -> set[str]:
    """Names of the steps from which the end of the lesson can be reached."""
    found = {END}
    while more := {step.name for step in lesson.steps if lesson.leads_to(step) & found} - found:
        found |= more
    return found - {END}


def faults_of_paths(lesson: Lesson) -> Iterator[str]:
    """What is wrong with the ways through the lesson, one sentence each."""
    there, ends = reached(lesson), ending(lesson)
    for step in lesson.steps:
        if step.name not in there:
            yield f"step {step.name!r}: no path leads to it"
        elif step.name not in ends:
            yield f"step {step.name!r}: no path leads from it to the end of the lesson"
        if step.after is not None and any(option.to for option in step.after.options.values()):
            yield f"step {step.name!r}: an option of `after` has `to`; only the first question leads elsewhere"
