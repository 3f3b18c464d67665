"""The exceptions of pmdviz, and helpers for messages that say how to go on."""

from __future__ import annotations

import difflib
from collections.abc import Collection, Iterable, Mapping
from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    import numpy as np

Entry = TypeVar("Entry")


class InputError(ValueError):
    """Something that a person gave cannot be used; one line: the value given, the values allowed, and how to fix it.

    Attributes
    ----------
    field : str
        Name of the knob, option or part that was given it; "" where it is none of these.
    on_page : str
        The sentence as a page says it, with the label that the page shows instead of the name.
    """

    def __init__(self, message: str, field: str = "", on_page: str = "") -> None:
        super().__init__(message)
        self.field, self.on_page = field, on_page or message


class InputWarning(UserWarning):
    """Something that a person gave is used in part: one line says which part."""


class TargetError(RuntimeError):
    """A target's own function failed or gave an impossible value while a run used it.

    Attributes
    ----------
    theta : array (d,) or None
        The parameter at which it happened, where it is known.
    batch_note : str
        The rows of the data that were being visited, in words.
    """

    def __init__(self, message: str, theta: np.ndarray | None = None, batch_note: str = "") -> None:
        super().__init__(message)
        self.theta, self.batch_note = theta, batch_note


def shown(value: object, limit: int = 60) -> str:
    """`value` as it was given, cut to `limit` characters and to one line."""
    try:
        text = repr(value).replace("\n", " ")
    except Exception:  # a whole number of more than 4,300 digits, say
        text = f"something of type {type(value).__name__}"
    return text if len(text) <= limit else text[: limit - 1] + "…"


def words_of(error: BaseException) -> str:
    """What an error says, in one line; nothing where it cannot say it."""
    try:
        return " ".join(str(error).split())
    except Exception:  # a person's own class may fail at that too
        return ""


def failed_step_words(error: Exception) -> str:
    """What happened in a step, in words; which theta and which batch where the target said so."""
    if isinstance(error, TargetError):
        return str(error)
    return f"the step failed with {type(error).__name__}: {error}"


def check_function(what: str, value: object) -> None:
    """Raise InputError unless `value` can be called or is None."""
    if value is not None and not callable(value):
        raise InputError(f"{what} must be a function or None; got {shown(value)}")


def entry(kind: str, name: object, table: Mapping[str, Entry]) -> Entry:
    """What a table has under a name. Raises InputError for a name that it lacks."""
    if not isinstance(name, str) or name not in table:
        raise unknown(kind, name, table)
    return table[name]


def check_known(kind: str, given: Iterable[object], valid: Collection[str]) -> None:
    """Raise InputError for the first name that is none of the valid ones."""
    for name in given:
        if name not in valid:
            raise unknown(kind, name, valid)


def unknown(kind: str, name: object, valid: Iterable[str]) -> InputError:
    """The error for a name that is not in a table, with the nearest valid name or all of them."""
    valid = sorted(valid)
    near = difflib.get_close_matches(str(name), valid, n=1, cutoff=0.6)
    hint = f"did you mean {near[0]!r}?" if near else f"valid names: {', '.join(valid) or 'none'}"
    return InputError(f"unknown {kind} {shown(name)}; {hint}")
