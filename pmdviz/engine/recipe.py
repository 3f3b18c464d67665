"""A recipe: a small frozen value with everything needed to reproduce a run, with one canonical JSON form."""

from __future__ import annotations

import base64
import binascii
import json
import secrets
import zlib
from bisect import bisect_left, bisect_right
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from importlib import metadata
from itertools import repeat
from operator import itemgetter
from types import EllipsisType
from typing import Any, Self

from pmdviz.data.tables import Table, holding, packed, packed_text
from pmdviz.errors import InputError, check_known, entry, shown
from pmdviz.files import Json
from pmdviz.kernels.compiling import knob_groups
from pmdviz.kernels.jit import DEFAULT, in_dimensions, machine
from pmdviz.knobs import Knobs, Raw, Value, checked_whole
from pmdviz.methods import Method, MethodKnobs, find_method
from pmdviz.targets import Target, get_target, shared_target
from pmdviz.targets.custom import CustomTarget, choice_of, offered
from pmdviz.version import __version__

FORMAT = 4  # of recipes, races and links; another where the same settings give another run, such as a new default
MAX_BUDGET = 10**12
USUAL_TARGET = "mixture"  # where none is named
MAX_SEED = 2**53 - 1  # whole in JavaScript too
SPOKEN_SEEDS = 1_000  # a new seed is below it: short enough to say aloud in class
MAX_CHANGES = 10_000
MAX_DATA = 2_000  # bytes of a person's own tables in a link
LARGEST = 1_000_000  # bytes of JSON that a link may unfold to, and characters that it may have itself
most_changes = MAX_CHANGES  # in this process; a server sets less

Change = tuple[int, Mapping[str, Value]]
_iteration = itemgetter(0)  # of a change


class Portable:
    """A value with one canonical JSON form and a link; two are equal if their forms are, but for the versions.

    The recipes of a run and of a race have one form: the problem, who runs on it, the budget, the versions.
    """

    budget: int | None
    budget_unit: str
    made_with: Mapping[str, str]

    def _form(
        self,
        what: str,
        target: str | CustomTarget,
        options: Mapping[str, Value],
        tables: Sequence[Table],
        entrants: Mapping[str, Any],
        rest: Mapping[str, Any],
    ) -> dict[str, Json]:
        """The plain values of a `what`; `rest` follows the budget. No target is made for it."""
        return {
            f"pmdviz_{what}": FORMAT,
            "target": target if isinstance(target, str) else {"custom": target.fingerprint},
            "target_options": dict(options) if isinstance(target, str) else {},
            **entrants,
            "budget": self.budget,
            **({} if self.budget_unit == UNITS[0] else {"budget_unit": self.budget_unit}),
            **rest,
            **({"data": packed(tables)} if tables else {}),
            "made_with": dict(self.made_with),
        }

    def to_dict(self) -> dict[str, Json]:
        """Plain values, in the canonical order."""
        raise NotImplementedError

    @classmethod
    def from_dict(cls, plain: Json, targets: Mapping[str, Target] | None = None) -> Self:
        """The value of plain values as `to_dict` gives them. Raises InputError."""
        raise NotImplementedError

    def __eq__(self, other: object) -> bool:
        return self is other or isinstance(other, type(self)) and self._identity() == other._identity()

    def __hash__(self) -> int:
        return hash(self._identity())

    def _identity(self) -> str:
        """All that decides about the result, and so not the versions it was made with."""
        return json.dumps({**self.to_dict(), "made_with": None}, ensure_ascii=False, allow_nan=False)

    def to_json(self, indent: int | None = None) -> str:
        """The canonical JSON form (valid JSON: no NaN)."""
        return json.dumps(self.to_dict(), indent=indent, ensure_ascii=False, allow_nan=False)

    @classmethod
    def from_json(cls, text: str | bytes, targets: Mapping[str, Target] | None = None) -> Self:
        """The value of a JSON text. `targets` holds custom targets by name. Raises InputError."""
        return cls.from_dict(json_value(text), targets)

    @classmethod
    def from_link(cls, text: str) -> Self:
        """The value of `to_link`'s text. Raises InputError."""
        return cls.from_dict(unfold(text))


