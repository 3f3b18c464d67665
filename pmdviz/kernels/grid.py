"""Density of a weighted sum of Gaussian kernels on a grid of equally spaced cell centres, particle by particle.

A particle only touches the cells within 8 whitened units of it: the omitted rest is below 2e-14 of the particle's
own peak. The kernel is split as N(y) N(x | y): along the grid row of y the particle at (a, b) is a
one-dimensional Gaussian,

    w exp(-v^2 / 2 - u^2 / 2),   v = (y - b) / sd_y,   u = (x - a - slope (y - b)) / sd_x.

*Row by row*: one exponential for every cell reached. *Blocks of rows*: with u = u_c - s (y - y_c), where y_c is the
middle of the block and s = slope / sd_x, the term u_c s (y - y_c) is a number of the particle's row plus one of the
cell alone, (x - x_c) (y - y_c) s / sd_x. So a particle is the product of a column and a row, one multiplication a
cell, and the cell's own factor is put on once at the end. That is exact too, but the factors overflow for narrow
kernels that are long and oblique: the narrower, the fewer rows a block may have.
"""

import numpy as np

from pmdviz.kernels.checks import Array, lower_triangle, plain, weighted_particles
from pmdviz.kernels.jit import DEFAULT, LOG2E, WarmUps, exp2, fast_jit, in_dimensions, jit
from pmdviz.kernels.pool import run_blocks

REACH = 8.0  # whitened units: exp(-8^2 / 2) = 1.3e-14
BLOCKS = (32, 16, 8)  # rows of a block, the most that the kernel's shape allows; ROWS without blocks
ROWS = 16
PIECE = 250_000.0  # cost of the blocks that one call takes: a thread waits for Python's lock after each
WHOLE = 4  # cells: a particle's columns are a multiple of it, what a loop leaves over is slow
SCALE = np.sqrt(LOG2E / 2)  # exponents are in base 2: exp(-u^2 / 2) has the exponent -(SCALE u)^2
MAX_FACTOR = 550.0  # nats: 709 overflow, and rounding errors of 1e-16 a nat stay below 1e-13 of the density


def kde_on_grid(particles: Array, log_weights: Array, cholesky: Array, gx: Array, gy: Array) -> Array:
    """q at the cell centres, linear (not log), as (Gy, Gx): row k is y = gy[k].

    particles (m, 2); log_weights (m,), -inf allowed; cholesky (2, 2), the lower factor of the kernel's covariance; gx
    (Gx,) and gy (Gy,) increasing and equally spaced, in the units of theta. ValueError for particles that are not
    finite and no weight above zero.
    """
    particles, log_weights = weighted_particles(particles, log_weights)
    cholesky = lower_triangle(cholesky, 2)
    gx, gy = plain(gx), plain(gy)
    shape = _conditional(cholesky)
    log_peaks = (log_weights - np.log(2 * np.pi * cholesky[0, 0] * cholesky[1, 1])) * LOG2E
    out, rows = np.zeros((gy.size, gx.size)), _rows_per_block(shape, cholesky[0, 0], gx, gy)

    reached = _rows_reached(particles, REACH * shape[2], gy)

    def work(start: int, stop: int) -> None:
        given = particles, log_peaks, reached, shape, gx, gy, out, start, stop
        _scatter_many(*given, rows) if rows else _scatter_rows(*given)

    reach_x, reach_y = 2 * REACH * cholesky[0, 0] / step(gx) + 1, 2 * REACH * shape[2] / step(gy) + 1
    cells = min(gx.size, reach_x) * min(gy.size, reach_y)
    cost, each = cells * len(particles) * (0.25 if rows else 1.0), rows or ROWS
    run_blocks(work, gy.size, each * max(1, round(gy.size / each * PIECE / cost)), cost)
    return out


def kde_on_line(particles: Array, log_weights: Array, cholesky: Array, gx: Array) -> Array:
    """The same on one axis: particles (m, 1), cholesky (1, 1), gx (Gx,) equally spaced; q as (Gx,)."""
    particles, log_weights = weighted_particles(particles, log_weights)
    sd, gx = lower_triangle(cholesky, 1)[0, 0], plain(gx)
    out = np.zeros(gx.size)
    _scatter_line(particles[:, 0].copy(), (log_weights - np.log(np.sqrt(2 * np.pi) * sd)) * LOG2E, sd, gx, out)
    return out


def _conditional(cholesky: Array) -> tuple[float, float, float]:
    """slope, sd_x, sd_y with y ~ N(0, sd_y^2) and x | y ~ N(slope y, sd_x^2), for the covariance L L^T."""
    sd_y = float(np.hypot(cholesky[1, 0], cholesky[1, 1]))
    slope = float(cholesky[0, 0] * cholesky[1, 0] / sd_y**2)
    return slope, float(cholesky[0, 0] * cholesky[1, 1] / sd_y), sd_y


def step(centres: Array) -> float:
    """Distance of two neighbouring cell centres; 1 if there is only one."""
    return (centres[-1] - centres[0]) / (centres.size - 1) if centres.size > 1 else 1.0


def _rows_per_block(shape: tuple[float, float, float], reach_x: float, gx: Array, gy: Array) -> int:
    """How many rows a block may have before its factors overflow; 0 if that is too few to be worth it."""
    slope, sd_x, _ = shape
    half_width = 0.5 * (gx[-1] - gx[0]) + REACH * reach_x + step(gx)
    for rows in BLOCKS:
        half_block = 0.5 * rows * step(gy)
        if abs(slope) / sd_x**2 * half_block * (half_width + abs(slope) * half_block) <= MAX_FACTOR:
            return rows
    return 0


