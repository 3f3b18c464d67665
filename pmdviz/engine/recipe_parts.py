"""What a recipe is made of, as it comes from outside: checked, with a sentence for everything that cannot be used."""

from __future__ import annotations

import base64
import binascii
import json
import secrets
import zlib
from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from pmdviz.data.parts import tables_in
from pmdviz.errors import InputError, shown, unknown
from pmdviz.knobs import Knobs, whole_number
from pmdviz.methods import Method, find_method
from pmdviz.targets import Target, find_target, make_target
from pmdviz.targets.custom import CustomTarget
from pmdviz.targets.offered import choice_of, offered

if TYPE_CHECKING:
    from pmdviz.data.tables import Table
    from pmdviz.engine.recipe import Recipe


MAX_BUDGET = 10**12
MAX_SEED = 2**53 - 1  # whole in JavaScript too
SPOKEN_SEEDS = 1_000  # a new seed is below it: one can say it aloud in class
MAX_CHANGES = 10_000
LARGE_TABLES = 500_000  # bytes of a person's own numbers
_most_changes = MAX_CHANGES  # in this process

Change = tuple[int, dict[str, Any]]


def fresh_seed(now: int) -> int:
    """Another seed than `now`, by chance."""
    return (now + 1 + secrets.randbelow(SPOKEN_SEEDS - 1)) % SPOKEN_SEEDS


def shared_target(name: str, options: tuple[tuple[str, Any], ...]) -> Target:
    """The built-in target with these options: one for all recipes, as it never changes."""
    large = sum(table.rows.nbytes for table in tables_in(value for _, value in options)) > LARGE_TABLES
    return (large_targets if large else small_targets)(name, options)


def _made(name: str, options: tuple[tuple[str, Any], ...]) -> Target:
    return make_target(name, **dict(options))


# A cached target keeps the table that it was made of: of visitors' large ones few are kept without a recipe.
small_targets, large_targets = lru_cache(maxsize=32)(_made), lru_cache(maxsize=4)(_made)


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
    kept = {name: getattr(start, name) for name in unfit(start, fitted) & {*given}}
    return fitted.changed(kept) if kept else fitted


def resolved_target(target: str | Target, options: Mapping[str, Any]) -> Target:
    """The target that a name with options, or a target that is made, stands for. Raises InputError."""
    if isinstance(target, str):
        target = offered().get(target, target)
    if isinstance(target, CustomTarget) and not options:
        return target
    if isinstance(target, str):
        checked = find_target(target).checked_options(mapping("target_options", options))
        return shared_target(target, tuple(checked.as_dict().items()))
    if not isinstance(target, Target):
        raise InputError(f"target must be a name or a target; given: {shown(target)}")
    if options:
        raise InputError("target_options go with the name of a built-in target; a target that is made has its own")
    return shared_target(target.name, tuple(target.options.as_dict().items()))


def named_target(given: Any, targets: Mapping[str, Target]) -> str | Target:
    """The target that a recipe names; a custom one must be in `targets` and be the same. Raises InputError."""
    if not isinstance(given, Mapping):
        if not isinstance(given, str):
            raise InputError(f"target must be a name; given: {shown(given)}")
        return given
    print_of = given.get("custom")
    if not isinstance(print_of, Mapping) or not isinstance(print_of.get("name"), str):
        raise InputError(f"target must be a name or {{'custom': ...}}; given: {shown(given)}")
    name, targets = print_of["name"], {**offered(), **targets}
    if name not in targets:
        raise InputError(
            f"the recipe needs the custom target {name!r}; give it: Recipe.from_json(text, targets={{{name!r}: ...}})",
            on_page=f"this run needs the model {shown(name)}, which is not offered here; open it where it is, or start "
            "a server with it: pmdviz serve --target MODULE:OBJECT",
        )
    found = getattr(targets[name], "fingerprint", None)
    if found is None:
        raise InputError(f"targets[{name!r}] must be made with pmdviz.custom_target; given: {shown(targets[name])}")
    different = [key for key in {**found, **print_of} if not _same(found.get(key), print_of.get(key))]
    if different:
        raise InputError(f"the given target {name!r} does not match the recipe ({', '.join(different)} differ)")
    return targets[name]


