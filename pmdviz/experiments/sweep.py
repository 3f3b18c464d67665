"""A sweep: a run for each combination of values and seed, a row each in a table, and a power law through the errors."""

from __future__ import annotations

import hashlib
import itertools
import json
import math
import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property, partial, reduce
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import cloudpickle
import numpy as np

from pmdviz.densities.density import Density, Grid
from pmdviz.engine.frame import Frame
from pmdviz.engine.recipe import MAX_BUDGET, Recipe, begun_with, checked_whole
from pmdviz.engine.session import Session
from pmdviz.errors import InputError, TargetError, check_known, shown, words_of
from pmdviz.experiments import checked_seeds, grouped, numbers
from pmdviz.experiments.race import mode_masses
from pmdviz.experiments.workers import Row, run_cases
from pmdviz.kernels.checks import Array
from pmdviz.kernels.compiling import compile_ahead
from pmdviz.knobs import Raw, Value
from pmdviz.metrics import METRICS, once
from pmdviz.targets import Target
from pmdviz.targets.custom import CustomTarget

if TYPE_CHECKING:
    import pandas as pd
    from numpy.typing import ArrayLike

# How far a run's last frame is from the exact posterior: the divergences, and the class of Theorem 5.

ErrorFunction = Callable[[Frame], float | None]
CELLS = {1: 4096, 2: 256}  # a side, over each mode of the posterior
REACH, LINE = 8.5, 4096  # sds of a Gaussian family, and cells, on the line of each coordinate


OfOne = Callable[[Array], Array]
# Functions f with |f| <= 1 of one coordinate in units of the prior's sd, each with an antiderivative. Means over cells
# are differences of the antiderivative, so a jump within a cell costs nothing.
BOUNDED: dict[str, tuple[OfOne, OfOne]] = {
    "cos(2u)": (lambda u: np.cos(2 * u), lambda u: 0.5 * np.sin(2 * u)),
    "u > 0.5": (lambda u: (u > 0.5).astype(float), lambda u: np.maximum(u - 0.5, 0.0)),
    "tanh(u)": (np.tanh, lambda u: np.logaddexp(u, -u)),
}


def bounded_error(frame: Frame) -> float | None:
    """Mean over f and coordinates of |E_q f - E_p f|, the error of Theorem 5 of Dai et al. 2016.

    f runs over BOUNDED, u is a coordinate in units of the prior's sd. Of particles and chains q is the weighted
    points themselves, without smoothing (Eq. 4); None without an exact posterior.
    """
    target = frame.target
    if target.planar is None:
        return None
    exact = once(target, "bounded", lambda: exact_values(target))
    return float(np.abs(_values_of(frame) - exact).mean())


def exact_values(target: Target) -> Array:
    """E_p f for every coordinate and function, (d, functions), of a target with an exact posterior."""
    exact = target.exact
    values, mass = np.zeros((target.dim, len(BOUNDED))), 0.0
    for box in exact.boxes:
        grid = Grid(box, CELLS[len(box)])
        p = np.exp(exact.log_density(grid.points)).reshape(grid.shape) * grid.cell_volume
        edges = np.array([np.linspace(low, high, grid.side + 1) for low, high in box])  # (d, cells + 1)
        # Of the cells along each coordinate, (d, cells); the first coordinate runs fastest.
        masses = p[None] if len(box) == 1 else np.array([p.sum(axis=0), p.sum(axis=1)])
        values, mass = values + _expectations(edges / target.scale[:, None], masses), mass + masses[0].sum()
    return values / mass


def _expectations(edges: Array, masses: Array) -> Array:
    """sum over cells of mass times the cell's mean of f, (d, functions); edges (d, cells + 1) in units of u."""
    means = [np.diff(antiderivative(edges), axis=1) / np.diff(edges, axis=1) for _, antiderivative in BOUNDED.values()]
    return np.array([(masses * mean).sum(axis=1) for mean in means]).T


