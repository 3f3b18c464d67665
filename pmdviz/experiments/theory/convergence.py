"""How fast the error falls with particles, steps or data, beside the slopes of the theorems."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from pmdviz.engine.recipe import Recipe
from pmdviz.errors import InputError
from pmdviz.experiments.base import Case, Chart, Experiment, Row, mean_series
from pmdviz.experiments.sweep.job import COUNTS, row_of
from pmdviz.experiments.sweep.measures import ERRORS
from pmdviz.experiments.sweep.plan import Fit, Job, fitted, planned
from pmdviz.experiments.theory.formulas import SMOOTHNESS, STRATEGIES, VARIED, Rate, planned_runs, rates_for
from pmdviz.knobs import Choice, Knobs, Whole
from pmdviz.targets import TARGETS
from pmdviz.targets.offered import names


class ConvergenceKnobs(Knobs):
    """The knobs of `convergence`."""

    kind_words = "knob of experiment 'convergence':"

    target = Choice(
        "gaussian",
        choices={name: each.title for name, each in TARGETS.items()},
        more=names,
        label="Posterior",
        doc="With an exact posterior on a grid.",
    )
    strategy = Choice(
        "particles",
        choices={name: each.title for name, each in STRATEGIES.items()},
        label="Particles",
        doc="Which of the theorems it is about.",
    )
    varied = Choice(
        "mT",
        choices={name: each.title for name, each in VARIED.items()},
        label="What is varied",
        doc="Particles m (in whole runs, or in one step), steps T (also with growing particles), both, or data N.",
    )
    error = Choice(
        "bounded",
        choices={name: words for name, (words, _) in ERRORS.items()},
        label="Error",
        doc="What the slope is fitted to.",
    )
    seeds = Whole(20, bounds=(1, 1000), label="Runs at each value", doc="Run seeds from 0 on.")


class Convergence(Experiment):
    """Runs of `pmd` at growing m, T or N: every run's error, and the power law through all of them."""

    name = "convergence"
    title = "Error against particles, steps or data"
    about = "Does the error fall as the theorems say? Runs at growing m, T or N, and the slope through them."
    source = "Dai, He, Dai, Song 2016, Theorems 3 to 6"
    Knobs = ConvergenceKnobs

    def columns(self, knobs: ConvergenceKnobs) -> Mapping[str, type]:
        """What is varied, the seed, what was spent, and every error."""
        column = {VARIED[knobs.varied].column: int}
        return column | {"seed": int, **COUNTS, **dict.fromkeys(ERRORS, float), "seconds": float}

    def cases(self, knobs: ConvergenceKnobs) -> list[Case]:
        """A recipe each."""
        recipe, over = planned_runs(knobs.target, knobs.strategy, knobs.varied)
        if recipe.make_target().planar is None:
            raise InputError(f"target {knobs.target!r} has no exact posterior on a grid", "target")
        return [_case(job) for job in planned(recipe, over, knobs.seeds, together=True)]

    def run(self, case: Case) -> list[Row]:
        """A run to the end of its budget, and its errors there."""
        job = Job(Recipe.from_dict(case["recipe"]), case["values"])
        row = row_of(job, {}, -1)
        if row["failed"]:
            raise RuntimeError(row["failed"])
        return [{**row, "num_data": row.get("num_data", 0)}]

    def summary(self, rows: Sequence[Row], knobs: ConvergenceKnobs) -> list[dict[str, Any]]:
        """The fitted slope with its standard error, and that of each bound."""
        fit = self.fit(rows, knobs)
        if fit is None:
            return []
        parts = [{"what": "measured", "slope": fit.slope, "standard_error": fit.standard_error, "runs": len(rows)}]
        return parts + [{"what": words, "slope": slope} for words, slope in self.triangles(knobs)]

    def fit(self, rows: Sequence[Row], knobs: ConvergenceKnobs) -> Fit | None:
        """The power law through all runs; None while there are too few."""
        try:
            return fitted(*self.points(rows, knobs))
        except InputError:
            return None

    def bounds(self, knobs: ConvergenceKnobs) -> list[Rate]:
        """What speaks of this error, of what is varied and of this strategy, whole bounds and terms of bounds."""
        found = [rate for letter in VARIED[knobs.varied].letters for rate in rates_for(letter, knobs.error)]
        return [rate for rate in found if rate.theorem in STRATEGIES[knobs.strategy].theorems]

    def pictures(self, rows: Sequence[Row], knobs: ConvergenceKnobs) -> list[Chart]:
        """The mean over the runs."""
        varied, words = VARIED[knobs.varied], ERRORS[knobs.error][0]
        series = mean_series("mean of the runs", rows, varied.column, knobs.error)
        return [Chart([series], varied.axis, words, slopes=self.triangles(knobs))]

    def triangles(self, knobs: ConvergenceKnobs) -> list[tuple[str, float]]:
        """Words and slope of each bound that holds for all that is varied."""
        letters = VARIED[knobs.varied].letters
        whole = [rate for rate in self.bounds(knobs) if rate.holds(letters)]
        return merged(whole, dimension(knobs)) if whole else []

    def points(self, rows: Sequence[Row], knobs: ConvergenceKnobs) -> tuple[np.ndarray, np.ndarray]:
        """What is varied and the error, (runs,) each."""
        column = VARIED[knobs.varied].column
        return np.array([row[column] for row in rows], float), np.array([row[knobs.error] for row in rows], float)


def merged(bounds: list[Rate], dim: int) -> list[tuple[str, float]]:
    """A triangle for each slope, with the theorems that print it."""
    names: dict[float, list[str]] = {}
    for rate in bounds:
        names.setdefault(rate.exponent(SMOOTHNESS, dim), []).append(rate.theorem)
    return [
        (f"{', '.join(dict.fromkeys(found))} as printed: slope {slope:.2f}", slope) for slope, found in names.items()
    ]


def dimension(knobs: ConvergenceKnobs) -> int:
    """d of the posterior."""
    return planned_runs(knobs.target, knobs.strategy, knobs.varied)[0].make_target().dim


def _case(job: Job) -> Case:
    return {"recipe": {**job.recipe.to_dict(), "made_with": {}}, "values": job.values}