def problem_of(plain: Mapping[str, Any], targets: Mapping[str, Target] | None) -> dict[str, Any]:
    """Target, its options and the versions in the plain values of a run or a race. Raises InputError."""
    made_with = {"made_with": checked_versions(plain["made_with"]) or None} if "made_with" in plain else {}
    return {
        "target": named_target(plain.get("target", USUAL_TARGET), targets or {}),
        "target_options": mapping("target_options", plain.get("target_options", {})),
        **made_with,
    }


def fresh_seed(now: int) -> int:
    """Another seed than `now`, by chance."""
    return (now + 1 + secrets.randbelow(SPOKEN_SEEDS - 1)) % SPOKEN_SEEDS


def suited(start: MethodKnobs, given: Collection[str], fitted: MethodKnobs) -> MethodKnobs:
    """The knobs as fitted to the target, but for those that were given: these stay as they are, fit or not."""
    after = fitted.as_dict()
    kept = {name: value for name, value in start.as_dict().items() if name in given and value != after[name]}
    return fitted.changed(kept) if kept else fitted


def named_target(given: Json, targets: Mapping[str, Target]) -> str | Target:
    """The target that a recipe names; a custom target must be in `targets` and be the same. Raises InputError."""
    if not isinstance(given, Mapping):
        if not isinstance(given, str):
            raise InputError(f"target must be a name; got {shown(given)}")
        return given
    print_of = given.get("custom")
    if not isinstance(print_of, Mapping) or not isinstance(print_of.get("name"), str):
        raise InputError(f"target must be a name or {{'custom': ...}}; got {shown(given)}")
    name, targets = print_of["name"], {**offered(), **targets}
    if name not in targets:
        cure = "open it where it is, or start a server with it: pmdviz serve --target MODULE:OBJECT"
        on_page = f"this run needs the model {shown(name)}, which is not offered here; {cure}"
        words = f"the recipe needs the custom target {name!r}"
        raise InputError(f"{words}; give it: Recipe.from_json(text, targets={{{name!r}: ...}})", on_page=on_page)
    found = getattr(targets[name], "fingerprint", None)
    if found is None:
        raise InputError(f"targets[{name!r}] must be made with pmdviz.custom_target; got {shown(targets[name])}")
    different = [key for key in {**found, **print_of} if not _same(found.get(key), print_of.get(key))]
    if different:
        words = f"the given target {name!r} does not match the recipe ({', '.join(different)} differ)"
        raise InputError(f"{words}; give the target that the recipe was made with, or make a recipe of yours")
    return targets[name]


def _same(mine: Json, theirs: Json) -> bool:
    if isinstance(mine, list) and isinstance(theirs, list):
        return len(mine) == len(theirs) and all(_same(a, b) for a, b in zip(mine, theirs, strict=True))
    if isinstance(mine, float) and isinstance(theirs, (int, float)):
        return abs(mine - theirs) <= 1e-9 * max(1.0, abs(mine))
    return mine == theirs


def checked_changes(
    changes: Iterable[tuple[int, Mapping[str, Raw]]], start: MethodKnobs, way: Method, target: Target
) -> tuple[Change, ...]:
    """Changes in rising order, one entry an iteration, only what really changes. Raises InputError."""
    try:
        pairs = [(at, mapping("a change", values)) for at, values in changes]
    except (TypeError, ValueError) as error:
        raise InputError(f"changes must be pairs (iteration, {{knob: value}}); got {shown(changes)}") from error
    if len(pairs) > most_changes:
        raise InputError(f"a recipe holds at most {most_changes:,} changes here; got {len(pairs):,}")
    merged: dict[int, dict[str, Raw]] = {}
    numbered = ((checked_whole("a change's iteration", at, 1, MAX_BUDGET), values) for at, values in pairs)
    for at, values in sorted(numbered, key=_iteration):
        merged.setdefault(at, {}).update(values)
    knobs, kept = start, []
    for at, values in merged.items():
        after = knobs.replaced(**{str(k): v for k, v in values.items()})
        way.check_pair(target, after)
        changed = changed_knobs(knobs, after)
        kept += [(at, changed)] if changed else []
        knobs = after
    return tuple(kept)


