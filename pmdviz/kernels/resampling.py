"""Resampling and its relatives: ancestors of draws, thinning of candidates, and the largest step that keeps the ESS.

Resampling: which particle becomes the parent of each draw, by points on the cumulative weights.

The share of particle i in [0, 1) is an interval of length w_i; a point there makes it a parent. All four ways take a
particle n w_i times on average; they differ in how much that count varies.
"""

import numpy as np

from pmdviz.kernels.checks import Array, finite, plain
from pmdviz.kernels.jit import DEFAULT, WarmUps, exp64, fast_jit, jit

WHOLE = 1e-12  # a share so little below a whole number of draws is that number but for rounding


def systematic(weights: Array, n: int, u: float) -> Array:
    """Ancestors (n,) int64, non-decreasing: the k-th is the particle whose share of [0, 1) contains (k + u) / n.

    weights (m,) not negative, with a positive sum (they need not be normalised exactly); u in [0, 1). Each particle
    is taken floor(n w) or ceil(n w) times; one of weight zero never. Raises ValueError for invalid weights.
    """
    return _search(_checked(weights), (np.arange(n) + float(u)) / n)


def stratified(weights: Array, u: Array) -> Array:
    """Ancestors (n,) int64, non-decreasing: the k-th is the particle whose share of [0, 1) contains (k + u_k) / n.

    weights as in `systematic`; u (n,) in [0, 1), independent. A count varies by less than 2 about n w; its variance
    is never above `multinomial`'s. Raises ValueError for invalid weights.
    """
    return _search(_checked(weights), (np.arange(u.size) + u) / u.size)


def multinomial(weights: Array, u: Array) -> Array:
    """Ancestors (n,) int64, non-decreasing: the particles whose shares of [0, 1) contain the sorted u (n,).

    weights as in `systematic`; u in [0, 1), independent: then the counts are multinomial, with variance n w (1 - w).
    Raises ValueError for invalid weights.
    """
    return _search(_checked(weights), np.sort(u))


def residual(weights: Array, u: Array) -> Array:
    """Ancestors (n,) int64, non-decreasing: floor(n w) of each particle, the rest `multinomial` by remainders.

    weights as in `systematic`; u (n,) in [0, 1); one is used for each remaining draw. Raises ValueError for invalid
    weights.
    """
    weights = _checked(weights)
    shares = u.size * (weights / weights.sum())
    counts = np.floor(shares * (1.0 + WHOLE))
    left = np.maximum(shares - counts, 0.0)
    missing = u.size - int(counts.sum())
    certain = np.repeat(np.arange(weights.size), counts.astype(np.int64))
    if missing == 0:
        return certain
    return np.sort(np.concatenate([certain, _search(left, np.sort(u[:missing]))]))


def _checked(weights: Array) -> Array:
    """The weights divided by the largest: sums of huge ones would overflow."""
    weights = finite(plain(weights), "weights")
    if not weights.size or weights.min() < 0.0 or weights.max() <= 0.0:
        raise ValueError("weights must not be negative and must not all be zero")
    return weights / weights.max()


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


# Thinning: of many candidates, one for each cell of a k-d tree: the chosen ones are spread evenly.
#
# The candidates are split at the median of the coordinate in which they vary most, and again, until every cell holds as
# many as there are candidates for each draw; of each cell one is taken at random. Any single draw is distributed like a
# candidate, but a cell can be neither empty nor crowded: sums over the draws vary less than over independent ones
# (stratified sampling, with cells made from the sample itself).

DEEPEST = 128  # entries of the stack: cells are halved, so 64 would do for any number of candidates


def thinned(candidates: Array, n: int, u: Array) -> Array:
    """Indices (n,) int64 of n candidates (k n, d), one for each of n cells of k neighbouring candidates.

    u (n,) in [0, 1) chooses within the cells; the coordinates must have comparable units. Given the candidates, each
    is chosen with probability 1/k. O(k n d log n). ValueError for candidates that are not finite.
    """
    return _thinned(plain(finite(candidates, "candidates").T), int(n), plain(u))


