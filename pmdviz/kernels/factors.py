"""Cholesky factors of the small matrices in a run's steps, and their inverses.

NumPy's are not used: LAPACK's last digits depend on the processor that its code was written for. Plain loops in strict
arithmetic give the same bits everywhere.
"""

import numpy as np

from pmdviz.kernels.checks import Array
from pmdviz.kernels.jit import DEFAULT, WarmUps, jit
from pmdviz.kernels.loops import factorise


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