def changed_knobs(before: MethodKnobs, after: MethodKnobs) -> dict[str, Value]:
    """The knobs that differ, with those whose default depends on one of them: left out, they would take it."""
    old, new = before.as_dict(), after.as_dict()
    differ = {name for name in new if new[name] != old[name]}
    differ |= {name for name, spec in after.specs().items() if spec.default_by and spec.default_by[0] in differ}
    return {name: value for name, value in new.items() if name in differ}


def checked_parts(plain: Json, what: str, keys: Sequence[str], key_of: str) -> Mapping[str, Json]:
    """`plain` if it is an object of these keys, the first of them its format; raises InputError otherwise."""
    if not isinstance(plain, Mapping):
        raise InputError(f"a {what} is an object with the keys {', '.join(keys)}; got {shown(plain)}")
    check_known(key_of, plain, keys)
    given = plain.get(keys[0], FORMAT)
    if type(given) is not int or given != FORMAT:
        raise other_format(what, given)
    return plain


def checked_versions(given: Raw) -> dict[str, str]:
    """Names and versions, all of them texts that can be written. Raises InputError."""
    versions = mapping("made_with", given)
    if not all(isinstance(version, str) for version in versions.values()):
        raise InputError(f"made_with must give versions as texts, as in {{'numpy': '2.0'}}; got {shown(given)}")
    return {written(name): written(version) for name, version in versions.items()}


def written(text: str) -> str:
    """`text` as one that can be written: a lone surrogate becomes a question mark."""
    return text.encode("utf-8", "replace").decode()


def mapping(what: str, value: Raw | Mapping[str, Raw]) -> Mapping[str, Any]:
    """`value` if it is an object of names and values. Raises InputError."""
    if not isinstance(value, Mapping) or not all(map(isinstance, value, repeat(str))):
        raise InputError(f"{what} must be an object of names and values; got {shown(value)}")
    return value


def json_value(text: str | bytes) -> Json:
    """The value of a JSON text. Raises InputError, also for NaN, a key given twice and nesting without end."""

    def no_constant(name: str) -> None:
        raise InputError(f"a recipe is valid JSON, which has no {name}")

    try:
        if isinstance(text, bytes):  # `json` would guess without a byte order mark
            text = text.decode("utf-16" if text.startswith((b"\xff\xfe", b"\xfe\xff")) else "utf-8")
        text = text.removeprefix("\ufeff") if isinstance(text, str) else text
        return json.loads(text, parse_constant=no_constant, object_pairs_hook=_object)
    except InputError:
        raise
    except (ValueError, TypeError, RecursionError) as error:
        raise InputError(f"this is not a recipe in JSON: {error}; `pmdviz run --json FILE` writes one") from error


def _object(pairs: list[tuple[str, Json]]) -> dict[str, Json]:
    """An object of JSON. Of two values of one key `json` would take the last, without a word."""
    found: dict[str, Json] = {}
    for key, value in pairs:
        if key in found:
            raise InputError(f"a recipe must give each key once; remove one of the two {shown(key)}")
        found[key] = value
    return found


def other_format(what: str, given: Json) -> InputError:
    """The refusal of a recipe, race or link of another format."""
    words = f"this pmdviz reads {what}s of format {FORMAT}; this one has format {shown(given, 12)}"
    return InputError(f"{words}: make it again here, or open it with the pmdviz that made it")


