"""The largest step along which weights stay alive: a search for the step size that leaves a share of the ESS.

Log-weights move along a line, `start + g slope`. At g = 0 they have the effective sample size that they start with, and
where the whole step would leave too little of it, bisection finds a g between that does not.
"""

from collections.abc import Callable, Iterator

import numpy as np

from pmdviz.kernels.checks import vector
from pmdviz.kernels.exponential import exp64
from pmdviz.kernels.groups import DEFAULT
from pmdviz.kernels.jit import fast_jit, jit

CLOSE = 1e-6  # the search ends when its bounds are so close, as a share of the upper one


def largest_step(start: np.ndarray, slope: np.ndarray, most: float, share: float) -> float:
    """The largest g in (0, `most`] for which log-weights `start + g slope` keep `share` of the ESS of `start`.

    start, slope (m,) without NaN; where one of them is -inf a particle has no weight whatever g is, and does not count.
    `share` in (0, 1) is kept for certain; where the ESS does not fall steadily the g found need not be the largest.
    ValueError where no particle counts.
    """
    start, slope = vector(start, "start"), vector(slope, "slope", len(start))
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


def warm_up_calls() -> Iterator[tuple[str, str, Callable[[], object]]]:
    """One call of each kernel."""
    yield DEFAULT, "step limit", lambda: largest_step(np.zeros(2), np.array([0.0, -9.0]), 1.0, 0.9)