@jit
def _thinned(columns, n, u):
    """columns (d, k n). A cell is a range of `order`; it becomes `draws` draws, the first of them number `first`."""
    size = columns.shape[1] // n
    order, keys, chosen = np.arange(columns.shape[1]), np.empty(columns.shape[1]), np.empty(n, np.int64)
    starts, draws = np.empty(DEEPEST, np.int64), np.empty(DEEPEST, np.int64)
    starts[0], draws[0], waiting = 0, n, 1
    while waiting > 0:
        waiting -= 1
        start, num = starts[waiting], draws[waiting]
        if num == 1:
            chosen[start // size] = order[start + int(u[start // size] * size)]
            continue
        stop, half = start + num * size, num // 2
        column = columns[_widest(columns, order, start, stop)]
        for i in range(start, stop):
            keys[i] = column[order[i]]
        _select(keys, order, start, stop - 1, start + half * size)
        starts[waiting], draws[waiting] = start, half
        starts[waiting + 1], draws[waiting + 1] = start + half * size, num - half
        waiting += 2
    return chosen


@jit
def _widest(columns, order, start, stop):
    """The coordinate that varies most over the candidates order[start:stop]."""
    widest, largest = 0, -1.0
    for k in range(columns.shape[0]):
        column, total, squares = columns[k], 0.0, 0.0
        origin = column[order[start]]
        for i in range(start, stop):
            value = column[order[i]] - origin
            total += value
            squares += value * value
        varies = squares - total * total / (stop - start)
        if varies > largest:
            widest, largest = k, varies
    return widest


@jit
def _select(keys, order, low, high, place):
    """Rearrange keys[low:high + 1], and order with it: then none before `place` is above any from there on."""
    while low < high:
        a, b, c = keys[low], keys[(low + high) // 2], keys[high]
        pivot = max(min(a, b), min(max(a, b), c))  # the median of three: sorted candidates are not a worst case
        cut = _part(keys, order, low, high, pivot)
        if place < cut:
            high = cut - 1
        elif cut > low:
            low = cut
            if place == cut:
                return
        else:  # none is below the pivot: those that equal it are next
            low = _part(keys, order, low, high, np.nextafter(pivot, np.inf))
            if place <= low:
                return


@jit
def _part(keys, order, low, high, pivot):
    """Move the keys below `pivot` to the front; the place after them. Without branches: they would be guessed wrong."""
    cut = low
    for i in range(low, high + 1):
        key, number = keys[i], order[i]
        keys[i], order[i] = keys[cut], order[cut]
        keys[cut], order[cut] = key, number
        cut += key < pivot
    return cut


# The largest step along which weights stay alive: a search for the step size that leaves a share of the ESS.
#
# Log-weights move along a line, `start + g slope`. At g = 0 they have the effective sample size that they start with,
# and where the whole step would leave too little of it, bisection finds a g between that does not.

CLOSE = 1e-6  # the search ends when its bounds are so close: a share of the upper one


def largest_step(start: Array, slope: Array, most: float, share: float) -> float:
    """The largest g in (0, `most`] for which log-weights `start + g slope` keep `share` of the ESS of `start`.

    start, slope (m,) without NaN; where one of them is -inf a particle has no weight whatever g is, and does not count.
    `share` in (0, 1) is kept for certain; where the ESS does not fall steadily the g found need not be the largest.
    Raises ValueError if no particle has weight.
    """
    start, slope = plain(start), plain(slope)
    counts = (start > -np.inf) & (slope > -np.inf)
    if not counts.any():
        raise ValueError("no particle has a weight above zero")
    if not counts.all():
        start, slope = start[counts], slope[counts]
    return _largest_step(start, slope, float(most), float(share))


@fast_jit
def _top(start, slope, g):
    top = start[0] + g * slope[0]
    for j in range(start.size):
        top = max(top, start[j] + g * slope[j])
    return top


@fast_jit
def _ess_below(start, slope, g, top):
    total, squares = 0.0, 0.0
    for j in range(start.size):
        w = exp64(start[j] + g * slope[j] - top)
        total += w
        squares += w * w
    return total * total / squares


@jit
def _ess(start, slope, g):
    return _ess_below(start, slope, g, _top(start, slope, g))


@jit
def _largest_step(start, slope, most, share):
    enough = share * _ess(start, slope, 0.0)
    if _ess(start, slope, most) >= enough:
        return most
    low, high = 0.0, most
    while high - low > CLOSE * high:
        middle = 0.5 * (low + high)
        if _ess(start, slope, middle) >= enough:
            low = middle
        else:
            high = middle
    return low


def warm_up_calls() -> WarmUps:
    """Calls that compile every kernel of this file."""
    yield DEFAULT, "resampling", systematic, np.full(2, 0.5), 2, 0.5
    for way in (stratified, residual, multinomial):
        words = f"{way.__name__} resampling"
        yield "resampling", words, way, np.array([0.4, 0.6]), np.full(2, 0.5)
    yield DEFAULT, "thinning", thinned, np.zeros((4, 2)), 2, np.zeros(2)
    yield DEFAULT, "step limit", largest_step, np.zeros(2), np.array([0.0, -9.0]), 1.0, 0.9