def pack(plain: Mapping[str, Json], what: str, target: Target | None) -> str:
    """The text of a link to a recipe or race of these plain values, `target` its own one if it has one.

    Versions and large tables are left out; their names and digits stay. Raises InputError for a target of one's own
    that no server offers, and for too much.
    """
    if isinstance(target, CustomTarget) and choice_of(target) is target:
        raise InputError(f"a link cannot hold your own target {target.name!r}; share the {what} as a file")
    left_out = (f"pmdviz_{what}", "made_with")
    kept = {name: value for name, value in plain.items() if name not in left_out and value not in ({}, [])}
    tables = kept.get("data")
    if isinstance(tables, Mapping) and not fits_link(str(packed_text(table)) for table in tables.values()):
        del kept["data"]
    return fold(kept)


def fits_link(tables: Iterable[str]) -> bool:
    """Whether a link carries tables of these texts."""
    return sum(len(text.encode()) for text in tables) <= MAX_DATA


def fold(plain: Mapping[str, Json]) -> str:
    """Plain values as the text of a link: the format's number, a dot, and the base64url of their deflated JSON.

    Equal values in the same order give equal texts. Raises InputError for more than LARGEST bytes of JSON.
    """
    text = json.dumps(plain, separators=(",", ":"), ensure_ascii=False, allow_nan=False).encode()
    if len(text) > LARGEST:
        raise InputError(f"a link holds at most {LARGEST:,} bytes of JSON; this one has {len(text):,}: share a file")
    return f"{FORMAT}.{base64.urlsafe_b64encode(zlib.compress(text, 9, wbits=-15)).decode().rstrip('=')}"


def unfold(text: str) -> Json:
    """The plain values of `fold`'s text, not checked yet. Raises InputError with one sentence for others."""
    if not isinstance(text, str):
        raise InputError(f"a link is a text, as Recipe.to_link gives it; got {shown(text)}")
    if len(text) > LARGEST:
        raise InputError(f"a link has at most {LARGEST:,} characters; this one has {len(text):,}")
    number, dot, body = text.partition(".")
    if not dot or not number.isascii() or not number.isdecimal():
        raise InputError("this link is incomplete or is not a link of pmdviz; copy it again from its source")
    if number != str(FORMAT):
        raise other_format("link", int(number[:18]))
    broken = "the link was cut short or changed in transit; copy it again from its source"
    try:
        squeezed = base64.b64decode(body + "=" * (-len(body) % 4), altchars=b"-_", validate=True)
        unfolder = zlib.decompressobj(-15)
        unfolded = unfolder.decompress(squeezed, LARGEST)
    except (binascii.Error, ValueError, zlib.error) as error:
        raise InputError(broken) from error
    if not unfolder.eof or unfolder.unused_data:
        raise InputError(broken)
    return mapping("what a link says", json_value(unfolded))


