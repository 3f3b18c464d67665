"""Thinning: of many candidates, one for each cell of a k-d tree, so that what is left is spread evenly.

The candidates are split at the median of the coordinate in which they vary most, and again, until every cell holds as
many as there are candidates a draw; of each cell one is taken at random. Any single draw is distributed like a
candidate, but a cell can be neither empty nor crowded: sums over the draws vary less than over independent ones
(stratified sampling, with cells made from the sample itself).
"""

from collections.abc import Callable, Iterator

import numpy as np

from pmdviz.kernels.checks import finite, matrix, vector
from pmdviz.kernels.groups import DEFAULT
from pmdviz.kernels.jit import jit

DEEPEST = 128  # entries of the stack: cells are halved, so 64 would do for any number of candidates


def thinned(candidates: np.ndarray, n: int, u: np.ndarray) -> np.ndarray:
    """Indices (n,) int64 of n candidates (k n, d), one for each of n cells of k neighbouring candidates.

    u (n,) in [0, 1) chooses within the cells; the coordinates must have comparable units. Given the candidates, each
    is chosen with probability 1/k. O(k n d log n). ValueError for shapes or values that do not fit.
    """
    candidates, u = finite(matrix(candidates, "candidates"), "candidates"), vector(u, "u", n)
    if n < 1 or not len(candidates) or len(candidates) % n or not candidates.shape[1]:
        raise ValueError(f"candidates must be a multiple of n = {n} points, not an array of shape {candidates.shape}")
    if not (u.min() >= 0.0 and u.max() < 1.0):
        raise ValueError("u must lie in [0, 1)")
    return _thinned(np.ascontiguousarray(candidates.T), int(n), u)


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
    """Rearrange keys[low:high + 1], and order with it, so that none before `place` is above any from there on."""
    while low < high:
        a, b, c = keys[low], keys[(low + high) // 2], keys[high]
        pivot = max(min(a, b), min(max(a, b), c))  # the median of three: sorted candidates are no worst case
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


def warm_up_calls() -> Iterator[tuple[str, str, Callable[[], object]]]:
    """One call of each kernel."""
    yield DEFAULT, "thinning", lambda: thinned(np.zeros((4, 2)), 2, np.zeros(2))
