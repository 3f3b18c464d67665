"""The public functions."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from types import EllipsisType
from typing import TYPE_CHECKING, Any

from pmdviz import knobs
from pmdviz.data.tables import Table, hold
from pmdviz.engine.recipe import Recipe
from pmdviz.engine.run import Run, write_with
from pmdviz.engine.session import Session
from pmdviz.errors import InputError, check_function, shown
from pmdviz.experiments.race import RaceResult as RaceResult
from pmdviz.experiments.race import race as race
from pmdviz.kernels.compiling import compile_ahead
from pmdviz.methods import METHODS, usual_target
from pmdviz.metrics import perfect_draws
from pmdviz.targets import TARGETS, Target, find_target, get_target
from pmdviz.targets.custom import CustomTarget, offered
from pmdviz.targets.custom import register_target as register_target
from pmdviz.targets.options import table_of

if TYPE_CHECKING:
    import pandas as pd

    from pmdviz.experiments.running import ExperimentResult


def _export(what: Run | RaceResult, path: str | os.PathLike[str], **options: Any) -> Path:
    from pmdviz.export import export  # Bokeh and matplotlib with it

    return export(what, path, **options)


write_with(_export)


def list_targets() -> dict[str, dict[str, Any]]:
    """Every target, your registered ones last: name -> title, reference, about and options.

    Each option has a name, default, bounds, unit, help and when it acts.
    """
    every: dict[str, Any] = {**TARGETS, **offered()}
    return {name: {**_described(made), "options": knobs.table(made.Options)} for name, made in every.items()}


def list_methods() -> dict[str, dict[str, Any]]:
    """Every method: name -> title, formula, reference, default budget, and knobs.

    Each knob has a name, default, bounds, unit, help and when it acts.

    `default_budget` are the data that a run visits by default, on the mixture or the first target that
    the method fits; `budget_words` what they are enough for ("" where every run has 20,000).
    """
    return {
        name: {
            "title": method.title,
            "formula": method.formula,
            "reference": method.source,
            "default_budget": Recipe(usual_target(name), name).default_budget,
            "budget_words": method.budget_words,
            "knobs": knobs.table(method.Knobs),
        }
        for name, method in METHODS.items()
    }


def list_experiments() -> dict[str, dict[str, Any]]:
    """Every experiment: name -> title, about, reference, knobs (name, default, bounds, unit, help)."""
    from pmdviz.experiments.running import EXPERIMENTS  # joblib takes a tenth of a second

    return {name: {**_described(each), "knobs": knobs.table(each.Knobs)} for name, each in sorted(EXPERIMENTS.items())}


def list_fit_tests() -> dict[str, dict[str, Any]]:
    """Every goodness-of-fit test: name -> title, about, reference, and whether it has a bandwidth."""
    from pmdviz.experiments.fit_statistics import FIT_TESTS

    return {name: {**_described(test), "has_bandwidth": test.has_bandwidth} for name, test in FIT_TESTS.items()}


def _described(each: Any) -> dict[str, str]:
    """Its title, what it is about, and its source."""
    return {"title": each.title, "about": each.about, "reference": each.source}


def target(name: str, **options: Any) -> Target:
    """The target of that name: a built-in one with these options, or one that you registered.

    Raises InputError for an unknown name or an option out of its bounds.

    Examples
    --------
    >>> pmdviz.target("mixture", data_seed=3, num_data=400, sigma_x=1.5).exact.mean
    """
    return get_target(name, options)


custom_target = CustomTarget


def read_table(
    source: str | os.PathLike[str] | pd.DataFrame,
    target: str,
    *,
    inputs: Sequence[str] | None = None,
    outcome: str | None = None,
    scale: bool = False,
) -> Table:
    """The rows of a table of yours as a target takes them, for its option `data`.

    Parameters
    ----------
    source : path or data frame
        A file of cells divided by commas, semicolons, tabs, bars or spaces.
    target : str
        The target that takes it.
    inputs, outcome : names of columns, optional
        By default what the page presets. A column of words as input becomes a column of 0 and 1 for each word.
    scale : bool
        Each column of numbers less its mean, divided by its sd, rounded to 5 decimals.

    Returns
    -------
    Table
        `.columns`, `.rows` (n, k): the inputs, then the outcome. Rows with a missing value are omitted from it.

    Raises
    ------
    InputError
        A file that cannot be read, names that are not columns, columns that do not fit the target.

    Examples
    --------
    >>> heights = pmdviz.read_table("people.csv", "mixture", inputs=["height"], scale=True)
    >>> pmdviz.run(target="mixture", target_options={"data": heights})
    """
    form = find_target(target).table
    if form is None:
        takers = ", ".join(name for name, each in TARGETS.items() if each.table is not None)
        raise InputError(f"target {target!r} takes no table; these do: {takers}")
    found = table_of(source, form, inputs, outcome, scale)
    name = os.fspath(source) if isinstance(source, (str, os.PathLike)) else "given"
    return hold(name, found.columns, found.rows, units=found.units)


def run(
    recipe: Recipe | str | None = None,
    *,
    target: str | Target = "mixture",
    target_options: Mapping[str, Any] | None = None,
    method: str = "pmd",
    seed: int = 0,
    budget: int | EllipsisType = ...,
    metrics_every: int | None = None,
    floor: bool = True,
    progress: Callable[[Session], None] | None = None,
    **knobs: Any,
) -> Run:
    """Run a recipe until its budget of observations is used.

    Parameters
    ----------
    recipe : Recipe or str, optional
        Instead of the arguments that describe one; a text is the name of a preset.
    target, target_options, method, seed, budget, **knobs
        As in `Recipe`.
    metrics_every : int, optional
        Measure every so many iterations, in full; by default at 0, 1, 2, 5, 10, then one in each block of ten
        at a place that varies without a period, and the last.
    floor : bool
        Compute what independent draws would get (metrics floor_tv, floor_kl; once a target and particle count).
    progress : function of the session, called after every iteration.

    Raises
    ------
    InputError
        For input that cannot be used, such as a run without an end.
    TargetError
        A target that fails or gives NaN.
    """
    if recipe is None:
        recipe = Recipe(target, method, target_options=target_options, seed=seed, budget=budget, **knobs)
    elif more := _besides(knobs, target=target, target_options=target_options, method=method, seed=seed, budget=budget):
        raise InputError(f"a recipe already holds all of the run; leave out {', '.join(more)}")
    if isinstance(recipe, str):
        from pmdviz.presets import find_preset

        recipe = find_preset(recipe).recipe
    if not isinstance(recipe, Recipe):
        raise InputError(f"run takes a Recipe, the name of a preset, or keywords; got {shown(recipe)}")
    check_function("progress", progress)
    if recipe.budget is None:
        raise InputError("run needs a budget of observations; this recipe has no end (budget: None)")
    compile_ahead(recipe.kernel_groups)
    session = Session(recipe, metrics_every)
    while not session.done:
        session.advance(1 if progress is not None else 10**9)
        if progress is not None:
            progress(session)
    if floor:
        perfect_draws.floor(session.target, session.frame.num_draws, **session.frame.drawn_as)
    return session.run


def _besides(knobs: Mapping[str, Any], **parts: Any) -> list[str]:
    """Names of the knobs given, and of the parts of a run that are not left at their defaults."""
    usual = run.__kwdefaults__ or {}
    return [*knobs, *(name for name, value in parts.items() if value is not usual[name] and value != usual[name])]


def experiment(
    name: str,
    *,
    path: str | os.PathLike[str] | None = None,
    workers: int | None = None,
    progress: Callable[[int, int], None] | None = None,
    insist: bool = False,
    **knobs: Any,
) -> ExperimentResult:
    """One of `list_experiments()`, its cases computed in parallel.

    Parameters
    ----------
    name : str
    path : path, optional
        A table (.parquet, .csv, or no suffix) into which each case goes as soon as it has ended. Cases that are in it
        already are not computed again: the same call resumes.
    workers : int, optional
        Processes; by default one a core.
    progress : function (cases done, cases in all)
        Called after every case and a few times per second. If it raises, the workers stop.
    insist : bool
        Begin also what by the forecast takes more than an hour, or more than half of the free memory.
    **knobs
        Knobs of the experiment.

    Returns
    -------
    ExperimentResult
        `.rows`, `.summary`, `.pictures`, `.examples()`, `.failed`, `.export(path)`.

    Raises
    ------
    InputError
        An unknown name or knob, a value out of its bounds, a table that is not this experiment's, a table that is too
        large.

    Examples
    --------
    >>> pmdviz.experiment("convergence", varied="m", seeds=4).summary
    """
    from pmdviz.experiments.running import run_experiment  # joblib takes a tenth of a second

    return run_experiment(name, knobs, path=path, workers=workers, progress=progress, insist=insist)
