"""The usual run from a file, for a page that plays before its kernels are compiled. No kernel is called here at all.

The file (`python -m benchmarks.recording` writes it) has for each iteration the particles in float32, the
log-weights to 1/64 nat, the shape of the smoothing kernel, all traced metrics, and what the step said. The
approximation on a grid is computed here by NumPy; the live run computes its own by kernels and is drawn from the same
columns.
"""

from __future__ import annotations

import copy
import json
from collections.abc import Collection
from functools import cache, cached_property, lru_cache
from pathlib import Path
from typing import Any, NoReturn

import numpy as np
from numpy.polynomial import chebyshev

from pmdviz.densities.density import CELLS_PER_SD, SIDES, Grid, ShapedDensity, normalise
from pmdviz.engine.frame import Ancestry, Frame
from pmdviz.engine.recipe import Recipe
from pmdviz.engine.run import History
from pmdviz.engine.session import BatchStream, Checkpoints, Session
from pmdviz.kernels.compiling import compiler
from pmdviz.kernels.jit import DEFAULT
from pmdviz.knobs import Knobs
from pmdviz.methods import StepBlock, StepInfo
from pmdviz.methods.pmd import PMDState
from pmdviz.methods.step import ComputedTerms, Cost
from pmdviz.metrics import METRICS
from pmdviz.metrics.divergences import DensitiesOnGrid
from pmdviz.metrics.perfect_draws import Floor, remember
from pmdviz.targets import Target
from pmdviz.targets.exact import Box

FILE = Path(__file__).with_name("recorded.npz")
PER_NAT = 64  # a log-weight is stored as a whole number of 1/64 nat: within 0.8 % of the weight


class NeedsKernels(Exception):
    """The request needs kernel groups that are not compiled yet, and no recorded frame answers it."""

    def __init__(self, groups: Collection[str]) -> None:
        super().__init__(", ".join(groups))
        self.groups = groups


def needs_kernels(*_: object, **__: object) -> NoReturn:
    """Raise NeedsKernels for the groups of the recorded run."""
    raise NeedsKernels((DEFAULT,))


class RecordedDensity(ShapedDensity):
    """q of a recorded frame: NumPy computes it on a grid, and all else needs kernels."""

    def on_grid(self, grid: Grid) -> np.ndarray:
        """q at the cell centres: the weights per cell, convolved with each cluster's kernel in Fourier space.

        A weight is shared out among the four nearest cells, which has the transform sinc^2 in each coordinate.
        """
        cell, low, side = grid.extent / grid.side, np.array(grid.box)[:, 0], grid.side
        place = (self.centres - low) / cell - 0.5
        first = np.floor(place).astype(np.int64)
        share, seen = place - first, ((place > -0.5) & (place < side - 0.5)).all(axis=1)
        x, y = np.fft.rfftfreq(side, cell[0]), np.fft.fftfreq(side, cell[1])[:, None]
        shared_out = np.sinc(x * cell[0]) ** 2 * np.sinc(y * cell[1]) ** 2
        x, y = 2 * np.pi * x, 2 * np.pi * y
        total = np.zeros((len(y), len(x)), complex)
        for c, factor in enumerate(self.factors):
            inside, mass = seen & (self.labels == c), np.zeros(side**2)
            for right, up in ((0, 0), (0, 1), (1, 0), (1, 1)):
                i, j = (first[inside] + (right, up)).T % side
                parts = np.abs(share[inside] - (1 - right, 1 - up)).prod(axis=1)
                mass += np.bincount(j * side + i, self.weights[inside] * parts, side**2)
            (xx, xy), (_, yy) = factor @ factor.T
            kernel = np.exp(-0.5 * (xx * x**2 + 2 * xy * x * y + yy * y**2))
            total += np.fft.rfft2(mass.reshape(grid.shape)) * kernel
        return np.maximum(np.fft.irfft2(total / shared_out, s=grid.shape), 0.0) / grid.cell_volume

    log_density = sample = needs_kernels
    cov = property(needs_kernels)


