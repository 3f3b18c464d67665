"""Races over many seeds: every entrant runs to the end of the budget with every seed."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from types import EllipsisType
from typing import Any

import numpy as np

from pmdviz.engine.recipe import Recipe
from pmdviz.engine.recipe_parts import MAX_BUDGET
from pmdviz.engine.session import Session
from pmdviz.errors import InputError, TargetError, check_function
from pmdviz.experiments.race.clock import DATA
from pmdviz.experiments.race.entrants import Entrant
from pmdviz.experiments.race.recipe import RaceRecipe
from pmdviz.experiments.race.result import RaceResult, mode_masses, row
from pmdviz.kernels.compiling import compile_ahead
from pmdviz.targets import Target


def race(
    methods: str | Sequence[Any] | RaceRecipe,
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
        ("pmd", {"warm_start": True}). Or, instead of all arguments that describe a race, a RaceRecipe.
    target, target_options : as in `Recipe`
    budget : int
        What each run may spend; a method may end before its budget does. By default 20,000 data; in evaluations what
        as many data cost the entrant with the most particles.
    seeds : int or iterable of int
        How many runs each entrant does (seeds 0, 1, ...), or their seeds.
    points : int
        About how many frames of each run are measured into the histories, evenly by what is spent; by default the
        first and the last one alone.
    clock : "data" or "evaluations"
        What the budget counts: observations used, or evaluations of the likelihood and its gradient, each pair of θ and
        datum as one. By default data; a target without data has evaluations alone.
    progress : function of the share done in [0, 1] and what is being run, called after every iteration.

    Raises
    ------
    InputError
        For anything that cannot be used, before anything has run.
    TargetError
        A target that fails or gives NaN, with the entrant and the seed in its words.

    Notes
    -----
    The result depends neither on the number of threads nor on the other entrants: each run is that of its recipe.
    """
    if not isinstance(methods, RaceRecipe):
        recipe = RaceRecipe.checked(methods, target, target_options, budget, seeds, points, clock=clock)
    elif (target, target_options, budget, seeds, points, clock) == USUAL:
        recipe = methods
    else:
        raise InputError("a race's recipe already says all of the race; give progress alone besides")
    check_function("progress", progress)
    compile_ahead([group for one in recipe.recipes for group in one.kernel_groups])
    runs = [(one, recipe.of(one, seed)) for seed in recipe.ending().seeds for one in recipe.entrants]
    tell = _Progress(len(runs), progress)
    ended = {(one.label, run.seed): _run(one, run, recipe.points, tell) for one, run in runs}
    order = [(one.label, seed) for one in recipe.entrants for seed in recipe.seeds]
    return RaceResult(recipe, [ended[key][0] for key in order], {key: ended[key][1] for key in order})


USUAL = ("mixture", None, ..., 1, 0, ...)  # all that describes a race, left out


class _Progress:
    """How many runs are done, and how far the present one is."""

    def __init__(self, total: int, tell: Callable[[float, str], object] | None) -> None:
        self._total, self._tell, self._done = total, tell, 0

    def step(self, session: Session, label: str) -> None:
        share = min(1.0, session.frame.spent / (session.recipe.budget or math.inf))
        self._report(self._done + share, f"{label}, seed {session.recipe.seed}")

    def run_done(self, label: str) -> None:
        self._done += 1
        self._report(self._done, label)

    def _report(self, runs: float, words: str) -> None:
        if self._tell is not None:
            self._tell(runs / self._total, words)


def _every(recipe: Recipe, points: int) -> int:
    """Iterations between two measured frames, by what the first step spends."""
    if points == 0:
        return MAX_BUDGET
    session = Session(recipe, MAX_BUDGET)
    rows = session.method.batch_size(session.frame.state, session.knobs, session.target.num_data)
    cost = rows if recipe.budget_unit == DATA else max(1, session.advance(1).spent)
    return max(1, (recipe.budget or 1) // (cost * points))


def _run(
    one: Entrant, recipe: Recipe, points: int, progress: _Progress
) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
    """The row and the history of one run."""
    try:
        session = Session(recipe, _every(recipe, points), memory_cap=0)
        while not session.done:
            session.advance(1)
            progress.step(session, one.title)
    except TargetError as error:
        raise TargetError(f"{one.label}, seed {recipe.seed}: {error}", error.theta, error.batch_note) from error
    progress.run_done(one.title)
    frame = session.frame
    return row(one.label, recipe.seed, frame, mode_masses(frame)), session.history.columns
