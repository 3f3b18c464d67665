"""Reads a lesson: Markdown with a YAML head, and a MyST fence `{step} name` for each step, with a YAML block in it."""

from __future__ import annotations

import logging
import os
import re
from collections.abc import Hashable, Mapping
from dataclasses import replace
from importlib import resources
from importlib.resources.abc import Traversable
from pathlib import Path
from typing import Any

import yaml
from markdown_it import MarkdownIt
from yaml.nodes import MappingNode, Node

from pmdviz.errors import InputError, shown, unknown, words_of
from pmdviz.lessons.lesson import Ask, Hint, Lesson, Number, Option, Race, Step, check_steps
from pmdviz.presets.diagnosis import Diagnosis, read_diagnoses
from pmdviz.presets.file_values import Block, expression, flag, known_keys, mapping, real, template, text, texts, whole

# The YAML blocks of a lesson: names and values, each once, and nothing that refers to another place.

RULE = "---"


class _Loader(yaml.SafeLoader):
    """Plain values. A name that is there twice would lose its first value in silence, and aliases can grow huge.

    true and false alone are flags, as in YAML 1.2: an option may say No.
    """

    yaml_implicit_resolvers = {
        first: [(tag, form) for tag, form in forms if not tag.endswith(":bool")]
        for first, forms in yaml.SafeLoader.yaml_implicit_resolvers.items()
    }

    def compose_node(self, parent: Node | None, index: Any) -> Node | None:
        if self.check_event(yaml.AliasEvent):
            raise yaml.YAMLError("a word that begins with * must stand in quotes")
        return super().compose_node(parent, index)

    def construct_mapping(self, node: MappingNode, deep: bool = False) -> dict[Hashable, Any]:
        names = [key.value for key, _ in node.value if isinstance(key.value, str)]
        if twice := [name for name in names if names.count(name) > 1]:
            raise yaml.YAMLError(f"{twice[0]!r} is given twice")
        return super().construct_mapping(node, deep)


_Loader.add_implicit_resolver("tag:yaml.org,2002:bool", re.compile("^(?:true|false)$"), [*"tf"])


def split(text: str, what: str) -> tuple[dict[str, Any], str]:
    """The YAML block between two lines of three dashes at the start, and the text after it.

    Raises InputError that begins with `what` it is a block of.
    """
    lines = text.strip().split("\n")
    if lines[0].strip() != RULE or RULE not in [line.strip() for line in lines[1:]]:
        raise InputError(f"{what} must begin with a YAML block between two lines of three dashes")
    end = [line.strip() for line in lines[1:]].index(RULE) + 1
    return read_block("\n".join(lines[1:end]), what), "\n".join(lines[end + 1 :]).strip()


def read_block(text: str, what: str) -> dict[str, Any]:
    """Names and values of a YAML text. Raises InputError."""
    try:
        found = _Loader(text).get_single_data() or {}
    except (yaml.YAMLError, ValueError, TypeError, LookupError, ArithmeticError, AttributeError, RecursionError) as e:
        raise InputError(f"the YAML block of {what} cannot be read: {_words(e)}") from None
    if not isinstance(found, dict):
        raise InputError(f"the YAML block of {what} must be names and values; given: {shown(found)}")
    return found


def _words(error: Exception) -> str:
    """What is wrong and where, without the lines around it."""
    mark, problem = (getattr(error, name, None) for name in ("problem_mark", "problem"))
    if mark is not None and problem:
        return f"{problem}, in its line {mark.line + 1}; a text with a colon or a # needs quotes around it"
    return " ".join(str(error).split()) or type(error).__name__


# Reads a question of a lesson: a choice with a text per option, or a number with a tolerance.

QUESTION = ("ask", "options", "number", "confidence")
OPTION = ("say", "because", "right", "to")
NUMBER = ("right", "tolerance", "unit", "close", "low", "high", "scale")
LETTERS = "abcdefgh"


def read_ask(block: Block, key: str, what: str) -> Ask | None:
    """The question of a step's block; None where it has none. Raises InputError."""
    if key not in block:
        return None
    told, what = mapping(block, key, what), f"`{key}` of {what}"
    known_keys(told, QUESTION, what)
    words = text(told, "ask", what, needed=True)
    if ("options" in told) == ("number" in told):
        raise InputError(f"{what} needs either `options` or a `number`")
    number = _number(mapping(told, "number", what), f"the number of {what}") if "number" in told else None
    options = _options(told["options"], what) if "options" in told else {}
    return Ask(words, options, number, flag(told, "confidence", what))


