"""Kernel density estimates: loops over all pairs, the log density, and the leave-one-out log density.

Sums of 2^(base_j - |x_j - y_i|^2) over the particles x_j, for every row y_i: the loops behind the kernel density.

Particles are columns (d, m), rows are (n, d), both whitened; float32 or float64, like the caller's arrays. Distances
are sums of squared differences, never |x|^2 - 2 x y + |y|^2: that would lose digits, and for many dimensions a matrix
product by BLAS, whose last bits depend on its number of threads, is not even faster than `_subtract_3` on tiles
that fit the caches.
"""

from typing import NamedTuple

import numpy as np

from pmdviz.kernels.checks import Array, finite, lower_triangle, matrix, plain, weighted_particles
from pmdviz.kernels.factors import subtract_squares
from pmdviz.kernels.jit import DEFAULT, LOG2E, WarmUps, exp2, exp_jit, fast_jit, in_dimensions, jit
from pmdviz.kernels.pool import run_blocks

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
                subtract_squares(columns[k], targets[i, k], exponents)
            for value in exponents:  # a loop compiles in no time; .max() takes a second
                top = max(top, value)
            tops[i], sums[i] = top, _sum_exp(exponents, top)


# Log density of a weighted sum of Gaussian kernels, in one fused pass over the particles.
#
#     log q(y) = log sum_j w_j N(y | x_j, L L^T),   L = cholesky (d, d)
#
# After whitening, u = L^-1 (x - c) sqrt(log2(e) / 2), this is log sum_j 2^(log2 w_j - |u_j - v|^2) - (d/2) log 2 pi -
# sum log L_ii. The maximum that a logsumexp needs is replaced by its bound max(log w): finding the exact maximum would
# cost as much as the sum itself. Only rows whose sum underflows under that bound are done again with the exact maximum.

ROWS_PER_BLOCK, MAX_BLOCKS_AT_ONCE = 192, 8
PARTICLES_PER_BLOCK = 6_000  # so many more particles, one block more at once: some 30 ms between two looks at the watch
PADDED, LINE = 64, 64  # particles are padded to a multiple (what a loop leaves over is slow); bytes of a cache line
UNDERFLOW_SINGLE = 1e-25  # exp2 clamps at 2e-38 in float32: above this, 1e6 clamped terms are below 1e-6 of the sum
FARTHEST = 1e150  # whitened units: squares of anything larger would overflow
FARTHEST_SINGLE = 100.0  # beyond it float32 coordinates err by 1e-5 and more
SCALE = np.sqrt(LOG2E / 2)


def kde_log_density(
    particles: Array, log_weights: Array, cholesky: Array, points: Array, single: bool = False
) -> Array:
    """log q at `points` (n, d) in nats, as (n,).

    particles (m, d); log_weights (m,), used as given (logsumexp 0 makes q integrate to 1), -inf allowed; cholesky
    (d, d), lower factor of the kernel's covariance, in the units of theta. ValueError for shapes that do not fit,
    for values that are not finite and when no weight is above zero.

    `single` allows float32 inside: twice as fast, and off by 1e-6 nats as a rule and 2e-5 at the worst that was seen;
    where particles or points lie so far apart that it would be worse, float64 is used all the same.
    """
    particles, log_weights = weighted_particles(particles, log_weights)
    dim = particles.shape[1]
    cholesky = lower_triangle(cholesky, dim)
    points = finite(matrix(points, "points", dim), "points")
    bound = log_weights.max()
    centre = particles[log_weights.argmax()]  # far from the origin the digits go to the differences, not to the offset
    columns, targets = whiten(particles, centre, cholesky), whiten(points, centre, cholesky)
    base = np.full(columns.shape[1], LOG_ZERO)
    np.maximum((log_weights - bound) * LOG2E, LOG_ZERO, out=base[: len(particles)])
    log_sums = _log_sums_single if single and _are_near(columns, targets) else _log_sums
    return log_sums(columns, base, targets, len(points)) + (bound - log_normaliser(cholesky))


def log_normaliser(cholesky: Array) -> float:
    """log of the integral of exp(-|L^-1 x|^2 / 2), that is (d/2) log 2 pi + log det L."""
    return 0.5 * len(cholesky) * np.log(2 * np.pi) + np.log(np.diagonal(cholesky)).sum()


