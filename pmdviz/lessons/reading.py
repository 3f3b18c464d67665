"""Reads a lesson: Markdown with a YAML head, and a MyST fence `{step} name` for each step, with a YAML block in it.

The lessons of the practice have no file: they are made here.
"""

from __future__ import annotations

import logging
import os
import re
from collections.abc import Hashable
from importlib import resources
from importlib.resources.abc import Traversable
from pathlib import Path
from typing import Any

import numpy as np
import yaml
from markdown_it import MarkdownIt
from yaml.nodes import MappingNode, Node

from pmdviz.errors import InputError, shown, unknown, words_of
from pmdviz.lessons.lesson import Lesson, Step, check_steps, for_student
from pmdviz.presets import find_preset, read

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
            raise yaml.YAMLError("a word that begins with * must be in quotes")
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
        raise InputError(f"the YAML block of {what} must be names and values; got {shown(found)}")
    return found


def _words(error: Exception) -> str:
    """The error and its place, without the lines around it."""
    mark, problem = (getattr(error, name, None) for name in ("problem_mark", "problem"))
    if mark is not None and problem:
        return f"{problem}, in its line {mark.line + 1}; a text with a colon or a # needs quotes around it"
    return " ".join(str(error).split()) or type(error).__name__


LONGEST = 100_000  # characters of a file
OPENED = re.compile(r"^[`~]{3,}\s*\{step\}", re.M)  # a step that begins
TERM = re.compile(r"\{term\}`([^`\n]+)`")  # a word of the glossary, as MyST writes it
SHOWS = ("recipe", "race", "experiment")


def read_lesson(name: str, words: str) -> Lesson:
    """The lesson of a file's text. Raises InputError for any other text: which step, which key, which value."""
    if len(words) > LONGEST:
        raise InputError(f"a lesson has at most {LONGEST:,} characters; this one has {len(words):,}")
    what, terms = f"lesson {name!r}", tuple(TERM.findall(words))
    head, body = split(TERM.sub(r"\1", words), what)
    before, fences = _parted(body)
    lesson = read(Lesson, head, what, name=name, text=before, steps=tuple(map(_step, fences)), terms=terms)
    check_steps(lesson)
    return lesson


def _parted(body: str) -> tuple[str, list[Any]]:
    """The Markdown before the first step, and the fences of the steps.

    Raises InputError for what stands after the first of them in no step, because it would not be shown.
    """
    blocks = [token for token in MarkdownIt().parse(body) if token.level == 0 and token.map]
    first = next((k for k, token in enumerate(blocks) if _is_step(token)), len(blocks))
    lines = body.split("\n")
    for token in blocks[first:]:
        if not _is_step(token) and token.type != "html_block":  # a comment
            line = shown(lines[token.map[0]])
            raise InputError(f"text between steps is shown nowhere; put it into one of them; got {line}")
    end = blocks[first].map[0] if first < len(blocks) else len(lines)
    return "\n".join(lines[:end]).strip(), [token for token in blocks[first:] if _is_step(token)]


def _is_step(token: Any) -> bool:
    return token.type == "fence" and token.info.strip().startswith("{")


def _step(token: Any) -> Step:
    directive, _, name = token.info.strip().partition(" ")
    if directive != "{step}" or not name.strip():
        raise InputError(f"a fence of a lesson is ```{{step}} name; got {shown(token.info)}")
    what = f"step {name.strip()!r}"
    if OPENED.search(token.content):
        raise InputError(f"{what} does not end before the next one begins; close it by a line of {token.markup}")
    block, words = split(token.content, what)
    if sum(key in block for key in SHOWS) > 1:
        raise InputError(f"{what} may have one of {', '.join(SHOWS)}; got {shown([*block])}")
    return read(Step, block, what, name=name.strip(), text=words)


# Practice: twelve runs to be judged without the exact posterior, drawn from presets, with seeds of their own.

