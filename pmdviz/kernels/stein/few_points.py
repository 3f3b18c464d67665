"""The weighted Stein force of few points in many dimensions, and its width, from one matrix of their distances.

`svgd.stein_force` never holds all pairs, which suits thousands of points in a few dimensions. Of a hundred points in a
hundred dimensions the distances are most of the work: here each is computed once, for the median and for the kernel.
"""

from collections.abc import Callable, Iterator

import numpy as np

from pmdviz.kernels.checks import finite, matrix, vector
from pmdviz.kernels.jit import fast_jit, jit

CLOSEST = 1e-12  # of the squared median distance, where most points coincide


def matched_force(
    points: np.ndarray, scores: np.ndarray, weights: np.ndarray, factor: float
) -> tuple[np.ndarray, float]:
    """sum_j w_j k_ij (s_j + (2/h) (x_i - x_j)) (m, d), and h = factor med^2 / (2 log(m + 1)).

    k_ij = exp(-|x_i - x_j|^2 / h); med^2 is the median of the squared distances between different points, of an even
    number the mean of the middle two. For points and scores (m, d) and weights (m,) of sum 1. ValueError for shapes
    that do not fit and values that are not finite.
    """
    points = finite(matrix(points, "points"), "points")
    scores = finite(matrix(scores, "scores", points.shape[1]), "scores")
    weights = finite(vector(weights, "weights", len(points)), "weights")
    if scores.shape != points.shape:
        raise ValueError(f"scores must have the points' shape {points.shape}, not {scores.shape}")
    m, points = len(points), points - points.mean(axis=0)  # the differences keep their digits far from the origin
    squares, pairs = _squares(np.ascontiguousarray(points.T))
    middle = len(pairs) // 2
    if m < 2:
        median = 1.0
    elif len(pairs) % 2:
        median = np.partition(pairs, middle)[middle]
    else:
        median = np.partition(pairs, (middle - 1, middle))[middle - 1 : middle + 1].mean()
    h = float(factor * max(median, CLOSEST) / (2 * np.log(m + 1)))
    return _force(points, scores - 2.0 / h * points, weights, np.exp(squares * (-1.0 / h)), 2.0 / h), h


@fast_jit
def _add_four(a, b, c, d, i, out):
    """out_j += the squared distances of column i from column j in four dimensions, for j above i."""
    p, q, r, s = a[i], b[i], c[i], d[i]
    for j in range(i + 1, out.size):
        out[j] += (a[j] - p) ** 2 + (b[j] - q) ** 2 + (c[j] - r) ** 2 + (d[j] - s) ** 2


@fast_jit
def _add_one(a, i, out):
    p = a[i]
    for j in range(i + 1, out.size):
        out[j] += (a[j] - p) ** 2


@jit
def _squares(columns):
    """|x_i - x_j|^2 as (m, m), and those of the pairs i < j in a row; columns (d, m)."""
    dim, m = columns.shape
    out, pairs, place = np.zeros((m, m)), np.empty(m * (m - 1) // 2), 0
    for i in range(m):
        for k in range(0, dim - 3, 4):
            _add_four(columns[k], columns[k + 1], columns[k + 2], columns[k + 3], i, out[i])
        for k in range(dim - dim % 4, dim):
            _add_one(columns[k], i, out[i])
        for j in range(i + 1, m):
            out[j, i] = out[i, j]
            pairs[place] = out[i, j]
            place += 1
    return out, pairs


@fast_jit
def _mix_four(a, p, b, q, c, r, d, s, out):
    for k in range(out.size):
        out[k] += a * p[k] + b * q[k] + c * r[k] + d * s[k]


@fast_jit
def _mix_one(a, p, out):
    for k in range(out.size):
        out[k] += a * p[k]


@jit
def _force(points, pulls, weights, kernel, slope):
    m, dim = points.shape
    out, row = np.zeros((m, dim)), np.empty(m)
    for i in range(m):
        total = 0.0
        for j in range(m):
            row[j] = weights[j] * kernel[i, j]
            total += row[j]
        for j in range(0, m - 3, 4):
            _mix_four(
                row[j], pulls[j], row[j + 1], pulls[j + 1], row[j + 2], pulls[j + 2], row[j + 3], pulls[j + 3], out[i]
            )
        for j in range(m - m % 4, m):
            _mix_one(row[j], pulls[j], out[i])
        _mix_one(slope * total, points[i], out[i])
    return out


def warm_up_calls() -> Iterator[tuple[str, Callable[[], object]]]:
    """Every function of this file."""
    two = np.eye(2)
    yield "Stein force of few points", lambda: matched_force(two, two, np.full(2, 0.5), 1.0)
