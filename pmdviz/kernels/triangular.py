"""Symmetric products, triangular solves and Cholesky factors of matrices of tens to a few thousand rows.

Written out in tiles of 4 x 4, which stay in registers: without BLAS, whose last bits depend on its number of threads.
"""

import numpy as np

from pmdviz.kernels.jit import fast_jit, jit

SMALLEST = 1e-300  # a pivot that rounding made negative is cut there


@fast_jit
def dot(a, b, n):
    """Product over the first n entries."""
    total = 0.0
    for k in range(n):
        total += a[k] * b[k]
    return total


@fast_jit
def add_tile(target, left, rows, r, s, n, scale):
    """target[r + i, s + j] += scale left[r + i].rows[s + j] for i, j < 4, over the first n columns."""
    a0 = a1 = a2 = a3 = b0 = b1 = b2 = b3 = c0 = c1 = c2 = c3 = d0 = d1 = d2 = d3 = 0.0
    for k in range(n):
        a, b, c, d = left[r, k], left[r + 1, k], left[r + 2, k], left[r + 3, k]
        x, y, z, w = rows[s, k], rows[s + 1, k], rows[s + 2, k], rows[s + 3, k]
        a0, a1, a2, a3 = a0 + a * x, a1 + a * y, a2 + a * z, a3 + a * w
        b0, b1, b2, b3 = b0 + b * x, b1 + b * y, b2 + b * z, b3 + b * w
        c0, c1, c2, c3 = c0 + c * x, c1 + c * y, c2 + c * z, c3 + c * w
        d0, d1, d2, d3 = d0 + d * x, d1 + d * y, d2 + d * z, d3 + d * w
    _put(target[r], s, scale, a0, a1, a2, a3)
    _put(target[r + 1], s, scale, b0, b1, b2, b3)
    _put(target[r + 2], s, scale, c0, c1, c2, c3)
    _put(target[r + 3], s, scale, d0, d1, d2, d3)


@fast_jit
def _put(row, s, scale, x, y, z, w):
    row[s] += scale * x
    row[s + 1] += scale * y
    row[s + 2] += scale * z
    row[s + 3] += scale * w


@jit
def add_products(target, left, rows, scale):
    """target[r, s] += scale left[r].rows[s] for s <= r; what stands above the diagonal is overwritten."""
    num, n = left.shape
    whole = num - num % 4
    for r in range(0, whole, 4):
        for s in range(0, r + 1, 4):
            add_tile(target, left, rows, r, s, n, scale)
    for r in range(whole, num):
        for s in range(r + 1):
            target[r, s] += scale * dot(left[r], rows[s], n)


@jit
def clear_above(matrix):
    """Zeros above the diagonal of (M, M) or (M, M + 1), whose last column stays."""
    for r in range(matrix.shape[0]):
        matrix[r, r + 1 : matrix.shape[0]] = 0.0


@fast_jit
def _take_off_four(t0, t1, t2, t3, x, y, z, w, factor, r, s):
    """Rows r to r + 3, less their parts along the solved rows s to s + 3."""
    a0, a1, a2, a3 = factor[r, s], factor[r, s + 1], factor[r, s + 2], factor[r, s + 3]
    b0, b1, b2, b3 = factor[r + 1, s], factor[r + 1, s + 1], factor[r + 1, s + 2], factor[r + 1, s + 3]
    c0, c1, c2, c3 = factor[r + 2, s], factor[r + 2, s + 1], factor[r + 2, s + 2], factor[r + 2, s + 3]
    d0, d1, d2, d3 = factor[r + 3, s], factor[r + 3, s + 1], factor[r + 3, s + 2], factor[r + 3, s + 3]
    for k in range(t0.size):
        p, q, u, v = x[k], y[k], z[k], w[k]
        t0[k] -= a0 * p + a1 * q + a2 * u + a3 * v
        t1[k] -= b0 * p + b1 * q + b2 * u + b3 * v
        t2[k] -= c0 * p + c1 * q + c2 * u + c3 * v
        t3[k] -= d0 * p + d1 * q + d2 * u + d3 * v


@fast_jit
def _take_off(row, weight, solved):
    for k in range(row.size):
        row[k] -= weight * solved[k]


@jit
def forward(factor, columns):
    """columns <- L^-1 columns, (M, n), in place."""
    num = factor.shape[0]
    for r in range(0, num, 4):
        first = 0
        if r + 4 <= num:
            first = r
            for s in range(0, r, 4):
                x, y, z, w = columns[s], columns[s + 1], columns[s + 2], columns[s + 3]
                t0, t1, t2, t3 = columns[r], columns[r + 1], columns[r + 2], columns[r + 3]
                _take_off_four(t0, t1, t2, t3, x, y, z, w, factor, r, s)
        for q in range(r, min(r + 4, num)):
            for s in range(first, q):
                _take_off(columns[q], factor[q, s], columns[s])
            columns[q] /= factor[q, q]


@jit
def cholesky(matrix):
    """The lower triangle becomes its Cholesky factor, four columns at a time; what stands above is overwritten."""
    num = matrix.shape[0]
    for s in range(0, num, 4):
        tiled = s
        if s + 4 <= num:
            tiled = num - num % 4
            for r in range(s, tiled, 4):
                add_tile(matrix, matrix, matrix, r, s, s, -1.0)
        for r in range(tiled, num):
            for q in range(s, min(s + 4, r + 1)):
                matrix[r, q] -= dot(matrix[r], matrix[q], s)
        _finish_columns(matrix, s)


@jit
def _finish_columns(matrix, s):
    """Columns s to s + 3 of the factor, once the parts of the columns before are taken off."""
    num = matrix.shape[0]
    for q in range(s, min(s + 4, num)):
        for r in range(q, num):
            for c in range(s, q):
                matrix[r, q] -= matrix[r, c] * matrix[q, c]
            if r == q:
                matrix[q, q] = np.sqrt(max(matrix[q, q], SMALLEST))
            else:
                matrix[r, q] /= matrix[q, q]