def _same(mine: Any, theirs: Any) -> bool:
    if isinstance(mine, list):
        alike = isinstance(theirs, list) and len(mine) == len(theirs)
        return alike and all(_same(a, b) for a, b in zip(mine, theirs, strict=True))
    if isinstance(mine, float) and isinstance(theirs, (int, float)):
        return abs(mine - theirs) <= 1e-9 * max(1.0, abs(mine))
    return mine == theirs


def checked_changes(changes: Any, start: Knobs, way: Method, target: Target) -> tuple[Change, ...]:
    """Changes in rising order, one entry an iteration, only what really changes. Raises InputError."""
    try:
        pairs = [(at, mapping("a change", values)) for at, values in changes]
    except (TypeError, ValueError) as error:
        raise InputError(f"changes must be pairs (iteration, {{knob: value}}); given: {shown(changes)}") from error
    if len(pairs) > most_changes():
        raise InputError(f"a recipe holds at most {most_changes():,} changes here; given: {len(pairs):,}")
    merged: dict[int, dict[str, Any]] = {}
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


def changed_knobs(before: Knobs, after: Knobs) -> dict[str, Any]:
    """The knobs that differ, with those whose default depends on one of them: left out, they would take it."""
    old, new = before.as_dict(), after.as_dict()
    differ = {name for name in new if new[name] != old[name]}
    differ |= {name for name, spec in after.specs().items() if spec.default_by and spec.default_by[0] in differ}
    return {name: value for name, value in new.items() if name in differ}


def _first(pair: tuple[int, Any]) -> int:
    return pair[0]


def checked_parts(plain: Any, what: str, keys: Sequence[str], key_of: str, version: int) -> None:
    """Raise InputError unless `plain` is an object of these keys, the first of them its format, 1 to `version`."""
    if not isinstance(plain, Mapping):
        raise InputError(f"a {what} is an object with the keys {', '.join(keys)}; given: {shown(plain)}")
    for key in plain:
        if key not in keys:
            raise unknown(key_of, key, keys)
    given = plain.get(keys[0], version)
    if not isinstance(given, int) or isinstance(given, bool) or not 1 <= given <= version:
        raise InputError(f"this pmdviz reads {what}s of format {version} and before; given: format {shown(given)}")


def versions_in(plain: Mapping[str, Any]) -> dict[str, str]:
    """The versions that a recipe says it was made with. Raises InputError."""
    return checked_versions(plain.get("made_with", {}))


def checked_versions(given: Any) -> dict[str, str]:
    """Names and versions, all of them texts that can be written. Raises InputError."""
    versions = mapping("made_with", given)
    if not all(isinstance(version, str) for version in versions.values()):
        raise InputError(f"made_with must give versions as texts, as in {{'numpy': '2.0'}}; given: {shown(given)}")
    return {written(name): written(version) for name, version in versions.items()}


def written(text: str) -> str:
    """`text` as one that can be written: a lone surrogate becomes a question mark."""
    return text.encode("utf-8", "replace").decode()


def mapping(what: str, value: Any) -> Mapping[str, Any]:
    """`value` if it is an object of names and values. Raises InputError."""
    if not isinstance(value, Mapping) or not all(isinstance(k, str) for k in value):
        raise InputError(f"{what} must be an object of names and values; given: {shown(value)}")
    return value


def checked_whole(what: str, value: Any, low: int, high: int) -> int:
    """`value` as a whole number within its bounds. Raises InputError."""
    number = whole_number(value)
    if number is None or not low <= number <= high:
        words = f"must be a whole number at least {low:,} and at most {high:,}; given: {shown(value)}"
        raise InputError(f"{what} {words}", what)
    return number


def json_value(text: str | bytes) -> Any:
    """The value of a JSON text. Raises InputError, also for NaN, a key given twice and nesting without end."""

    def no_constant(name: str) -> None:
        raise InputError(f"a recipe is valid JSON, which has no {name}")

    try:
        if isinstance(text, bytes):  # `json` would guess where there is no byte order mark
            text = text.decode("utf-16" if text.startswith((b"\xff\xfe", b"\xfe\xff")) else "utf-8")
        text = text.removeprefix("\ufeff") if isinstance(text, str) else text
        return json.loads(text, parse_constant=no_constant, object_pairs_hook=_object)
    except InputError:
        raise
    except (ValueError, TypeError, RecursionError) as error:
        raise InputError(f"this is not a recipe in JSON: {error}") from error


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """An object of JSON. Of two values of one key `json` would take the last, without a word."""
    found: dict[str, Any] = {}
    for key, value in pairs:
        if key in found:
            raise InputError(f"a recipe gives each key once; twice in one object: {shown(key)}")
        found[key] = value
    return found


