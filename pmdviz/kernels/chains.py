"""Many steps of a Markov chain in one compiled call, on any model of `kernels.likelihoods`; Langevin steps by blocks.

All randomness is drawn beforehand. Both kernels stop early where a step must not be made; a chain cut into calls of any
lengths has the same bits as one in a single call.
"""

from math import erfc
from typing import NamedTuple

import numpy as np

from pmdviz.kernels.checks import Array, plain
from pmdviz.kernels.jit import DEFAULT, WarmUps, exp64, fast_jit, jit
from pmdviz.kernels.likelihoods import log_joint, put_gradient
from pmdviz.kernels.pool import by_rows, filled

Start = tuple[Array, float, Array]  # theta (d,), its log joint and the gradient there, (d,)


class Trajectories(NamedTuple):
    """What became of trajectories; `made` of them were gone."""

    draws: Array  # (T, d) where the chain stood after each
    log_joint: float  # nats, where it ends
    gradient: Array  # (d,) there
    num_gradients: Array  # (T,) that each took
    num_values: Array  # (T,) of the log joint: 1, or 0 where it diverged
    chances: Array  # (T,) of being accepted
    accepted: Array  # (T,)
    diverged: Array  # (T,)
    made: int


def langevin(
    model: tuple, theta: Array, batches: Array, schedule: tuple, noise: Array, reach: Array
) -> tuple[Array, Array, int]:
    """theta <- theta + e/2 gradient + sqrt(e) noise with e = a (b + t)^-g, for each of the batches (T, B, ...).

    theta and reach (d,), noise (T, d), schedule (t of the first step, a, b, g). Returns the draws (T, d), the last
    gradient (d,) and how many steps were made: the one after them led beyond `reach` in some coordinate.
    """
    schedule = tuple(map(float, schedule))
    return _langevin(model, plain(theta), plain(batches), schedule, plain(noise), plain(reach))


@jit
def _langevin(model, theta, batches, schedule, noise, reach):
    draws, gradient = np.empty(noise.shape), np.empty(noise.shape[1])
    first, a, b, g = schedule
    for t in range(noise.shape[0]):
        step_size = a * (b + (first + t)) ** -g
        put_gradient(model, theta, batches[t], gradient)
        inside = True
        for k in range(theta.size):
            draws[t, k] = theta[k] + 0.5 * step_size * gradient[k] + np.sqrt(step_size) * noise[t, k]
            inside &= abs(draws[t, k]) <= reach[k]
        if not inside:
            return draws, gradient, t
        theta = draws[t]
    return draws, gradient, noise.shape[0]


def uniforms_of(normals: Array) -> Array:
    """Standard normals (n,) as uniforms on [0, 1]: their distribution function."""
    return _uniforms_of(plain(normals))


@jit
def _uniforms_of(normals):
    out = np.empty(normals.size)
    for i in range(normals.size):
        out[i] = 0.5 * erfc(-normals[i] * np.sqrt(0.5))
    return out


def hamiltonian(
    model: tuple,
    data: Array,
    start: Start,
    momenta: Array,
    lengths: Array,
    uniforms: Array,
    time_step: float,
    unit: Array,
    reach: Array,
    most: int,
    value_costs: int = 1,
) -> Trajectories:
    """Trajectories of log_joint - |p|^2 / 2 one after the other, each accepted or rejected.

    `start`: theta (d,), its log joint and gradient (d,). momenta (T, d), lengths (T,) in leapfrog steps, uniforms (T,)
    that decide; time_step in prior sds `unit` (d,). One that leaves `reach` (d,) or finds a gradient that is not finite
    has diverged and is rejected. No further trajectory is begun once `most` gradients and values were computed, a value
    counted as `value_costs`.
    """
    arrays = (
        plain(start[0]),
        float(start[1]),
        plain(start[2]),
        plain(momenta),
        plain(lengths, np.int64),
        plain(uniforms),
    )
    numbers = float(time_step), plain(unit), plain(reach), int(most), int(value_costs)
    return _hamiltonian(model, plain(data), *arrays, *numbers)


