"""Resampling: which particle becomes the parent of each draw, by points on the cumulative weights.

The share of particle i in [0, 1) is an interval of length w_i; a point there makes it a parent. All four ways take a
particle n w_i times on average; they differ in how much that count varies.
"""

from collections.abc import Callable, Iterator

import numpy as np

from pmdviz.kernels.checks import finite, vector
from pmdviz.kernels.groups import DEFAULT
from pmdviz.kernels.jit import jit

WHOLE = 1e-12  # a share so little below a whole number of draws is that number but for rounding


def systematic(weights: np.ndarray, n: int, u: float) -> np.ndarray:
    """Ancestors (n,) int64, non-decreasing: the k-th is the particle whose share of [0, 1) contains (k + u) / n.

    weights (m,) not negative, with a positive sum (they need not be normalised exactly); u in [0, 1). Each particle
    is taken floor(n w) or ceil(n w) times; one of weight zero never. ValueError otherwise.
    """
    weights = _checked(weights)
    if n < 1 or not 0.0 <= u < 1.0:
        raise ValueError(f"systematic resampling needs n of at least 1 and u in [0, 1), not n = {n}, u = {u}")
    return _search(weights, (np.arange(n) + float(u)) / n)


def stratified(weights: np.ndarray, u: np.ndarray) -> np.ndarray:
    """Ancestors (n,) int64, non-decreasing: the k-th is the particle whose share of [0, 1) contains (k + u_k) / n.

    weights as in `systematic`; u (n,) in [0, 1), independent. A count varies by less than 2 about n w; its variance is
    never above that of `multinomial`. ValueError otherwise.
    """
    weights, u = _checked(weights), _checked_uniform(u)
    return _search(weights, (np.arange(u.size) + u) / u.size)


def multinomial(weights: np.ndarray, u: np.ndarray) -> np.ndarray:
    """Ancestors (n,) int64, non-decreasing: the particles whose shares of [0, 1) contain the sorted u (n,).

    weights as in `systematic`; u in [0, 1), independent: then the counts are multinomial, with variance n w (1 - w).
    ValueError otherwise.
    """
    weights, u = _checked(weights), _checked_uniform(u)
    return _search(weights, np.sort(u))


def residual(weights: np.ndarray, u: np.ndarray) -> np.ndarray:
    """Ancestors (n,) int64, non-decreasing: floor(n w) of each particle, the rest `multinomial` in what is left of n w.

    weights as in `systematic`; u (n,) in [0, 1), of which as many are used as draws are left. ValueError otherwise.
    """
    weights, u = _checked(weights), _checked_uniform(u)
    shares = u.size * (weights / weights.sum())
    counts = np.floor(shares * (1.0 + WHOLE))
    left = np.maximum(shares - counts, 0.0)
    missing = u.size - int(counts.sum())
    certain = np.repeat(np.arange(weights.size), counts.astype(np.int64))
    if missing == 0:
        return certain
    return np.sort(np.concatenate([certain, _search(left, np.sort(u[:missing]))]))


def _checked(weights: np.ndarray) -> np.ndarray:
    """The weights divided by the largest: sums of huge ones would overflow."""
    weights = finite(vector(weights, "weights"), "weights")
    if not weights.size or weights.min() < 0.0 or weights.max() <= 0.0:
        raise ValueError("weights must not be negative and must not all be zero")
    return weights / weights.max()


def _checked_uniform(u: np.ndarray) -> np.ndarray:
    u = vector(u, "u")
    if not u.size or not (u.min() >= 0.0 and u.max() < 1.0):
        raise ValueError("resampling needs at least one u, and every u in [0, 1)")
    return u


@jit
def _search(weights, positions):
    """For each of the ascending positions in [0, 1) the particle whose share contains it."""
    total, last = 0.0, 0
    for i in range(weights.size):
        total += weights[i]
        if weights[i] > 0.0:
            last = i
    ancestors = np.empty(positions.size, np.int64)
    i, cumulative = 0, weights[0]
    for k in range(positions.size):
        position = positions[k] * total
        while cumulative <= position and i < last:  # clamped: rounding must not lead past the last particle with weight
            i += 1
            cumulative += weights[i]
        ancestors[k] = i
    return ancestors


def warm_up_calls() -> Iterator[tuple[str, str, Callable[[], object]]]:
    """One call of each kernel."""
    yield DEFAULT, "resampling", lambda: systematic(np.full(2, 0.5), 2, 0.5)
    for way in (stratified, residual, multinomial):
        words = f"{way.__name__} resampling"
        yield "resampling", words, lambda way=way: way(np.array([0.4, 0.6]), np.full(2, 0.5))
