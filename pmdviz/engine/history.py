"""The history of a run: rows of measured frames, and from which first particles the present ones descend."""

from __future__ import annotations

import math
from typing import Any, NamedTuple, Self

import numpy as np

from pmdviz.kernels.checks import Array
from pmdviz.methods import StepInfo

# Ancestry: from which particles of iteration 0 the present ones descend, resampling after resampling.


class Ancestry(NamedTuple):
    """The first particles, and for each of now the row of the one among them that it descends from.

    A particle that stays or moves stays its own descendant; one that was redrawn descends from what its parent did.
    Where resampling leaves few ancestors, the ESS, which counts equal weights, does not show the loss (Del Moral,
    Doucet, Jasra 2006, call it path degeneracy).
    """

    first: Array  # (m, d) at iteration 0
    rows: Array  # (n,) int32

    @classmethod
    def of(cls, particles: Array) -> Self:
        """That of iteration 0: each (m, d) is its own ancestor."""
        return cls(particles, np.arange(len(particles), dtype=np.int32))

    def number_alive(self, log_weights: Array) -> int:
        """How many of the first have descendants whose log-weight (n,) is finite."""
        return int(np.count_nonzero(np.bincount(self.rows[log_weights > -np.inf], minlength=1)))


def after_step(before: Ancestry | None, info: StepInfo) -> Ancestry | None:
    """The ancestry after a step; None where the step redrew particles and does not tell their parents."""
    if before is None or (info.rejuvenated and info.parents is None):
        return None
    return before if info.parents is None else before._replace(rows=before.rows[info.parents])


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


Row = dict[str, Any]  # of a measured frame: the name of a column -> its number, None where it is unavailable


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
            names = self._rows[0]
            added = {name: _column([row[name] for row in fresh]) for name in names}
            self._built = {
                name: np.concatenate([self._built.get(name, added[name][:0]), added[name]]) for name in names
            }
        return self._built


def _column(values: list[float | None]) -> Array:
    return np.array([np.nan if v is None else v for v in values])
