"""What a sweep computes: a recipe for each combination of values and seed, and a power law through the errors."""

from __future__ import annotations

import hashlib
import itertools
import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from pmdviz.engine.recipe import Recipe
from pmdviz.engine.recipe_parts import MAX_SEED, checked_whole
from pmdviz.errors import InputError, shown, unknown
from pmdviz.knobs import whole_number

MAX_JOBS = 1_000_000
BUDGET = "budget"


class Job(NamedTuple):
    """One run of a sweep. Its identity is that of its recipe without the seed, and the seed."""

    recipe: Recipe
    values: dict[str, Any]  # name of what is varied -> its value here

    @property
    def identity(self) -> tuple[str, int]:
        """(hash of the recipe's canonical JSON without seed and versions, seed)."""
        plain = {**self.recipe.to_dict(), "seed": None, "made_with": None}
        text = json.dumps(plain, ensure_ascii=False, allow_nan=False)
        return hashlib.sha256(text.encode()).hexdigest()[:16], self.recipe.seed


def planned(recipe: Recipe, over: Mapping[str, Iterable[Any]], seeds: Any, together: bool = False) -> list[Job]:
    """The runs of a sweep: every combination of the values in `over` (or, `together`, the lists side by side).

    `over` names knobs of the recipe's method, options of its target, or "budget". Raises InputError for a name or a
    value that cannot be used.
    """
    if not isinstance(recipe, Recipe):
        raise InputError(f"sweep takes a Recipe; given: {shown(recipe)}")
    if not isinstance(over, Mapping) or not over:
        raise InputError(f"over must name what is varied, as in {{'num_particles': [100, 400]}}; given: {shown(over)}")
    lists = {name: _values(recipe, name, values) for name, values in over.items()}
    chosen = _seeds(seeds)
    rows = _side_by_side(lists) if together else itertools.product(*lists.values())
    count = len(next(iter(lists.values()))) if together else _product(len(values) for values in lists.values())
    if count * len(chosen) > MAX_JOBS:
        raise InputError(f"a sweep has at most {MAX_JOBS:,} runs; given: {count * len(chosen):,}")
    varied = [dict(zip(lists, row, strict=True)) for row in rows]
    jobs = [Job(made, values) for values in varied for made in _seeded(_with(recipe, values), chosen)]
    return list({job.identity: job for job in jobs}.values())


def _seeded(recipe: Recipe, seeds: Sequence[int]) -> list[Recipe]:
    if recipe.budget is None:
        raise InputError("sweep needs a budget of observations; this recipe has no end (budget: None)")
    return [recipe.replaced(seed=seed) for seed in seeds]


def _with(recipe: Recipe, values: Mapping[str, Any]) -> Recipe:
    options = {name: value for name, value in values.items() if name in recipe.target_options}
    knobs = {name: value for name, value in values.items() if name in recipe.knobs}
    parts: dict[str, Any] = {"target_options": {**recipe.target_options, **options}} if options else {}
    parts |= {BUDGET: values[BUDGET]} if BUDGET in values else {}
    return recipe.replaced(knobs=knobs, **parts)


def _values(recipe: Recipe, name: str, values: Any) -> list[Any]:
    """The values of one name, parsed by its declaration."""
    method, target = recipe.make_method(), recipe.make_target()
    specs = {**target.Options.specs(), **method.Knobs.specs()}
    if name != BUDGET and name not in specs:
        raise unknown("name to vary:", name, [*specs, BUDGET])
    if isinstance(values, (str, bytes)) or not isinstance(values, Iterable):
        raise InputError(f"the values of {name} must be a list; given: {shown(values)}")
    parse = specs[name].parse if name in specs else lambda raw: checked_whole(BUDGET, raw, 1, 10**12)
    parsed = [parse(raw.item() if hasattr(raw, "item") else raw) for raw in values]
    if not parsed:
        raise InputError(f"{name} needs at least one value")
    return parsed


def _seeds(seeds: Any) -> list[int]:
    """An int is so many, an iterable the seeds themselves."""
    count = whole_number(seeds) if not isinstance(seeds, Iterable) or isinstance(seeds, str) else None
    if count is not None and 1 <= count <= MAX_JOBS:
        return list(range(count))
    if count is not None or isinstance(seeds, str) or not isinstance(seeds, Iterable):
        raise InputError(f"seeds must be a number of seeds, at least 1, or a list of seeds; given: {shown(seeds)}")
    found = [checked_whole("a seed", seed.item() if hasattr(seed, "item") else seed, 0, MAX_SEED) for seed in seeds]
    if not found:
        raise InputError("seeds needs at least one seed")
    return found


def _side_by_side(lists: Mapping[str, list[Any]]) -> Iterable[tuple[Any, ...]]:
    lengths = {name: len(values) for name, values in lists.items()}
    if len(set(lengths.values())) > 1:
        words = ", ".join(f"{name} has {length}" for name, length in lengths.items())
        raise InputError(f"together needs lists of one length; {words}")
    return zip(*lists.values(), strict=True)


def _product(numbers: Iterable[int]) -> int:
    result = 1
    for number in numbers:
        result *= number
    return result


# A power law through all points of a sweep: log-log least squares.


class Fit(NamedTuple):
    """error = exp(intercept) x^slope. The standard error takes the points' residuals for independent."""

    slope: float
    standard_error: float
    intercept: float
    num_points: int
    left_out: int  # points without a logarithm: errors that are 0 or unknown

    def at(self, x: Any) -> np.ndarray:
        """The law at x."""
        return np.exp(self.intercept + self.slope * np.log(np.asarray(x, float)))

    def __str__(self) -> str:
        return f"slope {self.slope:.3f} ± {self.standard_error:.3f} ({self.num_points:,} points)"


def fitted(x: Any, y: Any) -> Fit:
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
