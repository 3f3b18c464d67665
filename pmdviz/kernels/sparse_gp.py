"""The conditional posterior p(u | Z, y) of a sparse Gaussian process, for many sets Z of inducing inputs at once.

Everything is in whitened coordinates: with K_ZZ = L L' and u = L v the prior of v is N(0, I), and a row (x, y) has the
feature a = L^-1 k(Z, x). The posterior of v is Gaussian with precision P and linear term h = P E v, kept as one array
(M, M + 1): the lower triangle of P, and h in the last column. No matrix is ever inverted.

The kernel is exp(-|x - z|^2 / 2); inputs come divided by its width. Sets of inducing inputs are the blocks that
threads share.
"""

from collections.abc import Callable, Iterator

import numpy as np

from pmdviz.kernels.checks import finite, plain, positive
from pmdviz.kernels.exponential import exp64
from pmdviz.kernels.jit import fast_jit, jit
from pmdviz.kernels.pool import run_blocks
from pmdviz.kernels.triangular import add_products, cholesky, clear_above, dot, forward

JITTER = 1e-8  # added to the diagonal of K_ZZ, in units of the prior's variance 1: inducing inputs may coincide


def factorised(inputs: np.ndarray) -> np.ndarray:
    """L of every set, L L' = K_ZZ + 1e-8 I: inputs (m, M, k) -> (m, M, M), lower triangular.

    ValueError for values that are not finite.
    """
    inputs = finite(plain(inputs), "inputs")
    m, num = inputs.shape[:2]
    out = np.zeros((m, num, num))
    run_blocks(lambda a, b: _factorise(inputs[a:b], out[a:b]), m, 1, m * num**3 / 6)
    return out


