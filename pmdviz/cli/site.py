"""`pmdviz site`: the lab, presets, lessons and the essay as files that run in a browser, without a server."""

from __future__ import annotations

import argparse
import ast
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from pmdviz.cli.recipe import draw_bar, end_bar
from pmdviz.engine.recipe import Recipe
from pmdviz.engine.run import Run
from pmdviz.errors import InputError, shown
from pmdviz.export.live import DATA_OPTIONS, LIVE_METHODS, LIVE_TARGETS, Shown, page, watched, why_not_live
from pmdviz.expressions import Expression, Scope
from pmdviz.files import atomic_write

LAB, ESSAY = "index.html", "essay.html"
ESSAY_RUN, LESSON_RUN = "essay-{}", "lesson-{}-{}"  # names of runs in the address of the page


def site_arguments(parser: argparse.ArgumentParser) -> None:
    """The command line of `pmdviz site`: a folder."""
    parser.add_argument("folder", metavar="FOLDER", help="folder for the files, created if missing")


def site(options: argparse.Namespace) -> None:
    """Write both pages. Raises InputError for a folder that cannot be written."""
    if not options.folder:
        raise InputError("site needs the name of a folder, such as public, or . for the present one")
    folder = Path(options.folder)
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InputError(f"cannot write to {shown(str(folder), 200)}: {error.strerror}; name another folder") from error
    for name, text in pages(_progress if sys.stderr.isatty() else None).items():
        with atomic_write(folder / name) as part:
            part.write_text(text, encoding="utf-8")
    print(f"the site is in {folder}; open {folder / LAB}")


def _progress(share: float, words: str) -> None:
    draw_bar(share, f"{words:<60}", last=True)
    if share == 1:
        end_bar()


def pages(progress: Callable[[float, str], None] | None = None) -> dict[str, str]:
    """The pages by their file names. The runs of lessons are made, for the numbers in their answers."""
    from pmdviz.essay.build import page as essay
    from pmdviz.essay.pictures import PICTURES
    from pmdviz.lessons.reading import LESSONS
    from pmdviz.presets import PRESETS

    runs = {
        name: Shown(preset.recipe, preset.title, preset.question)
        for name, preset in PRESETS.items()
        if runs_live(preset.recipe)
    }
    menu, lessons = [*runs], {}
    pictures = {name: picture.recipe() for name, picture in PICTURES.items()}
    framed = frozenset(name for name, recipe in pictures.items() if runs_live(recipe))
    runs |= {ESSAY_RUN.format(name): Shown(pictures[name], PICTURES[name].title) for name in sorted(framed)}
    live = [lesson for lesson in LESSONS.values() if lesson_is_live(lesson)]
    for k, lesson in enumerate(live):
        if progress:
            progress(k / len(live), lesson.title)
        lessons[lesson.name], own = lesson_value(lesson)
        runs |= own
    if progress:
        progress(1, "")
    return {LAB: page(runs, menu=menu, lessons=lessons), ESSAY: essay(framed=framed)}


def runs_live(recipe: Recipe) -> bool:
    """Whether a recipe can run in a page."""
    known = recipe.method in LIVE_METHODS and recipe.target in LIVE_TARGETS
    return known and not why_not_live(recipe.make_target(), recipe.method)


# Lessons: what the page needs of them. Answers are judged by the run in Python, which the page replays bit for bit.


def lesson_is_live(lesson: Any) -> bool:
    """Whether all runs of its steps are live, and all goals are such that a page can judge them."""
    steps = lesson.steps
    return bool(steps[0].run) and all(
        not (step.race or step.experiment)
        and (step.run is None or runs_live(step.recipe))
        and (step.goal is None or (watched(step.goal.names) and not step.goal.over_history))
        and set(step.controls) <= _offered(step)
        for step in steps
    )


def _offered(step: Any) -> set[str]:
    """The controls that a page has of a step's run."""
    if step.recipe is None:
        return set()
    knobs = step.recipe.start_knobs()
    return {*knobs.specs(), *DATA_OPTIONS.get(step.recipe.target, ()), "seed"}