def _values_of(frame: Frame) -> Array:
    """E_q f for every coordinate and function, (d, functions)."""
    if frame.method.family == "parametric":
        return _of_gaussians(frame.density, frame.target.scale)
    u, weights = frame.particles / frame.target.scale, frame.weights
    return np.array([(weights[:, None] * f(u)).sum(axis=0) for f, _ in BOUNDED.values()]).T


def _of_gaussians(density: Density, scale: Array) -> Array:
    """The same for a mixture of Gaussians, component by component along each coordinate."""
    nodes = np.linspace(-REACH, REACH, LINE + 1)
    masses = np.exp(-0.5 * (0.5 * (nodes[1:] + nodes[:-1])) ** 2)
    masses /= masses.sum()
    sds = density.kernel_sds  # (m, d)
    values = np.zeros((len(scale), len(BOUNDED)))
    for weight, centre, sd in zip(density.weights, density.centres, sds, strict=True):
        edges = (centre[:, None] + sd[:, None] * nodes) / scale[:, None]
        values = values + weight * _expectations(edges, np.broadcast_to(masses, (len(centre), LINE)))
    return values


PLANAR = ("tv", "kl_forward", "kl_reverse", "cross_entropy")  # the columns of a sweep's table are these
ERRORS: dict[str, tuple[str, ErrorFunction]] = {
    **{name: (METRICS[name].label, METRICS[name].measure) for name in PLANAR},
    "bounded": ("error of bounded functions", bounded_error),
}


def chosen_error(error: str | ErrorFunction) -> tuple[str, dict[str, ErrorFunction]]:
    """The name of the error asked for, and the function that measures it where it is not one of ERRORS.

    Raises InputError.
    """
    known = {**ERRORS, **METRICS}
    if isinstance(error, str):
        check_known("error", [error], known)
        return error, {} if error in ERRORS else {error: partial(_of_metric, error)}
    if not callable(error):
        raise InputError(f"error must be one of {', '.join(known)}, or a function of a frame; got {shown(error)}")
    name = getattr(error, "__name__", "")
    if name in known:
        raise InputError(f"error {name!r} is the name of a metric; give your function another")
    if not name.isidentifier():
        raise InputError(f"error must be a function with a name of its own, not a lambda; got {shown(error)}")
    return name, {name: error}


def _of_metric(name: str, frame: Frame) -> float | None:
    """A metric of the table. Raises InputError where it does not apply."""
    if name not in frame.metric_names:
        words = f"error {name!r} is unavailable for method {frame.method.name!r} on target {frame.target.name!r}"
        raise InputError(f"{words}; available: {', '.join(frame.metric_names)}")
    return frame.metrics[name]


def measured(frame: Frame, own: Mapping[str, ErrorFunction]) -> dict[str, float]:
    """Every error of a frame; NaN where one is unavailable."""
    functions = {name: measure for name, (_, measure) in ERRORS.items()} | dict(own)
    return numbers({name: measure(frame) for name, measure in functions.items()})


MAX_JOBS = 1_000_000
BUDGET = "budget"
Seeds = int | Iterable[int]  # how many, or the seeds themselves


class Job(NamedTuple):
    """One run of a sweep. Its identity is its recipe without the seed, and the seed."""

    recipe: Recipe
    values: dict[str, Value]  # name of a varied setting -> its value here

    @property
    def identity(self) -> tuple[str, int]:
        """(hash of the recipe's canonical JSON without seed and versions, seed)."""
        plain = {**self.recipe.to_dict(), "seed": None, "made_with": None}
        text = json.dumps(plain, ensure_ascii=False, allow_nan=False)
        return hashlib.sha256(text.encode()).hexdigest()[:16], self.recipe.seed


