"""Loops of exponentials and nothing else: no kernel that needs so many can be faster than these."""

import numpy as np

from pmdviz.kernels.jit import exp2, exp64, fast_jit, jit


def exponentials(exponents: np.ndarray, times: int, base: str = "2") -> float:
    """`times` times the sum of base^x over the exponents x (m,) <= 0; float32 exponents are taken in float32."""
    return (_powers_of_two if base == "2" else _powers_of_e)(exponents, times)


@fast_jit
def _sum_of_two(exponents):
    total = exponents.dtype.type(0)
    for j in range(exponents.size):
        total += exp2(exponents[j])
    return total


@jit
def _powers_of_two(exponents, times):
    total = 0.0
    for _ in range(times):
        total += _sum_of_two(exponents)
    return total


@fast_jit
def _sum_of_e(exponents):
    total = 0.0
    for j in range(exponents.size):
        total += exp64(exponents[j])
    return total


@jit
def _powers_of_e(exponents, times):
    total = 0.0
    for _ in range(times):
        total += _sum_of_e(exponents)
    return total
