"""The Theory page's words: choices, slopes of the bounds, what the measured slope is."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from pmdviz.experiments.sweep import Fit
from pmdviz.experiments.theory.formulas import Rate
from pmdviz.experiments.theory.varied import SMOOTHNESS, STRATEGIES
from pmdviz.lab.loop.theory_work import status

SCALE_FREE = (
    "Slopes only: the constants of the bounds are not known. "
    f"β = {SMOOTHNESS:g} in the bounds and in the KDE's bandwidth."
)
NO_THEOREM = "No theorem of the paper covers this strategy: what is measured stands alone."


def titles(table: Any) -> dict[str, str]:
    """Words for a person -> name, of a table whose entries begin with their words."""
    return {entry[0][:1].upper() + entry[0][1:]: name for name, entry in table.items()}


def bound_words(rate: Rate, dim: int) -> str:
    """A bound and its slope."""
    return f"{rate.theorem}: slope {rate.exponent(SMOOTHNESS, dim):.2f} in {rate.x} ({rate.words})"


def covered_words(strategy: str) -> str:
    """Which theorems are about a strategy; "" where some are."""
    return "" if STRATEGIES[strategy].theorems else NO_THEOREM


def found_words(fit: Fit | None, bounds: list[Rate], dim: int, letters: Iterable[str], strategy: str) -> str:
    """The measured slope beside those of the bounds: whole ones, and terms of bounds, which are not drawn."""
    if fit is None:
        return status("A slope needs runs at two different values.")
    left_out = f", {fit.left_out:,} without a logarithm left out" if fit.left_out else ""
    words = f"Measured slope {fit.slope:.2f} ± {fit.standard_error:.2f} (all {fit.num_points:,} points{left_out}). "
    if not bounds:
        return status(words + (covered_words(strategy) or "The paper gives no bound for this error."))
    whole = [bound_words(bound, dim) for bound in bounds if bound.holds(letters)]
    terms = [bound_words(bound, dim) for bound in bounds if not bound.holds(letters)]
    said = [f"{'; '.join(whole)}."] if whole else []
    said += [f"Not drawn, as the whole bound does not fall so here: {'; '.join(terms)}."] if terms else []
    return status(" ".join([words.strip(), *said, SCALE_FREE]))
