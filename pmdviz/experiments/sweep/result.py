"""What comes out of a sweep."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from pmdviz.engine.recipe import Recipe
from pmdviz.errors import unknown
from pmdviz.experiments.sweep.fits import Fit, fitted


@dataclass(frozen=True, eq=False)
class Sweep:
    """The runs of a sweep, one row each, in the order of the plan.

    Attributes
    ----------
    recipe : Recipe
        What all runs have in common.
    over : tuple of str
        Names of what was varied.
    error : str
        The error that `fit` and `summary` take.
    failed : tuple of str
        A sentence for each run that could not be computed.
    path : Path or None
        Of the table.
    """

    recipe: Recipe
    over: tuple[str, ...]
    error: str
    kinds: dict[str, type] = field(repr=False)
    _rows: list[dict[str, Any]] = field(repr=False)
    failed: tuple[str, ...] = ()
    path: Path | None = None

    @cached_property
    def rows(self) -> dict[str, np.ndarray]:
        """Column -> array, all of equal length.

        What was varied, seed, iterations, visited, density_evaluations, gradient_evaluations, the errors (NaN where
        one is unavailable), seconds of the steps, failed (words, "" where nothing did) and the hash of the recipe.
        """
        return {name: np.array([row[name] for row in self._rows], dtype=kind) for name, kind in self.kinds.items()}

    def __len__(self) -> int:
        return len(self._rows)

    def to_frame(self) -> Any:
        """The rows as a pandas DataFrame. Raises ImportError with a cure where pandas is not installed."""
        try:
            import pandas
        except ImportError as error:
            raise ImportError("Sweep.to_frame needs pandas: pip install pandas") from error
        return pandas.DataFrame(self.rows)

    def fit(self, x: str | None = None, y: str | None = None) -> Fit:
        """The power law y ~ x^slope through ALL points, with the slope's standard error.

        `x` is a column, by default the first that was varied; `y` by default the sweep's error. Raises InputError.
        """
        return fitted(self.column(x or self.over[0]), self.column(y or self.error))

    def column(self, name: str) -> np.ndarray:
        """A column of numbers. Raises InputError for an unknown name."""
        numbers = [key for key, kind in self.kinds.items() if kind is not str]
        if name not in numbers:
            raise unknown("column", name, numbers)
        return self.rows[name]

    def summary(self, y: str | None = None) -> list[dict[str, Any]]:
        """For each combination of what was varied: the mean of y over seeds, its standard error, sd and runs."""
        values = self.column(y or self.error)
        groups: dict[tuple[Any, ...], list[float]] = {}
        for row, value in zip(self._rows, values, strict=True):
            if np.isfinite(value):
                groups.setdefault(tuple(row[name] for name in self.over), []).append(float(value))
        return [{**dict(zip(self.over, key, strict=True)), **_moments(found)} for key, found in groups.items()]

    def __repr__(self) -> str:
        varied = ", ".join(self.over)
        return f"<Sweep of {self.recipe.method} on {self.recipe.target} over {varied}: {len(self):,} runs>"


def _moments(values: list[float]) -> dict[str, float | int | None]:
    n = len(values)
    sd = float(np.std(values, ddof=1)) if n > 1 else None
    error = None if sd is None else sd / n**0.5
    return {"mean": float(np.mean(values)), "standard_error": error, "sd": sd, "runs": n}