class RecordedExact:
    """The exact posterior of the recorded run: log p as a Chebyshev series over the view."""

    log_z = None
    log_density = sample = needs_kernels

    def __init__(self, series: np.ndarray, view: Box, mean: np.ndarray, cov: np.ndarray) -> None:
        self._series, self.box, self.boxes = series, view, (view,)
        self.mean, self.cov, self.mean_error = mean, cov, np.zeros(len(mean))

    @lru_cache(8)  # noqa: B019, there is one; the same array each time, by which scenes know that nothing has changed
    def on_grid(self, grid: Grid, everywhere: bool = True) -> np.ndarray:
        """log p at the cell centres of a grid over the view."""
        x, y = (2 * (axis - low) / (high - low) - 1 for axis, (low, high) in zip(grid.axes, self.box, strict=True))
        return chebyshev.chebgrid2d(x, y, self._series).T

    def mass_in(self, box: Box) -> float:
        """All of it: the view holds it."""
        return 1.0

    def narrowest(self, unit: np.ndarray) -> float:
        """An sd that the coarsest grid resolves, on which it is drawn."""
        return CELLS_PER_SD / SIDES[len(unit)][0]

    @lru_cache(8)  # noqa: B019
    def density_on(self, grid: Grid) -> np.ndarray:
        """p at the same places."""
        return np.exp(self.on_grid(grid))


class RecordedFrame(Frame):
    """A frame whose metrics, density and words come from the file."""

    @cached_property
    def densities(self) -> dict[str, RecordedDensity]:
        """q as the live run has it, up to the precision of the file."""
        return {"": recording().density(self.iteration, self.state)}

    @cached_property
    def grids(self) -> dict[str, DensitiesOnGrid]:
        """p and q on the grid that the live run takes."""
        exact, density = self.target.exact, self.density
        grid = Grid(self.target.view_box, int(recording().side[self.iteration]))
        p, log_p = exact.density_on(grid), exact.on_grid(grid)
        return {"": DensitiesOnGrid(grid, p, log_p, density.on_grid(grid), density, resolved=True)}

    def metric(self, name: str) -> float | None:
        """A metric that was recorded; None where it does not apply. Raises NeedsKernels for another one."""
        found = recording().metrics(self.iteration)
        applies = METRICS[name].applies(self.target, self.method)
        return found[name] if name in found else needs_kernels() if applies else None

    def _traced(self, left_out: frozenset[str] = frozenset()) -> dict[str, float | None]:
        return dict(recording().metrics(self.iteration))

    @cached_property
    def caveat(self) -> str:
        """As the live run says it."""
        return recording().about["caveats"][self.iteration]

    unchecked = ""

    @property
    def digest(self) -> str:
        """That of the exact particles and weights."""
        return recording().about["digests"][self.iteration]


class Recording:
    """What the file holds."""

    def __init__(self, path: Path = FILE) -> None:
        with np.load(path, allow_pickle=False) as file:
            stored = {name: file[name] for name in file.files}
        self.about: dict[str, Any] = json.loads(stored.pop("about").tobytes())
        self.recipe = Recipe.from_dict(self.about["recipe"])
        self._sets, self.set_at, self.parents = stored["particles"].astype(float), stored["set_at"], stored["parents"]
        self._levels = np.cumsum(stored["levels"], axis=0, dtype=np.int64)
        names = ("labels", "means", "factors", "pull")
        self._labels, self._means, self._factors, self._pull = (stored[name] for name in names)
        self.side, self._metrics, self._exact = stored["side"], stored["metrics"], (stored["log_p"], *stored["moments"])
        for array in (*self._sets, self.parents):
            array.flags.writeable = False

    @property
    def last(self) -> int:
        """The last iteration."""
        return len(self.side) - 1

    def holds(self, recipe: Recipe) -> bool:
        """Whether these are the frames of a recipe, as far as they go."""
        return not recipe.changes and recipe.limited(None) == self.recipe.limited(None)

    @cached_property
    def target(self) -> Target:
        """The target of all frames, with the recorded posterior as its reference."""
        made = copy.copy(self.recipe.make_target())
        series, mean, *cov = self._exact
        exact = RecordedExact(series, made.view_box, mean, np.array(cov))
        vars(made)["make_reference"] = lambda: exact
        knobs = self.recipe.start_knobs()
        each = self.about["states"][0]["each"]
        remember(made, knobs.num_particles, knobs.bandwidth_rule, each, Floor(*self.about["floor"]))
        vars(made).update(log_likelihood=needs_kernels, grad_log_likelihood=needs_kernels)
        return made

    def state(self, iteration: int) -> PMDState:
        """The state without what only a step needs; frames between two resamplings share their particles."""
        particles, log_weights = self._sets[self.set_at[iteration]], normalise(self._levels[iteration] / PER_NAT)
        unknown = {name: np.empty(0) for name in ("log_proposal", "log_prior", "rest_rows")}
        return PMDState(particles, log_weights, **unknown, **self.about["states"][iteration])

    def density(self, iteration: int, state: PMDState) -> RecordedDensity:
        """q of a state: each kernel's centre is drawn towards the mean of its cluster."""
        labels = self._labels[iteration].astype(np.int64)
        means, factors = self._means[iteration], self._factors[iteration]
        centres = means[labels] + self._pull[iteration] * (state.particles - means[labels])
        return RecordedDensity(*state[:2], labels, centres, factors[: labels.max() + 1])

    def metrics(self, iteration: int) -> dict[str, float | None]:
        """The traced metrics by name."""
        return dict(zip(self.about["metrics"], map(float, self._metrics[iteration]), strict=True))

    def info(self, iteration: int) -> StepInfo:
        """What the step that led to an iteration said; its terms are for the live run."""
        said = self.about["steps"][iteration - 1]
        drawn = self.set_at[iteration]
        parents = self.parents[drawn - 1] if drawn != self.set_at[iteration - 1] else None
        terms = ComputedTerms(needs_kernels)
        cost, events = Cost(*said["cost"]), dict(said["events"])
        return StepInfo(cost, said["words"], events, said["scalars"], terms, parents=parents)


