"""Presets: good starting points as data. One YAML file each; a file put here appears in the menu by itself.

`check` says what its run shows, `diagnosis` why, with the numbers of the run, and each of its `hints` what to try and
what then comes out; all are tried on several seeds by a test. docs/reference/lesson-and-preset-files.md describes the
files. Those of experiments are in `experiments/`: their `check` is about the experiment's summary; a test runs each.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from importlib import resources
from importlib.util import find_spec
from typing import Annotated, Any

from pmdviz.engine.recipe import USUAL_METHOD, USUAL_TARGET, Recipe
from pmdviz.errors import unknown
from pmdviz.presets.measures import (
    Diagnoses,
    MaybeTest,
    MaybeWhole,
    Names,
    Real,
    Test,
    Text,
    Whole,
    listed,
    read,
    read_yaml,
)


@dataclass(frozen=True)
class Hint:
    """Something to try: the words, the changed settings, when, and what then holds.

    `knobs` are set after the fraction `after` of the budget: 0 before the start, 1 while the run is at its end.
    `options` are the target's, which a run has from its start on. A hint without a change says what the preset's own
    run shows. `expect` is about the run with the changes.
    """

    say: Text
    knobs: Names = field(default_factory=dict)
    options: Names = field(default_factory=dict)
    budget: MaybeWhole = None
    after: Real = 0.0
    expect: MaybeTest = None

    @property
    def changes(self) -> bool:
        """Whether something is changed."""
        return bool(self.knobs or self.options) or self.budget is not None


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
        Of its recipe, in the form of a file.
    position : int
        In the menu: the lowest comes first.
    needs : str
        A module without which it is left out; "" for none.
    """

    name: str
    title: Text
    question: Text
    watch: Text
    trace: Text
    check: Test
    diagnosis: Diagnoses
    hints: Annotated[tuple[Hint, ...], listed(Hint, "a hint")]
    parts: Names = field(metadata={"key": "recipe"})
    position: Whole
    needs: Text = ""

    @cached_property
    def recipe(self) -> Recipe:
        """Made when it is first asked for: that makes its target, and all of them would take a page seconds."""
        return Recipe.from_dict(self.parts)

    def may_be(self, recipe: Recipe) -> bool:
        """Whether a recipe has the same target and method."""
        of_both = self.parts.get("target", USUAL_TARGET), self.parts.get("method", USUAL_METHOD)
        return (recipe.target, recipe.method) == of_both

    @property
    def try_this(self) -> str:
        """The words of the hints, one after the other."""
        return " ".join(hint.say for hint in self.hints)


@dataclass(frozen=True)
class Expectation:
    """What holds for some entries of a summary, at least one.

    Attributes
    ----------
    expect : mapping
        Column -> [low, high], or the very value.
    where : mapping
        Column -> value: the entries that it is about; {}: all of them.
    """

    expect: Names
    where: Names = field(default_factory=dict)

    def failures(self, summary: Sequence[Mapping[str, Any]]) -> list[str]:
        """Which bounds do not hold, in words; [] for none."""
        own = [entry for entry in summary if all(entry.get(name) == value for name, value in self.where.items())]
        if not own:
            return [f"no entry has {dict(self.where)}"]
        return [
            f"{name} = {entry.get(name)}, not in {wanted} (where {dict(self.where) or 'all'})"
            for entry in own
            for name, wanted in self.expect.items()
            if not _holds(entry.get(name), wanted)
        ]


@dataclass(frozen=True)
class ExperimentPreset:
    """An experiment and its knobs, with a title, the question that they answer, and the expected outcome.

    Attributes
    ----------
    name, title, question, experiment : str
    check : tuple of Expectation
    knobs : mapping
        Those that differ from their defaults.
    """

    name: str
    title: Text
    question: Text
    experiment: Text
    check: Annotated[tuple[Expectation, ...], listed(Expectation, "an expectation")]
    knobs: Names = field(default_factory=dict)

    def failures(self, summary: Sequence[Mapping[str, Any]]) -> list[str]:
        """What a summary does not show of that which it should, in words; [] for nothing."""
        return [words for each in self.check for words in each.failures(summary)]


def _holds(value: Any, wanted: Any) -> bool:
    if not isinstance(wanted, list):
        return bool(value == wanted)
    low, high = wanted
    return isinstance(value, (int, float)) and low <= value <= high


def find_preset(name: str) -> Preset:
    """The preset of that name. Raises InputError."""
    if name not in PRESETS:
        raise unknown("preset", name, PRESETS)
    return PRESETS[name]


def find_experiment_preset(name: str) -> ExperimentPreset:
    """The preset of that name. Raises InputError."""
    if name not in EXPERIMENT_PRESETS:
        raise unknown("preset of an experiment", name, EXPERIMENT_PRESETS)
    return EXPERIMENT_PRESETS[name]


def read_preset(name: str, parts: Any) -> Preset:
    """The preset of a file's content. Raises InputError: which key, which value."""
    return read(Preset, parts, f"preset {name!r}", name=name)


def _files(folder: str = "") -> dict[str, Any]:
    """Name -> plain values of the files in a folder, by name."""
    found = resources.files(__name__) / folder
    files = {file.name.removesuffix(".yaml"): file for file in found.iterdir() if file.name.endswith(".yaml")}
    return {name: read_yaml(files[name].read_text(encoding="utf-8")) for name in sorted(files)}


def _loaded() -> dict[str, Preset]:
    presets = [read_preset(name, parts) for name, parts in _files().items()]
    there = [preset for preset in presets if not preset.needs or find_spec(preset.needs)]
    return {preset.name: preset for preset in sorted(there, key=lambda preset: preset.position)}


PRESETS = _loaded()  # by name, in the order in which they are shown; the first is the default
EXPERIMENT_PRESETS = {
    name: read(ExperimentPreset, parts, f"preset {name!r}", name=name) for name, parts in _files("experiments").items()
}
