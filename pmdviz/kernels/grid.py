"""Density of a weighted sum of Gaussian kernels on a grid of equally spaced cell centres, particle by particle.

A particle only touches the cells within 8.5 whitened units of it: what is left out is below 2e-16 of the particle's
own peak. The kernel is split as N(y) N(x | y), so that along the grid row of y the particle at (a, b) is a
one-dimensional Gaussian,

    w exp(-v^2 / 2 - u^2 / 2),   v = (y - b) / sd_y,   u = (x - a - slope (y - b)) / sd_x.

*Row by row*: one exponential for every cell reached. *Blocks of 16 rows*: with u = u_c - s (y - y_c), where y_c is
the middle of the block and s = slope / sd_x, the term u_c s (y - y_c) is a number of the particle's row plus one of
the cell alone, (x - x_c) (y - y_c) s / sd_x. So a particle is the product of a column and a row, one multiplication a
cell, and the cell's own factor is put on once at the end. That is exact too, but its factors overflow for narrow
kernels that are long and oblique.
"""

import numpy as np

from pmdviz.kernels.checks import finite, lower_triangle, vector, weighted_particles
from pmdviz.kernels.exponential import exp64
from pmdviz.kernels.jit import fast_jit, jit
from pmdviz.kernels.pool import run_blocks

REACH = 8.5  # whitened units: exp(-8.5^2 / 2) = 2e-16
ROWS = 16  # per block
LARGEST_FACTOR = 300.0  # nats: far from overflow, and rounding errors of 1e-16 a nat stay below 1e-13 of the density


def kde_on_grid(
    particles: np.ndarray, log_weights: np.ndarray, cholesky: np.ndarray, gx: np.ndarray, gy: np.ndarray
) -> np.ndarray:
    """q at the cell centres, linear (not log), as (Gy, Gx): row k is y = gy[k].

    particles (m, 2); log_weights (m,), -inf allowed; cholesky (2, 2), the lower factor of the kernel's covariance; gx
    (Gx,) and gy (Gy,) increasing and equally spaced, in the units of theta. ValueError for shapes that do not fit,
    values that are not finite, no weight above zero.
    """
    particles, log_weights = weighted_particles(particles, log_weights)
    if particles.shape[1] != 2:
        raise ValueError(f"a grid of two axes needs particles of shape (m, 2), not {particles.shape}")
    cholesky = lower_triangle(cholesky, 2)
    gx, gy = axis(gx, "gx"), axis(gy, "gy")
    shape = _conditional(cholesky)
    slope, sd_x, sd_y = shape
    log_peaks = log_weights - np.log(2 * np.pi * cholesky[0, 0] * cholesky[1, 1])
    out = np.zeros((gy.size, gx.size))
    half_block, half_width = 0.5 * ROWS * step(gy), 0.5 * (gx[-1] - gx[0]) + REACH * cholesky[0, 0] + step(gx)
    oblique = abs(slope) / sd_x**2 * half_block * (half_width + abs(slope) * half_block) > LARGEST_FACTOR
    scatter = _scatter_rows if oblique else _scatter_blocks

    def work(start: int, stop: int) -> None:
        scatter(particles, log_peaks, shape, gx, gy, out, start, stop)

    cells = min(gx.size, 2 * REACH * cholesky[0, 0] / step(gx) + 1) * min(gy.size, 2 * REACH * sd_y / step(gy) + 1)
    run_blocks(work, gy.size, ROWS, cells * len(particles) * (1.0 if oblique else 0.25))
    return out


def kde_on_line(particles: np.ndarray, log_weights: np.ndarray, cholesky: np.ndarray, gx: np.ndarray) -> np.ndarray:
    """The same on one axis: particles (m, 1), cholesky (1, 1), gx (Gx,) equally spaced; q as (Gx,)."""
    particles, log_weights = weighted_particles(particles, log_weights)
    if particles.shape[1] != 1:
        raise ValueError(f"a grid of one axis needs particles of shape (m, 1), not {particles.shape}")
    sd = lower_triangle(cholesky, 1)[0, 0]
    gx = axis(gx, "gx")
    out = np.zeros(gx.size)
    _scatter_line(particles[:, 0].copy(), log_weights - np.log(np.sqrt(2 * np.pi) * sd), sd, gx, out)
    return out


def _conditional(cholesky: np.ndarray) -> tuple[float, float, float]:
    """slope, sd_x, sd_y with y ~ N(0, sd_y^2) and x | y ~ N(slope y, sd_x^2), for the covariance L L^T."""
    sd_y = float(np.hypot(cholesky[1, 0], cholesky[1, 1]))
    slope = float(cholesky[0, 0] * cholesky[1, 0] / sd_y**2)
    return slope, float(cholesky[0, 0] * cholesky[1, 1] / sd_y), sd_y


