"""The weights of least kernel Stein discrepancy: the matrix of all pairs, and descent on the simplex.

    kappa(x, y) = k [s(x).s(y) + (2/h) (s(x) - s(y)).(x - y) + 2 d/h - (4/h^2) |x - y|^2],  k = exp(-|x - y|^2 / h)
    u = argmin u'Ku over u >= 0, sum u = 1

Steps are taken in a metric D: z = y - D^-1 Ky / L, and u is the point of the simplex that is nearest to z in it,
u_i = max(0, z_i - tau / D_i). L is at least the largest eigenvalue of D^-1/2 K D^-1/2, so that none goes too far.
"""

from collections.abc import Callable, Iterator
from typing import NamedTuple

import numpy as np

from pmdviz.kernels.checks import finite, matrix, positive, vector
from pmdviz.kernels.jit import jit
from pmdviz.kernels.pool import run_blocks
from pmdviz.kernels.stein.vectors import product

ROWS_PER_BLOCK = 16
POWERS, MARGIN = 40, 1.05  # of the iteration for L, and what it may have missed


class Descent(NamedTuple):
    """Where accelerated descent stands."""

    u: np.ndarray  # (n,) on the simplex
    ahead: np.ndarray  # (n,) from where the next step is taken
    pace: float  # t of Nesterov's sequence, at least 1
    value: float  # u'Ku
    gap: float  # max_i (g'u - g_i) with g = 2 K u: by so much at most u'Ku is above its least value


def stein_matrix(points: np.ndarray, scores: np.ndarray, h: float) -> np.ndarray:
    """kappa (n, n) for points (n, d) and the gradients (n, d) of the log density at them.

    h > 0 in squared units of theta. The same bits for any number of threads. ValueError for shapes that do not fit and
    values that are not finite.
    """
    points = finite(matrix(points, "points"), "points")
    scores, h = finite(matrix(scores, "scores", points.shape[1]), "scores"), positive(h, "h")
    if scores.shape != points.shape:
        raise ValueError(f"scores must have the points' shape {points.shape}, not {scores.shape}")
    out = np.empty((len(points), len(points)))

    def work(start: int, stop: int) -> None:
        _stein_rows(points, scores, h, out, start, stop)

    run_blocks(work, len(points), ROWS_PER_BLOCK, float(len(points)) ** 2)
    return out


def nearest_on_simplex(z: np.ndarray, metric: np.ndarray) -> np.ndarray:
    """argmin over the simplex of sum_i D_i (u_i - z_i)^2, (n,), for z (n,) and D (n,) > 0, by sorting. ValueError."""
    z, metric = finite(vector(z, "z"), "z"), _metric(metric, np.size(z))
    return _nearest(z, metric)


def descended(K: np.ndarray, metric: np.ndarray, start: Descent, count: int) -> Descent:
    """`count` steps of accelerated projected gradient descent on u'Ku (Beck, Teboulle 2009) from `start`.

    K (n, n) symmetric and positive semi-definite, D (n,) > 0. Where a step turns against the last one the pace starts
    anew (O'Donoghue, Candes 2015). ValueError for shapes that do not fit and values that are not finite.
    """
    K = finite(matrix(K, "K", np.size(start.u)), "K")
    metric = _metric(metric, len(K))
    u, ahead = vector(start.u, "u", len(K)).copy(), vector(start.ahead, "ahead", len(K)).copy()
    pace, value, gap = _descended(K, metric, u, ahead, float(start.pace), int(count))
    return Descent(u, ahead, pace, value, gap)


def _metric(metric: np.ndarray, n: int) -> np.ndarray:
    metric = finite(vector(metric, "metric", n), "metric")
    if not n or metric.min() <= 0:
        raise ValueError("metric must have entries above 0 only, and at least one")
    return metric


