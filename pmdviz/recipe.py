"""A recipe: everything needed to reproduce a run, as a small frozen value with one canonical JSON form."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from importlib import metadata
from typing import Any

from pmdviz.errors import InputError, shown, unknown
from pmdviz.knobs import Knobs, whole_number
from pmdviz.methods import Method, find_method
from pmdviz.targets import Target, make_target
from pmdviz.targets.custom import CustomTarget

FORMAT = 1
DEFAULT_BUDGET = 20_000
MAX_BUDGET = 10**12
MAX_SEED = 2**53 - 1  # whole in JavaScript too
MAX_CHANGES = 10_000
KEYS = ("pmdviz_recipe", "target", "target_options", "method", "knobs", "seed", "budget", "changes", "made_with")

Change = tuple[int, dict[str, Any]]


@lru_cache(maxsize=32)
def _shared_target(name: str, options: tuple[tuple[str, Any], ...]) -> Target:
    return make_target(name, **dict(options))


@dataclass(frozen=True, init=False, eq=False)
class Recipe:
    """Target and options, method and knobs, seed, data budget, and the knob changes made while it ran.

    Keyword arguments that are not named are knobs of the method. `budget` is the number of data to visit (None: no
    end). `changes` are pairs (iteration, {knob: value}): after that iteration the knob took that value. Raises
    InputError for anything that cannot be used.
    """

    target: str
    target_options: dict[str, Any]
    method: str
    knobs: dict[str, Any]
    seed: int
    budget: int | None
    changes: tuple[Change, ...]
    custom: CustomTarget | None = field(repr=False)
    made_with: dict[str, str] = field(repr=False)

    def __init__(
        self,
        /,
        target: str | Target = "mixture",
        method: str = "pmd",
        *,
        target_options: Mapping[str, Any] | None = None,
        seed: int = 0,
        budget: int | None = DEFAULT_BUDGET,
        changes: Iterable[tuple[int, Mapping[str, Any]]] = (),
        made_with: Mapping[str, str] | None = None,
        **knobs: Any,
    ) -> None:
        made, way = _resolved_target(target, target_options or {}), find_method(method)
        start = way.Knobs.checked(knobs)
        start = start if set(knobs) & _unfit(start, way.fitted(start, made)) else way.fitted(start, made)
        way.check_pair(made, start)
        values = {
            "target": made.name,
            "target_options": made.options.as_dict(),
            "method": method,
            "knobs": start.as_dict(),
            "seed": _whole("seed", seed, 0, MAX_SEED),
            "budget": None if budget is None else _whole("budget", budget, 1, MAX_BUDGET),
            "changes": _checked_changes(changes, start, way, made),
            "custom": made if isinstance(made, CustomTarget) else None,
            "made_with": dict(made_with) if made_with is not None else versions(),
        }
        for name, value in values.items():
            object.__setattr__(self, name, value)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Recipe) and self._identity() == other._identity()

    def __hash__(self) -> int:
        return hash(self._identity())

    def _identity(self) -> str:
        """All that decides about the run, and so not the versions it was made with."""
        return json.dumps({**self.to_dict(), "made_with": None}, ensure_ascii=False, allow_nan=False)

    def replaced(self, **values: Any) -> Recipe:
        """The recipe with some of its parts (target, target_options, method, seed, budget, changes, knobs) changed.

        `knobs` replaces the starting knobs named in it.
        """
        parts = {
            "target": self.custom or self.target,
            "target_options": {} if self.custom else self.target_options,
            "method": self.method,
            "seed": self.seed,
            "budget": self.budget,
            "changes": self.changes,
        }
        knobs = {**self.knobs, **values.pop("knobs", {})}
        return Recipe(**{**parts, **values}, **knobs)

    def make_target(self) -> Target:
        """The target; built-in ones are shared between recipes, as they never change."""
        return self.custom or _shared_target(self.target, tuple(self.target_options.items()))

    def make_method(self) -> Method:
        """The method."""
        return find_method(self.method)

    def start_knobs(self) -> Any:
        """The knobs at iteration 0."""
        return self.make_method().Knobs(**self.knobs)

    def knobs_at(self, iteration: int) -> Any:
        """The knobs in force after the changes made at `iteration` and before."""
        values = dict(self.knobs)
        for at, change in self.changes:
            if at <= iteration:
                values.update(change)
        return self.make_method().Knobs(**values)

    def to_dict(self) -> dict[str, Any]:
        """The recipe as plain values, in the canonical order."""
        plain = {
            "pmdviz_recipe": FORMAT,
            "target": self.target if self.custom is None else {"custom": self.custom.fingerprint},
            "target_options": self.target_options,
            "method": self.method,
            "knobs": self.knobs,
            "seed": self.seed,
            "budget": self.budget,
            "changes": [[at, change] for at, change in self.changes],
            "made_with": self.made_with,
        }
        return plain

    def to_json(self, indent: int | None = None) -> str:
        """The canonical JSON form (valid JSON: no NaN)."""
        return json.dumps(self.to_dict(), indent=indent, ensure_ascii=False, allow_nan=False)

    @classmethod
    def from_json(cls, text: str | bytes, targets: Mapping[str, Target] | None = None) -> Recipe:
        """The recipe of a JSON text. `targets` holds custom targets by name. Raises InputError."""
        return cls.from_dict(_json_value(text), targets)

    @classmethod
    def from_dict(cls, plain: Any, targets: Mapping[str, Target] | None = None) -> Recipe:
        """The recipe of plain values as `to_dict` gives them; parts that are left out take their defaults."""
        if not isinstance(plain, Mapping):
            raise InputError(f"a recipe is an object with the keys {', '.join(KEYS)}; given: {shown(plain)}")
        for key in plain:
            if key not in KEYS:
                raise unknown("recipe key", key, KEYS)
        version = plain.get("pmdviz_recipe", FORMAT)
        if version != FORMAT or isinstance(version, bool):
            raise InputError(f"this pmdviz reads recipes of format {FORMAT}; given: format {shown(version)}")
        knobs = _mapping("knobs", plain.get("knobs", {}))
        known = find_method(plain.get("method", "pmd")).Knobs
        for name in knobs:
            if name not in known.specs():
                raise unknown(known.kind_words, name, known.specs())
        rest = {k: plain[k] for k in ("method", "seed", "budget", "changes") if k in plain}
        target = _named_target(plain.get("target", "mixture"), targets or {})
        options = _mapping("target_options", plain.get("target_options", {}))
        made_with = {_text(k): _text(v) for k, v in _mapping("made_with", plain.get("made_with", {})).items()}
        return cls(target, target_options=options, made_with=made_with or None, **rest, **knobs)

    def to_python(self) -> str:
        """A few lines of Python that repeat the run and bind `run`; only what differs from the defaults is written."""
        way = self.make_method()
        usual = way.fitted(way.Knobs.checked({}), self.make_target()).as_dict()
        specs = way.Knobs.specs()
        parts = [f"target={self.target if self.custom else repr(self.target)}"]
        if self.custom is None:
            plain = make_target(self.target).options.as_dict()
            changed = {k: v for k, v in self.target_options.items() if v != plain[k]}
            parts += [f"target_options={changed!r}"] if changed else []
        parts += [f"method={self.method!r}", f"seed={self.seed}", f"budget={self.budget}"]
        given = {k: v for k, v in self.knobs.items() if v != _usual(specs[k], usual, self.knobs)}
        parts += [f"{k}={v!r}" for k, v in given.items()]
        parts += [f"changes={[(at, change) for at, change in self.changes]!r}"] if self.changes else []
        note = f"# `{self.target}` is your own target, made with pmdviz.custom_target\n" if self.custom else ""
        return (
            f"import pmdviz\n\n{note}recipe = pmdviz.Recipe(\n    "
            + ",\n    ".join(_lines(parts))
            + (",\n)\nrun = pmdviz.run(recipe)\n")
        )


def versions() -> dict[str, str]:
    """The versions that decide about the bits of a run."""
    return {name: _version(name) for name in ("pmdviz", "numpy", "numba")}


def _version(name: str) -> str:
    try:
        return metadata.version(name)
    except metadata.PackageNotFoundError:
        return "not installed"


def _lines(parts: list[str]) -> list[str]:
    """`parts` joined by commas into lines of at most 100 characters, where they fit."""
    lines = parts[:1]
    for part in parts[1:]:
        joined = f"{lines[-1]}, {part}"
        lines = [*lines[:-1], joined] if len(joined) <= 100 else [*lines, part]
    return lines


def _usual(spec: Any, usual: Mapping[str, Any], values: Mapping[str, Any]) -> Any:
    return spec.default_given(values) if spec.default_by else usual[spec.name]


def _unfit(knobs: Knobs, fitted: Knobs) -> set[str]:
    """Names of the knobs that had to be changed to fit the target."""
    after = fitted.as_dict()
    return {name for name, value in knobs.as_dict().items() if value != after[name]}


def _resolved_target(target: str | Target, options: Mapping[str, Any]) -> Target:
    if isinstance(target, str):
        made = make_target(target, **_mapping("target_options", options))
        return _shared_target(made.name, tuple(made.options.as_dict().items()))
    if not isinstance(target, Target):
        raise InputError(f"target must be a name or a target; given: {shown(target)}")
    if options:
        raise InputError("target_options go with the name of a built-in target; a target that is made has its own")
    return (
        target
        if isinstance(target, CustomTarget)
        else _shared_target(target.name, tuple(target.options.as_dict().items()))
    )


def _named_target(given: Any, targets: Mapping[str, Target]) -> str | Target:
    if not isinstance(given, Mapping):
        if not isinstance(given, str):
            raise InputError(f"target must be a name; given: {shown(given)}")
        return given
    print_of = given.get("custom")
    if not isinstance(print_of, Mapping) or not isinstance(print_of.get("name"), str):
        raise InputError(f"target must be a name or {{'custom': ...}}; given: {shown(given)}")
    name = print_of["name"]
    if name not in targets:
        raise InputError(
            f"the recipe needs the custom target {name!r}; give it as Recipe.from_json(text, targets={{{name!r}: ...}})"
        )
    found = getattr(targets[name], "fingerprint", None)
    if found is None:
        raise InputError(f"targets[{name!r}] must be made with pmdviz.custom_target; given: {shown(targets[name])}")
    different = [key for key in found if not _same(found[key], print_of.get(key))]
    if different:
        raise InputError(f"the target {name!r} given is not the recipe's: {', '.join(different)} differ(s)")
    return targets[name]


def _same(mine: Any, theirs: Any) -> bool:
    if isinstance(mine, list):
        alike = isinstance(theirs, list) and len(mine) == len(theirs)
        return alike and all(_same(a, b) for a, b in zip(mine, theirs, strict=True))
    if isinstance(mine, float) and isinstance(theirs, (int, float)):
        return abs(mine - theirs) <= 1e-9 * max(1.0, abs(mine))
    return mine == theirs


def _checked_changes(changes: Any, start: Knobs, way: Method, target: Target) -> tuple[Change, ...]:
    """Changes in rising order, one entry an iteration, only what really changes. Raises InputError."""
    try:
        pairs = [(at, _mapping("a change", values)) for at, values in changes]
    except (TypeError, ValueError) as error:
        raise InputError(f"changes must be pairs (iteration, {{knob: value}}); given: {shown(changes)}") from error
    if len(pairs) > MAX_CHANGES:
        raise InputError(f"a recipe holds at most {MAX_CHANGES:,} changes; given: {len(pairs):,}")
    merged: dict[int, dict[str, Any]] = {}
    for at, values in sorted(((_whole("a change's iteration", at, 1, MAX_BUDGET), v) for at, v in pairs), key=_first):
        merged.setdefault(at, {}).update(values)
    knobs, kept = start, []
    for at, values in merged.items():
        after = knobs.replaced(**{str(k): v for k, v in values.items()})
        way.check_pair(target, after)
        changed = _changed(knobs, after)
        kept += [(at, changed)] if changed else []
        knobs = after
    return tuple(kept)


def _changed(before: Knobs, after: Knobs) -> dict[str, Any]:
    """The knobs that differ, with those whose default hangs on one of them: left out, they would go to that default."""
    old, new = before.as_dict(), after.as_dict()
    differ = {name for name in new if new[name] != old[name]}
    differ |= {name for name, spec in after.specs().items() if spec.default_by and spec.default_by[0] in differ}
    return {name: value for name, value in new.items() if name in differ}


def _first(pair: tuple[int, Any]) -> int:
    return pair[0]


def _text(value: Any) -> str:
    """`value` as a text that can be written: a lone surrogate becomes a question mark."""
    return str(value).encode("utf-8", "replace").decode()


def _mapping(what: str, value: Any) -> Mapping[str, Any]:
    if not isinstance(value, Mapping) or not all(isinstance(k, str) for k in value):
        raise InputError(f"{what} must be an object of names and values; given: {shown(value)}")
    return value


def _whole(what: str, value: Any, low: int, high: int) -> int:
    number = whole_number(value)
    if number is None or not low <= number <= high:
        raise InputError(f"{what} must be a whole number at least {low:,} and at most {high:,}; given: {shown(value)}")
    return number


def _json_value(text: str | bytes) -> Any:
    def no_constant(name: str) -> None:
        raise InputError(f"a recipe is valid JSON, which has no {name}")

    try:
        return json.loads(text, parse_constant=no_constant)
    except InputError:
        raise
    except (ValueError, TypeError, RecursionError) as error:
        raise InputError(f"this is not a recipe in JSON: {error}") from error
