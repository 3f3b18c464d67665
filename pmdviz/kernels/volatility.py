"""The stochastic volatility model: its density and gradient, what its closed forms need, and sweeps of exact MCMC.

x_1 ~ N(mu, s2 / (1 - phi^2)), x_t = mu + phi (x_{t-1} - mu) + N(0, s2), y_t ~ N(0, exp(x_t)). All functions take phi
and s2 themselves; the priors are N(0, var) for mu, Beta(a, b) for (1 + phi) / 2 and IG(shape, scale) for s2.
"""

from collections.abc import Callable, Iterator

import numpy as np

from pmdviz.kernels.jit import jit
from pmdviz.kernels.pool import run_blocks

ROWS_PER_BLOCK = 16


def volatility_log_path(mu: np.ndarray, phi: np.ndarray, s2: np.ndarray, x: np.ndarray) -> np.ndarray:
    """log p(x | mu, phi, s2) of paths x (m, T), in nats: (m,)."""
    squares = volatility_squares(mu, np.zeros(len(mu)), phi, x)
    return -0.5 * (x.shape[1] * np.log(2 * np.pi * s2) - np.log1p(-phi * phi) + squares / s2)


def volatility_squares(mu: np.ndarray, var: np.ndarray, phi: np.ndarray, x: np.ndarray) -> np.ndarray:
    """E over N(mu, var) of (1 - phi^2) (x_1 - mu)^2 + sum_t (x_t - mu - phi (x_{t-1} - mu))^2: (m,)."""
    out = np.empty(len(x))
    run_blocks(
        lambda a, b: _squares(mu[a:b], var[a:b], phi[a:b], x[a:b], out[a:b]), len(x), ROWS_PER_BLOCK, float(x.size)
    )
    return out


def volatility_mean_terms(phi: np.ndarray, x: np.ndarray, times: float = 1.0) -> tuple[np.ndarray, np.ndarray]:
    """A and B (m,): as a function of mu the squares are A mu^2 - 2 B mu + const.

    With `times` T - 1 the later terms of B are counted so often, as they are printed in the paper: a mistake of its.
    """
    count, flat = x.shape[1], 1.0 - phi
    later = flat * (x[:, 1:].sum(axis=1) - phi * x[:, :-1].sum(axis=1))
    return 1.0 - phi * phi + (count - 1) * flat * flat, (1.0 - phi * phi) * x[:, 0] + times * later


def volatility_gradient(
    mu: np.ndarray, var: np.ndarray, phi: np.ndarray, precision: np.ndarray, x: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """E over mu ~ N(mu, var) and E(1/s2) = precision of the gradient of log p(x | mu, phi, s2): in phi (m,), x (m, T)."""
    of_phi, of_x = np.empty(len(x)), np.empty(x.shape)
    run_blocks(
        lambda a, b: _gradient(mu[a:b], var[a:b], phi[a:b], precision[a:b], x[a:b], of_phi[a:b], of_x[a:b]),
        len(x),
        ROWS_PER_BLOCK,
        float(x.size),
    )
    return of_phi, of_x


def volatility_sweep(
    x: np.ndarray, y: np.ndarray, mu: float, phi: float, s2: float, normals: np.ndarray, uniforms: np.ndarray
) -> None:
    """Every x_t (T,) once, in place, from its conditional or left where it is (Kim, Shephard, Chib 1998, section 2).

    A proposal of N(m + v/2 (y_t^2 e^-m - 1), v), with m and v those given the neighbours, is accepted with the ratio of
    the conditional and its bound, which e^-x >= e^-m (1 + m - x) gives; otherwise x_t stays. This keeps p(x | y).
    """
    _sweep(x, y, mu, phi, s2, normals, uniforms)


@jit
def _squares(mu, var, phi, x, out):
    for i in range(out.size):
        before = x[i, 0] - mu[i]
        flat = 1.0 - phi[i]
        total = (1.0 - phi[i] * phi[i]) * (before * before + var[i])
        for t in range(1, x.shape[1]):
            now = x[i, t] - mu[i]
            residual = now - phi[i] * before
            total += residual * residual
            before = now
        out[i] = total + (x.shape[1] - 1) * flat * flat * var[i]


@jit
def _gradient(mu, var, phi, precision, x, of_phi, of_x):
    count = x.shape[1]
    for i in range(of_phi.size):
        p, scale = phi[i], precision[i]
        stationary = 1.0 - p * p
        before = x[i, 0] - mu[i]
        slope = p * (before * before + var[i]) + (count - 1) * (1.0 - p) * var[i]
        of_x[i, 0] = -scale * stationary * before
        for t in range(1, count):
            now = x[i, t] - mu[i]
            residual = now - p * before
            slope += residual * before
            of_x[i, t - 1] += scale * p * residual
            of_x[i, t] = -scale * residual
            before = now
        of_phi[i] = scale * slope - p / stationary


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


def warm_up_calls() -> Iterator[tuple[str, Callable[[], object]]]:
    """One call of each kernel."""
    one, x = np.full(2, 0.5), np.zeros((2, 3))
    yield "stochastic volatility", lambda: volatility_squares(one, one, one, x)
    yield "stochastic volatility's gradient", lambda: volatility_gradient(one, one, one, one, x)
    yield (
        "stochastic volatility, point by point",
        lambda: volatility_sweep(np.zeros(3), np.zeros(3), 0.0, 0.5, 1.0, np.zeros(3), np.zeros(3)),
    )
