"""Races: several methods on one target and one budget, run by run over many seeds."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from types import EllipsisType
from typing import Any

import numpy as np

from pmdviz.engine.frame import Frame
from pmdviz.engine.recipe import MAX_BUDGET, Recipe
from pmdviz.engine.run import written
from pmdviz.engine.session import Session
from pmdviz.errors import InputError, TargetError, check_function
from pmdviz.experiments import grouped
from pmdviz.experiments.race.recipe import DATA, SHORT, Entrant, RaceRecipe
from pmdviz.kernels.checks import Array
from pmdviz.kernels.compiling import compile_ahead
from pmdviz.metrics import METRICS, Metric
from pmdviz.metrics.divergences import modes
from pmdviz.targets import Target


def stop_reason(session: Session) -> str:
    """Why a run has no next step, in words; "" while it has one."""
    return (session.ended or "the budget is used up") if session.done else ""


# What came out of a race: a row for each entrant and seed, and a summary over the seeds.

COSTS = ("visited", "density_evaluations", "gradient_evaluations", "seconds")
ONE_MODE = 0.98  # a run with more of its mass in one basin counts as a run in one mode


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


def _summed(label: str, rows: list[dict[str, Any]]) -> dict[str, Any]:
    found: dict[str, Any] = {"method": label, "runs": len(rows)}
    for name in (*(name for name in METRICS if any(name in one for one in rows)), *COSTS):
        values = [one.get(name) for one in rows]
        known = None not in values
        found[f"{name}_mean"] = float(np.mean(values)) if known else None
        found[f"{name}_sd"] = float(np.std(values, ddof=1)) if known and len(values) > 1 else None
    found["runs_in_one_mode"] = in_one_mode([one["mode_masses"] for one in rows])
    found["runs_with_caveat"] = sum(bool(one["caveat"]) for one in rows)
    return found


def in_one_mode(masses: Sequence[list[float] | None]) -> int | None:
    """How many runs have their mass in one basin, by their `mode_masses`; None without several modes."""
    if not all(one is not None and len(one) > 1 for one in masses):
        return None
    return sum(sum(one) > 0 and max(one) > ONE_MODE * sum(one) for one in masses)


@dataclass(frozen=True, eq=False)
class RaceResult:
    """The runs of a race.

    Attributes
    ----------
    recipe : RaceRecipe
        All that is needed to run the whole race again.
    rows : list of dict
        One a run: method, seed, visited, the metrics, mode_masses, density_evaluations, gradient_evaluations, seconds
        (of the steps alone). A metric that does not apply is left out of the row.
    histories : dict, (method, seed) -> history
        The measured frames of each run, as in `Run.history`.
    stands_at : int or None
        For a stopped race the amount that every running entrant has spent; None for a whole race.
    """

    recipe: RaceRecipe
    rows: list[dict[str, Any]]
    histories: dict[tuple[str, int], dict[str, Array]]
    stands_at: int | None = None

    @cached_property
    def summary(self) -> list[dict[str, Any]]:
        """One entry for each method, in the order of the rows.

        For every metric, visited, density_evaluations, gradient_evaluations and seconds: mean and sd over the seeds
        (`..._mean`, `..._sd`; the sd of one run is None). `runs_in_one_mode`: how many runs have more than 0.98 of the
        mass that lies in any basin in one of them; None where the posterior has one mode, or its modes are not known.
        `runs_with_caveat`: how many runs are not to be trusted, by `Frame.caveat`.
        """
        return [_summed(label, mine) for (label,), mine in grouped(self.rows, "method").items()]

    @property
    def entrants(self) -> tuple[Entrant, ...]:
        """The methods of the race, with their settings."""
        return self.recipe.entrants

    @property
    def seeds(self) -> tuple[int, ...]:
        """The seeds of each entrant's runs."""
        return self.recipe.seeds

    @property
    def target(self) -> Target:
        """The target of all runs."""
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
        """The rows as a pandas DataFrame."""
        import pandas  # takes half a second

        return pandas.DataFrame(self.rows)

    def to_recipe(self) -> RaceRecipe:
        """The recipe of this race as it stands: its budget is the amount that every entrant has spent.

        An entrant that is ahead of the last one ends at the first step that has spent so much.
        """
        return self.recipe if self.stands_at is None else replace(self.recipe, budget=self.stands_at)

    def to_python(self) -> str:
        """A few lines of Python that repeat this race as it stands and bind `race`; `recipe.to_python()`: the whole."""
        return self.to_recipe().to_python()

    def export(self, path: str | os.PathLike[str], **options: Any) -> Path:
        """Write the race to a file whose suffix says its kind: a film, a picture, a table, the race's recipe.

        `.gif .mp4 .html .png .svg .pdf .csv .parquet .py .json`; see `pmdviz export --help` for the options, and
        `progress`, a function of (frames done, frames in all). A film shows the first seed's runs in lock step. Returns
        the path. Raises InputError.

        Examples
        --------
        >>> pmdviz.race(["pmd", "smc", "sgld"]).export("race.gif", traces="kl_forward")
        """
        return written(self, path, options)

    def __repr__(self) -> str:
        many = f"{len(self.entrants)} entrants, {len(self.seeds)} seeds on {self.target.name!r}"
        return f"<RaceResult: {many}, {self.budget:,} {SHORT[self.recipe.budget_unit]} each>"


