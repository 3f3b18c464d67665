"""Everything needed to run a race again: a small checked value with one JSON form and a few lines of Python."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from operator import itemgetter
from types import EllipsisType
from typing import Any

import numpy as np

from pmdviz.data.tables import holding
from pmdviz.engine import recipe as of_run
from pmdviz.engine.recipe import MAX_BUDGET, Change, Recipe, checked_whole, given_knobs, joined, target_note, versions
from pmdviz.errors import InputError, shown
from pmdviz.experiments import checked_seeds
from pmdviz.knobs import Knobs, KnobSpec
from pmdviz.methods import METHODS, find_method
from pmdviz.methods.base import usual_rows
from pmdviz.metrics import METRICS, Metric
from pmdviz.targets import Target, get_target
from pmdviz.targets.custom import CustomTarget

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
        method = find_method(self.method)
        return self._titled(method.short_title or method.title)

    @property
    def full_title(self) -> str:
        """The same with the method's name in full: "Particle Mirror Descent, warm start"."""
        return self._titled(find_method(self.method).title)

    def _titled(self, name: str) -> str:
        """The method and the given knobs; the later one of two alike ends in "#2"."""
        specs = find_method(self.method).Knobs.specs()
        given = [setting_words(specs[knob], value) for knob, value in self.knobs.items()]
        for at, knobs in self.changes:
            given += [f"{setting_words(specs[knob], value)} from iteration {at:,}" for knob, value in knobs.items()]
        return ", ".join([name, *given]) + self.label.removeprefix(self.text)

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
    knobs = [  # those that some other entrant has otherwise
        {name: value for name, value in one.knobs.items() if any(e.knobs.get(name) != value for e in entrants)}
        for one in entrants
    ]
    alike = len(entrants) > 1 and all(one.method == first.method and not one.changes for one in entrants)
    if not (alike and all(knobs)):
        return [one.title for one in entrants]
    specs = find_method(first.method).Knobs.specs()
    ends = [one.label.removeprefix(one.text) for one in entrants]
    named = [", ".join(setting_words(specs[name], value) for name, value in own.items()) for own in knobs]
    return [words[:1].upper() + words[1:] + end for words, end in zip(named, ends, strict=True)]


def split(text: str) -> list[str]:
    """The entrants of one text: `name=value` after a comma is a further knob of the entrant before it."""
    return [part.strip() for part in re.split(r",(?![^,:=]*=)", text)]


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
    seen: dict[str, int] = {}
    made = []
    for one in found:
        seen[one.text] = number = seen.get(one.text, 0) + 1
        made.append(replace(one, label=one.text if number == 1 else f"{one.text} #{number}"))
    return tuple(made)


def _entrant(given: Any) -> Entrant:
    if isinstance(given, Entrant):
        return given
    if isinstance(given, Recipe):
        return Entrant("", given.method, given.given_knobs, given.changes)
    if isinstance(given, str):
        given = _of_text(given)
    if not (isinstance(given, (tuple, list)) and len(given) in (2, 3) and isinstance(given[1], Mapping)):
        raise InputError(f"{FORM}, or a pair ('pmd', {{'bandwidth': 0.5}}); got {shown(given)}")
    method, knobs, *changes = given
    (_, start), *later = [  # numbers of NumPy's as Python's, whose text says all of them
        (at, {str(name): v.item() if isinstance(v, np.generic) else v for name, v in values.items()})
        for at, values in [(0, knobs), *(changes[0] if changes else [])]
    ]
    find_method(method).Knobs.checked(start)  # its recipe checks the changes
    numbered = ((checked_whole("a change's iteration", at, 1, MAX_BUDGET), knobs) for at, knobs in later)
    return Entrant("", method, start, tuple(sorted(numbered, key=itemgetter(0))))