PRACTICE = re.compile(r"practice-(\d{1,9})")
NUM_CASES = 12
POOL = (  # presets, and which of their hints is followed; None for none
    ("two_modes", None),
    ("particles_die", None),
    ("far_modes", None),
    ("one_leapfrog", 0),
    ("langevin_step", None),
    ("langevin_step", 0),
    ("langevin_is_hot", None),
    ("langevin_is_hot", 1),
    ("steps_of_a_walk", None),
    ("gibbs_sees_one_mode", None),
    ("stages_without_moves", None),
    ("stages_without_moves", 0),
    ("one_pass_copies", None),
    ("one_pass_copies", 0),
    ("weights_in_ten_dimensions", None),
    ("weights_in_ten_dimensions", 0),
)
PLANAR = "tv < 0.2"
MOMENTS_TOLD = "mean off by {mean_error:.2f} sds, sds {sd_ratio_min:.2f} to {sd_ratio_max:.2f} of the exact ones"
MOMENTS = "mean_error < 0.3 and sd_ratio_min > 0.7 and sd_ratio_max < 1.3"
WARNED = {"chain": "(rhat > 1.05 or bulk_ess < 100)", "particles": "(lowest(ess) < 0.05 * num_particles or khat > 0.7)"}
SIGNS = {
    "chain": "R-hat or the bulk ESS: R-hat above 1.05, or fewer than 100 effective draws",
    "particles": "The ESS or k-hat: at some time less than 5 % effective, or k-hat above 0.7",
}
TRACES = {"chain": "rhat", "particles": "ess"}
FOUND = {
    "chain": "R-hat {rhat:.2f}, bulk ESS {bulk_ess:.0f}",
    "particles": "lowest ESS {lowest(ess):.0f} of {num_particles:,}",
}


def practice(number: int) -> Lesson:
    """The practice of that number: the same cases and seeds each time."""
    rng = np.random.default_rng(number)
    drawn = [POOL[k] for k in rng.choice(len(POOL), NUM_CASES, replace=False)]
    steps = [step for k, case in enumerate(drawn, 1) for step in _steps(k, *case, int(rng.integers(10_000)))]
    return Lesson(
        f"practice-{number}",
        "Practice: keep or rerun?",
        "Twelve runs without the exact posterior, two questions about each. Which would you keep?",
        "A run is worth keeping if TV is below 0.2. In more than two dimensions: if each mean is within 0.3 posterior "
        "standard deviations, and each standard deviation within 30 %.",
        tuple(steps),
        minutes=30,
        varies=True,
    )


def practice_named(name: str) -> Lesson | None:
    """The practice of that name, such as "practice-17"; None for another name."""
    found = PRACTICE.fullmatch(name)
    return practice(int(found[1])) if found else None


def _steps(k: int, preset: str, hint: int | None, seed: int) -> list[Step]:
    """Judge the run, then say which diagnostic would have told."""
    recipe = find_preset(preset).recipe.replaced(seed=seed)
    if hint is not None:
        changes = find_preset(preset).hints[hint]
        options = {**recipe.target_options, **changes.options}
        recipe = recipe.replaced(knobs=dict(changes.knobs), target_options=options)
    method, target = recipe.make_method(), recipe.make_target()
    family = "chain" if method.family == "chain" else "particles"
    good, truth = (PLANAR, "TV {tv:.2f}") if target.planar is not None else (MOMENTS, MOMENTS_TOLD)
    bad, told = f"not ({good})", f"{truth}; {FOUND[family]}."  # told after the question about these numbers
    signs = {
        SIGNS[family]: f"{bad} and {WARNED[family]}",
        "None of these: only a comparison with other settings or starting points": f"{bad} and not {WARNED[family]}",
        "No warning was needed: the run is good": good,
    }
    judge = {
        "title": f"Case {k}: keep or rerun?",
        "recipe": recipe.to_dict(),
        "hide": ["exact", "numbers"],
        "trace": TRACES[family],
        "after": {
            "ask": "The exact posterior is hidden. What would you do with this run?",
            "options": [
                {"say": "Keep it", "right": good, "because": f"{truth}.", "hope": True},
                {"say": "Run it again, with other settings", "right": bad, "because": f"{truth}."},
            ],
        },
    }
    why = {
        "title": f"Case {k}: how could you tell?",
        "question": {
            "ask": "Now the exact posterior is shown. Which sign would have told you without it?",
            "options": [{"say": sign, "right": right, "because": told} for sign, right in signs.items()],
        },
    }
    words = f"{method.title} on: {target.title}. Play the run, look at the picture and the traces, and decide."
    again = "Look at the run again, with everything shown."
    told_of = {"judge": (judge, words), "why": (why, again)}
    return [read(Step, block, f"case {k}", name=f"{part}-{k}", text=text) for part, (block, text) in told_of.items()]