MAX_LINES, WIDTH, PIECE = 15, 100, 190  # of the Python text: lines, characters of one, characters of a piece of a link
UNITS = ("data", "evaluations")
USUAL_METHOD = "pmd"  # where none is named
PARTS = ("method", "seed", "budget", "budget_unit", "changes")  # of its plain values; its arguments have the same names
KEYS = tuple("pmdviz_recipe target target_options method knobs seed budget budget_unit changes data made_with".split())


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
    _start: MethodKnobs  # of the method, at iteration 0
    seed: int
    budget: int | None
    budget_unit: str
    changes: tuple[Change, ...]
    custom: CustomTarget | None
    tables: tuple[Table, ...]  # a person's own, which the target's options name
    made_with: dict[str, str]

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
        parts: dict[str, Any] = {name: getattr(self, name) for name in PARTS}
        parts |= {"target": self.custom or self.target, "target_options": {} if self.custom else self.target_options}
        same_method = values.get("method", self.method) == self.method
        given = _named_knobs(values.get("method", self.method), values.pop("knobs", {}))
        check_known("part of a recipe", values, [*parts, "made_with", "knobs"])
        knobs = {**(self.knobs if same_method else {}), **given}
        return Recipe(**{**parts, **values, **knobs})

    def with_change(self, iteration: int, knobs: MethodKnobs) -> Recipe:
        """The recipe in which the knobs become `knobs` after `iteration`, without the changes after that.

        Raises InputError where the log is full.
        """
        earlier = self.changes[: bisect_left(self.changes, iteration, key=_iteration)]
        changed = changed_knobs(self.knobs_at(iteration - 1), knobs)
        if changed and len(earlier) >= most_changes:
            raise InputError(f"a recipe holds at most {most_changes:,} changes here; restart the run for a new log")
        return self._unchecked_copy(changes=(*earlier, (iteration, changed)) if changed else earlier)

    def restarted(self, knobs: MethodKnobs, seed: int | None = None) -> Recipe:
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
        return self.custom or shared_target(self.target, self._options)

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

    def start_knobs(self) -> MethodKnobs:
        """The knobs at iteration 0."""
        return self._start

    def knobs_at(self, iteration: int) -> MethodKnobs:
        """The knobs in force after the changes made at `iteration` and before."""
        return type(self._start)(**self.values_at(iteration))

    def values_at(self, iteration: int) -> dict[str, Value]:
        """Their plain values, which cost a tenth."""
        values = self.knobs
        for _, change in self.changes[: bisect_right(self.changes, iteration, key=_iteration)]:
            values.update(change)
        return values

    def knobs_in_turn(self) -> Iterator[MethodKnobs]:
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
        target = self.custom or self.target
        return self._form("recipe", target, self.target_options, self.tables, entrant, {"changes": changes})

    @classmethod
    def from_dict(cls, plain: Json, targets: Mapping[str, Target] | None = None) -> Recipe:
        """The recipe of plain values as `to_dict` gives them; parts that are left out take the defaults.

        The result of a run, as `pmdviz run --json` writes it, is taken for the recipe in it.
        """
        if isinstance(plain, Mapping) and isinstance(plain.get("recipe"), Mapping):
            plain = plain["recipe"]
        plain = checked_parts(plain, "recipe", KEYS, "recipe key")
        rest: dict[str, Any] = {name: plain[name] for name in PARTS if name in plain}
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


RUN_PARTS = ("seed", "budget")  # what a control may be besides knobs and options of the target


def controls_of(recipe: Recipe) -> dict[str, str]:
    """All that a control may be for a recipe -> the part of the recipe where it stands."""
    options = dict.fromkeys(recipe.make_target().options.specs(), "target_options")
    return options | dict.fromkeys(recipe.start_knobs().specs(), "knobs") | {name: name for name in RUN_PARTS}


def begun_with(recipe: Recipe, values: Mapping[str, Any]) -> Recipe:
    """The recipe with other values of controls from its start on. Raises InputError."""
    known = controls_of(recipe)
    parts: dict[str, Any] = {"knobs": {}, "target_options": dict(recipe.target_options)}
    for name, value in values.items():
        part = entry("control", name, known)
        if part == name:
            parts[name] = value
        else:
            parts[part][name] = value
    return recipe.replaced(**parts)


def _usual_budget(method: Method, target: Target, knobs: MethodKnobs, unit: str) -> int:
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


def _named_knobs(method: str, given: Raw) -> Mapping[str, Raw]:
    """`given` if it names knobs of the method alone: none may pass for a part of the recipe. Raises InputError."""
    knobs, known = mapping("knobs", given), find_method(method).Knobs
    check_known(known.kind_words, knobs, known.specs())
    return knobs


def given_options(target: Target) -> dict[str, Value]:
    """The options of a built-in target that differ from what they would be if nothing but the data were said."""
    if isinstance(target, CustomTarget):
        return {}
    options, specs = target.options.as_dict(), target.Options.specs()
    data = {"data": options["data"]} if "data" in options else {}
    usual = {**target.checked_options(data).as_dict(), "data": specs["data"].default if data else None}
    return {name: value for name, value in options.items() if value != specs[name].default_beside(options, usual)}


def given_knobs(method: str, knobs: MethodKnobs, target: Target) -> dict[str, Value]:
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


_version = lru_cache(metadata.version)