@jit
def _leapfrog(model, data, theta, momentum, gradient, time_step, num_steps, unit, reach):
    """Move theta, momentum and gradient (d,) along; the gradients that it took, and whether it diverged."""
    for taken in range(num_steps):
        inside = True
        for k in range(theta.size):
            momentum[k] += 0.5 * time_step * unit[k] * gradient[k]
            theta[k] += time_step * unit[k] * momentum[k]
            inside &= abs(theta[k]) <= reach[k]
        if not inside:
            return taken, True
        put_gradient(model, theta, data, gradient)
        for k in range(theta.size):
            momentum[k] += 0.5 * time_step * unit[k] * gradient[k]
            inside &= np.isfinite(gradient[k])
        if not inside:
            return taken + 1, True
    return num_steps, False


@jit
def _hamiltonian(model, data, theta, value, gradient, momenta, lengths, uniforms, step, unit, reach, most, costs):
    num, asked, made = lengths.size, 0, 0
    draws, num_gradients, num_values = np.empty(momenta.shape), np.empty(num, np.int64), np.empty(num, np.int64)
    chances, accepted, diverged = np.empty(num), np.empty(num, np.bool_), np.empty(num, np.bool_)
    theta, gradient = theta.copy(), gradient.copy()
    end, slope, momentum = theta.copy(), gradient.copy(), theta.copy()
    while made < num and asked < most:
        t, made = made, made + 1
        energy = -value
        for k in range(theta.size):
            end[k], slope[k], momentum[k] = theta[k], gradient[k], momenta[t, k]
            energy += 0.5 * momentum[k] * momentum[k]
        num_gradients[t], diverged[t] = _leapfrog(model, data, end, momentum, slope, step, lengths[t], unit, reach)
        num_values[t], chances[t], found = 0 if diverged[t] else 1, 0.0, -np.inf
        asked += num_gradients[t] + costs * num_values[t]
        if not diverged[t]:
            found = log_joint(model, end, data)
            energy += found
            for k in range(theta.size):
                energy -= 0.5 * momentum[k] * momentum[k]
            chances[t] = np.exp(min(0.0, energy))
        accepted[t] = uniforms[t] < chances[t]
        if accepted[t]:
            value = found
            for k in range(theta.size):
                theta[k], gradient[k] = end[k], slope[k]
        for k in range(theta.size):
            draws[t, k] = theta[k]
    return Trajectories(draws, value, gradient, num_gradients, num_values, chances, accepted, diverged, made)


# Many steps of random-walk Metropolis in one compiled call, on any model of `kernels.likelihoods`.
#
# All randomness is drawn beforehand, so a chain cut into calls of any lengths has the same bits as one in a single
# call.


class Walk(NamedTuple):
    """What became of the proposals of a chain."""

    draws: Array  # (T, d) where the chain stood after each
    log_joint: float  # nats, where it ends
    chances: Array  # (T,) of being accepted
    accepted: Array  # (T,)


def metropolis(model: tuple, data: Array, theta: Array, value: float, jumps: Array, uniforms: Array) -> Walk:
    """theta (d,) of log joint `value`, moved by each of the jumps (T, d) with probability min(1, p(there) / p(here)).

    A move is made where its uniform (T,) lies below the chance; never where the log joint is -inf or NaN.
    """
    return _metropolis(model, plain(data), plain(theta), float(value), plain(jumps), plain(uniforms))