# Formats of recipes and links, and the defaults that an earlier one had.

FORMAT = 3
BUDGETS = {1: 20_000}
KNOBS: dict[int, dict[str, Any]] = {1: {"step_limit": 0.0, "bandwidth_rule": "local"}}  # of every method that has them
UNTIL_2 = {  # of one method, in formats 1 and 2
    "gibbs": {"burn_in": 50.0},
    "sgld": {"burn_in": 1000.0},
    "hmc": {"burn_in": 100.0, "leapfrog_steps": 10},
    "mala": {"burn_in": 500.0},
}
METHOD_KNOBS: dict[int, dict[str, dict[str, Any]]] = {1: UNTIL_2, 2: UNTIL_2}


def earlier_knobs(given: Mapping[str, Any], method: str, version: int) -> dict[str, Any]:
    """`given` knobs of a method, completed by the defaults of `version` that are others today."""
    known = find_method(method).Knobs.specs()
    shared = {name: value for name, value in KNOBS.get(version, {}).items() if name in known}
    return {**shared, **METHOD_KNOBS.get(version, {}).get(method, {}), **given}


# A recipe as a short text for links: canonical, versioned, with no module named and no code in it.

MOST_DATA = 2_000  # bytes of a person's own table in a link
LARGEST = 1_000_000  # bytes of JSON that a link may unfold to, and characters that it may have itself
SHORT = {
    **{"target": "t", "target_options": "o", "method": "m", "knobs": "k", "seed": "s", "budget": "b"},
    **{"budget_unit": "u", "changes": "c", "data": "d"},
}

# What links of a format have in common, for the compressor. It belongs to the format and never changes.
FIRST = (
    b'"burn_in":50,"thinning":1"leapfrog_steps":10,"tune":true,"time_step":0.1"num_particles":1500,"batch_size":10'
    b',"bandwidth_rule":"local","bandwidth":0.75,"smoothness":2.0"a":0.06,"b":100.0,"g":0.55,"batches":"epochs""es'
    b's_threshold":0.5,"jitter_rule":"local","jitter":0.85,"shrinkage":true"ladder":"adaptive","num_temperatures":'
    b'10,"power":3.0,"num_moves":3,"move_shape":"local","move_scale":0.6"shape":"full","optimiser":"natural","num_'
    b'pairs":16,"eta":5.0,"n0":20.0,"kappa":1.0{"t":"banana","o":{"num_data":100,"sigma_x":2.0,"bend":1.0,"prior_s'
    b'd":1.0,"theta1":0.5,"theta2":0.8,"data_seed":0}}{"t":"bimodal1d","o":{"num_data":100,"sigma_x":3.0,"theta":1'
    b'.2,"data_seed":0}}{"t":"gaussian","o":{"dim":2,"num_data":20,"sigma_x":2.0,"prior_sd":1.0,"theta":0.7,"data_'
    b'seed":0}}"b":null,"c":[[10,{"bandwidth":0.1,"num_particles":500}],[{"t":"mixture","o":{"num_data":1000,"sigm'
    b'a_x":2.5,"p":0.5,"theta1":1.0,"theta2":-2.0,"data_seed":0},"m":"pmd","k":{"num_particles":1500,"schedule":"d'
    b'ecay","eta":2.0,"n0":20.0,"kappa":1.0,"step_size":0.1,"delta":1.0,"gradient_bound":1.0,"policy":"ess","until'
    b'":20,"ess_threshold":0.5,"draws":"balanced","resampler":"systematic","growth":"fixed","growth_exponent":1.0,'
    b'"most_particles":6000,"smoothness":2.0,"warm_start":false,"batch_size":100,"batches":"epochs","bandwidth_rul'
    b'e":"local","bandwidth":0.75},"s":0,"b":20000,"c":[]}'
)

