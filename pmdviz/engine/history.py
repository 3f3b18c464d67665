"""The history of a run: one row for each measured frame."""

from __future__ import annotations

from typing import Any

import numpy as np

MAX_ROWS = 20_000
EARLY = (0, 1, 2, 5, 10)
EVERY = 10


def is_due(iteration: int, metrics_every: int | None, stride: int = 1) -> bool:
    """Whether the frame of this iteration is measured: 0, 1, 2, 5, 10 and then every 10, or every `metrics_every`.

    With a `stride`, whether its row stays in a history thinned by that.
    """
    if metrics_every is None:
        return iteration in EARLY or iteration % (EVERY * stride) == 0
    return iteration % (metrics_every * stride) == 0


def next_due(iteration: int, metrics_every: int | None) -> int:
    """The first iteration after this one that is due."""
    if metrics_every is None and iteration < EARLY[-1]:
        return min(at for at in EARLY if at > iteration)
    every = metrics_every or EVERY
    return (iteration // every + 1) * every


class History:
    """Rows by iteration, in rising order; past MAX_ROWS `stride` doubles and every second row is dropped.

    Which rows stay hangs on their iteration alone, and the last one always stays. Until rows are dropped, a run that
    went back and forth has the same history as one that did not; rows that were dropped do not come back.

    Columns: iteration, visited, tv, kl_forward, kl_reverse, cross_entropy (nats), ess (in [1, m]), mass_outside,
    seconds (of computing), num_particles, step_size, rejuvenations and limited_steps (so far),
    density_evaluations, gradient_evaluations. A value that cannot be had is NaN.
    """

    def __init__(self, metrics_every: int | None = None) -> None:
        self._rows: list[dict[str, Any]] = []
        self._metrics_every = metrics_every
        self.stride = 1

    def copy(self) -> History:
        """Another history with the same rows."""
        twin = History(self._metrics_every)
        twin._rows, twin.stride = [*self._rows], self.stride
        return twin

    def __len__(self) -> int:
        return len(self._rows)

    def put(self, row: dict[str, Any]) -> None:
        """Add a row; it takes the place of one of the same iteration."""
        self.cut(row["iteration"] - 1)
        if self._rows and self.stride > 1 and not self._stays(self._rows[-1]):
            self._rows.pop()
        self._rows.append(row)
        if len(self._rows) > MAX_ROWS:
            self.stride *= 2
            self._rows = [*filter(self._stays, self._rows[:-1]), row]

    def _stays(self, row: dict[str, Any]) -> bool:
        return is_due(row["iteration"], self._metrics_every, self.stride)

    def cut(self, iteration: int) -> None:
        """Drop the rows after `iteration`."""
        while self._rows and self._rows[-1]["iteration"] > iteration:
            self._rows.pop()

    def ending_with(self, row: dict[str, Any]) -> History:
        """A history like this one with `row` as its last row."""
        other = History(self._metrics_every)
        other.stride, other._rows = self.stride, list(self._rows)
        other.put(row)
        return other

    @property
    def columns(self) -> dict[str, np.ndarray]:
        """Name -> array, all of equal length."""
        if not self._rows:
            return {}
        return {name: _column([row[name] for row in self._rows]) for name in self._rows[0]}


def _column(values: list[Any]) -> np.ndarray:
    return np.array([np.nan if v is None else v for v in values])
