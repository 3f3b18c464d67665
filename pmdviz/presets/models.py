"""Data files as typed models: a frozen dataclass declares the keys of a block, each with the kind of its value.

`read` makes the model of a YAML block, or says which key of what is wrong, what would do and what was given. The kinds
below are the annotations of a model's fields. msgspec and pydantic would need a translator of their errors that is
longer than this reader, and a hook for each expression.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import MISSING, Field, fields
from functools import cache
from typing import Annotated, Any, TypeVar, get_type_hints

import yaml

from pmdviz.errors import InputError, shown, unknown
from pmdviz.expressions import Expression, Template
from pmdviz.knobs import real_number, whole_number

Block = Mapping[str, Any]
Kind = Callable[[Any, str, str], Any]  # what a value becomes, given its key and of what it is
Model = TypeVar("Model")
SAFE = getattr(yaml, "CSafeLoader", yaml.SafeLoader)  # in C where PyYAML has it: eight times as fast


def read_yaml(text: str) -> Any:
    """The plain values of a YAML text. Raises yaml.YAMLError."""
    return yaml.load(text, SAFE)  # noqa: S506


def read(model: type[Model], block: Any, what: str, **given: Any) -> Model:
    """The model of a block that is called `what`; no key may name the `given` fields. Raises InputError."""
    if not isinstance(block, Mapping):
        raise InputError(f"{what} must be names and values; given: {shown(block)}")
    keys = {each.metadata.get("key", each.name): each for each in fields(model) if each.name not in given}
    known_keys(block, keys, what)
    kinds = _kinds(model)
    found = {
        each.name: kinds[each.name](block.get(key), key, what)
        for key, each in keys.items()
        if key in block or _is_needed(each)
    }
    return model(**found, **given)


def known_keys(block: Block, names: Iterable[str], what: str) -> None:
    """Refuse a key that is none of `names`."""
    for key in block:
        if key not in names:
            raise unknown(f"key of {what}", key, names)


@cache
def _kinds(model: type) -> dict[str, Kind]:
    hints = get_type_hints(model, include_extras=True)
    return {name: hint.__metadata__[0] for name, hint in hints.items() if hasattr(hint, "__metadata__")}


def _is_needed(each: Field) -> bool:
    return each.default is MISSING and each.default_factory is MISSING


def wrong(key: str, what: str, kind: str, value: Any) -> InputError:
    """The error for a value of another kind; None is one that is not there."""
    given = f"{what} needs `{key}`" if value is None else f"given: {shown(value)}"
    return InputError(f"`{key}` of {what} must be {kind}; {given}")


def _text(value: Any, key: str, what: str) -> str:
    if not isinstance(value, str) or not value.strip():
        raise wrong(key, what, "a text" if isinstance(value, str) else "a text, if need be in quotes", value)
    return value.strip()


def _words(value: Any, key: str, what: str) -> str:
    return value if value == "" else _text(value, key, what)


def _texts(value: Any, key: str, what: str) -> tuple[str, ...]:
    if not isinstance(value, list) or not all(isinstance(one, str) for one in value):
        raise wrong(key, what, "a list of texts", value)
    return tuple(value)


def names(value: Any, key: str, what: str) -> Block:
    """Names and values."""
    if not isinstance(value, Mapping) or not all(isinstance(name, str) for name in value):
        raise wrong(key, what, "names and values", value)
    return value


def _flag(value: Any, key: str, what: str) -> bool:
    if not isinstance(value, bool):
        raise wrong(key, what, "true or false", value)
    return value


def _whole(value: Any, key: str, what: str) -> int:
    number = whole_number(value)
    if number is None or number < 1:
        raise wrong(key, what, "a whole number above 0", value)
    return number


def _real(value: Any, key: str, what: str) -> float:
    number = real_number(value)
    if number is None or number < 0:
        raise wrong(key, what, "a number of at least 0", value)
    return number


def expression(value: Any, key: str, what: str) -> Expression:
    """What can be asked of a run."""
    if isinstance(value, bool) or not isinstance(value, (str, int, float)):
        raise wrong(key, what, "an expression about the run, such as tv < 0.2 (an expression is a text)", value)
    return _named(lambda: Expression(str(value)), key, what)


def _sentence(value: Any, key: str, what: str) -> Template:
    words = _text(value, key, what)
    return _named(lambda: Template(words), key, what)


def _named(make: Callable[[], Any], key: str, what: str) -> Any:
    try:
        return make()
    except InputError as error:
        raise InputError(f"`{key}` of {what}: {error}") from None


def listed(model: type, one: str) -> Kind:
    """The kind of a list of models, each of which is called `one`."""
    needed = [each.name for each in fields(model) if _is_needed(each)]

    def read_list(value: Any, key: str, what: str) -> tuple[Any, ...]:
        whole = isinstance(value, list) and all(isinstance(each, Mapping) and {*needed} <= {*each} for each in value)
        if not whole:
            raise wrong(key, what, f"a list of entries with {' and '.join(f'`{name}`' for name in needed)}", value)
        return tuple(read(model, each, f"{one} of {what}") for each in value)

    return read_list


Text = Annotated[str, _text]  # that is not empty
Words = Annotated[str, _words]  # a text that may be empty
Texts = Annotated[tuple[str, ...], _texts]
Names = Annotated[Block, names]
Flag = Annotated[bool, _flag]
Whole = Annotated[int, _whole]  # above 0
Real = Annotated[float, _real]  # at least 0
Test = Annotated[Expression, expression]
MaybeWhole = Annotated[int | None, _whole]
MaybeTest = Annotated[Expression | None, expression]
Sentence = Annotated[Template, _sentence]
