"""A run as the query of a link: its recipe, the iteration shown, a digest of that frame, and how the page looks."""

from __future__ import annotations

import math
import struct
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import repeat
from typing import NamedTuple
from urllib.parse import urlencode, urlsplit

from pmdviz.engine.frame import Frame
from pmdviz.engine.recipe import MAX_BUDGET, Recipe, checked_whole
from pmdviz.errors import InputError, check_known
from pmdviz.experiments.race import RaceRecipe
from pmdviz.lessons.reading import find_lesson
from pmdviz.presets import find_preset

LONGEST = 2000  # characters of a query that every mail program, chat and proxy lets through
NAMES = (
    *("run", "preset", "at", "frame", "hide", "embed", "start", "presenter", "race"),
    *("experiment", "knobs", "settings"),
    *("lesson", "step", "skip"),
)


STARTS = START, HERE, END = ("start", "here", "end")  # of its run, where a link opens it


class Asked(NamedTuple):
    """The text of a link about an experiment: `lab.panels.sharing` reads it."""

    experiment: str = ""  # its name
    knobs: str = ""  # those that differ from their defaults, folded
    settings: str = ""  # name of a preset of an experiment


NOTHING = Asked()


class LessonLink(NamedTuple):
    """The lesson that a link opens."""

    name: str = ""
    step: str = ""  # where to begin; "" for the first one, or where one was
    skip: bool = False  # whether steps may be left without an answer
    has_run: bool = False  # whether the link has the run too, as after a reload
    attempt: bool = False  # whether that run is an attempt at a challenge, to be scored


NO_LESSON = LessonLink()


@dataclass(frozen=True)
class Link:
    """What a link says: a recipe (or a preset's), where it stood, and how the page is to look.

    Attributes
    ----------
    recipe : Recipe or None
        None: the page's own default.
    iteration : int
        The iteration shown.
    digest : str
        That of the frame shown, "" where the link has none.
    hide : tuple of str
        Names of controls that the page leaves out. Hidden controls are not secret.
    embed : bool
        Without the page's frame, for an iframe.
    preset : str
        Name of the preset that the run began with: its question stays with it.
    presenter : bool
        In presenter mode, for a lecture hall.
    race : RaceRecipe or None
        The race of the Race page; None: the page's own default.
    round : int
        The round of that race shown.
    asked : Asked
        The experiment of the Theory page.
    lesson : LessonLink
    """

    recipe: Recipe | None = None
    iteration: int = 0
    digest: str = ""
    hide: tuple[str, ...] = ()
    embed: bool = False
    preset: str = ""
    presenter: bool = False
    race: RaceRecipe | None = None
    round: int = 0
    asked: Asked = NOTHING
    lesson: LessonLink = NO_LESSON


NO_LINK = Link()


def agreement(frame: Frame, given: str) -> str:
    """How the frame compares with the one of a `Frame.digest`: "same", "rounded" (five digits agree) or "other"."""
    if frame.digest == given:
        return "same"
    try:
        (shared,) = struct.unpack(">d", bytes.fromhex(given[12:]) + bytes(4))
    except (ValueError, struct.error):  # the digits come from an address
        return "other"
    return "rounded" if math.isclose(shared, frame.mean_distance, rel_tol=1e-5) else "other"


def query(recipe: Recipe, frame: Frame, page: Link = NO_LINK, preset: str = "", start: str = HERE) -> str:
    """The query of the link to `frame` of `recipe`, "?" included, or to another of STARTS of its run.

    `page` says how it is to look. Raises InputError for one that is too long.
    """
    parts = {"run": recipe.to_link()} | ({"start": END} if start == END else {})
    if start == HERE and frame.iteration:
        parts |= {"at": str(frame.iteration), "frame": frame.digest}
    parts |= {"preset": preset} if preset else {}
    parts |= {"hide": ",".join(page.hide)} if page.hide else {}
    parts |= {name: "1" for name in ("embed", "presenter") if getattr(page, name)}
    return _query(parts, "run")


def race_query(race: RaceRecipe, at: int = 0) -> str:
    """The query of the link to a round of a race on its page. Raises InputError for one that is too long."""
    return _query({"page": "race", "race": race.to_link(), **({"at": str(at)} if at else {})}, "race")


def experiment_query(asked: Asked) -> str:
    """The query of the link to an experiment on the Theory page. Raises InputError for one that is too long."""
    parts = {name: value for name, value in asked._asdict().items() if value}
    return _query({"page": "theory", **parts}, "experiment")


def attempt_query(lesson: str, step: str, recipe: Recipe) -> str:
    """The query of the link to an attempt at a challenge. Raises InputError for one that is too long."""
    return _query({"lesson": lesson, "step": step, "run": recipe.to_link(), "start": END}, "attempt")


def _query(parts: Mapping[str, str], what: str) -> str:
    text = "?" + urlencode(parts, safe=",")
    if len(text) > LONGEST:
        words = f"this {what}'s link would have {len(text):,} characters, and {LONGEST:,} is what every program lets"
        raise InputError(f"{words} through; share the recipe as a file")
    return text


def is_local(address: str) -> bool:
    """Whether an address names the computer itself, and other computers cannot open it."""
    host = urlsplit(address if "//" in address else f"//{address}").hostname or ""
    return host in ("localhost", "0.0.0.0", "::", "::1") or host.startswith("127.")


def read(arguments: Mapping[str, Sequence[bytes | str]]) -> Link:
    """What the arguments of a query say; other names than ours are left alone. Raises InputError."""
    given = {name: _text(arguments[name][-1]) for name in NAMES if arguments.get(name)}
    length = sum(map(len, given.values()))
    if length > LONGEST:
        words = f"a link has at most {LONGEST:,} characters; this one has {length:,}"
        raise InputError(f"{words}: open the run's JSON file instead")
    recipe = Recipe.from_link(given["run"]) if "run" in given else None
    preset = find_preset(given["preset"]) if "preset" in given else None
    if preset is not None and recipe is None:
        recipe = preset.recipe
    start = given.get("start", HERE)
    check_known("start of a link", [start], STARTS)
    if start == END and recipe is not None and recipe.budget is None:
        raise InputError(f"an endless run has no end to start from; use another start than {END!r}")
    at = checked_whole("at", given.get("at", 0), 0, MAX_BUDGET)
    of_race = "race" in given and recipe is None
    return Link(
        recipe,
        0 if of_race else {START: 0, HERE: at, END: MAX_BUDGET}[start],
        given.get("frame", "") if start == HERE else "",
        tuple(dict.fromkeys(filter(None, map(str.strip, given.get("hide", "").split(","))))),
        _yes(given.get("embed", "0")),
        preset.name if preset is not None else "",
        _yes(given.get("presenter", "0")),
        RaceRecipe.from_link(given["race"]) if "race" in given else None,
        at if of_race else 0,
        Asked(*map(given.get, Asked._fields, repeat(""))),
        _lesson(given) if "lesson" in given else NO_LESSON,
    )


def _lesson(given: Mapping[str, str]) -> LessonLink:
    lesson, step, has_run = find_lesson(given["lesson"]), given.get("step", ""), "run" in given
    if step:
        lesson.step(step)
    return LessonLink(lesson.name, step, _yes(given.get("skip", "0")), has_run, has_run and given.get("start") == END)


def _yes(text: str) -> bool:
    return text not in ("", "0", "false")


def _text(value: bytes | str) -> str:
    return value.decode("utf-8", "replace") if isinstance(value, bytes) else str(value)
