"""Systematic resampling: one uniform number places n equally spaced points on the cumulative weights."""

import numpy as np

from pmdviz.kernels.checks import finite, vector
from pmdviz.kernels.jit import jit


def systematic(weights: np.ndarray, n: int, u: float) -> np.ndarray:
    """Ancestors (n,) int64, non-decreasing: the k-th is the particle whose share of [0, 1) contains (k + u) / n.

    weights (m,) not negative, with a positive sum (they need not be normalised exactly); u in [0, 1). Each particle
    is taken floor(n w) or ceil(n w) times; one of weight zero never. ValueError otherwise.
    """
    weights = finite(vector(weights, "weights"), "weights")
    if n < 1 or not 0.0 <= u < 1.0:
        raise ValueError(f"systematic resampling needs n of at least 1 and u in [0, 1), not n = {n}, u = {u}")
    if not weights.size or weights.min() < 0.0 or weights.max() <= 0.0:
        raise ValueError("weights must not be negative and must not all be zero")
    return _systematic(weights / weights.max(), int(n), float(u))  # divided first: sums of huge weights would overflow


@jit
def _systematic(weights, n, u):
    total, last = 0.0, 0
    for i in range(weights.size):
        total += weights[i]
        if weights[i] > 0.0:
            last = i
    ancestors = np.empty(n, np.int64)
    i, cumulative = 0, weights[0]
    for k in range(n):
        position = (k + u) / n * total
        while cumulative <= position and i < last:  # clamped: rounding must not lead past the last particle with weight
            i += 1
            cumulative += weights[i]
        ancestors[k] = i
    return ancestors
