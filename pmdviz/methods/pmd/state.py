"""The state of `pmd`."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np


class PMDState(NamedTuple):
    """Weighted particles and what they were drawn from."""

    particles: np.ndarray  # (m, d)
    log_weights: np.ndarray  # (m,) relative to the proposal, logsumexp 0
    log_proposal: np.ndarray  # (m,) log density the particles were drawn from, nats
    log_prior: np.ndarray  # (m,) nats
    iteration: int
    warm_iterations: int  # steps of the warm start's pass; 0 without one
    drawn_at: int  # t of the step that the particles were drawn for
    each: int  # of how many candidates every one of them was chosen
    held: int  # limited steps so far, during which the schedule's clock stood still
    rest: float  # share of the warm start's last batch that a limited step has left to be applied
    rest_rows: np.ndarray  # the rows of that batch; none where nothing is left
    in_a_row: int  # how many steps before now were limited, one after the other
    fewest: float  # the smallest ESS that new particles have been drawn from; infinite where none have
    fewest_at: int  # iteration of that
    prior_left: float = 1.0  # exponent of the starting density that the steps have not replaced yet, in [0, 1]
    from_limited: float = 0.0  # share of q's exponent that limited mirror steps have put in, in [0, 1]

    @property
    def next_step(self) -> int:
        """t of the step to come: mirror steps count from 1, those of a warm start's pass up to 0.

        A limited step does not count: it goes a part of the way, and the clock waits.
        """
        return self.iteration - self.held - self.warm_iterations + 1

    @property
    def warming(self) -> bool:
        """Whether the step to come is a plain Bayes update of a warm start's pass."""
        return self.next_step < 1
