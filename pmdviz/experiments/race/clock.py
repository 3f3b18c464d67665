"""What a race counts against its budget: observations used, or evaluations of the likelihood and its gradient."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pmdviz.engine.recipe import UNITS, Recipe

DATA = UNITS[0]
SHORT = {"data": "observations", "evaluations": "evaluations"}
BRIEF = {"data": "obs.", "evaluations": "eval."}  # on a tile
DONE = {"data": "observations", "evaluations": "likelihood evaluations"}


def evaluations(columns: Mapping[str, Any]) -> Any:
    """Evaluations of the likelihood and its gradient, of a row or of all rows of a history."""
    return columns["density_evaluations"] + columns["gradient_evaluations"]


def spent_in(columns: Mapping[str, Any], unit: str) -> Any:
    """What counts against the budget, of a row or of all rows of a history."""
    return columns["visited"] if unit == DATA else evaluations(columns)


def each_costs(recipe: Recipe) -> int:
    """About what one datum costs the run by its own clock: 1, or an evaluation for each particle."""
    return 1 if recipe.budget_unit == DATA else max(1, getattr(recipe.start_knobs(), "num_particles", 1))