SHAPED = b'"bandwidth_rule":"shaped","bandwidth":1.0'
SECOND = SHAPED + FIRST.replace(b'"policy":"ess"', b'"step_limit":0.5,"policy":"ess"')
THIRD = SECOND.replace(b'"thinning":1', b'"thinning":1,"num_chains":1').replace(
    b'"burn_in":50,', b'"memory":0.99,"damping":1e-05"one_pass":false,"burn_in":0.2,'
)
DICTIONARIES = {1: FIRST, 2: SECOND, 3: THIRD}


def pack(recipe: Recipe) -> str:
    """The text that stands for `recipe`; equal recipes give equal texts. Raises InputError for a custom target.

    One that a server offers is told by its name and fingerprint.
    """
    if recipe.custom is not None and choice_of(recipe.custom) is recipe.custom:
        raise InputError(f"a link cannot hold your own target {recipe.target!r}; share the recipe as a file")
    plain = without_large_data(recipe.to_dict())
    short = {SHORT[name]: plain[name] for name in SHORT if name in plain}
    text = json.dumps(short, separators=(",", ":"), ensure_ascii=False, allow_nan=False).encode()
    if len(text) > LARGEST:
        raise InputError(f"a link holds at most {LARGEST:,} bytes of recipe; this one has {len(text):,}: share a file")
    return f"{FORMAT}.{fold(text)}"


def without_large_data(plain: dict[str, Any]) -> dict[str, Any]:
    """The plain values without tables that are too large for a link: their names and digits stay."""
    fits = _fit(plain.get("data", {}).values())
    return {name: value for name, value in plain.items() if name != "data" or fits}


def fits_link(tables: Iterable[Table]) -> bool:
    """Whether a link carries these tables."""
    return _fit(table.text for table in tables)


def _fit(texts: Iterable[str]) -> bool:
    return sum(len(text.encode()) for text in texts) <= MOST_DATA


def unpack(text: str) -> dict[str, Any]:
    """The plain values of `pack`'s text, for `Recipe.from_dict`. Raises InputError with one sentence for others."""
    version, unfolded = unfold(text)
    plain = mapping("the recipe of a link", json_value(unfolded))
    long = {short: name for name, short in SHORT.items()}
    if unknown := [key for key in plain if key not in long]:
        raise InputError(f"this link says something that this pmdviz does not know: {shown(unknown[0])}")
    return {"pmdviz_recipe": version} | {long[key]: value for key, value in plain.items()}


def fold(text: bytes) -> str:
    """JSON as it stands behind the dot of a link of today's format."""
    squeezer = zlib.compressobj(9, zlib.DEFLATED, -15, 9, zlib.Z_DEFAULT_STRATEGY, DICTIONARIES[FORMAT])
    squeezed = squeezer.compress(text) + squeezer.flush()
    return base64.urlsafe_b64encode(squeezed).decode().rstrip("=")


def unfold(text: str) -> tuple[int, bytes]:
    """Format and JSON of a link of any format. Raises InputError with one sentence for what is none."""
    if not isinstance(text, str):
        raise InputError(f"a link is a text, as Recipe.to_link gives it; given: {shown(text)}")
    if len(text) > LARGEST:
        raise InputError(f"a link has at most {LARGEST:,} characters; this one has {len(text):,}")
    number, dot, body = text.partition(".")
    if not dot or not number.isascii() or not number.isdecimal():
        raise InputError("this link is not complete or is not a link of pmdviz; open it again from where it came")
    version = int(number[:9])
    if version not in DICTIONARIES:
        words = f"this pmdviz reads links of format {FORMAT} and before; this one has format {shown(number, 12)}"
        raise InputError(words)
    return version, _unfolded(body, DICTIONARIES[version])


def _unfolded(body: str, dictionary: bytes) -> bytes:
    broken = InputError("the link was cut short or changed on the way; open it again from where you got it")
    try:
        squeezed = base64.b64decode(body + "=" * (-len(body) % 4), altchars=b"-_", validate=True)
        unfolder = zlib.decompressobj(-15, dictionary)
        text = unfolder.decompress(squeezed, LARGEST)
    except (binascii.Error, ValueError, zlib.error) as error:
        raise broken from error
    if not unfolder.eof or unfolder.unused_data:
        raise broken
    return text