def _of_text(text: str) -> tuple[str, dict[str, str], list[tuple[str, dict[str, str]]]]:
    """Method, knobs and changes of "pmd:warm_start=true@40:bandwidth=0.5"."""
    parts = [[piece.strip() for piece in part.partition(":")] for part in text.split("@")]
    (method, colon, start), *later = parts
    if "=" in method:
        raise InputError(f"{FORM}; got {shown(text)}")
    return method, _named(start, text) if colon else {}, [(at, _named(knobs, text)) for at, _, knobs in later]


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


def _words(knobs: Mapping[str, Any]) -> str:
    return ",".join(f"{name}={str(v).lower() if isinstance(v, bool) else v}" for name, v in knobs.items())


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


# What a race counts against its budget: observations used, or evaluations of the likelihood and its gradient.

DATA = of_run.UNITS[0]
SHORT = {"data": "observations", "evaluations": "evaluations"}
BRIEF = {"data": "obs.", "evaluations": "eval."}  # on a tile
DONE = {"data": "observations", "evaluations": "likelihood evaluations"}


def evaluations(columns: Mapping[str, Any]) -> Any:
    """Evaluations of the likelihood and its gradient, of a row or of all rows of a history."""
    return columns["density_evaluations"] + columns["gradient_evaluations"]


def spent_in(columns: Mapping[str, Any], unit: str) -> Any:
    """What counts against the budget, of a row or of all rows of a history."""
    return columns["visited"] if unit == DATA else evaluations(columns)


def each_costs(recipe: Recipe) -> int:
    """About what one observation costs the run by its own clock: 1, or an evaluation for each particle."""
    return 1 if recipe.budget_unit == DATA else max(1, getattr(recipe.start_knobs(), "num_particles", 1))


# What can be asked for, and the race.

KEYS = tuple("pmdviz_race target target_options methods seeds budget budget_unit points data made_with".split())
MAX_SEEDS = 100_000
MAX_POINTS = 20_000