def lesson_value(lesson: Any) -> tuple[dict[str, Any], dict[str, Shown]]:
    """A lesson for the page, and the runs of its steps."""
    from pmdviz.api import run
    from pmdviz.lessons.words import markdown

    runs, steps, last = {}, [], None
    for step in lesson.steps:
        name = ""
        if step.recipe is not None:
            last, name = run(step.recipe), LESSON_RUN.format(lesson.name, step.name)
            runs[name] = Shown(step.recipe, step.title, metrics=last.final.metrics)
        steps.append({"run": name, **step_value(lesson, step, last)})
    words = {"title": lesson.title, "question": lesson.question, "text": markdown(lesson.text)}
    return {**words, "steps": steps}, runs


def step_value(lesson: Any, step: Any, run: Run | None) -> dict[str, Any]:
    """A step: texts, controls, questions with the answers that `run` gives, and the goal as a tree."""
    from pmdviz.lessons.words import goal_words, markdown
    from pmdviz.presets import RunScope

    scope = RunScope(run) if run is not None else None
    following = lesson.following(step)
    return {
        "title": step.title,
        "text": markdown(step.text),
        "controls": list(step.controls),
        "hints": [markdown(hint.say) for hint in step.hints],
        "reveal": markdown(step.reveal),
        "goal": step.goal and {"words": goal_words(step.goal), "tree": goal_tree(step.goal)},
        "to": lesson.places[following.name] if following is not None else len(lesson.steps),
        **{part: ask and ask_value(ask, scope, lesson.places) for part, ask in _asks(step).items()},
    }


def _asks(step: Any) -> Mapping[str, Any]:
    return {"question": step.question, "after": step.after}


def ask_value(ask: Any, scope: Scope, places: Mapping[str, int]) -> dict[str, Any]:
    """A question with its verdicts in words."""
    from pmdviz.lessons.words import inline, markdown

    number = ask.number and {
        "right": float(ask.number.right.value(scope)),
        "tolerance": ask.number.tolerance,
        "scale": ask.number.scale,
        "unit": ask.number.unit,
        **{name: inline(getattr(ask.number, name).words(scope)) for name in ("close", "low", "high")},
    }
    options = [
        {
            "letter": letter,
            "say": inline(option.say),
            "right": option.is_right(scope),
            "because": inline(option.because.words(scope)),
            "to": places.get(option.to),
        }
        for letter, option in ask.options.items()
    ]
    return {"text": markdown(ask.text), "options": options, "number": number}


SIGNS = {
    ast.Add: "+", ast.Sub: "-", ast.Mult: "*", ast.Div: "/", ast.Pow: "**", ast.Lt: "<", ast.LtE: "<=", ast.Gt: ">",
    ast.GtE: ">=", ast.Eq: "==", ast.NotEq: "!=", ast.And: "and", ast.Or: "or", ast.Not: "not", ast.USub: "negative",
}  # fmt: skip


def goal_tree(goal: Expression) -> list[Any]:
    """An expression as nested lists: [operator, ...], ["name", name], ["value", value]."""
    return _tree(ast.parse(goal.text, mode="eval").body)


def _tree(node: ast.expr) -> list[Any]:
    match node:
        case ast.Constant(value=value):
            return ["value", value]
        case ast.Name(id=name):
            return ["name", name]
        case ast.UnaryOp(op=op, operand=operand):
            return [SIGNS[type(op)], _tree(operand)]
        case ast.BinOp(op=op, left=left, right=right):
            return [SIGNS[type(op)], _tree(left), _tree(right)]
        case ast.BoolOp(op=op, values=parts):
            return [SIGNS[type(op)], *map(_tree, parts)]
        case ast.Compare(left=left, ops=ops, comparators=others):
            pairs = zip([left, *others[:-1]], ops, others, strict=True)
            return ["and", *([SIGNS[type(op)], _tree(a), _tree(b)] for a, op, b in pairs)]
        case ast.Call(func=ast.Name(id=name), args=args):
            return [name, *map(_tree, args)]
    raise AssertionError(f"checked before: {ast.dump(node)}")
