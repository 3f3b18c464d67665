"""Sums of Gaussian kernels at points, in logs, with the mean of the centres that they belong to.

    log sum_j c_j exp(-|y - x_j|^2 / h),   sum_j r_j x_j with r_j = c_j exp(-|y - x_j|^2 / h) / the sum

The largest exponent of a row is taken off first: no sum underflows, however far a point lies from every centre.
"""

from collections.abc import Callable, Iterator

import numpy as np

from pmdviz.kernels.checks import finite, matrix, positive, vector
from pmdviz.kernels.exponential import LOG2E, exp2
from pmdviz.kernels.jit import exp_jit, fast_jit, jit
from pmdviz.kernels.pool import run_blocks
from pmdviz.kernels.stein.vectors import product, subtract_squares

ROWS_PER_BLOCK = 64


def soft_means(
    points: np.ndarray, centres: np.ndarray, log_masses: np.ndarray, h: float
) -> tuple[np.ndarray, np.ndarray]:
    """Log sums (n,) and means (n, d) for points (n, d), centres (m, d) and the finite logs (m,) of their c_j.

    h > 0 in squared units of the points. The same bits for any number of threads. ValueError for shapes that do not
    fit and values that are not finite.
    """
    points, h = finite(matrix(points, "points"), "points"), positive(h, "h")
    centres = finite(matrix(centres, "centres", points.shape[1]), "centres")
    base = finite(vector(log_masses, "log_masses", len(centres)), "log_masses") * LOG2E
    middle, unit = centres.mean(axis=0), np.sqrt(LOG2E / h)
    columns, rows = np.ascontiguousarray((centres - middle).T) * unit, (points - middle) * unit
    logs, means = np.empty(len(points)), np.empty(points.shape)

    def work(start: int, stop: int) -> None:
        _rows(columns, base, rows, logs, means, start, stop)

    run_blocks(work, len(points), ROWS_PER_BLOCK, float(len(points)) * len(centres))
    return logs / LOG2E, middle + means / unit


@fast_jit
def _largest(values):
    top = values[0]
    for j in range(values.size):
        top = max(top, values[j])
    return top


@exp_jit
def _power(exponent, top):
    return exp2(exponent - top)


@fast_jit
def _powers(exponents, top):
    """exponents <- 2^(exponents - top); returns the sum."""
    total = 0.0
    for j in range(exponents.size):
        value = _power(exponents[j], top)
        exponents[j] = value
        total += value
    return total


@jit
def _rows(columns, base, rows, logs, means, start, stop):
    """Rows start to stop of `logs` (n,), to the base 2, and of `means` (n, d)."""
    dim, m = columns.shape
    values = np.empty(m)
    for i in range(start, stop):
        for j in range(m):
            values[j] = base[j]
        for k in range(dim):
            subtract_squares(columns[k], rows[i, k], values)
        top = _largest(values)
        total = _powers(values, top)
        logs[i] = top + np.log2(total)
        for k in range(dim):
            means[i, k] = product(values, columns[k]) / total


def warm_up_calls() -> Iterator[tuple[str, str, Callable[[], object]]]:
    """Every function of this file."""
    two = np.zeros((2, 2))
    yield "responsibilities", "soft means", lambda: soft_means(two, two, np.zeros(2), 1.0)
