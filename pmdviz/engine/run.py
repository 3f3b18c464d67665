"""A run: what came out of a recipe, to be read, sampled and exported; and the history of its measured frames."""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from pmdviz.densities.density import Points
from pmdviz.engine.frame import Frame, Row
from pmdviz.engine.recipe import MAX_SEED, Recipe, as_python, checked_whole
from pmdviz.errors import InputError, shown
from pmdviz.kernels.checks import Array
from pmdviz.streams import stream
from pmdviz.targets import Target

MAX_NUMBERS = 20_000_000  # in one array of draws, 160 MB

# The history of a run: which frames are measured, and the rows of those that were.

MAX_ROWS = 20_000
EARLY = (0, 1, 2, 5, 10)
BLOCK = 10  # by default one iteration in each block of so many is measured
TURN = 2**64
# Irrational steps around a circle: multiples of the square roots of 7, 2 and 3 without their whole parts, as integers,
# so that every machine takes the same ones. Of twenty irrationals that were tried, the root of 7 spreads the iterations
# most evenly over passes of 2 to 20 steps; the golden ratio locks to passes of 17.
PLACE_STEP, HALF_STEP, LEVEL_STEP = (math.isqrt(n * TURN**2) % TURN for n in (7, 2, 3))


def is_due(iteration: int, metrics_every: int | None, stride: int = 1) -> bool:
    """Whether the frame of this iteration is measured: every `metrics_every`, or (None) as follows.

    0, 1, 2, 5, 10, then one in each block of ten, at a place that varies without a period. At every
    tenth, a run with ten steps per pass would be seen only at ends of passes, where the noise of its batches cancels.
    With a `stride`, a power of 2, whether its row stays in a history thinned by that.
    """
    if metrics_every is not None:
        return iteration % (metrics_every * stride) == 0
    block = iteration // BLOCK
    return iteration in EARLY or (block > 0 and iteration == _due_in(block) and _is_left(block, stride))


