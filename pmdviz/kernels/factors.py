"""Loops over arrays that several kernels share; Cholesky factors of the small matrices in a run's steps.

NumPy's factors are not used: LAPACK's last digits depend on the processor that its code was written for. Plain loops in
strict arithmetic give the same bits everywhere.
"""

import numpy as np

from pmdviz.kernels.checks import Array
from pmdviz.kernels.jit import DEFAULT, WarmUps, fast_jit, jit


@fast_jit
def dot(a, b, n):
    """Product over the first n entries."""
    total = 0.0
    for k in range(n):
        total += a[k] * b[k]
    return total


@jit
def sum_of(values):
    """Their sum, one after the other."""
    found = 0.0
    for j in range(values.size):
        found += values[j]
    return found


@fast_jit
def add_multiple(x, factor, out):
    """out += factor x, for a number `factor`."""
    for k in range(out.size):
        out[k] += factor * x[k]


@fast_jit
def add_squares(x, y, out):
    """out += (x - y)^2, for x (m,) and a number y."""
    for j in range(out.size):
        a = x[j] - y
        out[j] += a * a


@fast_jit
def subtract_squares(x, y, out):
    """out -= (x - y)^2."""
    for j in range(out.size):
        a = x[j] - y
        out[j] -= a * a


@jit
def factorise(a):
    """The lower Cholesky factor of `a`, whose lower triangle is given, in its place; False where there is none."""
    for j in range(a.shape[0]):
        for i in range(j, a.shape[0]):
            rest = a[i, j]
            for k in range(j):
                rest -= a[i, k] * a[j, k]
            if i > j:
                a[i, j] = rest / a[j, j]
            elif rest > 0.0:
                a[j, j] = np.sqrt(rest)
            else:
                return False
        for i in range(j):
            a[i, j] = 0.0
    return True


def cholesky(matrices: Array) -> Array:
    """Lower L with L L' = each of the matrices (d, d) or (k, d, d). LinAlgError unless all are positive definite."""
    factors = np.array(matrices, float, order="C")
    if not _factorise(factors.reshape(-1, *factors.shape[-2:])):
        raise np.linalg.LinAlgError("the matrix is not positive definite")
    return factors


def inverse(factor: Array) -> Array:
    """L^-1 of a lower triangular L (d, d)."""
    columns = np.eye(len(factor))
    _solve(np.ascontiguousarray(factor), columns)
    return columns


def precision(covariance: Array) -> Array:
    """The inverse of a symmetric positive definite matrix (d, d). Raises LinAlgError for other matrices."""
    root = inverse(cholesky(covariance))
    return np.einsum("ki,kj->ij", root, root)


@jit
def _factorise(matrices):
    for a in matrices:
        if not factorise(a):
            return False
    return True


@jit
def _solve(factor, columns):
    for i in range(factor.shape[0]):
        for j in range(i + 1):
            for k in range(j, i):
                columns[i, j] -= factor[i, k] * columns[k, j]
            columns[i, j] /= factor[i, i]


def warm_up_calls() -> WarmUps:
    """Calls that compile every kernel of this file."""
    yield DEFAULT, "factors of small matrices", precision, np.eye(2)
