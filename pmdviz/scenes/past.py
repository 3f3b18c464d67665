"""A run's past in words, and a target whose handle was dragged."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np

from pmdviz.densities.grid import Grid
from pmdviz.errors import InputError
from pmdviz.knobs import KnobSpec
from pmdviz.scenes.columns import EMPTY_LINE
from pmdviz.scenes.contours import contour_line, density_curve, density_levels
from pmdviz.scenes.trace_columns import nice
from pmdviz.scenes.words import count, number
from pmdviz.targets import Target, make_target
from pmdviz.targets.modes import Handle

SHORTEST = 500  # iterations that a time line has room for at most while few have been made
GHOST, BRANCH = "the previous run", "the branch"
SAME = "no setting differs yet"
WHAT_IF = "What if …"


def line_end(last: int, spent: int, budget: int | None) -> int:
    """The iteration at the right end of the time line.

    The last one that the budget allows at the mean cost so far; of an endless or a long run a round number that leaves
    room for what is to come.
    """
    room = int(max(SHORTEST, nice(5.0 * last)))
    if budget is None or spent == 0:
        return room if budget is None else max(last, 1)
    return max(last, min(room, math.ceil(last * budget / spent)))


def place_words(iteration: int, last: int) -> str:
    """Where one stands: "iteration 40 of 120"."""
    return f"iteration {count(iteration)} of {count(last)}"


def ghost_name(is_branch: bool) -> str:
    """What the run beside the one that is looked at is called."""
    return BRANCH if is_branch else GHOST


def difference_words(specs: Mapping[str, KnobSpec], before: Mapping[str, Any], after: Mapping[str, Any]) -> str:
    """The settings that differ: "Bandwidth 0.75 → 0.3, Batch size 100 → 10"."""
    turned = [name for name in specs if before[name] != after[name]]
    said = {name: specs[name].said for name in turned}
    each = (f"{specs[name].label} {said[name](before[name])} → {said[name](after[name])}" for name in turned)
    return ", ".join(each) or SAME


def branch_words(at: int, difference: str, frame: Any, other: Any, name: str) -> str:
    """What a branch is: "Branch at iteration 40: Bandwidth 0.75 → 0.3. TV 0.081; the previous run: 0.094"."""
    said = f"Branch at iteration {count(at)}: {difference}."
    if frame.tv is None or other.tv is None:
        return said
    when = "" if other.iteration == frame.iteration else f" at iteration {count(other.iteration)}"
    return f"{said} TV {number(frame.tv)}; {name}{when}: {number(other.tv)}"


# A target whose handle was dragged elsewhere, and its exact posterior as coarse lines, quick enough to follow a hand.

EVALUATIONS = 20_000_000  # of a row's density, about 50 ms; more rows than these allow are thinned
LEAST_SIDE, MOST_SIDE, FINE_SIDE, LINE_SIDE = 32, 64, 256, 512  # cells
DEEPEST = 2_000.0  # nats below the peak: deeper cells say nothing, and would overflow


class Moved(NamedTuple):
    """A moved target: its handles, and the lines x, y of its exact posterior."""

    handles: tuple[Handle, ...]
    lines: dict[str, np.ndarray]


def moved_options(target: Target, at: int, x: float, y: float) -> dict[str, Any]:
    """The options of a target whose handle number `at` lies at (x, y), within their bounds.

    Raises InputError where it has no such handle.
    """
    handles = target.handles()
    if not 0 <= at < len(handles):
        raise InputError("this target has no such handle: the run has changed meanwhile")
    specs = type(target.options).specs()
    return {name: _within(specs[name], value) for name, value in handles[at].moved(x, y).items()}


def _within(spec: KnobSpec, value: Any) -> Any:
    low, high = spec.bounds or (None, None)
    if low is not None and high is not None and isinstance(value, float):
        return min(max(value, float(low)), float(high))
    return value


def moved(target: Target, at: int, x: float, y: float) -> Moved:
    """The target with its handle at (x, y), in one or two dimensions with its lines. Raises InputError."""
    made = make_target(target.name, **{**target.options.as_dict(), **moved_options(target, at, x, y)})
    return Moved(made.handles(), coarse_lines(made))


def coarse_lines(target: Target) -> dict[str, np.ndarray]:
    """The regions of 50, 80 and 95 % of the exact posterior, or its curve; nothing beyond two dimensions."""
    if target.dim > 2:
        return EMPTY_LINE
    most = EVALUATIONS // LEAST_SIDE**2
    rows = target.data_rows
    rows = rows[:: math.ceil(len(rows) / most)] if len(rows) > most else rows
    if target.dim == 1:
        return _curve(target, rows)
    side = min(max(int(math.sqrt(EVALUATIONS / len(rows))), LEAST_SIDE), MOST_SIDE)
    coarse, fine = Grid(target.view_box, side), Grid(target.view_box, FINE_SIDE)
    values = _below_peak(target.log_joint(coarse.points, rows)).reshape(coarse.shape)
    across, up = (cubic_matrix(few, many) for few, many in zip(coarse.axes, fine.axes, strict=True))
    log_density = up @ values @ across.T
    density = np.exp(log_density - log_density.max())
    return contour_line(*fine.axes, density, density_levels(density))


def _curve(target: Target, rows: np.ndarray) -> dict[str, np.ndarray]:
    grid = Grid(target.view_box, LINE_SIDE)
    mass = np.exp(_below_peak(target.log_joint(grid.points, rows)))
    return density_curve(grid.axes[0], mass / (mass.sum() * grid.cell_volume))


def _below_peak(values: np.ndarray) -> np.ndarray:
    """Less their largest, and none too deep."""
    peak = values.max()
    if not np.isfinite(peak):
        raise InputError("the log density has no finite peak there")
    return np.maximum(values - peak, -DEEPEST)


def cubic_matrix(few: np.ndarray, many: np.ndarray) -> np.ndarray:
    """The matrix (len(many), len(few)) that interpolates values at equally spaced places by cubics (Lagrange)."""
    place = (many - few[0]) / (few[1] - few[0])
    first = np.clip(np.floor(place).astype(np.int64) - 1, 0, len(few) - 4)
    t = place - first
    made = np.zeros((len(many), len(few)))
    rows = np.arange(len(many))
    for k in range(4):
        others = [j for j in range(4) if j != k]
        made[rows, first + k] = np.prod([(t - j) / (k - j) for j in others], axis=0)
    return made
