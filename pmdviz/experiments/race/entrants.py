"""Who races: a method with its knobs: a text `pmd:warm_start=true` or a pair ("pmd", {"warm_start": True}).

Changes of knobs during the run follow an @ and their iteration: `pmd:warm_start=true@40:bandwidth=0.5`, or a triple
("pmd", {"warm_start": True}, [(40, {"bandwidth": 0.5})]).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from operator import itemgetter
from typing import Any

import numpy as np

from pmdviz.engine.recipe import MAX_BUDGET, Change, Recipe, checked_whole
from pmdviz.errors import InputError, shown
from pmdviz.knobs import KnobSpec
from pmdviz.methods import find_method
from pmdviz.targets import Target

MAX_ENTRANTS = 100
FORM = "an entrant is a method with knobs after a colon, as in pmd:warm_start=true,bandwidth=0.5"
Given = str | tuple[str, Mapping[str, Any]] | tuple[str, Mapping[str, Any], Iterable[Change]]


@dataclass(frozen=True)
class Entrant:
    """A method with the knobs that were given, and those changed while it ran.

    `label` is its key in a race's rows, `title` its name in pictures.
    """

    label: str
    method: str
    knobs: Mapping[str, Any]
    changes: tuple[Change, ...] = ()

    @property
    def text(self) -> str:
        """The entrant as `entrants` reads it: the label, but for what tells it from another one like it."""
        start = f"{self.method}:{_words(self.knobs)}" if self.knobs else self.method
        return start + "".join(f"@{at}:{_words(knobs)}" for at, knobs in self.changes)

    @property
    def title(self) -> str:
        """The entrant in words, short enough for a tile: "PMD, warm start"."""
        return self._titled(find_method(self.method).short_title)

    @property
    def full_title(self) -> str:
        """The same with the method's name in full: "Particle Mirror Descent, warm start"."""
        return self._titled("")

    def _titled(self, name: str) -> str:
        """The method and the given knobs; the later one of two alike ends in "#2"."""
        method = find_method(self.method)
        specs = method.Knobs.specs()
        given = [setting_words(specs[knob], value) for knob, value in self.knobs.items()]
        for at, knobs in self.changes:
            given += [f"{setting_words(specs[knob], value)} from iteration {at:,}" for knob, value in knobs.items()]
        return ", ".join([name or method.title, *given]) + self.label.removeprefix(self.text)

    def recipe(self, target: Target, seed: int, budget: int | None, unit: str = "data") -> Recipe:
        """The recipe of its run. Raises InputError, with the entrant named."""
        try:
            parts = {"seed": seed, "budget": budget, "budget_unit": unit, "changes": self.changes}
            return Recipe(target, self.method, **parts, **self.knobs)
        except InputError as error:
            raise InputError(f"entrant {self.label}: {error}", error.field, f"{self.label}: {error.on_page}") from error


def titles(entrants: Sequence[Entrant]) -> list[str]:
    """Names for tiles: of one method with a setting of its own in each entrant, only the settings that differ."""
    first = entrants[0] if entrants else None
    knobs = [_differing(one, entrants) for one in entrants]
    alike = len(entrants) > 1 and all(one.method == first.method and not one.changes for one in entrants)
    if not (alike and all(knobs)):
        return [one.title for one in entrants]
    specs = find_method(first.method).Knobs.specs()
    ends = [one.label.removeprefix(one.text) for one in entrants]
    named = [", ".join(setting_words(specs[name], value) for name, value in own.items()) for own in knobs]
    return [words[:1].upper() + words[1:] + end for words, end in zip(named, ends, strict=True)]


def _differing(one: Entrant, entrants: Sequence[Entrant]) -> dict[str, Any]:
    """The knobs of an entrant that some other one has otherwise."""
    return {name: value for name, value in one.knobs.items() if any(each.knobs.get(name) != value for each in entrants)}


def split(text: str) -> list[str]:
    """The entrants of one text: a part with `=` and without a colon is a further knob of the entrant before it."""
    found: list[str] = []
    for part in (piece.strip() for piece in text.split(",")):
        if "=" in part and ":" not in part.split("=", 1)[0]:
            if not found or ":" not in found[-1]:
                raise InputError(f"{FORM}; got {shown(text)}")
            found[-1] += f",{part}"
        else:
            found.append(part)
    return found


