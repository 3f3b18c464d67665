"""Presets: good starting points as data. One YAML file each; a file put here appears in the menu by itself.

`check` says what its run shows, `diagnosis` why, with the numbers of the run, and each of its `hints` what to try and
what then comes out; all are tried on several seeds by a test. docs/presets.md describes the files.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from functools import cached_property
from importlib import resources
from importlib.util import find_spec
from typing import Any

from pmdviz.engine.recipe import USUAL_METHOD, USUAL_TARGET, Recipe
from pmdviz.errors import InputError, shown, unknown
from pmdviz.expressions import Expression
from pmdviz.presets.checks import Hint
from pmdviz.presets.diagnosis import Diagnosis, read_diagnoses
from pmdviz.presets.file_values import known_keys, read_yaml, text

NEEDED = ("title", "position", "question", "watch", "trace", "check", "diagnosis", "hints", "recipe")
KEYS = (*NEEDED, "needs")  # of a file
HINT = tuple(each.name for each in fields(Hint))
TEXTS = ("title", "question", "watch", "trace")


@dataclass(frozen=True)
class Preset:
    """A recipe with a title, the question it asks, and what its run shows.

    Attributes
    ----------
    name, title, question : str
    watch : str
        What to look at, in a sentence.
    trace : str
        Key of the traces that show it.
    check : Expression
        What holds of its run.
    diagnosis : tuple of Diagnosis
        The first is about the question, and true of its own run; the others of what the hints make of it.
    hints : tuple of Hint
    parts : mapping
        Of its recipe, as a file has them.
    """

    name: str
    title: str
    question: str
    watch: str
    trace: str
    check: Expression
    diagnosis: tuple[Diagnosis, ...]
    hints: tuple[Hint, ...]
    parts: Mapping[str, Any]

    @cached_property
    def recipe(self) -> Recipe:
        """Made when it is first asked for: that makes its target, and all of them would take a page seconds."""
        return Recipe.from_dict(self.parts)

    def may_be(self, recipe: Recipe) -> bool:
        """Whether its target and method are those of a recipe."""
        of_both = self.parts.get("target", USUAL_TARGET), self.parts.get("method", USUAL_METHOD)
        return (recipe.target, recipe.method) == of_both

    @property
    def try_this(self) -> str:
        """The words of the hints, one after the other."""
        return " ".join(hint.say for hint in self.hints)


def find_preset(name: str) -> Preset:
    """The preset of that name. Raises InputError."""
    if name not in PRESETS:
        raise unknown("preset", name, PRESETS)
    return PRESETS[name]


def read_preset(name: str, parts: Any) -> Preset:
    """The preset of a file's content. Raises InputError: which key, what was given."""
    if not isinstance(parts, Mapping):
        raise InputError(f"preset {name!r} must be names and values; given: {shown(parts)}")
    known_keys(parts, KEYS, f"preset {name!r}")
    for key in NEEDED:
        if key not in parts:
            raise InputError(f"preset {name!r} needs `{key}`")
    return Preset(
        name,
        **{key: text(parts, key, f"preset {name!r}", needed=True) for key in TEXTS},
        check=Expression(parts["check"]),
        diagnosis=read_diagnoses(parts["diagnosis"]),
        hints=tuple(_hint(name, each) for each in parts["hints"]),
        parts=parts["recipe"],
    )


def _hint(name: str, parts: Mapping[str, Any]) -> Hint:
    known_keys(parts, HINT, f"a hint of preset {name!r}")
    return Hint(**{**parts, "expect": Expression(parts["expect"]) if "expect" in parts else None})


def _loaded() -> dict[str, Preset]:
    files = [entry for entry in resources.files(__name__).iterdir() if entry.name.endswith(".yaml")]
    plain = [(entry.name.removesuffix(".yaml"), read_yaml(entry.read_text(encoding="utf-8"))) for entry in files]
    there = [(name, parts) for name, parts in plain if "needs" not in parts or find_spec(parts["needs"])]
    return {name: read_preset(name, parts) for name, parts in sorted(there, key=_position)}


def _position(entry: tuple[str, dict]) -> tuple[int, str]:
    return entry[1]["position"], entry[0]


PRESETS = _loaded()  # by name, in the order in which they are shown; the first is the default
