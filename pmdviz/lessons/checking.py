"""What a student computed, held against what is right: for the exercises of a notebook."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from pmdviz.errors import InputError, shown, words_of
from pmdviz.lessons.lesson import within
from pmdviz.lessons.questions import plain

NOTHING = "Nothing to check yet: put your value in `mine`."


@dataclass(frozen=True)
class Checked:
    """What `check` found. A notebook shows it as text.

    Attributes
    ----------
    right : bool
    words : str
        Markdown.
    wanted : number, array or function
        What is right.
    slips : sequence of (value, str)
        The known wrong values, and what is said to each.
    """

    right: bool
    words: str
    wanted: Any
    slips: Sequence[tuple[Any, str]]

    def _repr_markdown_(self) -> str:
        return self.words

    def __repr__(self) -> str:
        return self.words.replace("**", "")


def check(
    mine: Any,
    right: Any,
    tolerance: float = 0.05,
    *,
    absolute: float = 0.0,
    wrong: Mapping[Any, str] | Iterable[tuple[Any, str]] = (),
    on: Iterable[Any] = (),
) -> Checked:
    """Judge a number, an array or a function of a student's; as the last line of a cell.

    Parameters
    ----------
    mine : number, array or function
        The student's own; `...`, which the cell is left with, is told that there is nothing to check.
    right : number, array or function
        What it should be.
    tolerance : float
        How far off is near enough, as a share of the right number; in an array of its largest entry.
    absolute : float
        The same in the number's own unit, in place of `tolerance`.
    wrong : mapping or pairs
        Known slips: a wrong value (for a function: a function) and the words that name it.
    on : iterable
        The arguments at which a function is tried; a tuple is several arguments.

    Returns
    -------
    Checked
        `.right`, `.words`; never an error for what the student has.

    Raises
    ------
    InputError
        For the one who wrote the exercise: a slip that counts as right, a function without `on`, no number to compare.

    Examples
    --------
    >>> pmdviz.check(0.41, 1 / 6, wrong={6**-0.5: "That is the standard deviation, not the variance."})
    Not yet: yours, 0.41, is 146 % too high.
    """
    slips = [*(wrong.items() if isinstance(wrong, Mapping) else wrong)]
    places = [*on]
    if callable(right) and not places:
        raise InputError("a function is checked at some arguments: give them as `on=[...]`")
    wanted = _values(right, places)
    limit = (absolute, 1.0) if absolute else (tolerance, 0.0)
    if wanted is None:
        raise InputError(f"what is right must be a number, numbers or a function; given: {shown(right)}")
    for value, words in slips:
        if _near(_values(value, places), wanted, limit):
            raise InputError(f"this slip is within the tolerance of what is right: {shown(value)}, {shown(words)}")
    found, words = _judged(mine, wanted, limit, [(_values(value, places), said) for value, said in slips], places)
    return Checked(found, words, right, slips)


def _judged(mine: Any, wanted: np.ndarray, limit: tuple[float, float], slips: list, places: list) -> tuple[bool, str]:
    if mine is ...:
        return False, NOTHING
    if places and not callable(mine):
        return False, f"Not yet: `mine` should be a function; yours is {shown(mine)}."
    try:
        values = _values(mine, places)
    except Exception as error:  # the student's own function may fail in any way
        return False, f"Not yet: your function fails with {type(error).__name__}: {words_of(error)}."
    if values is None:
        given = "it gives something else, or nothing: does it `return`?" if places else f"yours is {shown(mine)}."
        return False, f"Not yet: numbers are needed; {given}"
    if _near(values, wanted, limit):
        return True, "**Right**" + (f": {plain(float(values))}." if values.ndim == 0 else ".")
    slip = next((said for value, said in slips if _near(values, value, limit)), "")
    return False, f"Not yet: {slip}" if slip else f"Not yet: {_how_far(values, wanted, places)}"


def _values(thing: Any, places: Sequence[Any]) -> np.ndarray | None:
    """What is compared, as floats; of a function its values at all places in a row. None: no finite number."""
    if callable(thing):
        found = [_values(thing(*(place if isinstance(place, tuple) else (place,))), ()) for place in places]
        whole = [values.ravel() for values in found if values is not None]
        return np.concatenate(whole) if whole and len(whole) == len(found) else None
    try:
        values = np.asarray(thing, dtype=float)
    except (TypeError, ValueError):
        return None
    return values if values.size and np.isfinite(values).all() else None


def _near(values: np.ndarray | None, wanted: np.ndarray | None, limit: tuple[float, float]) -> bool:
    if values is None or wanted is None or values.shape != wanted.shape:
        return False
    tolerance, scale = limit
    scale = scale or float(np.abs(wanted).max())
    return all(within(a, b, tolerance, scale) for a, b in zip(values.flat, wanted.flat, strict=True))


def _how_far(values: np.ndarray, wanted: np.ndarray, places: Sequence[Any]) -> str:
    if values.shape != wanted.shape:
        sizes = [f"an array of shape {one.shape}" if one.ndim else "one number" for one in (values, wanted)]
        return f"yours is {sizes[0]}, and {sizes[1]} is wanted."
    if values.ndim == 0:
        return f"yours, {plain(float(values))}, is {_share(float(values), float(wanted))}."
    worst = int(np.abs(values - wanted).argmax())
    where = f"at {shown(places[worst])}" if len(places) == wanted.size else f"at entry {worst}"
    return f"farthest off {where}: {_share(float(values.flat[worst]), float(wanted.flat[worst]))}."


def _share(value: float, right: float) -> str:
    side = "too high" if value > right else "too low"
    if value * right < 0:
        return f"{side}: it has the wrong sign"
    if right == 0 or abs(value) > 10 * abs(right):
        return f"far {side}" if right else f"{side} by {plain(abs(value - right))}"
    return f"{100 * abs(value - right) / abs(right):.0f} % {side}"