@cache
def recording() -> Recording:
    """The recorded run; read at the first use."""
    return Recording()


class RecordedSession(Session):
    """A session that takes its frames from the file. What it cannot do raises NeedsKernels and changes nothing."""

    def _start(self, recipe: Recipe) -> None:
        if not recording().holds(recipe):
            needs_kernels()
        self.recipe, self.method, self.target = recipe, recipe.make_method(), recording().target
        for_method, for_batches = map(np.random.default_rng, np.random.SeedSequence(recipe.seed).spawn(2))
        self._rng, self._batches = for_method, BatchStream(for_batches, self.target.num_data)
        self.history, self.kept = History(self._metrics_every), Checkpoints(self._memory_cap)
        start = (0, 0, 0, 0, 0.0, 0, 0, recipe.start_knobs(), recording().state(0), None)
        frame = RecordedFrame(*start, recipe.budget, self.target, self.method, recipe.budget_unit)
        self.frame = frame.replaced(ancestry=Ancestry.of(frame.particles))
        self._measure()

    def _leapt(self, *_: object) -> None:
        return None

    def _stepped(self, before: Frame) -> Frame:
        at = before.iteration + 1
        if at > recording().last:
            needs_kernels()
        rows, info = self._batches.draw(before.knobs.batch_size, before.knobs.batches), recording().info(at)
        seconds = recording().about["seconds"][at - 1]
        return self._after(before, StepBlock(recording().state(at), info, 1, info.cost), seconds, rows)

    def set_all(self, knobs: Knobs) -> Frame:
        """Other knobs are for the live run; a session of these ones stays."""
        return self.frame if knobs == self.knobs else needs_kernels()


def as_live(frame: Frame) -> Frame:
    """A frame itself, or instead of a recorded one the live run's, which is computed here."""
    return Session(recording().recipe).seek(frame.iteration) if isinstance(frame, RecordedFrame) else frame


def is_same(shown: Frame, live: Frame) -> bool:
    """Whether a live frame looks like the recorded one that is shown: the same particles, with nearly their weights."""
    close = shown.particles.shape == live.particles.shape and np.allclose(shown.particles, live.particles, atol=1e-3)
    return close and np.allclose(shown.weights, live.weights, rtol=0.1, atol=1e-6)


def require(*groups: str) -> None:
    """Raise NeedsKernels where kernels of these groups are not compiled yet."""
    if groups and not compiler.is_ready(groups):
        raise NeedsKernels(groups)


def begun(recipe: Recipe) -> Session:
    """A session at iteration 0: of recorded frames while its kernels are compiled. Raises NeedsKernels without any."""
    groups = recipe.kernel_groups
    if recording().holds(recipe) and not compiler.is_ready(groups):
        compiler.ask(groups)
        compiler.begin(rest=False)
        return RecordedSession(recipe)
    require(*groups)
    return Session(recipe)
