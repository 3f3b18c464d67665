"""The force of a few leaders on any points, and how much a step along it stretches space there.

    phi(y) = (1/A) sum_j k_j (s_j - c u_j),   k_j = exp(-|u_j|^2 / h),  u_j = x_j - y,  c = 2 / h

    J(y)_ab = d phi_a / d y_b = (c/A) sum_j k_j [(s_j - c u_j)_a u_jb + delta_ab]

for leaders x_j with the gradients s_j of a log density. The map y -> y + eps phi(y) turns a density q into
q / |det(I + eps J)|. Distances are taken from each point, so that nothing cancels far from the origin.
"""

from collections.abc import Callable, Iterator

import numpy as np

from pmdviz.kernels.checks import finite, matrix, plain, positive
from pmdviz.kernels.exponential import exp2
from pmdviz.kernels.jit import exp_jit, fast_jit, jit
from pmdviz.kernels.pool import run_blocks
from pmdviz.kernels.stein.vectors import subtract_squares

ROWS_PER_BLOCK = 32
TILE = 1024  # leaders at a time: their terms stay in the first-level cache
Pair = tuple[np.ndarray, np.ndarray]


def transport(points: np.ndarray, leaders: np.ndarray, scores: np.ndarray, h: float) -> Pair:
    """phi (n, d) and its Jacobian J (n, d, d) at points (n, d), for leaders and scores (A, d); O(n A d^2).

    h > 0 in squared units of theta. The same bits for any number of threads. ValueError for shapes that do not fit
    and values that are not finite.
    """
    return _moved(points, leaders, scores, h, True)


def transport_diagonal(points: np.ndarray, leaders: np.ndarray, scores: np.ndarray, h: float) -> Pair:
    """phi (n, d) and the diagonal of its Jacobian alone, (n, d), in O(n A d). ValueError as `transport`."""
    force, diagonal = _moved(points, leaders, scores, h, False)
    return force, diagonal[:, :, 0]


def log_determinants(jacobian: np.ndarray, step: float) -> Pair:
    """log |det(I + step J)| and the determinant's sign (-1, 0 or 1), each (n,), for J (n, d, d).

    In closed form up to three dimensions, by elimination with pivots above. ValueError for values that are not finite.
    """
    jacobian = _square(jacobian)
    logs, signs = np.empty(len(jacobian)), np.empty(len(jacobian))

    def work(start: int, stop: int) -> None:
        _log_determinants(jacobian, float(step), logs, signs, start, stop)

    run_blocks(work, len(jacobian), ROWS_PER_BLOCK, float(len(jacobian)) * jacobian.shape[1] ** 3)
    return logs, signs


def is_monotone(jacobian: np.ndarray, step: float, least: float) -> bool:
    """Whether the symmetric part of I + step J, for every J of (n, d, d), has no eigenvalue below `least`.

    Where that holds with least > 0 in a convex region, the map y -> y + step phi(y) is one-to-one there. ValueError as
    `log_determinants`.
    """
    return bool(_is_monotone(_square(jacobian), float(step), float(least)))


def _square(jacobian: np.ndarray) -> np.ndarray:
    jacobian = finite(plain(jacobian), "jacobian")
    if jacobian.ndim != 3 or jacobian.shape[1] != jacobian.shape[2]:
        raise ValueError(f"jacobian must have shape (n, d, d), not {jacobian.shape}")
    return jacobian


def _moved(points: np.ndarray, leaders: np.ndarray, scores: np.ndarray, h: float, full: bool) -> Pair:
    leaders = finite(matrix(leaders, "leaders"), "leaders")
    points = finite(matrix(points, "points", leaders.shape[1]), "points")
    scores, h = finite(matrix(scores, "scores", leaders.shape[1]), "scores"), positive(h, "h")
    if scores.shape != leaders.shape or not len(leaders):
        raise ValueError(f"scores must have the leaders' shape {leaders.shape}, not {scores.shape}; one or more rows")
    (num, dim), unit = leaders.shape, np.sqrt(h * np.log(2.0))  # 2^-|x - y|^2 is the kernel, in this unit
    columns, pulls, targets = np.ascontiguousarray(leaders.T) / unit, np.ascontiguousarray(scores.T), points / unit
    slope = 2.0 / h * unit
    force, jacobian = np.zeros(points.shape), np.zeros((*points.shape, dim if full else 1))
    sums = np.zeros(len(points))

    def work(start: int, stop: int) -> None:
        _rows(columns, pulls, targets, slope, force, jacobian, sums, start, stop)

    run_blocks(work, len(points), ROWS_PER_BLOCK, float(len(points)) * num)
    jacobian *= slope / num
    own = 2.0 / h * sums[:, None] / num
    if full:
        jacobian[:, np.arange(dim), np.arange(dim)] += own
    else:
        jacobian[:, :, 0] += own
    return force / num, jacobian


@exp_jit
def _kernel(exponent):
    return exp2(exponent)


@fast_jit
def _exponentials(exponents):
    """exponents <- their kernel values; returns the sum."""
    total = 0.0
    for j in range(exponents.size):
        k = _kernel(exponents[j])
        exponents[j] = k
        total += k
    return total


