"""Components of two mixtures paired so that they differ least: the numbers of components say nothing."""

from __future__ import annotations

import numpy as np

from pmdviz.experiments.aggregation.models.mixture import Mixture, squared_distance, symmetric_kl


def matched(mixture: Mixture, to: Mixture) -> Mixture:
    """The mixture with its components in the order of those of `to`, by the least sum of symmetric KL divergences.

    Both need the same number of components (Han 2019 matches in the same way).
    """
    return mixture.ordered(assignment(symmetric_kl(to, mixture)))


def distance(one: Mixture, other: Mixture) -> float:
    """Squared distance of the parameters with components matched; NaN where their numbers differ."""
    if len(one.shares) != len(other.shares):
        return float("nan")
    return squared_distance(one if one.fault else matched(one, other), other)


def assignment(costs: np.ndarray) -> np.ndarray:
    """The column of each row, (c,), no column twice, so that the sum of costs (c, c) is least.

    The Hungarian method with potentials, O(c^3): rows enter one by one along a shortest augmenting path.
    """
    c = len(costs)
    of_row, of_column = np.zeros(c + 1), np.zeros(c + 1)  # potentials
    row_at = np.zeros(c + 1, int)  # row of each column, counted from 1; 0 is none
    for row in range(1, c + 1):
        row_at[0], column = row, 0
        nearest, before, seen = np.full(c + 1, np.inf), np.zeros(c + 1, int), np.zeros(c + 1, bool)
        while row_at[column]:
            seen[column], here = True, row_at[column]
            reduced = costs[here - 1] - of_row[here] - of_column[1:]
            better = ~seen[1:] & (reduced < nearest[1:])
            nearest[1:][better], before[1:][better] = reduced[better], column
            following = 1 + int(np.where(seen[1:], np.inf, nearest[1:]).argmin())
            step = nearest[following]
            of_row[row_at[seen]] += step
            of_column[seen] -= step
            nearest[~seen] -= step
            column = following
        while column:
            row_at[column], column = row_at[before[column]], before[column]
    found = np.empty(c, int)
    found[row_at[1:] - 1] = np.arange(c)
    return found