def planned(recipe: Recipe, over: Mapping[str, Iterable[Raw]], seeds: Seeds, together: bool = False) -> list[Job]:
    """The runs of a sweep: every combination of the values in `over` (or, `together`, the lists side by side).

    `over` names knobs of the recipe's method, options of its target, or "budget". Raises InputError for a name or a
    value that cannot be used.
    """
    if not isinstance(recipe, Recipe):
        raise InputError(f"sweep takes a Recipe; got {shown(recipe)}")
    if not isinstance(over, Mapping) or not over:
        raise InputError(f"over must name settings, as in {{'num_particles': [100, 400]}}; got {shown(over)}")
    lists = {name: _values(recipe, name, values) for name, values in over.items()}
    chosen = checked_seeds(seeds, MAX_JOBS)
    lengths = {name: len(values) for name, values in lists.items()}
    if together and len({*lengths.values()}) > 1:
        words = ", ".join(f"{name} has {length}" for name, length in lengths.items())
        raise InputError(f"together needs lists of one length; {words}")
    rows = (zip if together else itertools.product)(*lists.values())
    count = min(lengths.values()) if together else math.prod(lengths.values())
    if count * len(chosen) > MAX_JOBS:
        raise InputError(f"a sweep has at most {MAX_JOBS:,} runs; got {count * len(chosen):,}")
    varied = [dict(zip(lists, row, strict=True)) for row in rows]
    made = [(begun_with(recipe, values), values) for values in varied]
    if any(one.budget is None for one, _ in made):
        raise InputError("sweep needs a budget of observations; this recipe has no end (budget: None)")
    jobs = [Job(one.replaced(seed=seed), values) for one, values in made for seed in chosen]
    return list({job.identity: job for job in jobs}.values())


def _values(recipe: Recipe, name: str, values: Iterable[Raw]) -> list[Value]:
    """The values of one name, parsed by its declaration."""
    method, target = recipe.make_method(), recipe.make_target()
    specs = {**target.Options.specs(), **method.Knobs.specs()}
    check_known("name to vary:", [name], [*specs, BUDGET])
    if isinstance(values, (str, bytes)) or not isinstance(values, Iterable):
        raise InputError(f"the values of {name} must be a list; got {shown(values)}")
    parse = specs[name].parse if name in specs else lambda raw: checked_whole(BUDGET, raw, 1, 10**12)
    parsed = [parse(raw.item() if isinstance(raw, (np.generic, np.ndarray)) else raw) for raw in values]
    if not parsed:
        raise InputError(f"{name} needs at least one value")
    return parsed


# A power law through all points of a sweep: log-log least squares.


class Fit(NamedTuple):
    """error = exp(intercept) x^slope. The standard error assumes independent residuals of the points."""

    slope: float
    standard_error: float
    intercept: float
    num_points: int
    left_out: int  # points without a logarithm: errors that are 0 or unknown

    def at(self, x: ArrayLike) -> Array:
        """The law at x."""
        return np.exp(self.intercept + self.slope * np.log(np.asarray(x, float)))

    def __str__(self) -> str:
        return f"slope {self.slope:.3f} ± {self.standard_error:.3f} ({self.num_points:,} points)"


def fitted(x: ArrayLike, y: ArrayLike) -> Fit:
    """The least-squares line of log y over log x, with the standard error of its slope.

    All points count, each once; those that are not positive or not finite have no logarithm and are left out and
    counted. Raises InputError unless three points at two different x remain.
    """
    x, y = np.asarray(x, float), np.asarray(y, float)
    kept = np.isfinite(x) & np.isfinite(y) & (x > 0) & (y > 0)
    log_x, log_y, n = np.log(x[kept]), np.log(y[kept]), int(kept.sum())
    if n < 3 or np.ptp(log_x) == 0:
        raise InputError(f"a slope needs three points or more at two different x; there are {n} that can be used")
    (slope, intercept), cov = np.polyfit(log_x, log_y, 1, cov=True)
    return Fit(float(slope), float(np.sqrt(cov[0, 0])), float(intercept), n, int(len(x) - n))


# The result of a sweep.


