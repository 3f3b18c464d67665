"""The history of a run: one row for each measured frame."""

from __future__ import annotations

from typing import Any

import numpy as np

MAX_ROWS = 20_000
EARLY = (0, 1, 2, 5, 10)
EVERY = 10


def is_due(iteration: int, metrics_every: int | None) -> bool:
    """Whether the frame of this iteration is measured: 0, 1, 2, 5, 10 and then every 10, or every `metrics_every`."""
    if metrics_every is None:
        return iteration in EARLY or iteration % EVERY == 0
    return iteration % metrics_every == 0


class History:
    """Rows by iteration, in rising order; past MAX_ROWS every second row is dropped and `stride` doubles.

    Columns: iteration, visited, tv, kl_forward, kl_reverse, cross_entropy (nats), ess (in [1, m]), mass_outside,
    seconds (of computing), num_particles, step_size, rejuvenations (so far), density_evaluations,
    gradient_evaluations. A value that cannot be had is NaN.
    """

    def __init__(self) -> None:
        self._rows: list[dict[str, Any]] = []
        self.stride = 1

    def __len__(self) -> int:
        return len(self._rows)

    def put(self, row: dict[str, Any]) -> None:
        """Add a row; it takes the place of one of the same iteration."""
        self.cut(row["iteration"] - 1)
        self._rows.append(row)
        if len(self._rows) > MAX_ROWS:
            self._rows = self._rows[::2]
            self.stride *= 2

    def cut(self, iteration: int) -> None:
        """Drop the rows after `iteration`."""
        while self._rows and self._rows[-1]["iteration"] > iteration:
            self._rows.pop()

    @property
    def columns(self) -> dict[str, np.ndarray]:
        """Name -> array, all of equal length."""
        if not self._rows:
            return {}
        return {name: _column([row[name] for row in self._rows]) for name in self._rows[0]}


def _column(values: list[Any]) -> np.ndarray:
    return np.array([np.nan if v is None else v for v in values])