def next_due(iteration: int, metrics_every: int | None) -> int:
    """The first iteration after this one that is due."""
    if metrics_every is not None:
        return (iteration // metrics_every + 1) * metrics_every
    if iteration < EARLY[-1]:
        return min(at for at in EARLY if at > iteration)
    block = iteration // BLOCK
    return _due_in(block) if iteration < _due_in(block) else _due_in(block + 1)


def _due_in(block: int) -> int:
    """The iteration that is due in a block of ten: the places go round it in irrational steps."""
    return block * BLOCK + block * PLACE_STEP % TURN * BLOCK // TURN


def _is_left(block: int, stride: int) -> bool:
    """Whether a block is one of those left after log2(stride) halvings, which leave one of each pair.

    Which one changes from pair to pair: were it always the even ones, thinned rows could lock to a period again.
    """
    level = 1
    while 2**level <= stride:
        pair, half = divmod(block, 2)
        if half != (pair * HALF_STEP + level * LEVEL_STEP) % TURN * 2 // TURN:
            return False
        block, level = pair, level + 1
    return True


class History:
    """Rows by iteration, in rising order; past MAX_ROWS `stride` doubles and every second row is dropped.

    Which rows stay depends on their iteration alone, and the last one always stays. Until rows are dropped, a run that
    went back and forth has the same history as one that did not; rows that were dropped do not come back.

    Columns: iteration, visited, tv, kl_forward, kl_reverse, cross_entropy (nats), ess (in [1, m]), mass_outside,
    seconds (of computing), num_particles, step_size, rejuvenations and limited_steps (so far),
    density_evaluations, gradient_evaluations, evaluations (of both together). NaN marks a value that is unavailable.
    """

    def __init__(self, metrics_every: int | None = None) -> None:
        self._rows: list[Row] = []
        self._built: dict[str, Array] = {}  # columns of the first rows, of those that were there when last asked
        self._metrics_every = metrics_every
        self.stride = 1

    def copy(self) -> History:
        """Another history with the same rows."""
        twin = History(self._metrics_every)
        twin._rows, twin._built, twin.stride = [*self._rows], self._built, self.stride
        return twin

    def __len__(self) -> int:
        return len(self._rows)

    def put(self, row: Row) -> None:
        """Add a row; it takes the place of one of the same iteration."""
        self.cut(row["iteration"] - 1)
        if self._rows and self.stride > 1 and not self._stays(self._rows[-1]):
            self._pop()
        self._rows.append(row)
        if len(self._rows) > MAX_ROWS:
            self.stride *= 2
            self._rows, self._built = [*filter(self._stays, self._rows[:-1]), row], {}

    def _stays(self, row: Row) -> bool:
        return is_due(row["iteration"], self._metrics_every, self.stride)

    def before(self, iteration: int) -> Row | None:
        """The last row before this iteration."""
        return next((row for row in reversed(self._rows) if row["iteration"] < iteration), None)

    def cut(self, iteration: int) -> None:
        """Drop the rows after `iteration`."""
        while self._rows and self._rows[-1]["iteration"] > iteration:
            self._pop()

    def _pop(self) -> None:
        self._rows.pop()
        if self._num_built() > len(self._rows):
            self._built = {}

    def _num_built(self) -> int:
        return len(self._built["iteration"]) if self._built else 0

    def ending_with(self, row: Row) -> History:
        """A history like this one with `row` as its last row."""
        other = self.copy()
        other.put(row)
        return other

    @property
    def columns(self) -> dict[str, Array]:
        """Name -> array, all of equal length, for the caller to keep."""
        return {name: values.copy() for name, values in self.kept_columns().items()}

    def kept_columns(self) -> dict[str, Array]:
        """The same to be read only: from one call to the next the new rows alone are added."""
        fresh = self._rows[self._num_built() :]
        if fresh:
            added = {name: column_of([row[name] for row in fresh]) for name in self._rows[0]}
            had = {name: self._built.get(name, column[:0]) for name, column in added.items()}
            self._built = {name: np.concatenate([had[name], column]) for name, column in added.items()}
        return self._built


def column_of(values: list[Any]) -> Array:
    """A column of these values; NaN for None."""
    return np.array([np.nan if v is None else v for v in values])


# Files of a run: a higher level writes them.

_writers: list[Callable[..., Path]] = []  # the last one writes files


def write_with(writer: Callable[..., Path]) -> None:
    """Have `writer(what, path, **options)` write the files of runs and races: a higher level that can."""
    _writers.append(writer)


def written(what: Any, path: str | os.PathLike[str], options: Mapping[str, Any]) -> Path:
    """The path of the file to which a run or a race was written. Raises InputError."""
    if not _writers:
        raise InputError("nothing here writes files; `import pmdviz.api` first")
    return _writers[-1](what, path, **options)


@dataclass(frozen=True, eq=False)
class Run:
    """The frames and the history of a recipe's run.

    Attributes
    ----------
    recipe : Recipe
        The whole of it: a run that was stopped may have visited less than its budget, and one that went back may have
        changes ahead. `to_recipe` is the recipe of the run as it stands.
    target : Target
    frames : list of Frame
        The kept frames, iteration 0 first and the last one last.
    history : dict of arrays of equal length
        One entry for each measured frame: iteration, visited, tv, kl_forward, kl_reverse, cross_entropy, ess, ...
    """

    recipe: Recipe
    target: Target
    frames: list[Frame]
    history: dict[str, Array]

    @property
    def final(self) -> Frame:
        """The last frame."""
        return self.frames[-1]

    @property
    def particles(self) -> Array:
        """Particles (m, d) of the last frame."""
        return self.final.particles

    @property
    def weights(self) -> Array:
        """Weights (m,) of the last frame, sum 1."""
        return self.final.weights

    def log_density(self, points: Array) -> Array:
        """log q at points (n, d) -> (n,), in nats.

        Raises InputError for points that are not finite numbers, and where q is points without a density.
        """
        if isinstance(self.final.density, Points):
            words = f"a density needs a target of real coordinates; {self.target.name!r} is approximated by points"
            raise InputError(f"{words}: use `particles` and `weights` of the run")
        points = self.target._points(points)  # noqa: SLF001, the check of every method of a target
        if not np.isfinite(points).all():
            bad = points[~np.isfinite(points).all(axis=1)][0]
            raise InputError(f"points must be finite; got {shown(bad.tolist())}")
        return self.final.density.log_density(points)

    def sample(self, n: int, seed: int = 0) -> Array:
        """n draws (n, d) from q, the same for the same seed; at most 20,000,000 / d. Raises InputError."""
        n = checked_whole("n", n, 1, MAX_NUMBERS // self.target.dim)
        return self.final.density.sample(stream("draws of q", checked_whole("seed", seed, 0, MAX_SEED)), n)

    def mean(self) -> Array:
        """E_q theta, (d,)."""
        return self.final.density.mean

    def cov(self) -> Array:
        """Cov_q theta, (d, d), the smoothing kernel's part included."""
        return self.final.density.cov

    def to_frame(self) -> Any:
        """The history as a pandas DataFrame."""
        import pandas  # takes half a second

        return pandas.DataFrame(self.history)

    def to_recipe(self) -> Recipe:
        """The recipe of this run as it stands: without later changes, its budget the observations used so far.

        At iteration 0, where nothing has run, with its own budget. Raises InputError where no budget says where the run
        stands: its last step has visited no data.
        """
        if self._stands_at_end or self.final.iteration == 0:
            return self.recipe.until(self.final.iteration, self.recipe.budget)
        if not self._moved:
            words = "no budget ends where this run is, because its last step visited no data"
            raise InputError(f"{words}: go a step on or back, or use its Python lines or the whole recipe")
        return self.recipe.until(self.final.iteration, self.final.spent)

    def to_python(self) -> str:
        """A few lines of Python that repeat this run as it stands and bind `run`; `recipe.to_python()`: the whole."""
        if self._stands_at_end or self._moved:
            return as_python(self.to_recipe())
        return as_python(self.recipe.until(self.final.iteration, self.recipe.budget), self.final.iteration)

    @property
    def _moved(self) -> bool:
        """Whether the last step used observations: a budget of all that were used then ends the run right after it."""
        info, data = self.final.info, self.recipe.budget_unit == "data"
        return info is not None and (info.cost.visited if data else info.cost.evaluations) > 0

    @property
    def _stands_at_end(self) -> bool:
        """Whether the recipe's run ends where this one stands."""
        final, budget = self.final, self.recipe.budget
        used_up = budget is not None and final.spent >= budget
        return used_up or bool(final.method.ended(final.state, final.knobs, self.target))

    def export(self, path: str | os.PathLike[str], **options: Any) -> Path:
        """Write the run to a file whose suffix says its kind: a film, a picture, a table, the recipe.

        `.gif .mp4 .html .png .svg .pdf .csv .parquet .py .json`; see `pmdviz export --help` for the options, and
        `progress`, a function of (frames done, frames in all). Returns the path. Raises InputError.

        Examples
        --------
        >>> run.export("posterior.gif", size="960x540", fps=20, theme="dark")
        """
        return written(self, path, options)

    def __repr__(self) -> str:
        tv = self.final.metrics["tv"]
        ending = "" if tv is None else f", TV {tv:.3g}"
        words = f"{self.recipe.method} on {self.recipe.target}, iteration {self.final.iteration:,}"
        said = self.final.caveat.partition(":")[0]
        return f"<Run: {words}, {self.final.visited:,} observations used{ending}{said and f'; {said}'}>"