@jit
def _stein_rows(points, scores, h, out, start, stop):
    n, d = points.shape
    for i in range(start, stop):
        for j in range(n):
            apart, along, both = 0.0, 0.0, 0.0
            for k in range(d):
                gap = points[i, k] - points[j, k]
                apart += gap * gap
                along += (scores[i, k] - scores[j, k]) * gap
                both += scores[i, k] * scores[j, k]
            total = both + 2.0 / h * along + 2.0 * d / h - 4.0 / (h * h) * apart
            out[i, j] = np.exp(-apart / h) * total


@jit
def _nearest(z, metric):
    """tau by the breakpoints z_i D_i in falling order: those above it have u_i > 0."""
    falling = np.empty(z.size)
    for i in range(z.size):
        falling[i] = -z[i] * metric[i]
    order = np.argsort(falling)
    total, inverse, tau = -1.0, 0.0, 0.0
    for k in range(order.size):
        i = order[k]
        if k > 0 and z[i] * metric[i] <= tau:
            break
        total += z[i]
        inverse += 1.0 / metric[i]
        tau = total / inverse
    u, mass = np.empty(z.size), 0.0
    for i in range(z.size):
        u[i] = max(0.0, z[i] - tau / metric[i])
        mass += u[i]
    for i in range(z.size):
        u[i] /= mass  # 1 but for rounding
    return u


@jit
def _times(K, y, out):
    for i in range(y.size):
        out[i] = product(K[i], y)


@jit
def _largest_eigenvalue(K, metric, buffer):
    """Of D^-1/2 K D^-1/2, by power iteration from sqrt(D K_ii)-like entries, and a margin."""
    n, value = metric.size, 0.0
    root, vector, scaled = np.empty(n), np.empty(n), np.empty(n)
    for i in range(n):
        root[i] = 1.0 / np.sqrt(metric[i])
        vector[i] = 1.0 + 0.1 * np.sin(1.0 + i)  # in general position
    for _ in range(POWERS):
        length = np.sqrt(product(vector, vector))
        for i in range(n):
            vector[i] /= length
            scaled[i] = vector[i] * root[i]
        _times(K, scaled, buffer)
        for i in range(n):
            vector[i] = buffer[i] * root[i]
        value = np.sqrt(product(vector, vector))
        if value <= 0.0:
            return 0.0
    return MARGIN * value


@jit
def _descended(K, metric, u, ahead, pace, count):
    """In place of u and ahead; returns the pace, u'Ku and the gap."""
    slope, aim = np.empty(u.size), np.empty(u.size)
    longest = _largest_eigenvalue(K, metric, slope)
    for _ in range(count):
        if longest <= 0.0:
            break
        _times(K, ahead, slope)
        for i in range(u.size):
            aim[i] = ahead[i] - slope[i] / (longest * metric[i])
        new = _nearest(aim, metric)
        turned = 0.0
        for i in range(u.size):
            turned += metric[i] * (ahead[i] - new[i]) * (new[i] - u[i])
        later = 0.5 * (1.0 + np.sqrt(1.0 + 4.0 * pace * pace))
        momentum = (pace - 1.0) / later
        if turned > 0.0:
            later, momentum = 1.0, 0.0
        for i in range(u.size):
            ahead[i] = new[i] + momentum * (new[i] - u[i])
            u[i] = new[i]
        pace = later
    _times(K, u, slope)
    value = product(u, slope)
    gap = 0.0
    for i in range(u.size):
        gap = max(gap, 2.0 * (value - slope[i]))
    return pace, value, gap


def warm_up_calls() -> Iterator[tuple[str, str, Callable[[], object]]]:
    """Every function of this file."""
    two, half = np.zeros((2, 2)), np.full(2, 0.5)
    yield "black_box", "Stein matrix", lambda: stein_matrix(two, two, 1.0)
    yield "black_box", "nearest point of the simplex", lambda: nearest_on_simplex(half, np.ones(2))
    yield (
        "black_box",
        "descent on the simplex",
        lambda: descended(np.eye(2), np.ones(2), Descent(half, half, 1.0, 0.0, 0.0), 1),
    )
