"""The stochastic volatility model: its density and gradient, what its closed forms need, and sweeps of exact MCMC.

x_1 ~ N(mu, s2 / (1 - phi^2)), x_t = mu + phi (x_{t-1} - mu) + N(0, s2), y_t ~ N(0, exp(x_t)), t from 1 to T. The paths
x are `points[:, first:]` of points (m, first + T), and what belongs to each of them is (m,). The priors are not
included in these functions.
"""

from collections.abc import Callable

import numpy as np

from pmdviz.kernels.checks import Array, plain
from pmdviz.kernels.jit import WarmUps, exp64, fast_jit, jit
from pmdviz.kernels.pool import run_blocks

ROWS_PER_BLOCK = 64
NO_RETURNS = np.empty(0)
FARTHEST = 300.0  # of -x: even the square of e^300 is a number, and a path of log variances has diverged long before


def volatility_log_path(mu: Array, phi: Array, s2: Array, points: Array, first: int) -> Array:
    """log p(x | mu, phi, s2), in nats: (m,)."""
    squares, count = volatility_squares(mu, np.zeros(len(mu)), phi, points, first), points.shape[1] - first
    return -0.5 * (count * np.log(2 * np.pi * s2) - np.log1p(-phi * phi) + squares / s2)


def volatility_log_likelihood(points: Array, first: int, y: Array) -> Array:
    """log p(y | x) = sum_t log N(y_t | 0, exp x_t) of returns y (T,), in nats: (m,)."""
    points, squares, out = plain(points), y * y, np.empty(len(points))
    _by_rows(lambda a, b: _likelihood(points[a:b], first, squares, out[a:b]), points)
    return out - 0.5 * len(y) * np.log(2 * np.pi)


def volatility_squares(mu: Array, var: Array, phi: Array, points: Array, first: int) -> Array:
    """E over N(mu, var) of (1 - phi^2) (x_1 - mu)^2 + sum_t (x_t - mu - phi (x_{t-1} - mu))^2: (m,)."""
    points, out = plain(points), np.empty(len(points))
    _by_rows(lambda a, b: _squares(mu[a:b], var[a:b], phi[a:b], points[a:b], first, out[a:b]), points)
    return out


def volatility_mean_terms(phi: Array, points: Array, first: int, times: float = 1.0) -> tuple[Array, Array]:
    """A and B (m,): as a function of mu the squares are A mu^2 - 2 B mu + const.

    With `times` T - 1 the later terms of B are counted so often, as printed in the paper, which is a mistake.
    """
    points, factor, product = plain(points), np.empty(len(points)), np.empty(len(points))
    _by_rows(lambda a, b: _mean_terms(phi[a:b], points[a:b], first, times, factor[a:b], product[a:b]), points)
    return factor, product


def volatility_gradient(
    mu: Array, var: Array, phi: Array, precision: Array, points: Array, first: int, y: Array = NO_RETURNS
) -> tuple[Array, Array]:
    """E over mu ~ N(mu, var) and E(1/s2) = precision of the gradient of log p(x | mu, phi, s2), and p(y | x) if given.

    In psi = atanh phi (m,), which is finite for phi = 1 too, and in the points (m, d), whose other columns are left
    empty.
    """
    points, of_psi, out, squares = plain(points), np.empty(len(points)), np.empty(points.shape), y * y

    def work(a: int, b: int) -> None:
        given = mu[a:b], var[a:b], phi[a:b], precision[a:b]
        _gradient(*given, points[a:b], first, squares, of_psi[a:b], out[a:b])

    _by_rows(work, points)
    return of_psi, out


def volatility_pull(points: Array, first: int, y: Array, out: Array) -> None:
    """Add the gradient of log p(y | x), 1/2 (y_t^2 e^-x_t - 1), to that in the points: (m, d), of returns y (T,)."""
    points, squares = plain(points), y * y
    _by_rows(lambda a, b: _pull(points[a:b], first, squares, out[a:b]), points)


def _by_rows(work: Callable[[int, int], None], points: Array) -> None:
    run_blocks(work, len(points), ROWS_PER_BLOCK, float(points.size))


def volatility_sweep(x: Array, y: Array, mu: float, phi: float, s2: float, normals: Array, uniforms: Array) -> None:
    """Every x_t (T,) once, in place, from its conditional or left where it is (Kim, Shephard, Chib 1998, section 2).

    A proposal of N(m + v/2 (y_t^2 e^-m - 1), v), with m and v those given the neighbours, is accepted with the ratio of
    the conditional and its bound, which e^-x >= e^-m (1 + m - x) gives; otherwise x_t stays. This keeps p(x | y).
    """
    _sweep(x, y, mu, phi, s2, normals, uniforms)


