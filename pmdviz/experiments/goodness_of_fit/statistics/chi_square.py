"""Pearson's chi-square over all states, with a simulated p-value."""

from __future__ import annotations

import numpy as np

from pmdviz.experiments.goodness_of_fit.base import FIXED, PER_DRAW, Compared, FitTest, lacks_states
from pmdviz.experiments.goodness_of_fit.states import MAX_STATES, enumerated
from pmdviz.targets import Target
from pmdviz.targets.reference.enumeration import numbers_of


class ChiSquareTest(FitTest):
    """sum over the states of (count - n p)^2 / (n p), and the same of multinomial counts: exact for any n p."""

    name = "chi_square"
    title = "Chi-square"
    about = "Pearson's chi-square of the counts of all states, with a p-value by simulated counts."
    source = "Pearson 1900; simulated as in Hope 1968"
    has_bandwidth = False

    def missing_in(self, target: Target) -> str:
        """Few states."""
        if lacks_states(target):
            return lacks_states(target)
        return "" if target.space.num_states <= MAX_STATES else f"{MAX_STATES:,} states or fewer"

    def seconds(self, target: Target, n: int, draws: int, kernels: int) -> float:
        """A count of every state in every draw."""
        return FIXED + PER_DRAW * target.space.num_states * draws

    def compare(
        self, rng: np.random.Generator, target: Target, points: np.ndarray, draws: int, bandwidth: str | float
    ) -> Compared:
        """Counts of the points, then simulated ones."""
        p = enumerated(target)[1]
        counts = np.bincount(numbers_of(target.space, points), minlength=len(p))
        return Compared(chi_squares(np.vstack([counts, rng.multinomial(len(points), p, size=draws)]), p))


def chi_squares(counts: np.ndarray, p: np.ndarray) -> np.ndarray:
    """(m,) of counts (m, S) that have the same sum n: sum c^2 / (n p) - n; inf where a state of p = 0 was counted."""
    n, possible = counts[0].sum(), p > 0
    found = (counts[:, possible] ** 2 / (n * p[possible])).sum(axis=1) - n
    found[counts[:, ~possible].any(axis=1)] = np.inf
    return found
