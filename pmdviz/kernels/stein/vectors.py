"""Compiled steps along a row that several kernels of this folder take."""

from pmdviz.kernels.jit import fast_jit


@fast_jit
def subtract_squares(x, y, exponents):
    """exponents -= (x - y)^2, for x (m,) and a number y."""
    for j in range(exponents.size):
        a = x[j] - y
        exponents[j] -= a * a


@fast_jit
def product(a, b):
    """sum_j a_j b_j."""
    total = 0.0
    for j in range(a.size):
        total += a[j] * b[j]
    return total