@fast_jit
def _likelihood(points, first, squares, out):
    for i in range(out.size):
        x, total = points[i, first:], 0.0
        for t in range(squares.size):
            total += x[t] + squares[t] * exp64(min(-x[t], FARTHEST))
        out[i] = -0.5 * total


@fast_jit
def _pull_row(x, squares, of_x):
    for t in range(squares.size):
        of_x[t] += 0.5 * (squares[t] * exp64(min(-x[t], FARTHEST)) - 1.0)


@fast_jit
def _pull(points, first, squares, out):
    for i in range(points.shape[0]):
        _pull_row(points[i, first:], squares, out[i, first:])


@fast_jit
def _times_mu_squared(p, count):
    """What stands before mu^2 in the squares."""
    return 1.0 - p * p + (count - 1) * (1.0 - p) * (1.0 - p)


@fast_jit
def _mean_terms(phi, points, first, times, factor, product):
    for i in range(phi.size):
        x, p, total = points[i, first:], phi[i], 0.0
        for t in range(x.size):
            total += x[t]
        begin, end = x[0], x[x.size - 1]
        factor[i] = _times_mu_squared(p, x.size)
        product[i] = (1.0 - p * p) * begin + times * (1.0 - p) * (total - begin - p * (total - end))


@fast_jit
def _squares(mu, var, phi, points, first, out):
    for i in range(out.size):
        x, p, shift = points[i, first:], phi[i], (1.0 - phi[i]) * mu[i]
        away = x[0] - mu[i]
        total = (1.0 - p * p) * away * away
        for t in range(1, x.size):
            residual = x[t] - p * x[t - 1] - shift
            total += residual * residual
        out[i] = total + var[i] * _times_mu_squared(p, x.size)


@fast_jit
def _gradient(mu, var, phi, precision, points, first, squares, of_psi, out):
    for i in range(of_psi.size):
        x, of_x, p, level, scale = points[i, first:], out[i, first:], phi[i], mu[i], precision[i]
        shift, last, total = (1.0 - p) * level, x.size - 1, 0.0
        for t in range(1, last):
            residual = x[t] - p * x[t - 1] - shift
            total += residual * (x[t - 1] - level)
            of_x[t] = scale * (p * (x[t + 1] - p * x[t] - shift) - residual)
        start = x[0] - level
        total += p * start * start + var[i] * (p + last * (1.0 - p))
        of_x[0] = -scale * (1.0 - p * p) * start
        if last:
            before, now = x[last - 1] - level, x[last] - level
            total += (now - p * before) * before
            of_x[0] += scale * p * (x[1] - level - p * start)
            of_x[last] = scale * (p * before - now)
        of_psi[i] = (1.0 - p * p) * scale * total - p
        _pull_row(x, squares, of_x)


@jit
def _sweep(x, y, mu, phi, s2, normals, uniforms):
    last = x.size - 1
    for t in range(x.size):
        if last == 0:
            mean, var = mu, s2 / (1.0 - phi * phi)
        elif t == 0:
            mean, var = mu + phi * (x[1] - mu), s2
        elif t == last:
            mean, var = mu + phi * (x[t - 1] - mu), s2
        else:
            mean = mu + phi * (x[t - 1] + x[t + 1] - 2.0 * mu) / (1.0 + phi * phi)
            var = s2 / (1.0 + phi * phi)
        square = y[t] * y[t]
        flat = np.exp(-mean)
        found = mean + 0.5 * var * (square * flat - 1.0) + np.sqrt(var) * normals[t]
        if uniforms[t] < np.exp(-0.5 * square * (np.exp(-found) - flat * (1.0 + mean - found))):
            x[t] = found


def warm_up_calls() -> WarmUps:
    """Calls that compile every kernel of this file."""
    one, points, y = np.full(2, 0.5), np.zeros((2, 4)), np.zeros(3)
    yield "volatility", "stochastic volatility", volatility_squares, one, one, one, points, 1
    yield "volatility", "stochastic volatility's paths", volatility_log_path, one, one, one, points, 1
    yield "volatility", "stochastic volatility's likelihood", volatility_log_likelihood, points, 1, y
    yield "volatility", "stochastic volatility's mean", volatility_mean_terms, one, points, 1
    yield "volatility", "stochastic volatility's gradient", volatility_gradient, one, one, one, one, points, 1
    yield "volatility", "stochastic volatility's pull of the returns", volatility_pull, points, 1, y, np.zeros((2, 4))
    yield (
        "volatility",
        "stochastic volatility, point by point",
        volatility_sweep,
        np.zeros(3),
        y,
        0.0,
        0.5,
        1.0,
        np.zeros(3),
        np.zeros(3),
    )
