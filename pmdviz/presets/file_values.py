"""Reads one value of a data file's YAML, of the kind that it must be, or says which key of what is wrong.

All raise InputError.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, TypeVar

import yaml

from pmdviz.errors import InputError, shown, unknown
from pmdviz.expressions import Expression, Template
from pmdviz.knobs import real_number, whole_number

Block = Mapping[str, Any]
Made = TypeVar("Made")
SAFE = getattr(yaml, "CSafeLoader", yaml.SafeLoader)  # in C where PyYAML has it: eight times as fast


def read_yaml(text: str) -> Any:
    """The plain values of a YAML text. Raises yaml.YAMLError."""
    return yaml.load(text, SAFE)  # noqa: S506


def known_keys(block: Block, names: tuple[str, ...], what: str) -> None:
    """Refuse a key that is none of `names`."""
    for key in block:
        if key not in names:
            raise unknown(f"key of {what}", key, names)


def mapping(block: Block, key: str, what: str) -> Block:
    """Names and values."""
    value = block[key]
    if not isinstance(value, Mapping) or not all(isinstance(name, str) for name in value):
        raise _wrong(key, what, "names and values", value)
    return value


def text(block: Block, key: str, what: str, needed: bool = False) -> str:
    """A text; "" where it is left out and not `needed`."""
    value = block.get(key, "")
    if not isinstance(value, str) or (needed and not value.strip()):
        raise _wrong(key, what, "a text" if isinstance(value, str) else "a text, if need be in quotes", value)
    return value.strip()


def texts(block: Block, key: str, what: str) -> tuple[str, ...]:
    """A list of texts; () where it is left out."""
    value = block.get(key, [])
    if not isinstance(value, list) or not all(isinstance(one, str) for one in value):
        raise _wrong(key, what, "a list of texts", value)
    return tuple(value)


def flag(block: Block, key: str, what: str) -> bool:
    """True or false; false where it is left out."""
    value = block.get(key, False)
    if not isinstance(value, bool):
        raise _wrong(key, what, "true or false", value)
    return value


def whole(block: Block, key: str, what: str, usual: int) -> int:
    """A whole number above 0; `usual` where it is left out."""
    value = whole_number(block.get(key, usual))
    if value is None or value < 1:
        raise _wrong(key, what, "a whole number above 0", block[key])
    return value


def real(block: Block, key: str, what: str, usual: float | None = None) -> float:
    """A number of at least 0; `usual` where it is left out, which it may not be without one."""
    value = real_number(block.get(key, usual))
    if value is None or value < 0:
        raise _wrong(key, what, "a number of at least 0", block.get(key))
    return value


def expression(block: Block, key: str, what: str) -> Expression | None:
    """An expression about a run; None where it is left out."""
    if key not in block:
        return None
    if isinstance(block[key], bool) or not isinstance(block[key], (str, int, float)):
        raise _wrong(key, what, "an expression about the run, such as tv < 0.2", block[key])
    return _named(key, what, lambda: Expression(str(block[key])))


def template(block: Block, key: str, what: str) -> Template:
    """A sentence with expressions in braces."""
    words = text(block, key, what, needed=True)
    return _named(key, what, lambda: Template(words))


def _named(key: str, what: str, make: Callable[[], Made]) -> Made:
    try:
        return make()
    except InputError as error:
        raise InputError(f"`{key}` of {what}: {error}") from None


def _wrong(key: str, what: str, kind: str, value: Any) -> InputError:
    return InputError(f"`{key}` of {what} must be {kind}; given: {shown(value)}")