@jit
def _interval(centre, half_width, axis):
    """First and one-past-last index of the cells within half_width of centre, or one more; never beyond the axis."""
    size = axis.size
    if size == 1:
        return 0, 1
    spacing = (axis[-1] - axis[0]) / (size - 1)
    low, high = (centre - half_width - axis[0]) / spacing, (centre + half_width - axis[0]) / spacing
    return int(min(max(np.floor(low), 0.0), size)), int(min(max(np.ceil(high) + 1.0, 0.0), size))


@jit
def _rows_reached(particles, half_width, gy):
    """First and one-past-last row of each particle, (m, 2)."""
    out = np.empty((particles.shape[0], 2), np.int64)
    for j in range(particles.shape[0]):
        out[j, 0], out[j, 1] = _interval(particles[j, 1], half_width, gy)
    return out


@fast_jit
def _add_gaussian(out, axis, centre, precision, log_peak):
    for i in range(out.size):
        u = (axis[i] - centre) * precision
        out[i] += exp2(log_peak - u * u)


@jit
def _scatter_rows(particles, log_peaks, reached, shape, gx, gy, out, start, stop):
    slope, sd_x, sd_y = shape
    for j in range(particles.shape[0]):
        for k in range(max(reached[j, 0], start), min(reached[j, 1], stop)):
            dy = gy[k] - particles[j, 1]
            away = dy / sd_y
            left = REACH * REACH - away * away
            if left > 0.0:
                centre = particles[j, 0] + slope * dy
                first, last = _interval(centre, np.sqrt(left) * sd_x, gx)
                if last > first:
                    log_peak = log_peaks[j] - (SCALE * away) * (SCALE * away)
                    _add_gaussian(out[k, first:last], gx[first:last], centre, SCALE / sd_x, log_peak)


@fast_jit
def _fill_gaussian(out, axis, first, centre, precision):
    for i in range(out.size):
        u = (axis[first + i] - centre) * precision
        out[i] = exp2(-u * u)


@jit
def _fill_rows(out, offsets, first, log_peak, dy, precision_y, tilt, lean):
    """A particle's factor in each row: dy from it to the middle row, lean = (its centre there - x_c) / sd_x.

    Strict: v v + t t can be contracted in two ways, and whether the vector or the scalar loop runs depends on where the
    arrays lie, which is another place in each thread.
    """
    for k in range(out.size):
        v, t = (dy + offsets[first + k]) * precision_y, tilt * offsets[first + k]
        out[k] = exp2(log_peak - (v * v + t * t) - t * lean)


@fast_jit
def _add_product(out, start, first, rows, columns):
    for k in range(rows.size):
        cells, factor = out[start + k, first : first + columns.size], rows[k]
        for i in range(columns.size):
            cells[i] += factor * columns[i]


@fast_jit
def _multiply_exp(out, axis, middle, slope):
    for i in range(out.size):
        out[i] *= exp2(slope * (axis[i] - middle))


@jit
def _scatter_blocks(particles, log_peaks, reached, shape, gx, gy, out, start, stop):
    slope, sd_x, sd_y = shape
    middle_x, middle_y, tilt = 0.5 * (gx[0] + gx[-1]), 0.5 * (gy[start] + gy[stop - 1]), SCALE * slope / sd_x
    offsets, rows, columns = gy[start:stop] - middle_y, np.empty(stop - start), np.empty(gx.size)
    for j in range(particles.shape[0]):
        low, high = max(reached[j, 0], start), min(reached[j, 1], stop)
        if high > low:
            dy = middle_y - particles[j, 1]
            centre, nearest = particles[j, 0] + slope * dy, max(abs(dy) - offsets[-1], 0.0) / sd_y
            half_width = np.sqrt(max(REACH * REACH - nearest * nearest, 0.0)) * sd_x + abs(slope) * offsets[-1]
            first, last = _interval(centre, half_width, gx)
            if last > first:
                lean = 2.0 * SCALE * (centre - middle_x) / sd_x
                left, right = first // WHOLE * WHOLE, min(-(-last // WHOLE) * WHOLE, gx.size)
                _fill_gaussian(columns[: right - left], gx, left, centre, SCALE / sd_x)
                columns[: first - left] = 0.0  # cells out of reach get nothing, as exactly as if they were left out
                columns[last - left : right - left] = 0.0
                _fill_rows(rows[: high - low], offsets, low - start, log_peaks[j], dy, SCALE / sd_y, tilt, lean)
                _add_product(out, low, left, rows[: high - low], columns[: right - left])
    for k in range(start, stop):
        _multiply_exp(out[k], gx, middle_x, 2.0 * SCALE / sd_x * tilt * offsets[k - start])


@jit
def _scatter_many(particles, log_peaks, reached, shape, gx, gy, out, start, stop, rows):
    """Blocks of so many rows one after the other."""
    for first in range(start, stop, rows):
        _scatter_blocks(particles, log_peaks, reached, shape, gx, gy, out, first, min(first + rows, stop))


@jit
def _scatter_line(particles, log_peaks, sd, gx, out):
    for j in range(particles.size):
        first, last = _interval(particles[j], REACH * sd, gx)
        if last > first:
            _add_gaussian(out[first:last], gx[first:last], particles[j], SCALE / sd, log_peaks[j])


def warm_up_calls() -> WarmUps:
    """Calls that compile every kernel of this file."""
    two, halves, axis = np.zeros((2, 2)), np.full(2, np.log(0.5)), np.arange(2.0)
    oblique = np.array([[1.0, 0.0], [1.0, 1e-3]])
    yield DEFAULT, "density on a grid", kde_on_grid, two, halves, np.eye(2), axis, axis
    yield "oblique", "density on a grid, row by row", kde_on_grid, two, halves, oblique, axis, axis
    yield in_dimensions(1), "density on a line", kde_on_line, two[:, :1], halves, np.eye(1), axis