@dataclass(frozen=True, eq=False)
class RaceRecipe(of_run.Portable):
    """The methods of a race, its target, budget and seeds; `checked` makes one; equal races make equal recipes.

    The budget and the lock step count by `budget_unit`: "data" visited, or "evaluations".
    A live race has the first seed alone, may be endless (budget None), and may wait for its first entrant.
    """

    entrants: tuple[Entrant, ...]
    target: Target
    seeds: tuple[int, ...]
    budget: int | None
    points: int = 0
    made_with: Mapping[str, str] = field(default_factory=versions, repr=False)
    budget_unit: str = DATA

    @classmethod
    def checked(
        cls,
        methods: str | Sequence[Any],
        target: str | Target = "mixture",
        target_options: Mapping[str, Any] | None = None,
        budget: int | None | EllipsisType = ...,
        seeds: int | Iterable[int] = 1,
        points: int = 0,
        made_with: Mapping[str, str] | None = None,
        clock: str | EllipsisType = ...,
    ) -> RaceRecipe:
        """The recipe of a race as `pmdviz.race` takes it. Raises InputError for anything that cannot be used."""
        made = get_target(target, of_run.mapping("target_options", target_options or {}))
        found, numbers = entrants(methods), checked_seeds(seeds, MAX_SEEDS)
        if len({*numbers}) < len(numbers):
            raise InputError(f"seeds must be different ones; got {shown(seeds)}")
        points = checked_whole("points", points, 0, MAX_POINTS)
        unit = of_run.checked_unit(clock, made, "clock")
        recipe = cls(found, made, numbers, None, points, of_run.checked_versions(made_with or versions()), unit)
        usual = recipe.default_budget  # who cannot race on the target is refused here
        if budget is not None:
            budget = usual if budget is ... else checked_whole("budget", budget, 1, MAX_BUDGET)
        return replace(recipe, budget=budget)

    @classmethod
    def of_runs(cls, runs: Sequence[Recipe], seeds: int | Iterable[int] = 1, points: int = 0) -> RaceRecipe:
        """Runs as a race, on target, budget and seed of the first, or with several seeds. Raises InputError."""
        first = runs[0]
        numbers = [first.seed] if seeds == 1 else seeds
        return cls.checked(runs, first.make_target(), None, first.budget, numbers, points, clock=first.budget_unit)

    def of(self, one: Entrant, seed: int) -> Recipe:
        """The recipe of one run."""
        return one.recipe(self.target, seed, self.budget, self.budget_unit)

    @cached_property
    def recipes(self) -> tuple[Recipe, ...]:
        """Those of the entrants' runs with the first seed. Raises InputError where one cannot race on the target."""
        return tuple(self.of(one, self.seeds[0]) for one in self.entrants)

    @cached_property
    def each_costs(self) -> int:
        """What one observation costs at most by the race's clock: 1, or evaluations for all particles of an entrant."""
        return max((each_costs(one) for one in self.recipes), default=1)

    @property
    def default_budget(self) -> int:
        """The default budget: in evaluations the cost of as many data for the dearest entrant."""
        return min(MAX_BUDGET, usual_rows(self.target) * self.each_costs)

    @cached_property
    def metrics(self) -> tuple[Metric, ...]:
        """The metrics of all entrants during the race, by the table's order; without entrants of all methods."""
        target, methods = self.target, [find_method(one.method) for one in self.entrants]
        methods = methods or [one for one in METHODS.values() if not one.missing_in(target)]
        found = [one for one in METRICS.values() if one.axis and all(one.applies(target, each) for each in methods)]
        return tuple(one for one in found if all(one.traced(target, each) for each in methods))

    @cached_property
    def shown(self) -> tuple[Metric, ...]:
        """The two metrics of tables and traces, those first by which races are ranked.

        Where none of those is available they are the first two of the table, with a note about it.
        """
        ordered = sorted(self.metrics, key=lambda metric: not metric.ranks)
        known = bool(ordered) and ordered[0].ranks
        return tuple((ordered if known else [metric for metric in METRICS.values() if metric.ranks])[:2])

    @property
    def drawn(self) -> tuple[str, ...]:
        """The names of these two, and of all metrics that traces may show."""
        return tuple(dict.fromkeys(metric.name for metric in (*self.shown, *self.metrics)))

    def with_entrants(self, methods: Sequence[Any]) -> RaceRecipe:
        """The race with other entrants, or without any; `recipes` shows whether they can race. Raises InputError."""
        return replace(self, entrants=entrants(methods) if methods else ())

    def without(self, k: int) -> RaceRecipe:
        """The race without entrant k."""
        return self.with_entrants([*self.entrants[:k], *self.entrants[k + 1 :]])

    def ending(self) -> RaceRecipe:
        """The race itself. Raises InputError for one without an end: it cannot be run to it."""
        checked_whole("budget", self.budget, 1, MAX_BUDGET)
        return self

    def to_dict(self) -> dict[str, Any]:
        """The race as plain values, in the canonical order."""
        entrants = {"methods": [one.text for one in self.entrants], "seeds": list(self.seeds)}
        options, tables = self.target.options.as_dict(), self.target.tables
        target = self.target if isinstance(self.target, CustomTarget) else self.target.name
        return self._form("race", target, options, tables, entrants, {"points": self.points})

    @classmethod
    def from_dict(cls, plain: Any, targets: Mapping[str, Target] | None = None) -> RaceRecipe:
        """The recipe of plain values as `to_dict` gives them; only `methods` and `budget` must be there."""
        of_run.checked_parts(plain, "race", KEYS, "key of a race:")
        if missing := [key for key in ("methods", "budget") if key not in plain]:
            raise InputError(f"a race needs {' and '.join(missing)}")
        rest = {name: plain[name] for name in ("methods", "budget", "seeds", "points") if name in plain}
        rest["clock"] = plain.get("budget_unit", ...)
        with holding(plain.get("data", {})):
            return cls.checked(**of_run.problem_of(plain, targets), **rest).ending()

    def to_link(self) -> str:
        """A short text for links, without versions and default options. Raises InputError for a custom target."""
        given = {"target_options": of_run.given_options(self.target)}
        return of_run.pack({**self.to_dict(), **given}, "race", self.target)

    def to_python(self) -> str:
        """At most 15 lines that repeat the race and bind `race`; a race too long for that comes from its JSON file."""
        lines = self._lines()
        scaled = any(table.needs_recipe for table in self.target.tables)
        if scaled or len(lines) > of_run.MAX_LINES or max(map(len, lines)) > of_run.PIECE:
            why = "it has the table" if scaled else "too long for a few lines"
            long = f"# {why}: export the race as race.json too, and put it next to this file"
            note = [*([] if scaled else target_note(self.target)), long]
            read = "race = pmdviz.race(pmdviz.RaceRecipe.from_json({}))"
            lines = of_run.from_file("race.json", self.target, note, read)
        return "\n".join(lines) + "\n"

    def to_live_python(self) -> str:
        """A few lines of Python that show the live race of the first seed in a notebook and bind `race`."""
        return "\n".join([*self._lines("pmdviz.Race", f"seed={self.seeds[0]}"), "race"]) + "\n"

    def _lines(self, call: str = "pmdviz.race", seeds: str = "") -> list[str]:
        many = list(self.seeds) if self.seeds != tuple(range(len(self.seeds))) else len(self.seeds)
        parts = [*of_run.target_parts(self.target), f"budget={self.budget}"]
        parts += [] if self.budget_unit == DATA else [f"clock={self.budget_unit!r}"]
        parts += [seeds or f"seeds={many}"] + ([f"points={self.points}"] if self.points else [])
        methods = [f"        {line}," for line in joined([repr(one.text) for one in self.entrants])]
        body = ["    methods=[", *methods, "    ],", *(f"    {line}," for line in joined(parts))]
        return ["import pmdviz", "", *target_note(self.target), f"race = {call}(", *body, ")"]


