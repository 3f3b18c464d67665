"""Draws of a Bernoulli RBM by long Gibbs chains, for machines of which no layer's states can all be visited."""

from __future__ import annotations

import numpy as np

from pmdviz.kernels.pool import run_blocks
from pmdviz.kernels.spins.boltzmann import block_gibbs

CHAINS, BLOCK = 500, 50  # and how many of them share a random stream
BURN_IN, DRAWS, THINNING = 1000, 20, 50  # sweeps; draws of each chain; sweeps between two
MOST = 2_500_000_000  # weights that are looked at: a larger machine makes fewer sweeps
FEWEST = 200  # sweeps
APART = 1.2  # R-hat of a coordinate above which chains have not forgotten where they began


def gibbs_chains(weights: np.ndarray, visible: np.ndarray, hidden: np.ndarray) -> np.ndarray:
    """Draws (500, 20, d) of as many independent chains, each from fair units; W (d, M), b (d,), c (M,).

    2,000 sweeps a chain of which the first half is dropped, or fewer, at least 200, where d M is above 2,500. The same
    bits for any number of threads.
    """
    shorter = max(FEWEST / (BURN_IN + DRAWS * THINNING), min(1.0, MOST / (CHAINS * weights.size * 2000)))
    burn_in, thinning = round(shorter * BURN_IN), round(shorter * THINNING)
    found = np.empty((CHAINS, DRAWS, len(visible)))

    def work(start: int, stop: int) -> None:
        rng = np.random.default_rng([start, 2020])
        states = 2.0 * rng.integers(0, 2, size=(stop - start, len(visible))) - 1.0
        for draw in range(-(burn_in // thinning), DRAWS):
            uniforms = rng.random((thinning, stop - start, sum(weights.shape)))
            states = block_gibbs(states, weights, visible, hidden, uniforms)
            if draw >= 0:
                found[start:stop, draw] = states

    run_blocks(work, CHAINS, BLOCK, CHAINS * burn_in * weights.size)
    return found


def chains_disagree(chains: np.ndarray) -> bool:
    """Whether R-hat = sqrt((B/W + n - 1) / n) of a coordinate of chains (k, n, d) is above 1.2 (Gelman & Rubin 1992).

    B/n is the variance of the chains' means, and W the mean variance within them.
    """
    n = chains.shape[1]
    within, between = chains.var(axis=1, ddof=1).mean(axis=0), n * chains.mean(axis=1).var(axis=0, ddof=1)
    return bool((between + (n - 1) * within > APART**2 * n * within).any())
