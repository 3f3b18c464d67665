"""Presets: good starting points as data. One YAML file each; a file put here appears in the menu by itself.

`check` bounds what its run shows, and each of its `hints` says what to try and bounds what then comes out
(`presets/checks.py`); both are tried on several seeds by a test. One that `needs` a package is left out without it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from importlib import resources
from importlib.util import find_spec
from typing import Any

import yaml

from pmdviz.engine.recipe.recipe import USUAL_METHOD, USUAL_TARGET, Recipe
from pmdviz.errors import unknown
from pmdviz.presets.checks import Hint


@dataclass(frozen=True)
class Preset:
    """A recipe with a title, the question it asks, what its run shows, and hints on what to try."""

    name: str
    title: str
    question: str
    check: Mapping[str, Any]
    hints: tuple[Hint, ...]
    parts: Mapping[str, Any]  # of its recipe, as a file has them
    trace: str = ""  # the axis of the traces that the question is about; "": the usual one

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


def _loaded() -> dict[str, Preset]:
    files = [entry for entry in resources.files(__name__).iterdir() if entry.name.endswith(".yaml")]
    plain = [(entry.name.removesuffix(".yaml"), yaml.safe_load(entry.read_text(encoding="utf-8"))) for entry in files]
    there = [(name, parts) for name, parts in plain if "needs" not in parts or find_spec(parts["needs"])]
    return {name: _preset(name, parts) for name, parts in sorted(there, key=_position)}


def _position(entry: tuple[str, dict]) -> tuple[int, str]:
    return entry[1]["position"], entry[0]


def _preset(name: str, parts: dict) -> Preset:
    hints = tuple(Hint(**hint) for hint in parts["hints"])
    told = {key: parts[key] for key in ("title", "question", "check")}
    return Preset(name, **told, hints=hints, parts=parts["recipe"], trace=parts.get("trace", ""))


PRESETS = _loaded()  # by name, in the order in which they are shown; the first is the default