def tilted(
    inputs: np.ndarray,
    factors: np.ndarray,
    natural: np.ndarray,
    rows: np.ndarray,
    kept: float,
    power: float,
    noise: float,
    corrected: bool,
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """q(v)^kept N(v | 0, I)^(1 - kept) prod over the rows of p(y | v, x)^power, for every set of inducing inputs.

    p(y | v, x) = N(y | a'v, noise + s), where s = 1 - a'a is what the inducing inputs leave open (FITC), or 0 unless
    `corrected` (DTC). natural (m, M, M + 1), rows (B, k + 1) of inputs and y. Returns the new natural parameters, their
    log partition functions 0.5 h'P^-1 h - 0.5 log|P| (m,), and the sums of power log N(y | 0, noise + s) (m,).
    ValueError for values that are not finite.
    """
    rows, noise = finite(plain(rows), "rows"), positive(noise, "noise")
    m, num = inputs.shape[:2]
    new, partitions, bases = np.empty_like(natural), np.empty(m), np.empty(m)
    x, y = np.ascontiguousarray(rows[:, :-1]), np.ascontiguousarray(rows[:, -1])
    given = plain(inputs), plain(factors), plain(natural)

    def work(a: int, b: int) -> None:
        part = (array[a:b] for array in given)
        _tilt(*part, x, y, kept, power, noise, corrected, new[a:b], partitions[a:b], bases[a:b])

    run_blocks(work, m, 1, float(m * num * num * len(rows)))
    return new, partitions, bases


def predicted(
    inputs: np.ndarray, factors: np.ndarray, natural: np.ndarray, points: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """f at points (n, k) given each set: means (m, n), and lower Cholesky factors (m, n, n) of the covariances.

    Cov = K_** - A'A + A'P^-1 A, A = L^-1 k(Z, *): what the inducing inputs leave open is the prior's.
    """
    points = finite(plain(points), "points")
    m, n = len(inputs), len(points)
    means, choleskys = np.empty((m, n)), np.zeros((m, n, n))
    given = plain(inputs), plain(factors), plain(natural)

    def work(a: int, b: int) -> None:
        _predict(*(array[a:b] for array in given), points, means[a:b], choleskys[a:b])

    run_blocks(work, m, 1, float(m * inputs.shape[1] ** 2 * n))
    return means, choleskys


def whitened(factor: np.ndarray, columns: np.ndarray) -> np.ndarray:
    """L^-1 columns for a lower triangular L (M, M), of every (M, n) in columns (..., M, n).

    ValueError for values that are not finite.
    """
    factor, out = finite(plain(factor), "factor"), finite(np.array(columns, float, order="C"), "columns")
    each = out.reshape(-1, *out.shape[-2:])
    run_blocks(lambda a, b: _whiten(factor, each[a:b]), len(each), 1, out.size * len(factor) / 2)
    return out


def covariances(first: np.ndarray, second: np.ndarray) -> np.ndarray:
    """exp(-|x - z|^2 / 2) of inputs (n, k) and (M, k), as (n, M)."""
    first, second = finite(plain(first), "inputs"), finite(plain(second), "inputs")
    out = np.empty((len(first), len(second)))
    _covariances(first, second, out)
    return out


@fast_jit
def add_squares(row, columns, point):
    """row[j] += sum over k of (point[k] - columns[k, j])^2, four k at a time."""
    k = 0
    while k + 4 <= point.size:
        p0, p1, p2, p3 = point[k], point[k + 1], point[k + 2], point[k + 3]
        for j in range(row.size):
            a, b = p0 - columns[k, j], p1 - columns[k + 1, j]
            c, d = p2 - columns[k + 2, j], p3 - columns[k + 3, j]
            row[j] += a * a + b * b + c * c + d * d
        k += 4
    while k < point.size:
        p0 = point[k]
        for j in range(row.size):
            a = p0 - columns[k, j]
            row[j] += a * a
        k += 1


@fast_jit
def to_kernel(row):
    """exp(-row / 2), in place."""
    for j in range(row.size):
        row[j] = exp64(-0.5 * row[j])


@jit
def _transposed(matrix):
    out = np.empty((matrix.shape[1], matrix.shape[0]))
    for i in range(matrix.shape[0]):
        for j in range(matrix.shape[1]):
            out[j, i] = matrix[i, j]
    return out


@jit
def _covariances(first, second, out):
    columns = _transposed(second)
    for i in range(first.shape[0]):
        for j in range(out.shape[1]):
            out[i, j] = 0.0
        add_squares(out[i], columns, first[i])
        to_kernel(out[i])


@jit
def _factorise(inputs, out):
    for i in range(inputs.shape[0]):
        _covariances(inputs[i], inputs[i], out[i])
        for r in range(out.shape[1]):
            out[i, r, r] += JITTER
        cholesky(out[i])
        clear_above(out[i])


@jit
def _whiten(factor, each):
    for i in range(each.shape[0]):
        forward(factor, each[i])


@jit
def _features(inputs, factor, x):
    """a of every row, one a column: (M, B)."""
    found = np.empty((inputs.shape[0], x.shape[0]))
    _covariances(inputs, x, found)
    forward(factor, found)
    return found


@jit
def _tilt(inputs, factors, natural, x, y, kept, power, noise, corrected, new, partitions, bases):
    num, variance, weighted = inputs.shape[1], np.empty(y.size), np.empty((inputs.shape[1], y.size))
    for i in range(inputs.shape[0]):
        a, base = _features(inputs[i], factors[i], x), 0.0
        for n in range(y.size):
            variance[n] = noise + 1.0 if corrected else noise
        if corrected:
            for r in range(num):
                for n in range(y.size):
                    variance[n] -= a[r, n] * a[r, n]
            for n in range(y.size):
                variance[n] = max(variance[n], noise)
        for n in range(y.size):
            base += np.log(2 * np.pi * variance[n]) + y[n] * y[n] / variance[n]
        bases[i] = -0.5 * power * base
        for r in range(num):
            for n in range(y.size):
                weighted[r, n] = a[r, n] / variance[n]
            for s in range(r + 1):
                new[i, r, s] = kept * natural[i, r, s]
            new[i, r, r] += 1.0 - kept
            new[i, r, num] = kept * natural[i, r, num] + power * dot(weighted[r], y, y.size)
        add_products(new[i], weighted, a, power)
        clear_above(new[i])
        partitions[i] = _log_partition(new[i])


@jit
def _log_partition(natural):
    num = natural.shape[0]
    factor, h = natural[:, :num].copy(), natural[:, num:].copy()
    cholesky(factor)
    forward(factor, h)
    total = 0.0
    for r in range(num):
        total += 0.5 * h[r, 0] * h[r, 0] - np.log(factor[r, r])
    return total


@jit
def _predict(inputs, factors, natural, points, means, choleskys):
    num, n = inputs.shape[1], points.shape[0]
    for i in range(inputs.shape[0]):
        a = _features(inputs[i], factors[i], points)
        factor, h = natural[i, :, :num].copy(), natural[i, :, num:].copy()
        cholesky(factor)
        forward(factor, h)
        seen = a.copy()
        forward(factor, seen)
        for p in range(n):
            means[i, p] = 0.0
        for r in range(num):
            for p in range(n):
                means[i, p] += h[r, 0] * seen[r, p]
        across, beyond = _transposed(seen), _transposed(a)
        _covariances(points, points, choleskys[i])
        for r in range(n):
            choleskys[i, r, r] += JITTER
        add_products(choleskys[i], across, across, 1.0)
        add_products(choleskys[i], beyond, beyond, -1.0)
        cholesky(choleskys[i])
        clear_above(choleskys[i])


def warm_up_calls() -> Iterator[tuple[str, str, Callable[[], object]]]:
    """One call of each kernel."""
    inputs, natural = np.zeros((1, 2, 1)), np.zeros((1, 2, 3))
    natural[0, :, :2] = np.eye(2)
    rows = np.zeros((2, 2))
    yield "sparse_gp", "sparse Gaussian process", lambda: factorised(inputs)
    given = inputs, np.eye(2)[None], natural
    yield "sparse_gp", "its step", lambda: tilted(*given, rows, 0.5, 0.5, 1.0, True)
    yield "sparse_gp", "its predictions", lambda: predicted(*given, rows[:, :1])
    yield "sparse_gp", "its coordinates", lambda: whitened(np.eye(2), natural[0, :, :2])
    yield "sparse_gp", "its covariances", lambda: covariances(rows[:, :1], rows[:, :1])