def _options(given: Any, what: str) -> dict[str, Option]:
    if not isinstance(given, list) or len(given) < 2 or not all(isinstance(one, Mapping) for one in given):
        raise InputError(f"the options of {what} are a list of at least two entries; given: {shown(given)}")
    if len(given) > len(LETTERS):
        raise InputError(f"{what} has {len(given)} options; at most {len(LETTERS)} can be told apart")
    found = [_option(one, f"option {letter} of {what}") for letter, one in zip(LETTERS, given, strict=False)]
    if not any(option.right or option.when for option in found):
        raise InputError(f"{what} has no right option; mark one with `right: true`, or with what makes it right")
    return dict(zip(LETTERS, found, strict=False))


def _option(one: Block, what: str) -> Option:
    known_keys(one, OPTION, what)
    option = Option(text(one, "say", what, needed=True), template(one, "because", what), to=text(one, "to", what))
    if isinstance(one.get("right", False), bool):
        return replace(option, right=one.get("right", False))
    return replace(option, when=expression(one, "right", what))


def _number(told: Block, what: str) -> Number:
    known_keys(told, NUMBER, what)
    right = expression(told, "right", what)
    if right is None:
        raise InputError(f"{what} needs `right`: an expression about the run, or a number")
    close, low, high = (template(told, key, what) for key in ("close", "low", "high"))
    tolerance, scale = real(told, "tolerance", what), real(told, "scale", what, 0.0)
    return Number(right, tolerance, close, low, high, text(told, "unit", what), scale)


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


# Lessons in folders: those that come with the package, and a lecturer's own beside them.

FOLDER = "PMDVIZ_LESSONS"  # environment variable: a folder with lessons of one's own
SUFFIX = ".md"
log = logging.getLogger(__name__)

Placed = tuple[Lesson, int]  # a lesson and its position in the list


def text_of(file: Traversable) -> str:
    """What a file holds. Raises InputError where it cannot be opened."""
    try:
        return file.read_text(encoding="utf-8-sig")  # some editors write a mark of it at the start
    except (OSError, UnicodeError) as error:
        reason = getattr(error, "strerror", None) or "it is no text in UTF-8"
        raise InputError(f"{shown(str(file))} cannot be opened: {reason}") from None


def read_file(file: Traversable) -> Placed:
    """The lesson of a file, named as the file is. Raises InputError."""
    return read_lesson(file.name.removesuffix(SUFFIX), text_of(file))


def read_folder(folder: Traversable) -> dict[str, Placed]:
    """The lessons of a folder by name. Raises InputError for a file that is none."""
    return {name: read_file(file) for name, file in _files(folder).items()}


def with_own(ours: dict[str, Placed], folder: Traversable | None) -> dict[str, Placed]:
    """Ours and those of a folder; a file that is no lesson, or has a name of ours, is left out, which the log says."""
    found = dict(ours)
    for name, file in _files(folder).items() if folder is not None else ():
        try:
            if name in ours:
                raise InputError(f"there is a lesson {name!r} already; give the file another name")
            found[name] = read_file(file)
        except InputError as error:
            log.warning("lesson %s is left out: %s", file.name, words_of(error))
    return found


def own_folder() -> Path | None:
    """The folder that the environment names; None where it names none. Raises InputError for what is no folder."""
    name = os.environ.get(FOLDER)
    if not name:
        return None
    if not Path(name).is_dir():
        raise InputError(f"lessons of your own must be in a folder; given: {shown(name)}")
    return Path(name)


def _files(folder: Traversable) -> dict[str, Traversable]:
    found = sorted(
        (one for one in folder.iterdir() if one.name.endswith(SUFFIX) and one.is_file()), key=lambda one: one.name
    )
    return {one.name.removesuffix(SUFFIX): one for one in found}


# The lessons and challenges that are offered: name -> Lesson, in the order in which they are shown.


def find_lesson(name: str) -> Lesson:
    """The lesson of that name. Raises InputError."""
    if name not in LESSONS:
        raise unknown("lesson", name, LESSONS)
    return LESSONS[name]


def _loaded() -> dict[str, Lesson]:
    try:
        folder = own_folder()
    except InputError as error:  # a server has said so as it started
        log.warning("%s", error)
        folder = None
    found = with_own(read_folder(resources.files(__package__) / "files"), folder)
    return {lesson.name: lesson for lesson, position in sorted(found.values(), key=lambda one: (one[1], one[0].name))}


LESSONS = _loaded()
