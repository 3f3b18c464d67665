"""A run as the query of a link: its recipe, the iteration shown, a digest of that frame, and how the page looks."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from urllib.parse import urlencode

from pmdviz.engine.frame import Frame
from pmdviz.engine.recipe.parts import MAX_BUDGET, checked_whole
from pmdviz.engine.recipe.recipe import Recipe
from pmdviz.errors import InputError
from pmdviz.presets import find_preset

LONGEST = 2000  # characters of a query that every mail program, chat and proxy lets through
NAMES = ("run", "preset", "at", "frame", "hide", "embed")


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
        Names of controls that the page leaves out. Hiding is no secrecy.
    embed : bool
        Without the page's frame, for an iframe.
    """

    recipe: Recipe | None = None
    iteration: int = 0
    digest: str = ""
    hide: tuple[str, ...] = ()
    embed: bool = False


def digest(frame: Frame) -> str:
    """12 hexadecimal digits that tell frames apart: of iteration, data visited, particles and weights, bit for bit."""
    told = hashlib.sha256(f"{frame.iteration} {frame.visited}".encode())
    for array in (frame.particles, frame.weights):
        told.update(array.tobytes())
    return told.hexdigest()[:12]


def query(recipe: Recipe, frame: Frame, hide: Sequence[str] = (), embed: bool = False) -> str:
    """The query of the link to `frame` of `recipe`, "?" included. Raises InputError for one that is too long."""
    parts = {"run": recipe.to_link()}
    if frame.iteration:
        parts |= {"at": str(frame.iteration), "frame": digest(frame)}
    parts |= {"hide": ",".join(hide)} if hide else {}
    parts |= {"embed": "1"} if embed else {}
    text = "?" + urlencode(parts, safe=",")
    if len(text) > LONGEST:
        raise InputError(
            f"this run's link would have {len(text):,} characters, and {LONGEST:,} is what every program lets through; "
            "share the recipe as a file"
        )
    return text


def read(arguments: Mapping[str, Sequence[bytes | str]]) -> Link:
    """What the arguments of a query say; other names than ours are left alone. Raises InputError."""
    given = {name: _text(arguments[name][-1]) for name in NAMES if arguments.get(name)}
    length = sum(map(len, given.values()))
    if length > LONGEST:
        raise InputError(f"a link has at most {LONGEST:,} characters; this one has {length:,}")
    recipe = Recipe.from_link(given["run"]) if "run" in given else None
    if "preset" in given and recipe is None:
        recipe = find_preset(given["preset"]).recipe
    return Link(
        recipe,
        checked_whole("at", given.get("at", 0), 0, MAX_BUDGET),
        given.get("frame", ""),
        tuple(dict.fromkeys(name.strip() for name in given.get("hide", "").split(",") if name.strip())),
        given.get("embed", "0") not in ("", "0", "false"),
    )


def _text(value: bytes | str) -> str:
    return value.decode("utf-8", "replace") if isinstance(value, bytes) else str(value)
