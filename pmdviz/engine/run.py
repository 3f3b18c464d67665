"""A run: what came out of a recipe, to be read, sampled and exported."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from pmdviz.densities.density import Points
from pmdviz.engine.frame import Frame
from pmdviz.engine.recipe import MAX_SEED, Recipe, as_python, checked_whole
from pmdviz.errors import InputError, shown
from pmdviz.kernels.checks import Array
from pmdviz.streams import stream
from pmdviz.targets import Target

MAX_NUMBERS = 20_000_000  # in one array of draws, 160 MB


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
            raise InputError(
                f"a density needs a target of real coordinates; {self.target.name!r} is approximated by points"
            )
        points = self.target._points(points)  # noqa: SLF001, the check of every method of a target
        if not np.isfinite(points).all():
            bad = points[~np.isfinite(points).all(axis=1)][0]
            raise InputError(f"points must be finite; got {shown(bad.tolist())}")
        return self.final.density.log_density(points)

    def sample(self, n: int, seed: int = 0) -> Array:
        """n draws (n, d) from q, the same for the same seed; at most 20,000,000 / d. Raises InputError."""
        most = MAX_NUMBERS // self.target.dim
        if isinstance(n, bool) or not isinstance(n, (int, np.integer)) or not 1 <= n <= most:
            raise InputError(f"n must be a whole number at least 1 and at most {most:,}; got {shown(n)}")
        return self.final.density.sample(stream("draws of q", checked_whole("seed", seed, 0, MAX_SEED)), int(n))

    def mean(self) -> Array:
        """E_q theta, (d,)."""
        return self.final.density.mean

    def cov(self) -> Array:
        """Cov_q theta, (d, d), the smoothing kernel's part included."""
        return self.final.density.cov

    def to_frame(self) -> Any:
        """The history as a pandas DataFrame. Raises ImportError with a cure where pandas is not installed."""
        try:
            import pandas
        except ImportError as error:
            raise ImportError("Run.to_frame needs pandas: pip install pandas") from error
        return pandas.DataFrame(self.history)

    def to_recipe(self) -> Recipe:
        """The recipe of this run as it stands: without later changes, its budget the observations used so far.

        At iteration 0, where nothing has run, with its own budget. Raises InputError where no budget says where the run
        stands: its last step has visited no data.
        """
        if self._stands_at_end or self.final.iteration == 0:
            return self.recipe.until(self.final.iteration, self.recipe.budget)
        if not self._moved:
            raise InputError(
                "no budget ends where this run is, because its last step visited no data: go a step on or back, or use "
                "its Python lines or the whole recipe"
            )
        return self.recipe.until(self.final.iteration, self.final.spent)

    def to_python(self) -> str:
        """A few lines of Python that repeat this run as it stands and bind `run`; `recipe.to_python()`: the whole."""
        if self._stands_at_end or self._moved:
            return as_python(self.to_recipe())
        return as_python(self.recipe.until(self.final.iteration, self.recipe.budget), self.final.iteration)

    @property
    def _moved(self) -> bool:
        """Whether the last step used observations: a budget of all that were used then ends the run right after it."""
        info = self.final.info
        return info is not None and (info.visited if self.recipe.budget_unit == "data" else info.cost.evaluations) > 0

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
