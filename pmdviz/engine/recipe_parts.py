"""The parts of a recipe from outside: checked, with a sentence for everything that cannot be used.

The text of links too: a format's number and folded JSON, with no module named and no code in it.
"""

from __future__ import annotations

import base64
import binascii
import json
import secrets
import zlib
from collections.abc import Iterable, Mapping, Sequence
from itertools import repeat
from typing import Any, Self

from pmdviz.data.tables import packed_text
from pmdviz.errors import InputError, shown, unknown
from pmdviz.files import Json
from pmdviz.knobs import Knobs, Raw, Value, whole_number
from pmdviz.methods import Method
from pmdviz.targets import Target
from pmdviz.targets.custom import CustomTarget, choice_of, offered

FORMAT = 4  # of recipes, races and links; another where the same settings give another run, such as a new default
MAX_BUDGET = 10**12
MAX_SEED = 2**53 - 1  # whole in JavaScript too
SPOKEN_SEEDS = 1_000  # a new seed is below it: short enough to say aloud in class
MAX_CHANGES = 10_000
MAX_DATA = 2_000  # bytes of a person's own tables in a link
LARGEST = 1_000_000  # bytes of JSON that a link may unfold to, and characters that it may have itself
_most_changes = MAX_CHANGES  # in this process

Change = tuple[int, Mapping[str, Value]]


class Portable:
    """A value with one canonical JSON form and a link; two are equal if their forms are, but for the versions."""

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


def fresh_seed(now: int) -> int:
    """Another seed than `now`, by chance."""
    return (now + 1 + secrets.randbelow(SPOKEN_SEEDS - 1)) % SPOKEN_SEEDS


def keep_changes(most: int) -> None:
    """Let a recipe hold at most so many changes, in this process and from now on."""
    global _most_changes
    _most_changes = min(most, MAX_CHANGES)


def most_changes() -> int:
    """How many changes a recipe may hold."""
    return _most_changes


def unfit(knobs: Knobs, fitted: Knobs) -> set[str]:
    """Names of the knobs that had to be changed to fit the target."""
    after = fitted.as_dict()
    return {name for name, value in knobs.as_dict().items() if value != after[name]}


def suited(start: Knobs, given: Iterable[str], fitted: Knobs) -> Knobs:
    """The knobs as fitted to the target, but for those that were given: these stay as they are, fit or not."""
    if fitted is start:
        return start
    kept = {name: getattr(start, name) for name in unfit(start, fitted) & {*given}}
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
        raise InputError(
            f"the recipe needs the custom target {name!r}; give it: Recipe.from_json(text, targets={{{name!r}: ...}})",
            on_page=f"this run needs the model {shown(name)}, which is not offered here; open it where it is, or start "
            "a server with it: pmdviz serve --target MODULE:OBJECT",
        )
    found = getattr(targets[name], "fingerprint", None)
    if found is None:
        raise InputError(f"targets[{name!r}] must be made with pmdviz.custom_target; got {shown(targets[name])}")
    different = [key for key in {**found, **print_of} if not _same(found.get(key), print_of.get(key))]
    if different:
        raise InputError(
            f"the given target {name!r} does not match the recipe ({', '.join(different)} differ); give the "
            "target that the recipe was made with, or make a recipe of yours"
        )
    return targets[name]


def _same(mine: Json, theirs: Json) -> bool:
    if isinstance(mine, list):
        alike = isinstance(theirs, list) and len(mine) == len(theirs)
        return alike and all(_same(a, b) for a, b in zip(mine, theirs, strict=True))
    if isinstance(mine, float) and isinstance(theirs, (int, float)):
        return abs(mine - theirs) <= 1e-9 * max(1.0, abs(mine))
    return mine == theirs


def checked_changes(
    changes: Iterable[tuple[int, Mapping[str, Raw]]], start: Knobs, way: Method, target: Target
) -> tuple[Change, ...]:
    """Changes in rising order, one entry an iteration, only what really changes. Raises InputError."""
    if isinstance(changes, tuple) and not changes:
        return ()
    try:
        pairs = [(at, mapping("a change", values)) for at, values in changes]
    except (TypeError, ValueError) as error:
        raise InputError(f"changes must be pairs (iteration, {{knob: value}}); got {shown(changes)}") from error
    if len(pairs) > most_changes():
        raise InputError(f"a recipe holds at most {most_changes():,} changes here; got {len(pairs):,}")
    merged: dict[int, dict[str, Raw]] = {}
    numbered = ((checked_whole("a change's iteration", at, 1, MAX_BUDGET), values) for at, values in pairs)
    for at, values in sorted(numbered, key=_first):
        merged.setdefault(at, {}).update(values)
    knobs, kept = start, []
    for at, values in merged.items():
        after = knobs.replaced(**{str(k): v for k, v in values.items()})
        way.check_pair(target, after)
        changed = changed_knobs(knobs, after)
        kept += [(at, changed)] if changed else []
        knobs = after
    return tuple(kept)


def changed_knobs(before: Knobs, after: Knobs) -> dict[str, Value]:
    """The knobs that differ, with those whose default depends on one of them: left out, they would take it."""
    old, new = before.as_dict(), after.as_dict()
    differ = {name for name in new if new[name] != old[name]}
    differ |= {name for name, spec in after.specs().items() if spec.default_by and spec.default_by[0] in differ}
    return {name: value for name, value in new.items() if name in differ}


def _first(pair: tuple[int, Raw]) -> int:
    return pair[0]


def checked_parts(plain: Json, what: str, keys: Sequence[str], key_of: str) -> Mapping[str, Json]:
    """`plain` if it is an object of these keys, the first of them its format; raises InputError otherwise."""
    if not isinstance(plain, Mapping):
        raise InputError(f"a {what} is an object with the keys {', '.join(keys)}; got {shown(plain)}")
    for key in plain:
        if key not in keys:
            raise unknown(key_of, key, keys)
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


def checked_whole(what: str, value: Raw, low: int, high: int) -> int:
    """`value` as a whole number within its bounds. Raises InputError."""
    number = whole_number(value)
    if number is None or not low <= number <= high:
        words = f"must be a whole number at least {low:,} and at most {high:,}; got {shown(value)}"
        raise InputError(f"{what} {words}", what)
    return number


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
    if not fits_link(map(packed_text, kept.get("data", {}).values())):
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
    plain = json_value(unfolded)
    mapping("what a link says", plain)
    return plain
