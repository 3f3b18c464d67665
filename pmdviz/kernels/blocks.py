"""Steps of Langevin chains block by block: gradients of logistic regression in a block, and the moves of a block.

The gradient of Bayesian logistic regression in a block of the weights, averaged over those of the other blocks.

A row's linear predictor is a + b, a of the block and b of the others, so that P(y = 1) = 1 / (1 + e^-a e^-b): for M
particles of a block and m of the others (M + m) exponentials of a row, and M m divisions.
"""

import numpy as np

from pmdviz.kernels.checks import Array, finite, matrix, plain
from pmdviz.kernels.exponential import exp64
from pmdviz.kernels.jit import WarmUps, fast_jit
from pmdviz.kernels.pool import run_blocks

PARTICLES_PER_BLOCK = 64
FARTHEST = 300.0  # of a and b: e^600 is still a number, and P is 0 or 1 long before


def logistic_block_gradient(own: Array, others: Array, columns: Array, rows: Array) -> Array:
    """Mean over the m `others` (m, d) of sum over the rows of (y - P(1 | x, theta)) x in the block's columns: (M, k).

    theta is a row of `others` with its `columns` (k,) replaced by those of `own` (M, k); rows (n, d + 1) are
    (x_1, ..., x_d, y). ValueError for shapes or values that do not fit.
    """
    others = matrix(others, "others")
    rows = finite(matrix(rows, "rows", others.shape[1] + 1), "rows")
    own = matrix(own, "own", len(columns))
    mine = {int(k) for k in columns}
    rest = [k for k in range(others.shape[1]) if k not in mine]
    x, y = np.ascontiguousarray(rows[:, columns].T), np.ascontiguousarray(rows[:, -1])  # (k, n), (n,)
    out, factors = np.empty(own.shape), np.empty((len(others), len(rows)))
    _factors(np.ascontiguousarray(others[:, rest]), np.ascontiguousarray(rows[:, rest].T), factors)
    cost = float(len(own)) * factors.size
    run_blocks(lambda a, b: _gradient(own[a:b], factors, x, y, out[a:b]), len(own), PARTICLES_PER_BLOCK, cost)
    return out


@fast_jit
def _predictor(weights, x, out):
    """e^-a of every row, x (k, n) -> out (n,)."""
    out[:] = 0.0
    for k in range(weights.size):
        for n in range(out.size):
            out[n] -= weights[k] * x[k, n]
    for n in range(out.size):
        out[n] = exp64(min(max(out[n], -FARTHEST), FARTHEST))


@fast_jit
def _factors(weights, x, out):
    for j in range(out.shape[0]):
        _predictor(weights[j], x, out[j])


@fast_jit
def _gradient(own, factors, x, y, out):
    count = y.size
    factor, pull = np.empty(count), np.empty(count)
    for i in range(out.shape[0]):
        _predictor(own[i], x, factor)
        pull[:] = 0.0
        for j in range(factors.shape[0]):
            for n in range(count):
                pull[n] += 1.0 / (1.0 + factor[n] * factors[j, n])
        for n in range(count):
            pull[n] = y[n] - pull[n] / factors.shape[0]
        for k in range(out.shape[1]):
            total = 0.0
            for n in range(count):
                total += pull[n] * x[k, n]
            out[i, k] = total


# A Langevin step of a run of coordinates, in one pass over the particles.


def langevin_step(points: Array, first: int, gradient: Array, normals: Array, steps: Array) -> None:
    """x += h/2 gradient + sqrt(h) normals of the coordinates from `first`, in place.

    points (m, d); gradient (m, k), normals (m, k) in single precision; steps h > 0 (k,), in the units of theta^2.
    """
    gradient, halves, roots = plain(gradient), 0.5 * steps, np.sqrt(steps)

    def work(a: int, b: int) -> None:
        _step(points[a:b], first, gradient[a:b], normals[a:b], halves, roots)

    run_blocks(work, len(points), PARTICLES_PER_BLOCK, float(gradient.size))


@fast_jit
def _step(points, first, gradient, normals, halves, roots):
    for i in range(points.shape[0]):
        x = points[i, first:]
        for k in range(halves.size):
            x[k] += halves[k] * gradient[i, k] + roots[k] * normals[i, k]


def warm_up_calls() -> WarmUps:
    """Calls that compile every kernel of this file."""
    own, others, rows = np.zeros((2, 1)), np.zeros((2, 2)), np.zeros((2, 3))
    yield "logistic_blocks", "logistic regression by blocks", logistic_block_gradient, own, others, np.array([0]), rows
    part, normals = np.zeros((2, 1)), np.zeros((2, 1), np.float32)
    yield "langevin_blocks", "Langevin steps of a block", langevin_step, np.zeros((2, 3)), 1, part, normals, np.ones(1)
