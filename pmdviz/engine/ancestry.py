"""Ancestry: which particles of iteration 0 those of now descend from, resampling after resampling."""

from __future__ import annotations

from typing import NamedTuple, Self

import numpy as np

from pmdviz.methods import StepInfo


class Ancestry(NamedTuple):
    """The first particles, and for each of now the row of the one among them that it descends from.

    A particle that stays or moves stays its own descendant; one that was redrawn descends from what its parent did.
    Where resampling leaves few ancestors, the ESS, which counts equal weights, does not show what was lost (Del Moral,
    Doucet, Jasra 2006, call it path degeneracy).
    """

    first: np.ndarray  # (m, d) at iteration 0
    rows: np.ndarray  # (n,) int32

    @classmethod
    def of(cls, particles: np.ndarray) -> Self:
        """That of iteration 0: each (m, d) is its own ancestor."""
        return cls(particles, np.arange(len(particles), dtype=np.int32))

    def number_alive(self, log_weights: np.ndarray) -> int:
        """How many of the first have descendants whose log-weight (n,) is finite."""
        return int(np.count_nonzero(np.bincount(self.rows[log_weights > -np.inf], minlength=1)))


def after_step(before: Ancestry | None, info: StepInfo) -> Ancestry | None:
    """The ancestry after a step; None where the step redrew particles and does not tell their parents."""
    if before is None or (info.rejuvenated and info.parents is None):
        return None
    return before if info.parents is None else before._replace(rows=before.rows[info.parents])