# Lessons in folders: those that come with the package, and a lecturer's own.

FOLDER = "PMDVIZ_LESSONS"  # environment variable: a folder with lessons of one's own
SUFFIX = ".md"
log = logging.getLogger(__name__)


def text_of(file: Traversable) -> str:
    """What a file holds. Raises InputError where it cannot be opened."""
    try:
        return file.read_text(encoding="utf-8-sig")  # some editors write a mark of it at the start
    except (OSError, UnicodeError) as error:
        reason = getattr(error, "strerror", None) or "it is not text in UTF-8"
        raise InputError(f"{shown(str(file))} cannot be opened: {reason}; give a UTF-8 text file") from None


def with_own(ours: dict[str, Lesson], folder: Traversable | None) -> dict[str, Lesson]:
    """Ours and a folder's; an invalid file, or one that has a name of ours, is left out, which the log says."""
    found = dict(ours)
    for name, file in _files(folder).items() if folder is not None else ():
        try:
            if name in ours:
                raise InputError(f"there is a lesson {name!r} already; give the file another name")
            found[name] = read_lesson(name, text_of(file))
        except InputError as error:
            log.warning("lesson %s is left out: %s", file.name, words_of(error))
    return found


def own_folder() -> Path | None:
    """The folder in the environment variable, or None. Raises InputError if it is not a folder."""
    name = os.environ.get(FOLDER)
    if not name:
        return None
    if not Path(name).is_dir():
        raise InputError(f"--lessons must be a folder that has lessons as .md files; got {shown(name)}")
    return Path(name)


def _files(folder: Traversable) -> dict[str, Traversable]:
    found = {one.name: one for one in folder.iterdir() if one.name.endswith(SUFFIX) and one.is_file()}
    return {name.removesuffix(SUFFIX): found[name] for name in sorted(found)}


# The lessons and challenges that are offered: name -> Lesson, in the order in which they are shown.


def find_lesson(name: str) -> Lesson:
    """The lesson, demo or practice of that name; `name@student` is the one of a student. Raises InputError."""
    plain, at, student = name.partition("@")
    found = LESSONS.get(plain) or DEMOS.get(plain) or practice_named(plain)
    if found is None:
        raise unknown("lesson", plain, LESSONS)
    return for_student(found, student) if at else found


def following(lesson: Lesson) -> Lesson | None:
    """The one after it in the list of lessons or of demos, for the same student; None after the last."""
    name = lesson.name.partition("@")[0]
    names = next(([*listed] for listed in (LESSONS, DEMOS) if name in listed), [name])
    after = names[names.index(name) + 1 :]
    return find_lesson(after[0] + (f"@{lesson.student}" if lesson.student else "")) if after else None


def _loaded() -> dict[str, Lesson]:
    try:
        folder = own_folder()
    except InputError as error:  # a server has said so as it started
        log.warning("%s", error)
        folder = None
    return _in_order(with_own(_ours("files"), folder))


def _ours(folder: str) -> dict[str, Lesson]:
    files = _files(resources.files(__package__) / folder)
    return {name: read_lesson(name, text_of(file)) for name, file in files.items()}


def _in_order(found: dict[str, Lesson]) -> dict[str, Lesson]:
    return {one.name: one for one in sorted(found.values(), key=lambda one: (one.position, one.name))}


LESSONS = _loaded()


def offer_lessons(folder: str | None) -> None:
    """Have a folder of lessons offered, here and in the processes that are begun. Raises InputError for no folder."""
    if folder is not None:
        os.environ[FOLDER] = folder
    own_folder()
    found = _loaded()
    LESSONS.clear()
    LESSONS.update(found)


DEMOS = _in_order(_ours("demos"))  # of five minutes, for a lecture: one step each


def demo_link(name: str) -> str:
    """What follows the address of any server to open a demo in presenter mode."""
    return f"?lesson={name}&presenter=1"