# Races over many seeds: every entrant runs to the end of the budget with every seed.


def race(
    methods: str | Sequence[Any] | Recipe | RaceRecipe,
    target: str | Target = "mixture",
    target_options: Mapping[str, Any] | None = None,
    budget: int | EllipsisType = ...,
    seeds: int | Iterable[int] = 1,
    *,
    points: int = 0,
    clock: str | EllipsisType = ...,
    progress: Callable[[float, str], object] | None = None,
) -> RaceResult:
    """Run several methods with the same budget, each once a seed.

    Parameters
    ----------
    methods : list of entrants
        Each a method ("pmd"), a method with knobs ("pmd:warm_start=true,bandwidth=0.5"), or a pair
        ("pmd", {"warm_start": True}); knobs changed during the run follow as in "pmd@40:bandwidth=0.5", or as
        ("pmd", {}, [(40, {"bandwidth": 0.5})]). A Recipe enters with its method, knobs and changes. Or, instead of
        all arguments that describe a race, a RaceRecipe, or a Recipe: a run is a race of one.
    target, target_options : as in `Recipe`
    budget : int
        What each run may spend; a method may end before its budget does. By default 20,000 data; in evaluations what
        as many data cost the entrant with the most particles.
    seeds : int or iterable of int
        How many runs each entrant does (seeds 0, 1, ...), or their seeds.
    points : int
        About how many frames of each run are measured into the histories, evenly over the budget; by default the
        first and the last one alone.
    clock : "data" or "evaluations"
        What the budget counts: observations used, or evaluations of the likelihood and its gradient, each pair of θ
        and observation as one. By default data; a target without data has evaluations alone.
    progress : function of the share done in [0, 1] and the present run, called after every iteration.

    Raises
    ------
    InputError
        For anything that cannot be used, before anything has run.
    TargetError
        A target that fails or gives NaN, with the entrant and the seed in its words.

    Notes
    -----
    The result depends neither on the number of threads nor on the other entrants: each run follows from its recipe.
    """
    if isinstance(methods, Recipe) and (target, target_options, budget, clock) == (*USUAL[:3], ...):
        recipe = RaceRecipe.of_runs([methods], seeds, points)
    elif not isinstance(methods, Recipe | RaceRecipe):
        recipe = RaceRecipe.checked(methods, target, target_options, budget, seeds, points, clock=clock)
    elif isinstance(methods, RaceRecipe) and (target, target_options, budget, seeds, points, clock) == USUAL:
        recipe = methods
    else:
        words = "a recipe already says all of the race; give progress alone besides"
        raise InputError(f"{words} (of a run seeds and points too)")
    check_function("progress", progress)
    compile_ahead([group for one in recipe.recipes for group in one.kernel_groups])
    runs = [(one, recipe.of(one, seed)) for seed in recipe.ending().seeds for one in recipe.entrants]
    ended = {}
    for done, (one, run) in enumerate(runs):

        def tell(share: float, words: str, done: int = done) -> None:
            if progress is not None:
                progress((done + share) / len(runs), words)

        ended[one.label, run.seed] = _run(one, run, recipe.points, tell)
    order = [(one.label, seed) for one in recipe.entrants for seed in recipe.seeds]
    return RaceResult(recipe, [ended[key][0] for key in order], {key: ended[key][1] for key in order})


USUAL = ("mixture", None, ..., 1, 0, ...)  # all that describes a race, left out


def _every(recipe: Recipe, points: int) -> int:
    """Iterations between two measured frames, by what the first step spends."""
    if points == 0:
        return MAX_BUDGET
    session = Session(recipe, MAX_BUDGET)
    rows = session.method.batch_size(session.frame.state, session.knobs, session.target.num_data)
    cost = rows if recipe.budget_unit == DATA else max(1, session.advance(1).spent)
    return max(1, recipe.budget // (cost * points))


def _run(
    one: Entrant, recipe: Recipe, points: int, tell: Callable[[float, str], object]
) -> tuple[dict[str, Any], dict[str, Array]]:
    """The row and the history of one run."""
    try:
        session = Session(recipe, _every(recipe, points), memory_cap=0)
        while not session.done:
            spent = session.advance(1).spent
            tell(min(1.0, spent / recipe.budget), f"{one.title}, seed {recipe.seed}")
    except TargetError as error:
        raise TargetError(f"{one.label}, seed {recipe.seed}: {error}", error.theta, error.batch_note) from error
    tell(1.0, one.title)
    return row(one.label, recipe.seed, session.frame, mode_masses(session.frame)), session.history.columns
