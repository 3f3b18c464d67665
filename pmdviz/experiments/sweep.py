"""A sweep: a run for each combination of values and seed, a row each in a table, and a power law through the errors."""

from __future__ import annotations

import functools
import hashlib
import itertools
import json
import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property, partial
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple, Unpack

import cloudpickle
import numpy as np

from pmdviz.densities.density import Density
from pmdviz.densities.grid import Grid
from pmdviz.engine.frame import Frame
from pmdviz.engine.recipe import Recipe
from pmdviz.engine.recipe_parts import MAX_SEED, checked_whole
from pmdviz.engine.session import Session
from pmdviz.errors import InputError, shown, unknown, words_of
from pmdviz.experiments.base import WITH_GRID, grouped
from pmdviz.experiments.workers import Row, Way, run_cases
from pmdviz.knobs import Raw, Value, whole_number
from pmdviz.metrics import METRICS
from pmdviz.targets import Target
from pmdviz.targets.custom import CustomTarget
from pmdviz.targets.exact import Exact
from pmdviz.targets.mass import Box

if TYPE_CHECKING:
    import pandas as pd
    from numpy.typing import ArrayLike

# How far a run's last frame is from the exact posterior: the divergences, and the class of Theorem 5.

ErrorFunction = Callable[[Frame], float | None]
CELLS = {1: 4096, 2: 256}  # a side, over each mode of the posterior
REACH, LINE = 8.5, 4096  # sds of a Gaussian family, and cells, on the line of each coordinate


OfOne = Callable[[np.ndarray], np.ndarray]
# Functions f with |f| <= 1 of one coordinate in units of the prior's sd, each with an antiderivative. Means over cells
# are differences of the antiderivative, so a jump within a cell costs nothing.
BOUNDED: dict[str, tuple[OfOne, OfOne]] = {
    "cos(2u)": (lambda u: np.cos(2 * u), lambda u: 0.5 * np.sin(2 * u)),
    "u > 0.5": (lambda u: (u > 0.5).astype(float), lambda u: np.maximum(u - 0.5, 0.0)),
    "tanh(u)": (np.tanh, lambda u: np.logaddexp(u, -u)),
}
_exact_values: dict[tuple, np.ndarray] = {}


def bounded_error(frame: Frame) -> float | None:
    """Mean over f and coordinates of |E_q f - E_p f|, the error of Theorem 5 of Dai et al. 2016.

    f runs over BOUNDED, u is a coordinate in units of the prior's sd. Of particles and chains q is the weighted
    points themselves, without smoothing (Eq. 4); None without an exact posterior.
    """
    target = frame.target
    if target.planar is None:
        return None
    if target.key not in _exact_values:
        _exact_values[target.key] = exact_values(target)
    return float(np.abs(_values_of(frame) - _exact_values[target.key]).mean())


def exact_values(target: Target) -> np.ndarray:
    """E_p f for every coordinate and function, (d, functions)."""
    exact = target.exact
    if exact is None:
        raise InputError(f"target {target.name!r} has no exact posterior; {WITH_GRID}")
    parts = [_marginals(exact, box) for box in exact.boxes]
    mass = sum(masses[0].sum() for _, masses in parts)
    return sum(_expectations(edges / target.scale[:, None], masses) for edges, masses in parts) / mass


def _marginals(exact: Exact, box: Box) -> tuple[np.ndarray, np.ndarray]:
    """Edges (d, cells + 1) and masses (d, cells) of the cells along each coordinate of a box."""
    grid = Grid(box, CELLS[len(box)])
    p = np.exp(exact.log_density(grid.points)).reshape(grid.shape) * grid.cell_volume
    edges = np.array([np.linspace(low, high, grid.side + 1) for low, high in box])
    masses = p[None] if len(box) == 1 else np.array([p.sum(axis=0), p.sum(axis=1)])  # the first coordinate runs fastest
    return edges, masses


def _expectations(edges: np.ndarray, masses: np.ndarray) -> np.ndarray:
    """sum over cells of mass times the cell's mean of f, (d, functions); edges (d, cells + 1) in units of u."""
    means = [np.diff(antiderivative(edges), axis=1) / np.diff(edges, axis=1) for _, antiderivative in BOUNDED.values()]
    return np.array([(masses * mean).sum(axis=1) for mean in means]).T


def _values_of(frame: Frame) -> np.ndarray:
    """E_q f for every coordinate and function, (d, functions)."""
    if frame.method.family == "parametric":
        return _of_gaussians(frame.density, frame.target.scale)
    u, weights = frame.particles / frame.target.scale, frame.weights
    return np.array([(weights[:, None] * f(u)).sum(axis=0) for f, _ in BOUNDED.values()]).T


def _of_gaussians(density: Density, scale: np.ndarray) -> np.ndarray:
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
        if error not in known:
            raise unknown("error", error, known)
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
        raise InputError(
            f"error {name!r} is unavailable for method {frame.method.name!r} on target {frame.target.name!r}; "
            f"available: {', '.join(frame.metric_names)}"
        )
    return frame.metrics[name]