def axis(centres: np.ndarray, name: str) -> np.ndarray:
    """Checked cell centres: at least one, increasing, equally spaced to 1e-6 of a cell."""
    centres = finite(vector(centres, name), name)
    steps = np.diff(centres)
    if not centres.size or (steps.size and (steps.min() <= 0 or np.ptp(steps) > 1e-6 * steps.mean() + 1e-12)):
        raise ValueError(f"{name} must be increasing and equally spaced cell centres")
    return centres


def step(centres: np.ndarray) -> float:
    """Distance of two neighbouring cell centres; 1 if there is only one."""
    return (centres[-1] - centres[0]) / (centres.size - 1) if centres.size > 1 else 1.0


@jit
def _interval(centre, half_width, axis):
    """First and one-past-last index of the cells within half_width of centre, or one more; never beyond the axis."""
    size = axis.size
    if size == 1:
        return 0, 1
    spacing = (axis[-1] - axis[0]) / (size - 1)
    low, high = (centre - half_width - axis[0]) / spacing, (centre + half_width - axis[0]) / spacing
    return int(min(max(np.floor(low), 0.0), size)), int(min(max(np.ceil(high) + 1.0, 0.0), size))


@fast_jit
def _add_gaussian(out, axis, centre, precision, log_peak):
    for i in range(out.size):
        u = (axis[i] - centre) * precision
        out[i] += exp64(log_peak - 0.5 * u * u)


@jit
def _scatter_rows(particles, log_peaks, shape, gx, gy, out, start, stop):
    slope, sd_x, sd_y = shape
    for j in range(particles.shape[0]):
        low, high = _interval(particles[j, 1], REACH * sd_y, gy)
        for k in range(max(low, start), min(high, stop)):
            dy = gy[k] - particles[j, 1]
            left = REACH * REACH - (dy / sd_y) ** 2
            if left > 0.0:
                centre = particles[j, 0] + slope * dy
                first, last = _interval(centre, np.sqrt(left) * sd_x, gx)
                if last > first:
                    log_peak = log_peaks[j] - 0.5 * (dy / sd_y) ** 2
                    _add_gaussian(out[k, first:last], gx[first:last], centre, 1.0 / sd_x, log_peak)


@fast_jit
def _fill_gaussian(out, axis, first, centre, precision):
    for i in range(out.size):
        u = (axis[first + i] - centre) * precision
        out[i] = exp64(-0.5 * u * u)


@fast_jit
def _fill_rows(out, offsets, log_peak, dy, precision_y, tilt, lean):
    """A particle's factor in each row: dy from it to the middle row, lean = (its centre there - x_c) / sd_x."""
    for k in range(out.size):
        v, t = (dy + offsets[k]) * precision_y, tilt * offsets[k]
        out[k] = exp64(log_peak - 0.5 * (v * v + t * t) - t * lean)


@fast_jit
def _add_product(out, start, first, rows, columns):
    for k in range(rows.size):
        cells, factor = out[start + k, first : first + columns.size], rows[k]
        for i in range(columns.size):
            cells[i] += factor * columns[i]


@fast_jit
def _multiply_exp(out, axis, middle, slope):
    for i in range(out.size):
        out[i] *= exp64(slope * (axis[i] - middle))


@jit
def _scatter_blocks(particles, log_peaks, shape, gx, gy, out, start, stop):
    slope, sd_x, sd_y = shape
    middle_x, middle_y, tilt = 0.5 * (gx[0] + gx[-1]), 0.5 * (gy[start] + gy[stop - 1]), slope / sd_x
    offsets, rows, columns = gy[start:stop] - middle_y, np.empty(stop - start), np.empty(gx.size)
    for j in range(particles.shape[0]):
        dy = middle_y - particles[j, 1]
        left = REACH * REACH - (max(abs(dy) - offsets[-1], 0.0) / sd_y) ** 2
        if left > 0.0:
            centre = particles[j, 0] + slope * dy
            first, last = _interval(centre, np.sqrt(left) * sd_x + abs(slope) * offsets[-1], gx)
            if last > first:
                _fill_gaussian(columns[: last - first], gx, first, centre, 1.0 / sd_x)
                _fill_rows(rows, offsets, log_peaks[j], dy, 1.0 / sd_y, tilt, (centre - middle_x) / sd_x)
                _add_product(out, start, first, rows, columns[: last - first])
    for k in range(start, stop):
        _multiply_exp(out[k], gx, middle_x, tilt / sd_x * offsets[k - start])


@jit
def _scatter_line(particles, log_peaks, sd, gx, out):
    for j in range(particles.size):
        first, last = _interval(particles[j], REACH * sd, gx)
        if last > first:
            _add_gaussian(out[first:last], gx[first:last], particles[j], 1.0 / sd, log_peaks[j])
