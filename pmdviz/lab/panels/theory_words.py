"""The Theory page's words: choices, slopes of the bounds, what the measured slope is."""

from __future__ import annotations

from typing import Any

from pmdviz.experiments.sweep import Fit
from pmdviz.experiments.theory.formulas import Rate
from pmdviz.lab.loop.theory_work import status

SMOOTHNESS = 1.0  # beta: what the paper counts a Gaussian kernel as
SCALE_FREE = "Slopes only: the constants of the bounds are not known."


def titles(table: Any) -> dict[str, str]:
    """Words for a person -> name, of a table whose entries begin with their words."""
    return {entry[0][:1].upper() + entry[0][1:]: name for name, entry in table.items()}


def bound_words(rate: Rate, dim: int) -> str:
    """A bound and its slope."""
    return f"{rate.theorem}: slope {rate.exponent(SMOOTHNESS, dim):.2f} in {rate.x}"


def triangles(bounds: list[Rate], dim: int) -> list[tuple[str, float]]:
    """A triangle for each slope, with the theorems that give it."""
    names: dict[float, list[str]] = {}
    for rate in bounds:
        names.setdefault(rate.exponent(SMOOTHNESS, dim), []).append(rate.theorem)
    return [(f"{', '.join(dict.fromkeys(found))}: slope {slope:.2f}", slope) for slope, found in names.items()]


def found_words(fit: Fit | None, bounds: list[Rate], dim: int) -> str:
    """The measured slope beside those of the bounds."""
    if fit is None:
        return status("A slope needs runs at two different values.")
    left_out = f", {fit.left_out:,} without a logarithm left out" if fit.left_out else ""
    words = f"Measured slope {fit.slope:.2f} ± {fit.standard_error:.2f} (all {fit.num_points:,} points{left_out}). "
    if not bounds:
        return status(f"{words}No bound of the paper speaks of this error here.")
    said = "; ".join(f"{bound_words(rate, dim)} ({rate.words})" for rate in bounds)
    return status(f"{words}{said}. {SCALE_FREE}")