@fast_jit
def _pulled(values, pulls, x, y, slope, out):
    """out_j <- k_j (s_j - c u_j) in one coordinate; returns the sum."""
    total = 0.0
    for j in range(values.size):
        w = values[j] * (pulls[j] - slope * (x[j] - y))
        out[j] = w
        total += w
    return total


@fast_jit
def _moment(weights, x, y):
    total = 0.0
    for j in range(weights.size):
        total += weights[j] * (x[j] - y)
    return total


@jit
def _rows(columns, pulls, points, slope, force, jacobian, sums, start, stop):
    """Rows start to stop: sum_j k_j (s_j - c u_j), sum_j k_j (s_j - c u_j)_a u_jb in units of the kernel, sum_j k_j."""
    dim, num = columns.shape
    full = jacobian.shape[2] == dim
    kernels, weights = np.empty(min(TILE, num)), np.empty(min(TILE, num))
    for first in range(0, num, TILE):
        last = min(first + TILE, num)
        values, terms = kernels[: last - first], weights[: last - first]
        for i in range(start, stop):
            for j in range(values.size):
                values[j] = 0.0
            for a in range(dim):
                subtract_squares(columns[a, first:last], points[i, a], values)
            sums[i] += _exponentials(values)
            for a in range(dim):
                x, y = columns[a, first:last], points[i, a]
                force[i, a] += _pulled(values, pulls[a, first:last], x, y, slope, terms)
                if full:
                    for b in range(dim):
                        jacobian[i, a, b] += _moment(terms, columns[b, first:last], points[i, b])
                else:
                    jacobian[i, a, 0] += _moment(terms, x, y)


@jit
def _log_determinants(jacobian, step, logs, signs, start, stop):
    dim = jacobian.shape[1]
    m = np.empty((dim, dim))
    for i in range(start, stop):
        for a in range(dim):
            for b in range(dim):
                m[a, b] = step * jacobian[i, a, b]
            m[a, a] += 1.0
        if dim <= 3:
            det = _small(m)
            logs[i], signs[i] = np.log(np.abs(det)), np.sign(det)
        else:
            logs[i], signs[i] = _eliminated(m)


@jit
def _small(m):
    """The determinant of a matrix of at most three rows."""
    if m.shape[0] == 1:
        return m[0, 0]
    if m.shape[0] == 2:
        return m[0, 0] * m[1, 1] - m[0, 1] * m[1, 0]
    return (
        m[0, 0] * (m[1, 1] * m[2, 2] - m[1, 2] * m[2, 1])
        - m[0, 1] * (m[1, 0] * m[2, 2] - m[1, 2] * m[2, 0])
        + m[0, 2] * (m[1, 0] * m[2, 1] - m[1, 1] * m[2, 0])
    )


@jit
def _eliminated(m):
    """log |det| and sign by Gaussian elimination with the largest pivot of each column; `m` is overwritten."""
    dim, total, sign = m.shape[0], 0.0, 1.0
    for k in range(dim):
        best = k
        for a in range(k + 1, dim):
            if np.abs(m[a, k]) > np.abs(m[best, k]):
                best = a
        if best != k:
            sign = -sign
            for b in range(k, dim):
                m[k, b], m[best, b] = m[best, b], m[k, b]
        pivot = m[k, k]
        if pivot == 0.0:
            return -np.inf, 0.0
        total += np.log(np.abs(pivot))
        sign *= np.sign(pivot)
        for a in range(k + 1, dim):
            factor = m[a, k] / pivot
            for b in range(k + 1, dim):
                m[a, b] -= factor * m[k, b]
    return total, sign


@jit
def _is_monotone(jacobian, step, least):
    """By Cholesky's factor of the symmetric part less `least`, which exists where all is above."""
    num, dim, _ = jacobian.shape
    m = np.empty((dim, dim))
    for i in range(num):
        for a in range(dim):
            for b in range(a + 1):
                m[a, b] = 0.5 * step * (jacobian[i, a, b] + jacobian[i, b, a])
            m[a, a] += 1.0 - least
        for a in range(dim):
            for b in range(a + 1):
                rest = m[a, b]
                for k in range(b):
                    rest -= m[a, k] * m[b, k]
                if a == b:
                    if rest < 0.0 or (rest == 0.0 and a + 1 < dim):
                        return False
                    m[a, a] = np.sqrt(rest)
                else:
                    m[a, b] = rest / m[b, b]
    return True


def warm_up_calls() -> Iterator[tuple[str, str, Callable[[], object]]]:
    """One call of each kernel."""
    two = np.zeros((2, 2))
    yield "steinis", "force of leaders", lambda: transport(two, two, two, 1.0)
    yield "steinis", "force of leaders, diagonal", lambda: transport_diagonal(two, two, two, 1.0)
    yield "steinis", "one-to-one maps", lambda: is_monotone(np.zeros((1, 2, 2)), 1.0, 0.5)
    yield "steinis", "determinants", lambda: log_determinants(np.zeros((1, 2, 2)), 1.0)
