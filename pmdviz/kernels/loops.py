"""Loops over arrays that several kernels share: products, squared differences, and Cholesky factors in place."""

import numpy as np

from pmdviz.kernels.jit import fast_jit, jit


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
