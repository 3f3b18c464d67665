"""Presets of experiments: good starting points as data. One YAML file each; one put here is offered by itself.

`check` says what its run shows, as bounds on the entries of the experiment's summary; a test runs each of them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib import resources
from typing import Any

from pmdviz.errors import unknown
from pmdviz.presets.file_values import read_yaml


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

    expect: Mapping[str, Any]
    where: Mapping[str, Any]

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
    """An experiment and its knobs, with a title, the question that they answer, and what is to come out.

    Attributes
    ----------
    name, title, question, experiment : str
    knobs : mapping
        Those that differ from their defaults.
    check : tuple of Expectation
    """

    name: str
    title: str
    question: str
    experiment: str
    knobs: Mapping[str, Any]
    check: tuple[Expectation, ...]

    def failures(self, summary: Sequence[Mapping[str, Any]]) -> list[str]:
        """What a summary does not show of that which it should, in words; [] for nothing."""
        return [words for each in self.check for words in each.failures(summary)]


def find_experiment_preset(name: str) -> ExperimentPreset:
    """The preset of that name. Raises InputError."""
    if name not in EXPERIMENT_PRESETS:
        raise unknown("preset of an experiment", name, EXPERIMENT_PRESETS)
    return EXPERIMENT_PRESETS[name]


def _holds(value: Any, wanted: Any) -> bool:
    if not isinstance(wanted, list):
        return bool(value == wanted)
    low, high = wanted
    return isinstance(value, (int, float)) and low <= value <= high


def _preset(name: str, parts: dict[str, Any]) -> ExperimentPreset:
    check = tuple(Expectation(each["expect"], each.get("where", {})) for each in parts["check"])
    told = {key: parts[key] for key in ("title", "question", "experiment")}
    return ExperimentPreset(name, **told, knobs=parts.get("knobs", {}), check=check)


def _loaded() -> dict[str, ExperimentPreset]:
    files = sorted(resources.files(__name__).iterdir(), key=lambda file: file.name)
    return {
        name: _preset(name, read_yaml(file.read_text(encoding="utf-8")))
        for file in files
        if (name := file.name.removesuffix(".yaml")) != file.name
    }


EXPERIMENT_PRESETS = _loaded()  # by name
