"""A recipe: a small frozen value with everything needed to reproduce a run, with one canonical JSON form."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from importlib import metadata
from types import EllipsisType
from typing import Any

from pmdviz.data.tables import Table, holding
from pmdviz.engine.recipe_parts import (
    MAX_BUDGET,
    MAX_SEED,
    USUAL_TARGET,
    Change,
    Portable,
    changed_knobs,
    checked_changes,
    checked_parts,
    checked_versions,
    checked_whole,
    fits_link,
    mapping,
    most_changes,
    pack,
    problem_of,
    suited,
)
from pmdviz.errors import InputError, shown, unknown
from pmdviz.files import Json
from pmdviz.kernels.compiling import knob_groups
from pmdviz.kernels.jit import DEFAULT, in_dimensions, machine
from pmdviz.knobs import Knobs, Raw, Value
from pmdviz.methods import Method, find_method
from pmdviz.targets import Target, get_target, shared_target
from pmdviz.targets.custom import CustomTarget
from pmdviz.version import __version__

MAX_LINES, WIDTH, PIECE = 15, 100, 190  # of the Python text: lines, characters of one, characters of a piece of a link
UNITS = ("data", "evaluations")
USUAL_METHOD = "pmd"  # where none is named
KEYS = (
    "pmdviz_recipe",
    "target",
    "target_options",
    "method",
    "knobs",
    "seed",
    "budget",
    "budget_unit",
    "changes",
    "data",
    "made_with",
)


@dataclass(frozen=True, init=False, eq=False, repr=False)
class Recipe(Portable):
    """Target and options, method and knobs, seed, data budget, and the knob changes made while it ran.

    Keyword arguments that are not named are knobs of the method. `budget` is the number of observations to use (None:
    no end; by default what the method needs, `default_budget`). With `budget_unit` "evaluations" it counts evaluations
    of likelihoods and gradients instead, each pair of particle and observation as one; a target without
    data has no other unit. `changes` are pairs (iteration, {knob: value}): after that iteration the knob took that
    value. Raises InputError for anything that cannot be used.
    """

    target: str
    method: str
    _options: Knobs  # of the target
    _start: Knobs  # of the method, at iteration 0
    seed: int
    budget: int | None
    budget_unit: str
    changes: tuple[Change, ...]
    custom: CustomTarget | None
    tables: tuple[Table, ...]  # a person's own, which the target's options name
    made_with: dict[str, str]
    _made: Target | None  # by `make_target`

    def __init__(
        self,
        /,
        target: str | Target = USUAL_TARGET,
        method: str = USUAL_METHOD,
        *,
        target_options: Mapping[str, Raw] | None = None,
        seed: int = 0,
        budget: int | None | EllipsisType = ...,
        budget_unit: str | EllipsisType = ...,
        changes: Iterable[tuple[int, Mapping[str, Raw]]] = (),
        made_with: Mapping[str, str] | None = None,
        **knobs: Raw,
    ) -> None:
        made, way = get_target(target, mapping("target_options", target_options or {})), find_method(method)
        start = way.Knobs.checked(knobs)
        start = suited(start, knobs, way.fitted(start, made))
        way.check_pair(made, start)
        unit = checked_unit(budget_unit, made)
        if budget is not ... and budget is not None:
            budget = checked_whole("budget", budget, 1, MAX_BUDGET)
        values = {
            "target": made.name,
            "method": method,
            "_options": made.options,
            "_start": start,
            "seed": checked_whole("seed", seed, 0, MAX_SEED),
            "budget": _usual_budget(way, made, start, unit) if budget is ... else budget,
            "budget_unit": unit,
            "changes": checked_changes(changes, start, way, made),
            "custom": made if isinstance(made, CustomTarget) else None,
            "tables": made.tables,
            "made_with": versions() if made_with is None else checked_versions(made_with),
            "_made": None,
        }
        self.__dict__.update(values)

    @property
    def target_options(self) -> dict[str, Value]:
        """The options of the target as plain values."""
        return self._options.as_dict()

    @property
    def knobs(self) -> dict[str, Value]:
        """The knobs at iteration 0 as plain values."""
        return self._start.as_dict()

    @property
    def given_knobs(self) -> dict[str, Value]:
        """Those of them that differ from what they would be if nothing were said."""
        return given_knobs(self.method, self._start, self.make_target())

    def __repr__(self) -> str:
        names = ("target", "target_options", "method", "knobs", "seed", "budget", "budget_unit", "changes")
        return f"Recipe({', '.join(f'{name}={getattr(self, name)!r}' for name in names)})"

    def replaced(self, **values: Any) -> Recipe:
        """The recipe with some of its parts (target, target_options, method, seed, budget, changes, knobs) changed.

        `knobs` replaces the starting knobs named in it. Another target or method starts from its own defaults. Raises
        InputError.
        """
        if values.get("target", self.target) != self.target:
            values = {"target_options": {}, "budget_unit": ..., **values}
        parts: dict[str, Any] = {
            "target": self.custom or self.target,
            "target_options": {} if self.custom else self.target_options,
            "method": self.method,
            "seed": self.seed,
            "budget": self.budget,
            "budget_unit": self.budget_unit,
            "changes": self.changes,
        }
        same_method = values.get("method", self.method) == self.method
        given = _named_knobs(values.get("method", self.method), values.pop("knobs", {}))
        for name in values:
            if name not in (*parts, "made_with"):
                raise unknown("part of a recipe", name, [*parts, "made_with", "knobs"])
        knobs = {**(self.knobs if same_method else {}), **given}
        return Recipe(**{**parts, **values, **knobs})

    def with_change(self, iteration: int, knobs: Knobs) -> Recipe:
        """The recipe in which the knobs become `knobs` after `iteration`, without the changes after that.

        Raises InputError where the log is full.
        """
        earlier = self.changes[: bisect_left(self.changes, iteration, key=_iteration)]
        changed = changed_knobs(self.knobs_at(iteration - 1), knobs)
        if changed and len(earlier) >= most_changes():
            raise InputError(f"a recipe holds at most {most_changes():,} changes here; restart the run for a new log")
        return self._unchecked_copy(changes=(*earlier, (iteration, changed)) if changed else earlier)

    def restarted(self, knobs: Knobs, seed: int | None = None) -> Recipe:
        """The recipe that starts with `knobs` and has no changes, made here and now; with its own seed, or another.

        The knobs must have been checked, as those in force were.
        """
        seed = self.seed if seed is None else seed
        return self._unchecked_copy(_start=knobs, changes=(), seed=seed, made_with=versions())

    def limited(self, budget: int | None) -> Recipe:
        """The recipe with another budget, which must be a whole number above 0 or None."""
        return self._unchecked_copy(budget=budget)

    def until(self, iteration: int, budget: int | None) -> Recipe:
        """The recipe without the knob changes after `iteration`, with another budget (a whole number above 0, None)."""
        changes = tuple(change for change in self.changes if change[0] <= iteration)
        return self._unchecked_copy(budget=budget, changes=changes)

    def _unchecked_copy(self, **checked: Any) -> Recipe:
        """A copy with parts that need no check; a live run makes one for every move of a slider."""
        other = object.__new__(Recipe)
        other.__dict__.update({**self.__dict__, **checked})
        return other

    def make_target(self) -> Target:
        """The target; built-in ones are shared between recipes, because they never change."""
        made = self._made or self.custom or shared_target(self.target, self._options)
        self.__dict__["_made"] = made
        return made

    def __getstate__(self) -> dict[str, Any]:
        """The parts without the built-in target, which another process makes again."""
        return {**self.__dict__, "_made": None}

    @property
    def kernel_groups(self) -> tuple[str, ...]:
        """The groups of compiled kernels that a run of it needs."""
        target, method = self.make_target(), self.make_method()
        chain = f"{method.chain_kernels}, {type(target.model).__name__}"
        chains = [chain] if method.chain_kernels and target.model is not None else []
        own = (*target.kernel_groups, *method.kernel_groups, *chains, *knob_groups(**self.knobs))
        return tuple(dict.fromkeys([DEFAULT, in_dimensions(target.dim), *own]))

    def make_method(self) -> Method:
        """The method."""
        return find_method(self.method)

    @property
    def default_budget(self) -> int:
        """The default budget of a recipe like this: the need of the method on the target."""
        return _usual_budget(self.make_method(), self.make_target(), self.start_knobs(), self.budget_unit)

    def start_knobs(self) -> Knobs:
        """The knobs at iteration 0."""
        return self._start

    def knobs_at(self, iteration: int) -> Knobs:
        """The knobs in force after the changes made at `iteration` and before."""
        return type(self._start)(**self.values_at(iteration))

    def values_at(self, iteration: int) -> dict[str, Value]:
        """Their plain values, which cost a tenth."""
        values = self.knobs
        for _, change in self.changes[: bisect_right(self.changes, iteration, key=_iteration)]:
            values.update(change)
        return values

    def knobs_in_turn(self) -> Iterator[Knobs]:
        """The knobs at iteration 0, and those after each change."""
        now = self.start_knobs()
        yield now
        for _, change in self.changes:
            now = now.changed(change)
            yield now

    def change_at(self, iteration: int) -> Mapping[str, Value]:
        """The knobs that are changed at `iteration`, and their values; often none."""
        k = bisect_left(self.changes, iteration, key=_iteration)
        return self.changes[k][1] if k < len(self.changes) and self.changes[k][0] == iteration else {}

    def next_change(self, iteration: int) -> int | None:
        """The first iteration after this one at which knobs are changed; None: no more."""
        k = bisect_right(self.changes, iteration, key=_iteration)
        return self.changes[k][0] if k < len(self.changes) else None

    def to_dict(self) -> dict[str, Json]:
        """The recipe as plain values, in the canonical order."""
        entrant = {"method": self.method, "knobs": self.knobs, "seed": self.seed}
        changes = [[at, change] for at, change in self.changes]
        return self._form("recipe", self.make_target(), entrant, {"changes": changes})

    @classmethod
    def from_dict(cls, plain: Json, targets: Mapping[str, Target] | None = None) -> Recipe:
        """The recipe of plain values as `to_dict` gives them; parts that are left out take the defaults.

        The result of a run, as `pmdviz run --json` writes it, is taken for the recipe in it.
        """
        if isinstance(plain, Mapping) and isinstance(plain.get("recipe"), Mapping):
            plain = plain["recipe"]
        plain = checked_parts(plain, "recipe", KEYS, "recipe key")
        rest: dict[str, Any] = {
            k: plain[k] for k in ("method", "seed", "budget", "budget_unit", "changes") if k in plain
        }
        rest |= _named_knobs(rest.get("method", USUAL_METHOD), plain.get("knobs", {}))
        with holding(plain.get("data", {})):
            return cls(**problem_of(plain, targets), **rest)

    def to_link(self) -> str:
        """The recipe as a short text for the query of a link, which leaves out settings at their defaults.

        Raises InputError for a custom target.
        """
        given = {"target_options": given_options(self.make_target()), "knobs": self.given_knobs}
        return pack({**self.to_dict(), **given}, "recipe", self.custom)

    def to_python(self) -> str:
        """A few lines of Python that run the whole recipe and bind `run`; settings at their defaults are left out.

        A recipe without an end is run to its last change, or for 100 iterations.
        """
        endless = self.budget is None
        return as_python(self, max([100, *(at for at, _ in self.changes)]) if endless else None)


def _usual_budget(method: Method, target: Target, knobs: Knobs, unit: str) -> int:
    each = getattr(knobs, "num_particles", 1) if unit == "evaluations" else 1  # that a row costs
    return min(MAX_BUDGET, each * method.default_budget(target, knobs))


def checked_unit(unit: str | EllipsisType, target: Target, name: str = "budget_unit") -> str:
    """The unit of the budget; by default data, and evaluations where there are none. Raises InputError."""
    if unit is ...:
        return UNITS[target.data is None]
    if unit not in UNITS:
        raise InputError(f"{name} must be one of {', '.join(UNITS)}; got {shown(unit)}", "budget_unit")
    if target.data is None and unit == "data":
        words = f"target {target.name!r} has no data: its budget counts evaluations; leave budget_unit out"
        raise InputError(words, "budget_unit")
    return unit


def _iteration(change: Change) -> int:
    return change[0]


def _named_knobs(method: str, given: Raw) -> Mapping[str, Raw]:
    """`given` if it names knobs of the method alone: none may pass for a part of the recipe. Raises InputError."""
    knobs, known = mapping("knobs", given), find_method(method).Knobs
    for name in knobs:
        if name not in known.specs():
            raise unknown(known.kind_words, name, known.specs())
    return knobs


def given_options(target: Target) -> dict[str, Value]:
    """The options of a built-in target that differ from what they would be if nothing but the data were said."""
    if isinstance(target, CustomTarget):
        return {}
    options, specs = target.options.as_dict(), target.Options.specs()
    data = {"data": options["data"]} if "data" in options else {}
    usual = {**target.checked_options(data).as_dict(), "data": specs["data"].default if data else None}
    return {name: value for name, value in options.items() if value != specs[name].default_beside(options, usual)}


def given_knobs(method: str, knobs: Knobs, target: Target) -> dict[str, Value]:
    """The knobs of a method that differ from what they would be if nothing were said."""
    way = find_method(method)
    usual, specs, plain = way.fitted(way.Knobs.defaults(), target).as_dict(), knobs.specs(), knobs.as_dict()
    return {name: value for name, value in plain.items() if value != specs[name].default_beside(plain, usual)}


def as_python(recipe: Recipe, iterations: int | None = None) -> str:
    """At most 15 lines that repeat the recipe's run and bind `run`; only what differs from the defaults is written.

    The run goes to the end of its budget, or for so many iterations.
    A log of changes that does not fit comes as the text of a link, a still longer one from the JSON form in a file.
    """
    target = recipe.make_target()
    parts = [*target_parts(target), f"method={recipe.method!r}", f"seed={recipe.seed}", f"budget={recipe.budget}"]
    parts += [f"budget_unit={recipe.budget_unit!r}"] if recipe.budget_unit != "data" else []
    parts += [f"{name}={value!r}" for name, value in recipe.given_knobs.items()]
    lines = ["import pmdviz", "", *target_note(target), *_changes(recipe), "recipe = pmdviz.Recipe("]
    lines += [f"    {line}," for line in joined(parts + (["changes=changes"] if recipe.changes else []))]
    lines += [")"]
    end = ["run = pmdviz.run(recipe)"]
    if iterations is not None:
        end = ["session = pmdviz.Session(recipe)", f"session.advance({iterations})", "run = session.run"]
    by_link = recipe.custom is None and fits_link(table.text for table in recipe.tables)
    alone = by_link and any(table.origin == "" for table in recipe.tables)  # no file lies anywhere
    ways = (
        *([_from_link(recipe)] if alone else []),
        *([] if any(table.needs_recipe for table in recipe.tables) else [lines]),
        *([_from_link(recipe)] if by_link else []),
        _from_file(recipe, target),
    )
    return "\n".join([*next(way for way in ways if len(way) + len(end) <= MAX_LINES), *end]) + "\n"


def target_parts(target: Target) -> list[str]:
    """The arguments that name a target in Python, with the options that are not the usual ones."""
    options = given_options(target)
    name = target.name if isinstance(target, CustomTarget) else repr(target.name)
    return [f"target={name}", *([f"target_options={options!r}"] if options else [])]


def target_note(target: Target) -> list[str]:
    """Lines before those that name a person's own target or tables: how each table is made, or where its file must be.

    Its digits are checked where they run.
    """
    own = isinstance(target, CustomTarget)
    note = [f"# `{target.name}` is your own target, made with pmdviz.custom_target"] if own else []
    return note + [
        f"data = {table.origin}  # the file lies next to this one"
        if table.origin
        else f"# {table.name}, with the same numbers, lies next to this file; the recipe as JSON has it"
        for table in target.tables
    ]


def _changes(recipe: Recipe) -> list[str]:
    if not recipe.changes:
        return []
    return ["changes = [", *(f"    {line}," for line in joined([repr(tuple(one)) for one in recipe.changes])), "]"]


def _from_link(recipe: Recipe) -> list[str]:
    text = recipe.to_link()
    pieces = [text[at : at + PIECE] for at in range(0, len(text), PIECE)]
    return [
        "import pmdviz",
        "",
        f"link = (  # {recipe.method} on {recipe.target} with {len(recipe.changes)} changes during the run",
        *(f'    "{piece}",' for piece in pieces),
        ")",
        'recipe = pmdviz.Recipe.from_link("".join(link))',
    ]


def _from_file(recipe: Recipe, target: Target) -> list[str]:
    save = "save the recipe next to this file"
    many = f"# {len(recipe.changes):,} changes during the run are too many for a few lines: {save}"
    scaled = [f"# the recipe as JSON has {table.name}: {save}" for table in recipe.tables if table.needs_recipe]
    return from_file("recipe.json", target, scaled or [many], "recipe = pmdviz.Recipe.from_json({})")


def from_file(name: str, target: Target, note: Sequence[str], line: str) -> list[str]:
    """Lines that read the JSON form of a recipe or a race on a target; `line` binds it, with {} for the text."""
    targets = f", targets={{{target.name!r}: {target.name}}}" if isinstance(target, CustomTarget) else ""
    text = f'text = pathlib.Path("{name}").read_text(encoding="utf-8")'
    return ["import pathlib", "import pmdviz", "", *note, text, line.format(f"text{targets}")]


def joined(parts: list[str]) -> list[str]:
    """`parts` joined by commas into lines of at most 100 characters, where they fit."""
    lines = parts[:1]
    for part in parts[1:]:
        joined = f"{lines[-1]}, {part}"
        lines = [*lines[:-1], joined] if len(joined) <= WIDTH else [*lines, part]
    return lines


def versions() -> dict[str, str]:
    """The versions and the parts of this computer on which the bits of a run depend."""
    return {"pmdviz": __version__, "numpy": _version("numpy"), "numba": _version("numba")} | machine()


@lru_cache
def _version(name: str) -> str:
    try:
        return metadata.version(name)
    except metadata.PackageNotFoundError:
        return "not installed"
