"""Sums of 2^(base_j - |x_j - y_i|^2) over the particles x_j, for every row y_i: the loops behind the kernel density.

Particles are columns (d, m), rows are (n, d), both whitened; float32 or float64, as the caller's arrays are. Distances
are sums of squared differences, never |x|^2 - 2 x y + |y|^2: that would lose digits, and for many dimensions a matrix
product by BLAS, whose last bits depend on its number of threads, is not even faster than `_subtract_3` on tiles
that fit the caches.
"""

import numpy as np

from pmdviz.kernels.exponential import exp2
from pmdviz.kernels.jit import exp_jit, fast_jit, jit

TILE, SMALLER_TILE = 2048, 512  # particles at a time, up to three dimensions and beyond: they stay in the caches
UNDERFLOW = 1e-280  # exp2 clamps at 4e-308: above this, 1e7 clamped terms are below 1e-20 of the sum
LOG_ZERO, LOG_ZERO_SINGLE = -1e300, np.float32(-1e30)  # finite stand-ins for log 0: fast-math code never sees -inf


# The exponents are not left to "reassoc": in this order they are fused multiply-adds.


@exp_jit
def _term_1(base, a):
    return exp2(base - a * a)


@exp_jit
def _term_2(base, a, b):
    return exp2((base - a * a) - b * b)


@exp_jit
def _term_3(base, a, b, c):
    return exp2(((base - a * a) - b * b) - c * c)


@fast_jit
def _sum_1(x0, base, targets, i, k):
    total, y0 = base.dtype.type(0), targets[i, k]
    for j in range(base.size):
        total += _term_1(base[j], x0[j] - y0)
    return total


@fast_jit
def _sum_2(x0, x1, base, targets, i, k):
    total, y0, y1 = base.dtype.type(0), targets[i, k], targets[i, k + 1]
    for j in range(base.size):
        total += _term_2(base[j], x0[j] - y0, x1[j] - y1)
    return total


@fast_jit
def _sum_3(x0, x1, x2, base, targets, i, k):
    total, y0, y1, y2 = base.dtype.type(0), targets[i, k], targets[i, k + 1], targets[i, k + 2]
    for j in range(base.size):
        total += _term_3(base[j], x0[j] - y0, x1[j] - y1, x2[j] - y2)
    return total


@fast_jit
def _sum_exp(exponents, bound):
    total = 0.0
    for j in range(exponents.size):
        total += exp2(exponents[j] - bound)
    return total


@fast_jit
def _copy(values, out):
    for j in range(out.size):  # measured: `out[:] = values` would add a fifth to the whole sum
        out[j] = values[j]


@fast_jit
def _subtract_3(x0, x1, x2, targets, i, k, out, other):
    """Take the squared distances from the targets i and i + 1, in the dimensions k to k + 2, off the two buffers.

    Two rows at a time need half as many loads; with three the compiler gives up vectorising.
    """
    y0, y1, y2 = targets[i, k], targets[i, k + 1], targets[i, k + 2]
    z0, z1, z2 = targets[i + 1, k], targets[i + 1, k + 1], targets[i + 1, k + 2]
    for j in range(out.size):
        a, b, c = x0[j] - y0, x1[j] - y1, x2[j] - y2
        d, e, f = x0[j] - z0, x1[j] - z1, x2[j] - z2
        out[j] -= a * a + b * b + c * c
        other[j] -= d * d + e * e + f * f


@fast_jit
def _subtract_1(x0, y0, out):
    for j in range(out.size):
        a = x0[j] - y0
        out[j] -= a * a


@jit
def _add_tile(columns, k, base, first, last, targets, sums, start, stop):
    """Add the sums over the particles first to last; the dimensions from k on, one to three, are fused with the exp.

    Only 1-D slices reach the inner loops: indexing columns[k, j] there would keep them from being vectorised.
    """
    left, x0 = columns.shape[0] - k, columns[k, first:last]
    if left == 1:
        for i in range(start, stop):
            sums[i] += _sum_1(x0, base, targets, i, k)
    elif left == 2:
        x1 = columns[k + 1, first:last]
        for i in range(start, stop):
            sums[i] += _sum_2(x0, x1, base, targets, i, k)
    else:
        x1, x2 = columns[k + 1, first:last], columns[k + 2, first:last]
        for i in range(start, stop):
            sums[i] += _sum_3(x0, x1, x2, base, targets, i, k)


@jit
def _add_tile_any(columns, k, base, first, last, targets, sums, start, stop, buffers):
    """The same for more than three dimensions: those before k three at a time into the buffers, two rows at a time."""
    one, other = buffers[0, : last - first], buffers[1, : last - first]
    for i in range(start, stop, 2):
        _copy(base[first:last], one)
        _copy(base[first:last], other)
        for done in range(0, k, 3):
            x1, x2 = columns[done + 1, first:last], columns[done + 2, first:last]
            _subtract_3(columns[done, first:last], x1, x2, targets, i, done, one, other)
        _add_tile(columns, k, one, first, last, targets, sums, i, i + 1)
        if i + 1 < stop:
            _add_tile(columns, k, other, first, last, targets, sums, i + 1, i + 2)


@jit
def add_rows(columns, base, targets, sums, start, stop, buffers):
    """The sums of the rows start to stop, in float64; `targets` has an even number of rows.

    Without buffers, which three dimensions do not need, half of the code is left out when it is compiled.
    """
    for i in range(start, stop):
        sums[i] = 0.0
    if buffers is None:
        for first in range(0, base.size, TILE):
            last = min(first + TILE, base.size)
            _add_tile(columns, 0, base[first:last], first, last, targets, sums, start, stop)
        return
    k = (columns.shape[0] - 1) // 3 * 3  # the first dimension of those fused with the exponential
    tile = TILE if k == 0 else SMALLER_TILE
    for first in range(0, base.size, tile):
        last = min(first + tile, base.size)
        if k > 0:
            _add_tile_any(columns, k, base, first, last, targets, sums, start, stop, buffers)
        else:
            _add_tile(columns, k, base[first:last], first, last, targets, sums, start, stop)


@jit
def redo_faint(columns, base, targets, sums, tops, start, stop):
    """The sum with the true maximum taken off, for rows so far away that every term underflows under the bound."""
    for i in range(start, stop):
        if not sums[i] > UNDERFLOW:
            exponents, top = np.empty(base.size), -np.inf
            _copy(base, exponents)
            for k in range(columns.shape[0]):
                _subtract_1(columns[k], targets[i, k], exponents)
            for value in exponents:  # a loop compiles in no time; .max() takes a second
                top = max(top, value)
            tops[i], sums[i] = top, _sum_exp(exponents, top)