@dataclass(frozen=True, eq=False)
class Sweep:
    """The runs of a sweep, one row each, in the order of the plan.

    Attributes
    ----------
    recipe : Recipe
        The part that all runs share.
    over : tuple of str
        The names that were varied.
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
    _rows: list[Row] = field(repr=False)
    failed: tuple[str, ...] = ()
    path: Path | None = None

    @cached_property
    def rows(self) -> dict[str, Array]:
        """Column -> array, all of equal length.

        The varied settings, seed, iterations, visited, density_evaluations, gradient_evaluations, the errors (NaN where
        one is unavailable), seconds of the steps, failed (words, "" where nothing did) and the hash of the recipe.
        """
        return {name: np.array([row[name] for row in self._rows], dtype=kind) for name, kind in self.kinds.items()}

    def __len__(self) -> int:
        return len(self._rows)

    def to_frame(self) -> pd.DataFrame:
        """The rows as a pandas DataFrame."""
        import pandas as pd  # takes half a second

        return pd.DataFrame(self.rows)

    def fit(self, x: str | None = None, y: str | None = None) -> Fit:
        """The power law y ~ x^slope through ALL points, with the slope's standard error.

        `x` is a column, by default the first that was varied; `y` by default the sweep's error. Raises InputError.
        """
        return fitted(self.column(x or self.over[0]), self.column(y or self.error))

    def column(self, name: str) -> Array:
        """A column of numbers. Raises InputError for an unknown name."""
        check_known("column", [name], [key for key, kind in self.kinds.items() if kind is not str])
        return self.rows[name]

    def summary(self, y: str | None = None) -> list[Row]:
        """For each combination of the varied settings: the mean of y over seeds, its standard error, sd and runs."""
        column, found = y or self.error, []
        self.column(column)  # says which names there are
        for key, mine in grouped([row for row in self._rows if np.isfinite(row[column])], *self.over).items():
            values, n = np.array([row[column] for row in mine], float), len(mine)
            sd = float(values.std(ddof=1)) if n > 1 else None
            spread = {"standard_error": None if sd is None else sd / n**0.5, "sd": sd, "runs": n}
            found.append({**dict(zip(self.over, key, strict=True)), "mean": float(values.mean()), **spread})
        return found

    def __repr__(self) -> str:
        varied = ", ".join(self.over)
        return f"<Sweep of {self.recipe.method} on {self.recipe.target} over {varied}: {len(self):,} runs>"


COUNTS: dict[str, type] = {"iterations": int, "visited": int, "density_evaluations": int, "gradient_evaluations": int}
ENDING: dict[str, type] = {"seconds": float, "failed": str, "recipe": str}
_targets: dict[tuple, CustomTarget] = {}  # of this process: the exact posterior of a custom target is computed once


def sweep(
    recipe: Recipe,
    over: Mapping[str, Iterable[Raw]],
    *,
    seeds: Seeds = 20,
    path: str | os.PathLike[str] | None = None,
    error: str | ErrorFunction = "tv",
    together: bool = False,
    workers: int | None = None,
    progress: Callable[[int, int], object] | None = None,
) -> Sweep:
    """Run a recipe for each combination of some values and each seed, in parallel, and measure every run's end.

    Parameters
    ----------
    recipe : Recipe
    over : mapping name -> values
        Knobs of the method, options of the target, or "budget". A name that both have is the method's.
    seeds : int or iterable
        So many run seeds, from 0, or the seeds themselves.
    path : path, optional
        A table (.parquet, .csv, or no suffix: Parquet where pyarrow is there) into which each run goes as soon as it
        has ended. Runs that are in it already are not computed again: after a crash, or with more values or seeds, the
        same call goes on.
    error : str or function of a Frame
        What `Sweep.fit` and `Sweep.summary` take: tv, kl_forward, kl_reverse, cross_entropy, bounded (the class of
        Theorem 5). All of them are measured in any case, a function of your own besides.
    together : bool
        Go through the lists side by side instead of through all combinations.
    workers : int, optional
        Processes; by default one a core. Inside `joblib.parallel_config` its backend (Dask, Ray, ...) does the work.
    progress : function (runs done, runs in all)
        Called after every run and a few times per second. If it raises (KeyboardInterrupt too), the workers stop; the
        table keeps all finished runs.

    Raises
    ------
    InputError
        A name or value that cannot be used; a table of another sweep, or one that another process is writing.

    Examples
    --------
    >>> found = pmdviz.sweep(pmdviz.Recipe("gaussian"), over={"num_particles": [100, 400, 1600]}, seeds=8)
    >>> found.fit("num_particles", "tv").slope
    """
    main, own = chosen_error(error)
    jobs = planned(recipe, over, seeds, together)
    kinds = {name: type(value) for name, value in jobs[0].values.items()}
    kinds |= {"seed": int, **COUNTS, **dict.fromkeys([*ERRORS, *own], float), **ENDING}
    _check_sendable(recipe, own)
    compile_ahead(recipe.kernel_groups)
    rows, lost, path = run_cases(
        {job.identity: job for job in jobs},
        partial(measured_run, own=own),
        kinds=kinds,
        labels=_labels,
        identity=lambda row: (row["recipe"], row["seed"]),
        named=_name,
        path=path,
        workers=workers,
        progress=progress,
    )
    failed = [f"seed {row['seed']}: {row['failed']}" for row in rows if row["failed"]]
    return Sweep(recipe, tuple(jobs[0].values), main, kinds, rows, (*failed, *lost), path)


def _labels(job: Job) -> Row:
    key, seed = job.identity
    return {**job.values, "seed": seed, "seconds": 0.0, "recipe": key}


def measured_run(job: Job, own: Mapping[str, ErrorFunction]) -> list[Row]:
    """The row of a job: its cost and every error of its last frame."""
    recipe = job.recipe
    if recipe.custom is not None:
        recipe = recipe.replaced(target=_targets.setdefault(recipe.custom.key, recipe.custom))
    frame = Session(recipe, metrics_every=10**9).advance(10**9)
    counts = {name: getattr(frame, name) for name in COUNTS if name != "iterations"}
    return [{"iterations": frame.iteration, **counts, "seconds": frame.seconds, **measured(frame, own)}]


def _check_sendable(recipe: Recipe, own: Mapping[str, ErrorFunction]) -> None:
    """Raise InputError before the first run where a person's functions cannot be sent to other processes."""
    if recipe.custom is None and not own:
        return
    try:
        cloudpickle.dumps((recipe.custom, dict(own)))
    except Exception as error:
        words = f"the target or error function cannot be sent to other processes: {words_of(error)}"
        raise InputError(f"{words}; write it with `def` in a module, without open files") from error


