"""Checks and casts shared by the kernels: what passes is finite, contiguous float64 of the right shape."""

import numpy as np

Array = np.ndarray
Rng = np.random.Generator


def plain(values: Array, dtype: type = np.float64) -> Array:
    """`values` as a C-contiguous array open to writing: a read-only one is another type and would be compiled again."""
    array = np.ascontiguousarray(values, dtype=dtype)  # type: Array
    return array if array.flags.writeable else array.copy()


def matrix(values: Array, name: str, columns: int | None = None) -> Array:
    """`values` as a C-contiguous float64 (rows, columns) array; ValueError if it has another shape."""
    array = plain(values)
    if array.ndim != 2 or (columns is not None and array.shape[1] != columns):
        raise ValueError(f"{name} must have shape (rows, {columns or 'columns'}), not {array.shape}")
    return array


def finite(array: Array, name: str) -> Array:
    """`array` itself; ValueError if it holds NaN or an infinity, which compiled fast-math code must never see."""
    if not np.isfinite(array).all():
        raise ValueError(f"{name} must be finite; {int((~np.isfinite(array)).sum())} of {array.size} values are not")
    return array


def weighted_particles(particles: Array, log_weights: Array) -> tuple[Array, Array]:
    """Finite particles (m, d) and log weights (m,), without the particles of weight zero (log weight -inf)."""
    particles, log_weights = matrix(particles, "particles"), plain(log_weights)
    alive = log_weights != -np.inf
    if not alive.all():
        particles, log_weights = particles[alive], log_weights[alive]
    if not len(particles):
        raise ValueError("no particle has a weight above zero")
    return finite(particles, "particles"), finite(log_weights, "log_weights")


def lower_triangle(cholesky: Array, dim: int) -> Array:
    """A finite lower-triangular (dim, dim) factor with a positive diagonal; ValueError otherwise."""
    factor = finite(matrix(cholesky, "cholesky", dim), "cholesky")
    if factor.shape[0] != dim or not (np.diagonal(factor) > 0).all():
        raise ValueError(f"cholesky must be a ({dim}, {dim}) factor with a positive diagonal")
    return factor
