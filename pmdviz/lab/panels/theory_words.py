"""The Theory page's words: choices, slopes of the bounds, what the measured slope is."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from pmdviz.experiments.sweep import Fit
from pmdviz.experiments.theory.formulas import Rate
from pmdviz.experiments.theory.varied import SMOOTHNESS, STRATEGIES
from pmdviz.lab.loop.work.theory import status

SCALE_FREE = (
    "Slopes only: the constants of the bounds are not known. "
    f"β = {SMOOTHNESS:g} in the bounds and in the KDE's bandwidth."
)
NO_THEOREM = "No theorem of the paper covers this strategy: what is measured stands alone."

RUNS = 4  # of Theorem 2's table
SEEDS_WORDS = (
    "20 runs at each value take a minute or two on two cores, up to ten minutes with a KDE at every step; "
    "Cancel keeps what was measured."
)
EMPTY_WORDS = "Press Measure: each run is a point here"
ABOUT_SWEEP = "Every run of a sweep is a point; the settings are beside this page, or under its menu."
ABOUT_RECURRENCE = (
    "KL(p‖q_{t+1}) ≤ ε_t + (1−γ) KL(p‖q_t) + γ²/2 ‖g_t‖², in the mean. As printed ε_t = KL(q_{t+1}‖q̂), q̂ the exact "
    "step, and the bound is false; the proof needs ε_t = KL(q_{t+1}‖q̂) + KL(p‖q_{t+1}) − KL(p‖q̂). "
    f"Each term of the chosen run, measured on a grid, mean of {RUNS} runs."
)
ABOUT_COSTS = (
    "A step of every method on a linear regression, batches of 10, in a process of its own; slopes on log axes."
)
ABOUT_EXPERIMENTS = (
    "These and all other experiments with all their settings; <code>pmdviz experiment NAME</code> writes tables."
)


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
