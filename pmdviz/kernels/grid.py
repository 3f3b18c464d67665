"""Density of a weighted sum of Gaussian kernels on a grid of equally spaced cell centres, particle by particle.

A particle only touches the cells within 8.5 whitened units of it: what is left out is below 2e-16 of the particle's own peak.
The kernel is split as N(y) N(x | y), so that along one grid row a particle is a one-dimensional Gaussian: its centre, width
and the interval of cells it reaches are numbers, and the inner loop is one exponential per cell.
"""
import numpy as np

from pmdviz.kernels.checks import finite, lower_triangle, vector, weighted_particles
from pmdviz.kernels.exponential import exp64
from pmdviz.kernels.jit import fast_jit, jit
from pmdviz.kernels.pool import run_blocks

REACH = 8.5  # whitened units: exp(-8.5^2 / 2) = 2e-16
ROWS_PER_BLOCK = 16


def kde_on_grid(
    particles: np.ndarray, log_weights: np.ndarray, cholesky: np.ndarray, gx: np.ndarray, gy: np.ndarray
) -> np.ndarray:
    """q at the cell centres, linear (not log), as (Gy, Gx): row k is y = gy[k].

    particles (m, 2); log_weights (m,), -inf allowed; cholesky (2, 2), the lower factor of the kernel's covariance; gx (Gx,) and
    gy (Gy,) increasing and equally spaced, in the units of theta. ValueError for shapes that do not fit, values that are not
    finite, no weight above zero.
    """
    particles, log_weights = weighted_particles(particles, log_weights)
    if particles.shape[1] != 2:
        raise ValueError(f"a grid of two axes needs particles of shape (m, 2), not {particles.shape}")
    cholesky = lower_triangle(cholesky, 2)
    gx, gy = axis(gx, "gx"), axis(gy, "gy")
    covariance = cholesky @ cholesky.T
    sd_y = np.sqrt(covariance[1, 1])
    slope = covariance[0, 1] / covariance[1, 1]  # E[x | y] = slope * y
    sd_x = cholesky[0, 0] * cholesky[1, 1] / sd_y  # of x given y
    log_peaks = log_weights - np.log(2 * np.pi * cholesky[0, 0] * cholesky[1, 1])
    out = np.zeros((gy.size, gx.size))

    def work(start: int, stop: int) -> None:
        _scatter(particles, log_peaks, slope, sd_x, sd_y, gx, gy, out, start, stop)

    reach = min(gx.size, 2 * REACH * sd_x / step(gx) + 1) * min(gy.size, 2 * REACH * sd_y / step(gy) + 1)
    run_blocks(work, gy.size, ROWS_PER_BLOCK, reach * len(particles))
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
    """First and one-past-last index of the cells within half_width of centre; widened by one cell, never beyond the axis."""
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
def _scatter(particles, log_peaks, slope, sd_x, sd_y, gx, gy, out, start, stop):
    for j in range(particles.shape[0]):
        low, high = _interval(particles[j, 1], REACH * sd_y, gy)
        for k in range(max(low, start), min(high, stop)):
            dy = gy[k] - particles[j, 1]
            left = REACH * REACH - (dy / sd_y) ** 2
            if left > 0.0:
                centre = particles[j, 0] + slope * dy
                first, last = _interval(centre, np.sqrt(left) * sd_x, gx)
                if last > first:
                    _add_gaussian(out[k, first:last], gx[first:last], centre, 1.0 / sd_x, log_peaks[j] - 0.5 * (dy / sd_y) ** 2)


@jit
def _scatter_line(particles, log_peaks, sd, gx, out):
    for j in range(particles.size):
        first, last = _interval(particles[j], REACH * sd, gx)
        if last > first:
            _add_gaussian(out[first:last], gx[first:last], particles[j], 1.0 / sd, log_peaks[j])