@jit
def _metropolis(model, data, theta, value, jumps, uniforms):
    draws, chances, accepted = np.empty(jumps.shape), np.empty(uniforms.size), np.empty(uniforms.size, np.bool_)
    theta, proposal = theta.copy(), theta.copy()
    for t in range(uniforms.size):
        for k in range(theta.size):
            proposal[k] = theta[k] + jumps[t, k]
        found, chances[t] = log_joint(model, proposal, data), 0.0
        if found > -np.inf:
            chances[t] = np.exp(min(0.0, found - value))
        accepted[t] = uniforms[t] < chances[t]
        if accepted[t]:
            value = found
        for k in range(theta.size):
            if accepted[t]:
                theta[k] = proposal[k]
            draws[t, k] = theta[k]
    return Walk(draws, value, chances, accepted)


# Langevin steps of a block of the coordinates: the gradient of Bayesian logistic regression in a block of the weights,
# averaged over the draws of the other blocks, and the moves of a block.
#
# A row's linear predictor is a + b, a of the block and b of the others, and P(y = 1) = 1 / (1 + e^-a e^-b): for M
# particles of a block and m of the others (M + m) exponentials of a row, and M m divisions.

PARTICLES_PER_BLOCK = 64
FARTHEST = 300.0  # of a and b: e^600 is still a number, and P is 0 or 1 long before


def logistic_block_gradient(own: Array, others: Array, columns: Array, rows: Array) -> Array:
    """Mean over the m `others` (m, d) of sum over the rows of (y - P(1 | x, theta)) x in the block's columns: (M, k).

    theta is a row of `others` with its `columns` (k,) replaced by the rows of `own` (M, k); rows (n, d + 1) are
    (x_1, ..., x_d, y).
    """
    mine = {int(k) for k in columns}
    rest = [k for k in range(others.shape[1]) if k not in mine]
    x, y = np.ascontiguousarray(rows[:, columns].T), np.ascontiguousarray(rows[:, -1])  # (k, n), (n,)
    factors = np.empty((len(others), len(rows)))
    _factors(np.ascontiguousarray(others[:, rest]), np.ascontiguousarray(rows[:, rest].T), factors)
    cost = float(len(own)) * factors.size
    return filled(_gradient, (own,), (factors, x, y), PARTICLES_PER_BLOCK, cost, own.shape[1:])[0]


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
    rows, given = (plain(gradient), normals), (first, 0.5 * steps, np.sqrt(steps))
    by_rows(_step, rows, given, (points,), PARTICLES_PER_BLOCK, float(gradient.size))


@fast_jit
def _step(gradient, normals, first, halves, roots, points):
    for i in range(points.shape[0]):
        x = points[i, first:]
        for k in range(halves.size):
            x[k] += halves[k] * gradient[i, k] + roots[k] * normals[i, k]


def warm_up_calls() -> WarmUps:
    """Calls that compile every kernel of this file."""
    yield DEFAULT, "uniforms", uniforms_of, np.arange(2.0)
    own, others, rows = np.zeros((2, 1)), np.zeros((2, 2)), np.zeros((2, 3))
    yield "logistic_blocks", "logistic regression by blocks", logistic_block_gradient, own, others, np.array([0]), rows
    part, normals = np.zeros((2, 1)), np.zeros((2, 1), np.float32)
    yield "langevin_blocks", "Langevin steps of a block", langevin_step, np.zeros((2, 3)), 1, part, normals, np.ones(1)


def warm_up_calls_on(model: tuple, x: Array, dim: int) -> WarmUps:
    """A call of each chain on a model, with data for it and theta of this dimension."""
    name, ones, once = type(model).__name__, np.ones(dim), np.zeros((1, dim))
    theta, start, schedule = once[0], (once[0], 0.0, once[0]), (1, 1.0, 1.0, 0.5)
    lengths, groups = np.ones(1, np.int64), (f"Langevin steps, {name}", f"trajectories, {name}", f"random walk, {name}")
    yield groups[0], groups[0], langevin, model, theta, x[None], schedule, once, ones
    yield groups[1], groups[1], hamiltonian, model, x, start, once, lengths, np.ones(1), 1.0, ones, ones, 1
    yield groups[2], groups[2], metropolis, model, x, theta, 0.0, once, np.ones(1)