def _name(job: Job) -> str:
    values = ", ".join(f"{name} = {value}" for name, value in job.values.items())
    return f"the run with {values}, seed {job.recipe.seed}"


# The same recipe with other seeds: whether a value is typical.


SHARE = 0.8  # of the other seeds, inside which a value is typical
QUANTILES = (1 - SHARE) / 2, 0.5, (1 + SHARE) / 2


class SeedRun(NamedTuple):
    """One run: its history, and why it stopped before its end ("" where it did not)."""

    seed: int
    history: Mapping[str, Array]
    stopped: str = ""
    masses: list[float] | None = None  # of the modes at its end, where they are known


class Judged(NamedTuple):
    """A value among the values of other seeds at the same iteration."""

    iteration: int
    value: float
    lower: int  # how many of the others are lower
    others: int
    low: float  # the middle 80 % of the others
    high: float

    @property
    def place(self) -> int:
        """-1 below the middle 80 % of the others, 1 above it, 0 inside."""
        return (self.value > self.high) - (self.value < self.low)


def other_seeds(seed: int, number: int) -> tuple[int, ...]:
    """The first `number` seeds of 0, 1, 2, ... without `seed`."""
    return tuple([k for k in range(number + 1) if k != seed][:number])


def run_seed(recipe: Recipe, seed: int, tell: Callable[[float], None] = lambda share: None) -> SeedRun:
    """The run of a recipe, its log of knob changes included, with another seed.

    It is measured at the iterations of every session (`history.is_due`), which depend on no seed. `tell` hears of the
    share of the budget that is spent, in [0, 1], after each iteration. A target that fails ends the run where it is.
    """
    session = Session(recipe.replaced(seed=seed), memory_cap=0)
    try:
        while not session.done:
            session.advance(1)
            tell(min(1.0, session.frame.spent / (recipe.budget or MAX_BUDGET)))
    except TargetError as error:
        return SeedRun(seed, session.history.columns, str(error))
    return SeedRun(seed, session.history.columns, masses=mode_masses(session.frame))


