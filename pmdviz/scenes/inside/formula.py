"""The formula of a step: what a person reads of each of its terms, with this step's numbers in place of symbols."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from pmdviz.methods.step import Term, Update
from pmdviz.scenes.words import number

SMALLEST = 1e-4  # what is smaller is written with a power of ten
TWO_NUMBERS = re.compile(r"(?<=[\d}]) (?=\d)")


def filled(formula: str, numbers: Mapping[str, float]) -> str:
    """The formula with numbers in place of their symbols: "+ γ N/B Σ log p" -> "+ 0.12 × 100 Σ log p".

    A symbol that is part of a longer word, or has something below or above it, stays.
    """
    if not numbers:
        return formula
    symbols = "|".join(re.escape(name) for name in sorted(numbers, key=len, reverse=True))
    known = re.compile(rf"(?<![\w.^])(?:{symbols})(?![\w^{{′̃])")
    return TWO_NUMBERS.sub(" × ", known.sub(lambda found: _written(numbers[found[0]]), formula))


def _written(value: float) -> str:
    size = abs(value)
    if 0 < size < SMALLEST:
        figures, exponent = f"{size:.1e}".split("e")
        return f"{'−' if value < 0 else ''}{figures} × 10^{{−{-int(exponent)}}}"
    text = number(size)
    text = text.rstrip("0").rstrip(".") if "." in text else text
    return f"(−{text})" if value < 0 else text


def term_words(term: Term, numbers: Mapping[str, float]) -> dict[str, Any]:
    """A term as a person reads it; `filled` is "" where its formula has no number to put in."""
    numbered = filled(term.formula, numbers)
    return {
        "name": term.name,
        "title": term.title,
        "formula": term.formula,
        "filled": "" if numbered == term.formula else numbered,
        "about": term.about,
    }


def sum_words(update: Update) -> dict[str, str]:
    """What the terms add up to."""
    return {"title": update.title, "formula": update.formula, "unit": update.unit}
