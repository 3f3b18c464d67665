"""Reads a question of a lesson: a choice with a text per option, or a number with a tolerance."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from pmdviz.errors import InputError, shown
from pmdviz.lessons.asking import Ask, Number, Option
from pmdviz.presets.file_values import Block, expression, flag, known_keys, mapping, real, template, text

QUESTION = ("ask", "options", "number", "confidence")
OPTION = ("say", "because", "right", "to")
NUMBER = ("right", "tolerance", "unit", "close", "low", "high", "scale")
LETTERS = "abcdefgh"


def read_ask(block: Block, key: str, what: str) -> Ask | None:
    """The question of a step's block; None where it has none. Raises InputError."""
    if key not in block:
        return None
    told, what = mapping(block, key, what), f"`{key}` of {what}"
    known_keys(told, QUESTION, what)
    words = text(told, "ask", what, needed=True)
    if ("options" in told) == ("number" in told):
        raise InputError(f"{what} needs either `options` or a `number`")
    number = _number(mapping(told, "number", what), f"the number of {what}") if "number" in told else None
    options = _options(told["options"], what) if "options" in told else {}
    return Ask(words, options, number, flag(told, "confidence", what))


def _options(given: Any, what: str) -> dict[str, Option]:
    if not isinstance(given, list) or len(given) < 2 or not all(isinstance(one, Mapping) for one in given):
        raise InputError(f"the options of {what} are a list of at least two entries; given: {shown(given)}")
    if len(given) > len(LETTERS):
        raise InputError(f"{what} has {len(given)} options; at most {len(LETTERS)} can be told apart")
    found = [_option(one, f"option {letter} of {what}") for letter, one in zip(LETTERS, given, strict=False)]
    if not any(option.right or option.when for option in found):
        raise InputError(f"{what} has no right option; mark one with `right: true`, or with what makes it right")
    return dict(zip(LETTERS, found, strict=False))


def _option(one: Block, what: str) -> Option:
    known_keys(one, OPTION, what)
    option = Option(text(one, "say", what, needed=True), template(one, "because", what), to=text(one, "to", what))
    if isinstance(one.get("right", False), bool):
        return replace(option, right=one.get("right", False))
    return replace(option, when=expression(one, "right", what))


def _number(told: Block, what: str) -> Number:
    known_keys(told, NUMBER, what)
    right = expression(told, "right", what)
    if right is None:
        raise InputError(f"{what} needs `right`: an expression about the run, or a number")
    close, low, high = (template(told, key, what) for key in ("close", "low", "high"))
    tolerance, scale = real(told, "tolerance", what), real(told, "scale", what, 0.0)
    return Number(right, tolerance, close, low, high, text(told, "unit", what), scale)
