"""Log density of a weighted sum of Gaussian kernels, in one fused pass over the particles.

    log q(y) = log sum_j w_j N(y | x_j, L L^T),   L = cholesky (d, d)

After whitening, u = L^-1 (x - c) sqrt(log2(e) / 2), this is log sum_j 2^(log2 w_j - |u_j - v|^2) - (d/2) log 2 pi -
sum log L_ii. The maximum that a logsumexp needs is replaced by its bound max(log w): finding the exact one would cost
as much as the sum itself. Only rows whose sum underflows under that bound are done again with the exact maximum.
"""

from collections.abc import Callable, Iterator

import numpy as np

from pmdviz.kernels.checks import finite, lower_triangle, matrix, weighted_particles
from pmdviz.kernels.exponential import LOG2E
from pmdviz.kernels.groups import DEFAULT, in_dimensions
from pmdviz.kernels.jit import jit
from pmdviz.kernels.pairs import LOG_ZERO, LOG_ZERO_SINGLE, SMALLER_TILE, add_rows, redo_faint
from pmdviz.kernels.pool import run_blocks

ROWS_PER_BLOCK, MAX_BLOCKS_AT_ONCE = 192, 8
PARTICLES_PER_BLOCK = 6_000  # so many more particles, one block more at once: some 30 ms between two looks at the watch
PADDED, LINE = 64, 64  # particles are padded to a multiple (what a loop leaves over is slow); bytes of a cache line
UNDERFLOW_SINGLE = 1e-25  # exp2 clamps at 2e-38 in float32: above this, 1e6 clamped terms are below 1e-6 of the sum
FARTHEST = 1e150  # whitened units: squares of anything larger would overflow
FARTHEST_SINGLE = 100.0  # beyond it float32 coordinates err by 1e-5 and more
SCALE = np.sqrt(LOG2E / 2)


def kde_log_density(
    particles: np.ndarray, log_weights: np.ndarray, cholesky: np.ndarray, points: np.ndarray, single: bool = False
) -> np.ndarray:
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


def log_normaliser(cholesky: np.ndarray) -> float:
    """log of the integral of exp(-|L^-1 x|^2 / 2), that is (d/2) log 2 pi + log det L."""
    return 0.5 * len(cholesky) * np.log(2 * np.pi) + np.log(np.diagonal(cholesky)).sum()


def whiten(values: np.ndarray, centre: np.ndarray, cholesky: np.ndarray) -> np.ndarray:
    """L^-1 (x - centre) sqrt(log2(e) / 2) for each row x of `values` (n, d), as columns (d, n), n padded with zeros."""
    out = _aligned(values.shape[1], -(-len(values) // PADDED) * PADDED)
    out[:, len(values) :] = 0.0
    _forward_substitution(values, centre, cholesky / SCALE, out)
    return out


def _aligned(rows: int, columns: int, dtype: type = np.float64) -> np.ndarray:
    """An empty array that starts at a cache line: loops that load more than they compute are a third faster on it."""
    size = np.dtype(dtype).itemsize
    raw = np.empty(rows * columns + LINE // size, dtype)
    skip = -raw.ctypes.data % LINE // size
    return raw[skip : skip + rows * columns].reshape(rows, columns)


def _log_sums(columns: np.ndarray, base: np.ndarray, targets: np.ndarray, num_points: int) -> np.ndarray:
    """log of the sum for each of the targets that are no padding.

    The particles' padding lies at the heaviest one with a weight of 2^-1e300: it can be the greatest term nowhere.
    """
    rows, sums, tops = targets.T.copy(), np.empty(num_points), np.zeros(num_points)

    def work(start: int, stop: int) -> None:
        add_rows(columns, base, rows, sums, start, stop, _buffers(columns))
        redo_faint(columns, base, rows, sums, tops, start, stop)

    run_blocks(work, num_points, _rows_per_block(base.size), num_points * base.size)
    return np.log(sums) + tops / LOG2E


def _log_sums_single(columns: np.ndarray, base: np.ndarray, targets: np.ndarray, num_points: int) -> np.ndarray:
    """The same with the pairs in float32; faint rows are done again in float64."""
    short = _aligned(*columns.shape, np.float32)
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


def _are_near(*whitened: np.ndarray) -> bool:
    return all(np.abs(values).max(initial=0.0) <= FARTHEST_SINGLE for values in whitened)


def _buffers(columns: np.ndarray) -> np.ndarray | None:
    """Room for the exponents of two rows, where they do not fit into registers."""
    return _aligned(2, SMALLER_TILE, columns.dtype.type) if len(columns) > 3 else None


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


def warm_up_calls() -> Iterator[tuple[str, str, Callable[[], object]]]:
    """One call of each kernel."""
    halves = np.full(2, np.log(0.5))
    for dim in (1, 2, 3, 5):
        x, cholesky = np.zeros((2, dim)), np.eye(dim)
        far = x + 1e3  # the second row takes the exact path
        yield (
            in_dimensions(dim),
            f"density in {dim} dimensions",
            lambda x=x, c=cholesky, y=far: kde_log_density(x, halves, c, y),
        )
    two, five = np.zeros((2, 2)), np.zeros((2, 5))
    yield DEFAULT, "density in float32", lambda: kde_log_density(two, halves, np.eye(2), two, single=True)
    yield in_dimensions(5), "in many dimensions", lambda: kde_log_density(five, halves, np.eye(5), five, single=True)
