"""The weighted Stein force of few points in many dimensions, and its width, from one matrix of their distances.

`svgd.stein_force` never holds all pairs, which suits thousands of points in a few dimensions. Of a hundred points in a
hundred dimensions the distances are most of the work: here each is computed once, for the median and for the kernel.
"""

from collections.abc import Callable, Iterator

import numpy as np

from pmdviz.kernels.checks import finite, matrix, vector
from pmdviz.kernels.exponential import exp64
from pmdviz.kernels.jit import exp_jit, fast_jit, jit

CLOSEST = 1e-12  # of the squared median distance, where most points coincide


def matched_force(
    points: np.ndarray, scores: np.ndarray, weights: np.ndarray, factor: float
) -> tuple[np.ndarray, float]:
    """sum_j w_j k_ij (s_j + (2/h) (x_i - x_j)) (m, d), and h = factor med^2 / (2 log(m + 1)).

    k_ij = exp(-|x_i - x_j|^2 / h); med^2 is the median of the squared distances between different points, of an even
    number the mean of the middle two. For points and scores (m, d) and weights (m,) of sum 1. ValueError for shapes
    that do not fit and values that are not finite.
    """
    centred = points - np.mean(points, axis=0)  # the differences keep their digits far from the origin
    points = finite(matrix(centred, "points"), "points")
    scores = finite(matrix(scores, "scores", points.shape[1]), "scores")
    weights = finite(vector(weights, "weights", len(points)), "weights")
    if scores.shape != points.shape:
        raise ValueError(f"scores must have the points' shape {points.shape}, not {scores.shape}")
    squares, pairs = _squares(np.ascontiguousarray(points.T))
    m, middle = len(points), len(pairs) // 2
    if m < 2:
        median = 1.0
    else:
        parted = np.partition(pairs, middle)
        median = parted[middle] if len(pairs) % 2 else 0.5 * (parted[:middle].max() + parted[middle])
    h = float(factor * max(median, CLOSEST) / (2 * np.log(m + 1)))
    return _force(points, scores - 2.0 / h * points, weights, squares, h), h


@fast_jit
def _add_three(a, p, u, b, q, v, c, r, w, one, other):
    """one += p a + q b + r c and other += u a + v b + w c: every vector that is read serves two sums."""
    for k in range(one.size):
        one[k] += p * a[k] + q * b[k] + r * c[k]
        other[k] += u * a[k] + v * b[k] + w * c[k]


@fast_jit
def _add_one(a, p, out):
    for k in range(out.size):
        out[k] += p * a[k]


@jit
def _products(columns):
    """The products of the points i <= j with one another, (m, m); columns (d, m)."""
    dim, m = columns.shape
    out = np.zeros((m, m))
    for i in range(0, m - 1, 2):
        one, other = out[i, i:], out[i + 1, i:]
        for k in range(0, dim - 2, 3):
            a, b, c = columns[k, i:], columns[k + 1, i:], columns[k + 2, i:]
            _add_three(a, a[0], a[1], b, b[0], b[1], c, c[0], c[1], one, other)
        for k in range(dim - dim % 3, dim):
            _add_one(columns[k, i:], columns[k, i], one)
            _add_one(columns[k, i:], columns[k, i + 1], other)
    if m % 2:
        for k in range(dim):
            out[m - 1, m - 1] += columns[k, m - 1] * columns[k, m - 1]
    return out


@jit
def _squares(columns):
    """|x_i - x_j|^2 as (m, m), and those of the pairs i < j in a row, by |x_i|^2 + |x_j|^2 - 2 x_i x_j."""
    out = _products(columns)
    m, place = out.shape[0], 0
    norms, pairs = np.empty(m), np.empty(m * (m - 1) // 2)
    for i in range(m):
        norms[i] = out[i, i]
    for i in range(m):
        out[i, i] = 0.0
        for j in range(i + 1, m):
            square = max(norms[i] + norms[j] - 2.0 * out[i, j], 0.0)
            out[i, j] = square
            pairs[place + j - i - 1] = square
        place += m - i - 1
    for i in range(m):
        for j in range(i):
            out[i, j] = out[j, i]
    return out, pairs


@exp_jit
def _kernels(squares, slope, weights, out):
    """w_j exp(-slope |x_i - x_j|^2) for all j."""
    for j in range(out.size):
        out[j] = weights[j] * exp64(-slope * squares[j])


@jit
def _total(values):
    total = 0.0
    for j in range(values.size):
        total += values[j]
    return total


@jit
def _force(points, pulls, weights, squares, h):
    m, dim = points.shape
    out, rows = np.zeros((m, dim)), np.empty((2, m))
    for i in range(0, m, 2):
        both = i + 1 < m
        one, row, other, more = out[i], rows[0], out[i + both], rows[1]
        _kernels(squares[i], 1.0 / h, weights, row)
        if both:
            _kernels(squares[i + 1], 1.0 / h, weights, more)
            for j in range(0, m - 2, 3):
                a, b, c = pulls[j], pulls[j + 1], pulls[j + 2]
                _add_three(a, row[j], more[j], b, row[j + 1], more[j + 1], c, row[j + 2], more[j + 2], one, other)
            for j in range(m - m % 3, m):
                _add_one(pulls[j], row[j], one)
                _add_one(pulls[j], more[j], other)
            _add_one(points[i + 1], 2.0 / h * _total(more), other)
        else:
            for j in range(m):
                _add_one(pulls[j], row[j], one)
        _add_one(points[i], 2.0 / h * _total(row), one)
    return out


def warm_up_calls() -> Iterator[tuple[str, str, Callable[[], object]]]:
    """Every function of this file."""
    two = np.eye(2)
    yield "few_points", "Stein force of few points", lambda: matched_force(two, two, np.full(2, 0.5), 1.0)
