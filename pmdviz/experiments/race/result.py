"""What came out of a race: a row for each entrant and seed, and a summary over the seeds."""

from __future__ import annotations

import os
from collections.abc import Iterable
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from pmdviz.engine.frame import Frame
from pmdviz.experiments.race.clock import SHORT
from pmdviz.experiments.race.entrants import Entrant
from pmdviz.experiments.race.recipe import RaceRecipe
from pmdviz.metrics import METRICS, Metric
from pmdviz.metrics.modes import modes
from pmdviz.targets import Target

COSTS = ("visited", "density_evaluations", "gradient_evaluations", "seconds")
ONE_MODE = 0.98  # a run with more of its mass in one basin is said to sit in one mode


def mode_masses(frame: Frame) -> list[float] | None:
    """The approximation's mass in the basin of each mode; None where the modes are not known."""
    known = modes(frame.target)
    return None if known is None else known.masses_of(frame.density)


def row(
    label: str, seed: int, frame: Frame, masses: list[float] | None, only: Iterable[Metric] | None = None
) -> dict[str, Any]:
    """The row of one run at `frame`, with its `mode_masses`; an unavailable value is None.

    `only`: those metrics that are wanted; others are not computed.
    """
    metrics = frame.metrics if only is None else {metric.name: frame.metric(metric.name) for metric in only}
    return {
        "method": label,
        "seed": seed,
        "visited": frame.visited,
        **{name: metrics[name] for name in METRICS if name in metrics},
        "mode_masses": masses,
        "density_evaluations": frame.density_evaluations,
        "gradient_evaluations": frame.gradient_evaluations,
        "seconds": frame.seconds,
        "caveat": frame.caveat,
    }


def summary(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """One entry for each method, in the order of the rows.

    For every metric, visited, density_evaluations, gradient_evaluations and seconds: mean and sd over the seeds
    (`..._mean`, `..._sd`; the sd of one run is None). `runs_in_one_mode`: how many runs have more than 0.98 of the mass
    that lies in any basin in one of them; None where the posterior has one mode, or its modes are not known.
    `runs_with_caveat`: how many runs are not to be trusted, by `Frame.caveat`.
    """
    labels = dict.fromkeys(one["method"] for one in rows)
    return [_summed(label, [one for one in rows if one["method"] == label]) for label in labels]


def _summed(label: str, rows: list[dict[str, Any]]) -> dict[str, Any]:
    found: dict[str, Any] = {"method": label, "runs": len(rows)}
    for name in (*(name for name in METRICS if any(name in one for one in rows)), *COSTS):
        values = [one.get(name) for one in rows]
        known = None not in values
        found[f"{name}_mean"] = float(np.mean(values)) if known else None
        found[f"{name}_sd"] = float(np.std(values, ddof=1)) if known and len(values) > 1 else None
    found["runs_in_one_mode"] = _in_one_mode([one["mode_masses"] for one in rows])
    found["runs_with_caveat"] = sum(bool(one["caveat"]) for one in rows)
    return found


def _in_one_mode(masses: list[list[float] | None]) -> int | None:
    known = [one for one in masses if one is not None and len(one) > 1]
    if len(known) < len(masses):
        return None
    return sum(sum(one) > 0 and max(one) > ONE_MODE * sum(one) for one in known)


@dataclass(frozen=True, eq=False)
class RaceResult:
    """The runs of a race.

    Attributes
    ----------
    recipe : RaceRecipe
        All that is needed to run the whole race again.
    rows : list of dict
        One a run: method, seed, visited, the metrics, mode_masses, density_evaluations, gradient_evaluations, seconds
        (of the steps alone). What a metric does not apply to has none of its name.
    histories : dict, (method, seed) -> history
        The measured frames of each run, as in `Run.history`.
    stands_at : int or None
        Of a race that was stopped what everybody who races has spent; None where it went to its end.
    """

    recipe: RaceRecipe
    rows: list[dict[str, Any]]
    histories: dict[tuple[str, int], dict[str, np.ndarray]]
    stands_at: int | None = None

    @cached_property
    def summary(self) -> list[dict[str, Any]]:
        """One entry a method: mean and sd over the seeds, see the function `summary`."""
        return summary(self.rows)

    @property
    def entrants(self) -> tuple[Entrant, ...]:
        """Who raced."""
        return self.recipe.entrants

    @property
    def seeds(self) -> tuple[int, ...]:
        """The seeds of each entrant's runs."""
        return self.recipe.seeds

    @property
    def target(self) -> Target:
        """What they raced on."""
        return self.recipe.target

    @property
    def budget(self) -> int:
        """What each run might spend, in the recipe's `budget_unit`."""
        return self.recipe.budget

    @property
    def modes(self) -> list[dict[str, Any]] | None:
        """Peak and exact mass of each mode, in the order of `mode_masses`; None where they are not known."""
        known = modes(self.target)
        if known is None:
            return None
        pairs = zip(known.peaks.tolist(), known.masses.tolist(), strict=True)
        return [{"peak": peak, "mass": mass} for peak, mass in pairs]

    def to_frame(self) -> Any:
        """The rows as a pandas DataFrame. Raises ImportError with a cure where pandas is not installed."""
        try:
            import pandas
        except ImportError as error:
            raise ImportError("RaceResult.to_frame needs pandas: pip install pandas") from error
        return pandas.DataFrame(self.rows)

    def to_recipe(self) -> RaceRecipe:
        """The recipe of this race as it stands: its budget is what everybody has spent.

        Who is ahead of the last one comes to stand at the first step that has spent so much.
        """
        return self.recipe if self.stands_at is None else replace(self.recipe, budget=self.stands_at)

    def to_python(self) -> str:
        """A few lines of Python that repeat this race as it stands and bind `race`; `recipe.to_python()`: the whole."""
        return self.to_recipe().to_python()

    def export(self, path: str | os.PathLike[str], **options: Any) -> Path:
        """Write the race to a file whose suffix says its kind: a film, a picture, a table, the race's recipe.

        `.gif .mp4 .html .png .svg .pdf .csv .parquet .py .json`; the options are those of `pmdviz export --help`, and
        `progress`, a function of (frames done, frames in all). A film shows the first seed's runs in lock step. Returns
        the path. Raises InputError.

        Examples
        --------
        >>> pmdviz.race(["pmd", "smc", "sgld"]).export("race.gif", traces="kl_forward")
        """
        from pmdviz.export import export  # a higher level, and Bokeh with it

        return export(self, path, **options)

    def __repr__(self) -> str:
        return (
            f"<RaceResult: {len(self.entrants)} entrants, {len(self.seeds)} seeds on {self.target.name!r}, "
            f"{self.budget:,} {SHORT[self.recipe.budget_unit]} each>"
        )