def measured(frame: Frame, own: Mapping[str, ErrorFunction]) -> dict[str, float]:
    """Every error of a frame; NaN where one is unavailable."""
    functions = {name: measure for name, (_, measure) in ERRORS.items()} | dict(own)
    found = {name: measure(frame) for name, measure in functions.items()}
    return {name: math.nan if value is None else float(value) for name, value in found.items()}


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
    chosen = _seeds(seeds)
    rows = _side_by_side(lists) if together else itertools.product(*lists.values())
    count = len(next(iter(lists.values()))) if together else math.prod(map(len, lists.values()))
    if count * len(chosen) > MAX_JOBS:
        raise InputError(f"a sweep has at most {MAX_JOBS:,} runs; got {count * len(chosen):,}")
    varied = [dict(zip(lists, row, strict=True)) for row in rows]
    jobs = [
        Job(made.replaced(seed=seed), values)
        for values in varied
        for made in [_with(recipe, values)]
        for seed in chosen
    ]
    return list({job.identity: job for job in jobs}.values())


def _with(recipe: Recipe, values: Mapping[str, Value]) -> Recipe:
    options = {name: value for name, value in values.items() if name in recipe.target_options}
    knobs = {name: value for name, value in values.items() if name in recipe.knobs}
    parts = {"target_options": {**recipe.target_options, **options}} if options else {}
    made = recipe.replaced(knobs=knobs, **parts, **({BUDGET: values[BUDGET]} if BUDGET in values else {}))
    if made.budget is None:
        raise InputError("sweep needs a budget of observations; this recipe has no end (budget: None)")
    return made


def _values(recipe: Recipe, name: str, values: Iterable[Raw]) -> list[Value]:
    """The values of one name, parsed by its declaration."""
    method, target = recipe.make_method(), recipe.make_target()
    specs = {**target.Options.specs(), **method.Knobs.specs()}
    if name != BUDGET and name not in specs:
        raise unknown("name to vary:", name, [*specs, BUDGET])
    if isinstance(values, (str, bytes)) or not isinstance(values, Iterable):
        raise InputError(f"the values of {name} must be a list; got {shown(values)}")
    parse = specs[name].parse if name in specs else lambda raw: checked_whole(BUDGET, raw, 1, 10**12)
    parsed = [parse(raw.item() if isinstance(raw, (np.generic, np.ndarray)) else raw) for raw in values]
    if not parsed:
        raise InputError(f"{name} needs at least one value")
    return parsed


def _seeds(seeds: Seeds) -> list[int]:
    """The seeds: 0, 1, ... of a number, those given of a list."""
    count = whole_number(seeds) if not isinstance(seeds, Iterable) or isinstance(seeds, str) else None
    if count is not None and 1 <= count <= MAX_JOBS:
        return list(range(count))
    if count is not None or isinstance(seeds, str) or not isinstance(seeds, Iterable):
        raise InputError(f"seeds must be a number of seeds, at least 1, or a list of seeds; got {shown(seeds)}")
    found = [checked_whole("a seed", seed.item() if hasattr(seed, "item") else seed, 0, MAX_SEED) for seed in seeds]
    if not found:
        raise InputError("seeds needs at least one seed")
    return found


def _side_by_side(lists: Mapping[str, list[Value]]) -> Iterable[tuple[Value, ...]]:
    lengths = {name: len(values) for name, values in lists.items()}
    if len(set(lengths.values())) > 1:
        words = ", ".join(f"{name} has {length}" for name, length in lengths.items())
        raise InputError(f"together needs lists of one length; {words}")
    return zip(*lists.values(), strict=True)


# A power law through all points of a sweep: log-log least squares.


class Fit(NamedTuple):
    """error = exp(intercept) x^slope. The standard error assumes independent residuals of the points."""

    slope: float
    standard_error: float
    intercept: float
    num_points: int
    left_out: int  # points without a logarithm: errors that are 0 or unknown

    def at(self, x: ArrayLike) -> np.ndarray:
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
    centred = log_x - log_x.mean()
    spread = float((centred**2).sum())
    slope = float((centred * log_y).sum() / spread)
    intercept = float(log_y.mean() - slope * log_x.mean())
    residuals = log_y - intercept - slope * log_x
    error = float(np.sqrt((residuals**2).sum() / (n - 2) / spread))
    return Fit(slope, error, intercept, n, int(len(x) - n))


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
    def rows(self) -> dict[str, np.ndarray]:
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

    def column(self, name: str) -> np.ndarray:
        """A column of numbers. Raises InputError for an unknown name."""
        numbers = [key for key, kind in self.kinds.items() if kind is not str]
        if name not in numbers:
            raise unknown("column", name, numbers)
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


def run_sweep(
    recipe: Recipe,
    over: Mapping[str, Iterable[Raw]],
    seeds: Seeds,
    error: str | ErrorFunction = "tv",
    together: bool = False,
    **way: Unpack[Way],
) -> Sweep:
    """The sweep that `pmdviz.sweep` describes; `way`: how its runs are done, as `run_cases` takes it."""
    main, own = chosen_error(error)
    jobs = planned(recipe, over, seeds, together)
    kinds = {name: type(value) for name, value in jobs[0].values.items()}
    kinds |= {"seed": int, **COUNTS, **dict.fromkeys([*ERRORS, *own], float), **ENDING}
    _check_sendable(recipe, own)
    rows, lost, path = run_cases(
        {job.identity: job for job in jobs},
        functools.partial(measured_run, own=own),
        kinds=kinds,
        labels=_labels,
        identity=lambda row: (row["recipe"], row["seed"]),
        named=_name,
        **way,
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
        raise InputError(
            f"the target or error function cannot be sent to other processes: {words_of(error)}; write it with `def` "
            "in a module, without open files"
        ) from error


def _name(job: Job) -> str:
    values = ", ".join(f"{name} = {value}" for name, value in job.values.items())
    return f"the run with {values}, seed {job.recipe.seed}"