# Two settings of one run side by side: a race of two with the run's target, seed and budget.

FACTOR = 2  # by which a number is varied by default


def compared(recipe: Recipe, now: Knobs, method: str, other: Knobs) -> RaceRecipe:
    """The race of a run's method with the knobs `now` and of `method` with the knobs `other`.

    Same target, seed, budget and its unit as in `recipe`; its log of knob changes is left out, as entrants have none.
    Of one method, the knobs that differ are given to both and come first: the titles then show them. Raises
    InputError where the other method cannot run on the target, or its knobs do not go with it.
    """
    target = recipe.make_target()
    first = differing(now, other) if method == recipe.method else ()
    pair = ((recipe.method, now), (method, other))
    given = [(name, knobs.as_dict(), given_knobs(name, knobs, target)) for name, knobs in pair]
    methods = [(name, {**{knob: plain[knob] for knob in first}, **turned}) for name, plain, turned in given]
    return RaceRecipe.checked(methods, target, None, recipe.budget, [recipe.seed], clock=recipe.budget_unit)


def differing(now: Knobs, other: Knobs) -> tuple[str, ...]:
    """Names of the knobs of one method that matter and differ."""
    mine, theirs = now.as_dict(), other.as_dict()
    return tuple(n for n in mine if mine[n] != theirs[n] and (now.matters(n, mine) or other.matters(n, theirs)))


def telling(spec: KnobSpec, value: Any) -> Iterator[Any]:
    """Other values of a knob, those most worth a comparison first.

    Of a number twice and half of it inside the slider, then the slider's ends; of a choice those behind it in turn.
    """
    found: list
    if spec.kind == "flag":
        found = [not value]
    elif spec.choices:
        at = spec.choices.index(value) + 1 if value in spec.choices else 0
        found = [*spec.choices[at:], *spec.choices[:at]]
    else:
        ends = spec.soft_bounds or spec.bounds or (None, None)
        low, high = (-np.inf if ends[0] is None else ends[0], np.inf if ends[1] is None else ends[1])
        half = value // FACTOR if spec.kind == "whole" else value / FACTOR
        found = [one for one in (FACTOR * value, half) if low <= one <= high]
        found += [end for end in ends[::-1] if end is not None]
    return (one for one in dict.fromkeys(found) if one != value)
