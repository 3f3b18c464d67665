"""The median distance between points, which measures how far they are spread without a model of their shape."""

from collections.abc import Callable, Iterator

import numpy as np

from pmdviz.kernels.checks import finite, matrix
from pmdviz.kernels.groups import DEFAULT
from pmdviz.kernels.jit import jit


def median_distance(points: np.ndarray, leave_out: int = 0) -> float:
    """Median of |x_i - x_j| over all pairs i < j of the rows of points (m, d), Euclidean, in their unit.

    As `numpy.median` of the m (m - 1) / 2 distances without the `leave_out` smallest (the zeros of points that stand
    there several times), in O(m^2) time and memory (m = 1000: 4 MB). ValueError for fewer than two points, values
    that are not finite, or nothing left.
    """
    points = finite(matrix(points, "points"), "points")
    if len(points) < 2:
        raise ValueError(f"a distance needs two points, not {len(points)}")
    largest = np.abs(points).max() or 1.0  # squares of the scaled points neither overflow nor vanish all together
    squared = _squared_distances(points / largest)
    if not 0 <= leave_out < len(squared):
        raise ValueError(f"leave_out must be at least 0 and below the {len(squared)} pairs, not {leave_out}")
    middle = (len(squared) + leave_out) // 2
    if (len(squared) - leave_out) % 2:
        return float(largest * np.sqrt(np.partition(squared, middle)[middle]))
    low, high = np.partition(squared, (middle - 1, middle))[middle - 1 : middle + 1]
    return float(largest * 0.5 * (np.sqrt(low) + np.sqrt(high)))


@jit
def _squared_distances(points):
    m, d = points.shape
    out = np.empty(m * (m - 1) // 2)
    place = 0
    for i in range(m):
        for j in range(i + 1, m):
            distance = 0.0
            for k in range(d):
                apart = points[i, k] - points[j, k]
                distance += apart * apart
            out[place] = distance
            place += 1
    return out


def warm_up_calls() -> Iterator[tuple[str, str, Callable[[], object]]]:
    """One call of each kernel."""
    yield DEFAULT, "median distance", lambda: median_distance(np.zeros((2, 2)))