def whiten(values: Array, centre: Array, cholesky: Array) -> Array:
    """L^-1 (x - centre) sqrt(log2(e) / 2) for each row x of `values` (n, d), as columns (d, n), n padded with zeros."""
    out = _aligned((values.shape[1], -(-len(values) // PADDED) * PADDED))
    out[:, len(values) :] = 0.0
    _forward_substitution(values, centre, cholesky / SCALE, out)
    return out


def _aligned(shape: tuple[int, ...], dtype: type = np.float64) -> Array:
    """An empty array that starts at a cache line: loops that load more than they compute are a third faster on it."""
    size = np.dtype(dtype).itemsize
    count = int(np.prod(shape))
    raw: Array = np.empty(count + LINE // size, dtype)
    skip = -raw.ctypes.data % LINE // size
    return raw[skip : skip + count].reshape(shape)


def _log_sums(columns: Array, base: Array, targets: Array, num_points: int) -> Array:
    """log of the sum for each of the targets without the padding.

    The particles' padding lies at the heaviest one with a weight of 2^-1e300: it can be the greatest term nowhere.
    """
    rows, sums, tops = targets.T.copy(), np.empty(num_points), np.zeros(num_points)

    def work(start: int, stop: int) -> None:
        add_rows(columns, base, rows, sums, start, stop, _buffers(columns))
        redo_faint(columns, base, rows, sums, tops, start, stop)

    run_blocks(work, num_points, _rows_per_block(base.size), num_points * base.size)
    return np.log(sums) + tops / LOG2E


def _log_sums_single(columns: Array, base: Array, targets: Array, num_points: int) -> Array:
    """The same with the pairs in float32; faint rows are done again in float64."""
    short = _aligned(columns.shape, np.float32)
    short[:] = columns
    weights, rows = np.maximum(base, LOG_ZERO_SINGLE).astype(np.float32), targets.T.astype(np.float32, order="C")
    sums = np.empty(num_points)

    def work(start: int, stop: int) -> None:
        add_rows(short, weights, rows, sums, start, stop, _buffers(short))

    run_blocks(work, num_points, _rows_per_block(base.size), num_points * base.size)
    faint = np.flatnonzero(~(sums > UNDERFLOW_SINGLE))
    sums[faint] = 1.0
    out = np.log(sums)
    if faint.size:
        again = np.resize(faint, faint.size + faint.size % 2)
        out[faint] = _log_sums(columns, base, targets[:, again], faint.size)
    return out


def _rows_per_block(num_particles: int) -> int:
    return ROWS_PER_BLOCK * min(1 + num_particles // PARTICLES_PER_BLOCK, MAX_BLOCKS_AT_ONCE)


def _are_near(*whitened: Array) -> bool:
    return all(np.abs(values).max(initial=0.0) <= FARTHEST_SINGLE for values in whitened)


def _buffers(columns: Array) -> Array | None:
    """Room for the exponents of two rows, where they do not fit into registers."""
    return _aligned((2, SMALLER_TILE), columns.dtype.type) if len(columns) > 3 else None


@jit
def _forward_substitution(values, centre, cholesky, out):
    for i in range(values.shape[1]):
        for j in range(values.shape[0]):
            out[i, j] = values[j, i] - centre[i]
        for k in range(i):
            _subtract_multiple(cholesky[i, k], out[k], out[i])
        for j in range(values.shape[0]):
            out[i, j] = min(max(out[i, j] / cholesky[i, i], -FARTHEST), FARTHEST)


@jit
def _subtract_multiple(factor, values, out):
    for j in range(out.size):
        out[j] -= factor * values[j]


# Leave-one-out log density of a kernel density estimate with shrunk centres, at some of its own particles.


class Kernels(NamedTuple):
    """A cluster's kernels and the points at which they are judged, made ready for any h."""

    columns: Array  # (d, at least m), whitened and times SCALE, padded with zeros
    base: Array  # as many: log2 of the weights less the largest, far below zero where padded
    single: Array  # the same in float32, which is changed for as long as one of them is left out
    bound: float  # the largest log-weight
    rows: Array  # (n + 2, d), the judged points: pairs of rows are read
    own: Array  # (n,) int64


def kernels_of(columns: Array, log_weights: Array, judged: Array, own: Array) -> Kernels:
    """Ready for `leave_one_out`.

    columns (d, at least m) and judged (d, at least n): points x_j and y_i as `whiten` gives them, of a cluster with
    mean 0 and covariance I then; log_weights (m,), -inf allowed; own (n,): the index of y_i among the points, -1 where
    it is none of them. ValueError for points that are not finite.
    """
    columns, judged = finite(columns, "columns"), finite(judged, "judged")
    bound, d, n = log_weights.max(), len(columns), len(own)
    base = np.full(columns.shape[1], LOG_ZERO)
    np.maximum((log_weights - bound) * LOG2E, LOG_ZERO, out=base[: log_weights.size])
    rows = np.zeros((n + 2, d))
    rows[:n] = judged[:, :n].T
    single = np.maximum(base, LOG_ZERO_SINGLE).astype(np.float32)
    return Kernels(columns, base, single, float(bound), rows, plain(own, np.int64))


def only(kernels: Kernels, at: Array) -> Kernels:
    """The same at some of the judged points, by index."""
    rows = np.append(at, [len(kernels.own), len(kernels.own) + 1])
    return kernels._replace(rows=kernels.rows[rows], own=kernels.own[at])


def leave_one_out(kernels: Kernels, h: float, exact: bool = False) -> Array:
    """log sum_j w_j N(y_i | a x_j, h^2 I) without the term of y_i itself, a = sqrt(1 - h^2), (n,).

    In float32, and -inf where that is too coarse: there the sum is below 1e-25 of its bound; `exact` is for those.
    """
    kind, (n, d) = np.float64 if exact else np.float32, (len(kernels.own), len(kernels.columns))
    columns, rows = _aligned(kernels.columns.shape, kind), np.empty(kernels.rows.shape, kind)
    _times(kernels.columns, np.sqrt(1 - h * h) / h, columns)
    _times(kernels.rows, 1 / h, rows)
    sums, tops = np.zeros(n), np.zeros(n)
    if exact:
        _exact_sums(columns, kernels.base.copy(), rows, kernels.own, sums, tops)
    else:
        _sums(columns, kernels.single, rows, kernels.own, sums, _buffers(columns))
        sums[~(sums > UNDERFLOW_SINGLE)] = 0.0
    with np.errstate(divide="ignore"):
        return np.log(sums) + tops / LOG2E + (kernels.bound - d * (0.5 * np.log(2 * np.pi) + np.log(h)))


@jit
def _times(values, factor, out):
    for i in range(values.shape[0]):
        for j in range(values.shape[1]):
            out[i, j] = values[i, j] * factor


@jit
def _sums(columns, base, rows, own, sums, buffers):
    for i in range(own.size):
        kept = base[own[i]]
        if own[i] >= 0:
            base[own[i]] = LOG_ZERO_SINGLE
        add_rows(columns, base, rows, sums, i, i + 1, buffers)
        if own[i] >= 0:
            base[own[i]] = kept


@jit
def _exact_sums(columns, base, rows, own, sums, tops):
    for i in range(own.size):
        kept = base[own[i]]
        if own[i] >= 0:
            base[own[i]] = LOG_ZERO
        redo_faint(columns, base, rows, sums, tops, i, i + 1)
        if own[i] >= 0:
            base[own[i]] = kept


def warm_up_calls() -> WarmUps:
    """Calls that compile every kernel of this file."""
    halves = np.full(2, np.log(0.5))
    for dim in (1, 2, 3, 5):
        x, cholesky = np.zeros((2, dim)), np.eye(dim)
        far = x + 1e3  # the second row takes the exact path
        yield in_dimensions(dim), f"density in {dim} dimensions", kde_log_density, x, halves, cholesky, far
    two, five = np.zeros((2, 2)), np.zeros((2, 5))
    yield DEFAULT, "density in float32", kde_log_density, two, halves, np.eye(2), two, True
    yield in_dimensions(5), "in many dimensions", kde_log_density, five, halves, np.eye(5), five, True
    for dim, exact in ((2, False), (2, True), (3, False), (3, True), (5, False), (5, True)):
        words = f"leave one out in {dim} dimensions{', exactly' if exact else ''}"
        yield in_dimensions(dim), words, _leave_one_out_of, np.zeros((2, dim)), exact


def _leave_one_out_of(points: Array, exact: bool) -> Array:
    equal, own = np.full(2, np.log(0.5)), np.zeros(2, np.int64)
    columns = whiten(points, points[0], np.eye(points.shape[1]))
    return leave_one_out(kernels_of(columns, equal, columns, own), 0.5, exact)