def entrants(given: str | Iterable[Given | Recipe | Entrant]) -> tuple[Entrant, ...]:
    """The entrants, each with a label of its own: of two alike the later one is called "pmd #2".

    Raises InputError for an unknown method or knob, a value out of its bounds, or no entrant at all.
    """
    if isinstance(given, str):
        given = split(given)
    try:
        found = [_entrant(one) for one in given]
    except InputError:
        raise
    except (TypeError, ValueError, AttributeError) as error:
        raise InputError(f"methods must be a list of entrants; {FORM}; got {shown(given)}") from error
    if not 1 <= len(found) <= MAX_ENTRANTS:
        raise InputError(f"a race needs at least 1 and at most {MAX_ENTRANTS} methods; got {len(found)}")
    return tuple(_labelled(found))


def _entrant(given: Any) -> Entrant:
    if isinstance(given, Entrant):
        return given
    if isinstance(given, Recipe):
        return Entrant("", given.method, given.given_knobs, given.changes)
    if isinstance(given, str):
        return _of_text(given)
    if isinstance(given, (tuple, list)) and len(given) in (2, 3) and isinstance(given[1], Mapping):
        method, knobs, *changes = given
        moments = [(0, knobs), *(changes[0] if changes else [])]
        return _checked(method, [(at, {str(n): _plain(v) for n, v in values.items()}) for at, values in moments])
    raise InputError(f"{FORM}, or a pair ('pmd', {{'bandwidth': 0.5}}); got {shown(given)}")


def _of_text(text: str) -> Entrant:
    start, *later = text.split("@")
    method, colon, rest = (part.strip() for part in start.partition(":"))
    moments = [(0, _named(rest, text) if colon else {})]
    for change in later:
        at, _, rest = change.partition(":")
        moments.append((at.strip(), _named(rest, text)))
    return _checked(method, moments)


def _named(listed: str, text: str) -> dict[str, str]:
    """The knobs between commas, and their values as texts."""
    knobs: dict[str, str] = {}
    for part in listed.split(","):
        name, equals, value = (piece.strip() for piece in part.partition("="))
        if not (name and equals and value):
            raise InputError(f"{FORM}; got {shown(text)}")
        if name in knobs:
            raise InputError(f"{name} is given twice in {shown(text)}")
        knobs[name] = value
    return knobs


def _checked(method: Any, moments: Sequence[tuple[Any, dict[str, Any]]]) -> Entrant:
    (_, start), *changes = moments
    find_method(method).Knobs.checked(start)  # its recipe checks the changes
    numbered = ((checked_whole("a change's iteration", at, 1, MAX_BUDGET), knobs) for at, knobs in changes)
    return Entrant("", method, start, tuple(sorted(numbered, key=itemgetter(0))))


def _plain(value: Any) -> Any:
    """A number of NumPy's as Python's, whose text says all of it."""
    return value.item() if isinstance(value, np.generic) else value


def _words(knobs: Mapping[str, Any]) -> str:
    plain = {name: str(value).lower() if isinstance(value, bool) else value for name, value in knobs.items()}
    return ",".join(f"{name}={value}" for name, value in plain.items())


def setting_words(knob: KnobSpec, given: Any) -> str:
    """A knob and its value in words: "warm start", "no warm start", "bandwidth = 0.5", "draws: independent"."""
    label, value = knob.label.replace(": ", " "), knob.parse(given)
    if label[1:2].islower():  # not an abbreviation such as ESS
        label = label[0].lower() + label[1:]
    if knob.kind == "flag":
        return label if value else f"no {label}"
    if knob.kind in ("whole", "real"):
        return f"{label} = {value:,}" if knob.kind == "whole" else f"{label} = {value:g}"
    return f"{label}: {knob.said(value)}"


def _labelled(found: list[Entrant]) -> list[Entrant]:
    """Labels that differ: with them a table or a picture can tell the entrants apart."""
    seen: dict[str, int] = {}
    made = []
    for one in found:
        seen[one.text] = number = seen.get(one.text, 0) + 1
        made.append(replace(one, label=one.text if number == 1 else f"{one.text} #{number}"))
    return made
