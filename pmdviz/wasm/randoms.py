"""NumPy's random numbers for the page: PCG64, uniforms, normals by the ziggurat, whole numbers, shuffles.

The same streams as `numpy.random.Generator(PCG64)`: equal bits, but for the tail of the normals (one draw in 3,700),
whose logarithm is the page's. A stream is an array of six uint64: state (high, low), increment (high, low), whether
half of a number is left, and that half. Source: NumPy's `distributions.c`; O'Neill 2014 (PCG).
"""

import numpy as np
from numba.np.random._constants import fi_double, ki_double, wi_double, ziggurat_nor_inv_r, ziggurat_nor_r

from pmdviz.kernels.jit import jit

HIGH, LOW = np.uint64(2549297995355413924), np.uint64(4865540595714422341)  # of the multiplier
MASK, HALF, ONE, ZERO = np.uint64(0xFFFFFFFF), np.uint64(32), np.uint64(1), np.uint64(0)
ROTATE, WHOLE = np.uint64(58), np.uint64(63)
MANTISSA, LEFT = np.uint64(0x000FFFFFFFFFFFFF), np.uint64(11)
BYTE, NINE, EIGHT = np.uint64(0xFF), np.uint64(9), np.uint64(8)
TWO_53 = 1.0 / 9007199254740992.0


@jit
def _high_product(a, b):
    """The upper 64 bits of a b."""
    a0, a1, b0, b1 = a & MASK, a >> HALF, b & MASK, b >> HALF
    low = a0 * b0
    middle = a1 * b0 + (low >> HALF)
    other = a0 * b1 + (middle & MASK)
    return a1 * b1 + (middle >> HALF) + (other >> HALF)


@jit
def _next(stream):
    """64 random bits: state <- state * multiplier + increment, then XSL-RR."""
    high, low = stream[0], stream[1]
    product = low * LOW
    upper = _high_product(low, LOW) + high * LOW + low * HIGH
    low = product + stream[3]
    carry = ONE if low < product else ZERO
    high = upper + stream[2] + carry
    stream[0], stream[1] = high, low
    value, turn = high ^ low, high >> ROTATE
    return (value >> turn) | (value << ((ZERO - turn) & WHOLE))


@jit
def _next_half(stream):
    """32 random bits: the low half of a number first."""
    if stream[4] != ZERO:
        stream[4] = ZERO
        return stream[5]
    value = _next(stream)
    stream[4], stream[5] = ONE, value >> HALF
    return value & MASK


@jit
def _uniform(stream):
    return np.float64(_next(stream) >> LEFT) * TWO_53


@jit
def uniforms(stream, out):
    """`Generator.random`, out (n,)."""
    for i in range(out.size):
        out[i] = _uniform(stream)


@jit
def normals(stream, out):
    """`Generator.standard_normal`, out (n,)."""
    for i in range(out.size):
        out[i] = _normal(stream)


@jit
def _normal(stream):
    while True:
        bits = _next(stream)
        at = np.int64(bits & BYTE)
        bits >>= EIGHT
        sign = bits & ONE
        size = (bits >> ONE) & MANTISSA
        x = np.float64(size) * wi_double[at]
        if sign:
            x = -x
        if size < ki_double[at]:
            return x
        if at == 0:
            while True:
                away = -ziggurat_nor_inv_r * np.log1p(-_uniform(stream))
                height = -np.log1p(-_uniform(stream))
                if height + height > away * away:
                    far = ziggurat_nor_r + away
                    return -far if (size >> EIGHT) & ONE else far
        elif (fi_double[at - 1] - fi_double[at]) * _uniform(stream) + fi_double[at] < np.exp(-0.5 * x * x):
            return x


@jit
def whole_numbers(stream, most, out):
    """`Generator.integers(most)` for 1 <= most <= 2^32, out (n,) int64: Lemire's way."""
    for i in range(out.size):
        out[i] = 0 if most <= 1 else _below(stream, np.uint64(most))


@jit
def _below(stream, most):
    """A whole number below `most`, from 32 bits."""
    product = _next_half(stream) * most
    rest = product & MASK
    if rest < most:
        least = (MASK + ONE - most) % most
        while rest < least:
            product = _next_half(stream) * most
            rest = product & MASK
    return np.int64(product >> HALF)


@jit
def shuffled(stream, out):
    """`Generator.shuffle` of 0 .. n - 1, out (n,) int64."""
    for i in range(out.size):
        out[i] = i
    for i in range(out.size - 1, 0, -1):
        j = _interval(stream, np.uint64(i))
        out[i], out[j] = out[j], out[i]


@jit
def _interval(stream, most):
    """A whole number from 0 to `most` below 2^32, by a mask and rejection."""
    mask = most
    for shift in (1, 2, 4, 8, 16):
        mask |= mask >> np.uint64(shift)
    value = _next_half(stream) & mask
    while value > most:
        value = _next_half(stream) & mask
    return np.int64(value)