class SeedRuns:
    """Runs of one recipe that differ in their seeds, side by side: row k is the same iteration in each of them.

    Where they do not end at the same iteration, their ends are one more row. Runs that stopped before their end are
    omitted.
    """

    def __init__(self, runs: Sequence[SeedRun]) -> None:
        self.whole = [run for run in runs if not run.stopped]
        self.stopped = [run for run in runs if run.stopped]

    @cached_property
    def _rows(self) -> list[Array]:
        """For each run the rows of its history that all have."""
        steps = [run.history["iteration"] for run in self.whole]
        if not steps:
            return []
        common, last = reduce(np.intersect1d, steps), [each[-1] for each in steps]
        rows = [np.searchsorted(each, common) for each in steps]
        if len(set(last)) == 1:
            return rows
        kept = common < min(last)  # the end of the shortest is one of the ends
        return [np.append(one[kept], len(each) - 1) for one, each in zip(rows, steps, strict=True)]

    def values(self, name: str) -> Array:
        """A column of their histories, (runs, rows); NaN where it is unavailable."""
        gaps = [np.full(len(run.history["iteration"]), np.nan) for run in self.whole]
        columns = [run.history.get(name, gap) for run, gap in zip(self.whole, gaps, strict=True)]
        return np.array([np.asarray(each, float)[rows] for each, rows in zip(columns, self._rows, strict=True)])

    def band(self, clock: str, name: str) -> dict[str, Array]:
        """x, the median of a clock, with the 10 %, 50 % and 90 % quantiles of a column: x, low, middle, high.

        Empty where no run is whole, or one of them lacks a value before its end.
        """
        values = self.values(name)
        if not values.size or np.isnan(values).all(axis=1).any():
            return dict.fromkeys(("x", "low", "middle", "high"), np.empty(0))
        known = np.isfinite(values).all(axis=0)
        low, middle, high = np.quantile(values[:, known], QUANTILES, axis=0)
        return {"x": np.median(self.values(clock)[:, known], axis=0), "low": low, "middle": middle, "high": high}

    def judge(self, own: Mapping[str, Array], name: str, over: bool, seed: int | None = None) -> Judged | None:
        """The last value of a run with this history, at an iteration that the others were measured at too.

        `over`: whether its budget is used up: then ends are compared; a run of the same `seed` is left out. None if
        no two can be compared.
        """
        if name not in own or not self.whole:
            return None
        all_steps = self.values("iteration")
        steps, alike = all_steps[0], (all_steps == all_steps[0]).all(axis=0)
        here = -1 if over else np.flatnonzero(alike & np.isin(steps, own["iteration"]))[-1]
        row = -1 if over else int(np.flatnonzero(own["iteration"] == steps[here])[0])
        others = self.values(name)[[run.seed != seed for run in self.whole], here]
        known, value = others[np.isfinite(others)], float(own[name][row])
        if not np.isfinite(value) or not len(known):
            return None
        low, _, high = np.quantile(known, QUANTILES)
        lower = int(np.sum(known < value))
        return Judged(int(own["iteration"][row]), value, lower, len(known), float(low), float(high))
