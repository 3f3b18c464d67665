"""Reads a lesson: Markdown with a YAML head, and a MyST fence `{step} name` for each step, with a YAML block in it."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from markdown_it import MarkdownIt

from pmdviz.errors import InputError, shown
from pmdviz.lessons.blocks import split
from pmdviz.lessons.lesson import Hint, Lesson, Race, Step, check_steps
from pmdviz.lessons.reading_asks import read_ask
from pmdviz.presets.diagnosis import Diagnosis, read_diagnoses
from pmdviz.presets.file_values import Block, expression, flag, known_keys, mapping, text, texts, whole

LONGEST = 100_000  # characters of a file
OPENED = re.compile(r"^[`~]{3,}\s*\{step\}", re.M)  # a step that begins
TERM = re.compile(r"\{term\}`([^`\n]+)`")  # a word of the glossary, as MyST writes it
HEAD = ("title", "position", "question", "minutes")
STEP = (
    *("title", "recipe", "race", "experiment", "controls", "question", "after", "goal", "solution", "score", "hints"),
    *("reveal", "diagnosis", "trace", "skip", "to"),
)
HINT = ("say", "try")
RACE = ("entrants", "target", "target_options", "budget", "seeds")
SHOWS = ("recipe", "race", "experiment")
USUAL_MINUTES, USUAL_POSITION = 10, 1000


def read_lesson(name: str, words: str) -> tuple[Lesson, int]:
    """The lesson of a file's text, and its position in the list.

    Raises InputError for what is no lesson: which step, which key, what was given.
    """
    if len(words) > LONGEST:
        raise InputError(f"a lesson has at most {LONGEST:,} characters; this one has {len(words):,}")
    what, terms = f"lesson {name!r}", tuple(TERM.findall(words))
    head, body = split(TERM.sub(r"\1", words), what)
    known_keys(head, HEAD, what)
    title, question = (text(head, key, what, needed=True) for key in ("title", "question"))
    minutes = whole(head, "minutes", what, USUAL_MINUTES)
    before, fences = _parted(body)
    lesson = Lesson(name, title, question, minutes, before, tuple(map(_step, fences)), terms)
    check_steps(lesson)
    return lesson, whole(head, "position", what, USUAL_POSITION)


def _parted(body: str) -> tuple[str, list[Any]]:
    """The Markdown before the first step, and the fences of the steps.

    Raises InputError for what stands after the first of them in no step, as it would not be shown.
    """
    blocks = [token for token in MarkdownIt().parse(body) if token.level == 0 and token.map]
    first = next((k for k, token in enumerate(blocks) if _is_step(token)), len(blocks))
    lines = body.split("\n")
    for token in blocks[first:]:
        if not _is_step(token) and token.type != "html_block":  # a comment
            line = shown(lines[token.map[0]])
            raise InputError(f"text between steps is shown nowhere; put it into one of them; given: {line}")
    end = blocks[first].map[0] if first < len(blocks) else len(lines)
    return "\n".join(lines[:end]).strip(), [token for token in blocks[first:] if _is_step(token)]


def _is_step(token: Any) -> bool:
    return token.type == "fence" and token.info.strip().startswith("{")


def _step(token: Any) -> Step:
    directive, _, name = token.info.strip().partition(" ")
    if directive != "{step}" or not name.strip():
        raise InputError(f"a fence of a lesson is ```{{step}} name; given: {shown(token.info)}")
    what = f"step {name.strip()!r}"
    if OPENED.search(token.content):
        raise InputError(f"{what} does not end before the next one begins; close it by a line of {token.markup}")
    block, words = split(token.content, what)
    known_keys(block, STEP, what)
    if sum(key in block for key in SHOWS) > 1:
        raise InputError(f"{what} may have one of {', '.join(SHOWS)}; given: {shown([*block])}")
    return Step(
        name=name.strip(),
        title=text(block, "title", what, needed=True),
        text=words,
        run=mapping(block, "recipe", what) if "recipe" in block else None,
        race=_race(block, what),
        experiment=text(block, "experiment", what, needed="experiment" in block),
        controls=texts(block, "controls", what),
        question=read_ask(block, "question", what),
        after=read_ask(block, "after", what),
        goal=expression(block, "goal", what),
        solution=_solution(block, what),
        score=expression(block, "score", what),
        hints=_hints(block, what),
        reveal=text(block, "reveal", what),
        diagnosis=_diagnosis(block, what),
        trace=text(block, "trace", what),
        skip=flag(block, "skip", what),
        to=text(block, "to", what),
    )


def _race(block: Block, what: str) -> Race | None:
    if "race" not in block:
        return None
    told = dict(mapping(block, "race", what))
    known_keys(told, RACE, f"the race of {what}")
    entrants = told.pop("entrants", None)
    if not isinstance(entrants, Mapping) or not all(isinstance(one, str) and one.isidentifier() for one in entrants):
        raise InputError(f"the race of {what} needs `entrants`: name: method, one each; given: {shown(entrants)}")
    return Race(dict(entrants), told)


def _hints(block: Block, what: str) -> tuple[Hint, ...]:
    given = block.get("hints", [])
    if not isinstance(given, list) or not all(isinstance(one, (str, Mapping)) for one in given):
        raise InputError(f"`hints` of {what} is a list of texts, or of `say` and `try`; given: {shown(given)}")
    return tuple(Hint(one) if isinstance(one, str) else _hint(one, f"a hint of {what}") for one in given)


def _hint(one: Block, what: str) -> Hint:
    known_keys(one, HINT, what)
    tried = one.get("try", [])
    settings = tried if isinstance(tried, list) else [tried]
    if not all(isinstance(values, Mapping) and values and _is_change(0, values) for values in settings):
        raise InputError(f"`try` of {what} is {{control: value}}, or a list of these; given: {shown(tried)}")
    return Hint(text(one, "say", what, needed=True), tuple(settings))


def _solution(block: Block, what: str) -> dict[int, Mapping[str, Any]]:
    given = block.get("solution", {})
    if not isinstance(given, Mapping) or not all(_is_change(at, values) for at, values in given.items()):
        raise InputError(f"`solution` of {what} is iteration: {{control: value}}, one each; given: {shown(given)}")
    return dict(given)


def _is_change(at: Any, values: Any) -> bool:
    whole_at = isinstance(at, int) and not isinstance(at, bool) and at >= 0
    return whole_at and isinstance(values, Mapping) and all(isinstance(name, str) for name in values)


def _diagnosis(block: Block, what: str) -> tuple[Diagnosis, ...]:
    try:
        return read_diagnoses(block["diagnosis"]) if "diagnosis" in block else ()
    except InputError as error:
        raise InputError(f"`diagnosis` of {what}: {error}") from None
