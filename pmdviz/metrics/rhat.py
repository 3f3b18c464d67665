"""R-hat: whether chains, and the halves of each, agree with one another."""

from __future__ import annotations

import numpy as np

from pmdviz.metrics.base import Metric
from pmdviz.metrics.rank_normal import FEWEST, halves, is_chain, normal_scores, worst


def rhat(chains: np.ndarray) -> float | None:
    """Rank-normalised split R-hat of one coordinate's draws (C, n): the larger of bulk and tail.

    R-hat is sqrt((B/W + n - 1) / n), W the mean variance within the halves of chains and B/n the variance of their
    means; the bulk's is that of normal scores of the draws, the tail's of their distances from the median. Source:
    Vehtari et al. 2021, Eq. 1-4, 14 and section 4. None with fewer than 4 draws a chain, or where one never moved.
    """
    if chains.shape[1] < FEWEST:
        return None
    split = halves(chains)
    found = [_rhat(normal_scores(values)) for values in (split, np.abs(split - np.median(split)))]
    return float(max(found)) if np.isfinite(found).all() else None


def _rhat(chains: np.ndarray) -> float:
    n = chains.shape[1]
    within, between = chains.var(axis=1, ddof=1).mean(), n * chains.mean(axis=1).var(ddof=1)
    return float(np.sqrt((between / within + n - 1) / n)) if within > 0 else np.nan


Metric(
    name="rhat",
    title="R-hat",
    unit="",
    about="rank-normalised split R-hat, the largest over the coordinates; above 1.01 chains, or their halves, disagree",
    measure=lambda frame: worst(frame, rhat, max),
    applies=is_chain,
    ranks=False,
    order=31,
    log=False,
    axis="rhat",
    axis_title="R-hat",
    limits=(0.9, 2.0),
    colour="particles",
)
