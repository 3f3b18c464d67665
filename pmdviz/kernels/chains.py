"""Many steps of a Markov chain in one compiled call, on any model of `kernels.models`.

All randomness is drawn beforehand. Both kernels stop early where a step must not be made; a chain cut into calls of any
lengths has the same bits as one in a single call.
"""

from collections.abc import Callable, Iterator
from math import erfc
from typing import NamedTuple

import numpy as np

from pmdviz.kernels.checks import plain
from pmdviz.kernels.groups import DEFAULT
from pmdviz.kernels.jit import jit
from pmdviz.kernels.models import log_joint, put_gradient


class Trajectories(NamedTuple):
    """What became of trajectories; `made` of them were gone."""

    draws: np.ndarray  # (T, d) where the chain stood after each
    log_joint: float  # nats, where it stands in the end
    gradient: np.ndarray  # (d,) there
    num_gradients: np.ndarray  # (T,) that each took
    num_values: np.ndarray  # (T,) of the log joint: 1, or 0 where it diverged
    chances: np.ndarray  # (T,) of being accepted
    accepted: np.ndarray  # (T,)
    diverged: np.ndarray  # (T,)
    made: int


def langevin(
    model: tuple, theta: np.ndarray, batches: np.ndarray, schedule: tuple, noise: np.ndarray, reach: np.ndarray
) -> tuple[np.ndarray, np.ndarray, int]:
    """theta <- theta + e/2 gradient + sqrt(e) noise with e = a (b + t)^-g, for each of the batches (T, B, ...).

    theta and reach (d,), noise (T, d), schedule (t of the first step, a, b, g). Returns the draws (T, d), the last
    gradient (d,) and how many steps were made: the one after them led beyond `reach` in some coordinate.
    """
    draws, gradient = np.empty(noise.shape), np.empty(noise.shape[1])
    schedule = tuple(map(float, schedule))
    made = _langevin(model, plain(theta), plain(batches), schedule, plain(noise), plain(reach), draws, gradient)
    return draws, gradient, made


@jit
def _langevin(model, theta, batches, schedule, noise, reach, draws, gradient):
    first, a, b, g = schedule
    for t in range(noise.shape[0]):
        step_size = a * (b + (first + t)) ** -g
        put_gradient(model, theta, batches[t], gradient)
        inside = True
        for k in range(theta.size):
            draws[t, k] = theta[k] + 0.5 * step_size * gradient[k] + np.sqrt(step_size) * noise[t, k]
            inside &= abs(draws[t, k]) <= reach[k]
        if not inside:
            return t
        theta = draws[t]
    return noise.shape[0]


def uniforms_of(normals: np.ndarray) -> np.ndarray:
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
    data: np.ndarray,
    start: tuple[np.ndarray, float, np.ndarray],
    momenta: np.ndarray,
    lengths: np.ndarray,
    uniforms: np.ndarray,
    time_step: float,
    unit: np.ndarray,
    reach: np.ndarray,
    most: int,
    value_costs: int = 1,
) -> Trajectories:
    """Trajectories of log_joint - |p|^2 / 2 one after the other, each accepted or rejected.

    `start`: theta (d,), its log joint and gradient (d,). momenta (T, d), lengths (T,) in leapfrog steps, uniforms (T,)
    that decide; time_step in prior sds `unit` (d,). One that leaves `reach` (d,) or finds a gradient that is not finite
    has diverged and is rejected. No further trajectory is begun once `most` gradients and values were computed, a value
    counted as `value_costs`.
    """
    theta, value, gradient = plain(start[0]).copy(), np.array([float(start[1])]), plain(start[2]).copy()
    num, d = momenta.shape
    outcome = np.empty(num), np.empty(num, np.bool_), np.empty(num, np.bool_)
    out = np.empty((num, d)), np.empty(num, np.int64), *outcome
    made = _hamiltonian(
        *(model, plain(data), theta, value, gradient, plain(momenta), plain(lengths, np.int64), plain(uniforms)),
        *(float(time_step), plain(unit), plain(reach), int(most), int(value_costs), out),
    )
    draws, num_gradients, chances, accepted, diverged = out
    num_values = 1 - diverged.astype(np.int64)
    return Trajectories(draws, float(value[0]), gradient, num_gradients, num_values, chances, accepted, diverged, made)


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
def _hamiltonian(
    model, data, theta, value, gradient, momenta, lengths, uniforms, time_step, unit, reach, most, costs, out
):
    draws, num_gradients, chances, accepted, diverged = out
    end, slope, momentum, asked = theta.copy(), gradient.copy(), theta.copy(), 0
    for t in range(lengths.size):
        if asked >= most:
            return t
        energy = -value[0]
        for k in range(theta.size):
            end[k], slope[k], momentum[k] = theta[k], gradient[k], momenta[t, k]
            energy += 0.5 * momentum[k] * momentum[k]
        num_gradients[t], diverged[t] = _leapfrog(model, data, end, momentum, slope, time_step, lengths[t], unit, reach)
        chances[t], found = 0.0, -np.inf
        asked += num_gradients[t]
        if not diverged[t]:
            asked += costs
            found = log_joint(model, end, data)
            energy += found
            for k in range(theta.size):
                energy -= 0.5 * momentum[k] * momentum[k]
            chances[t] = np.exp(min(0.0, energy))
        accepted[t] = uniforms[t] < chances[t]
        if accepted[t]:
            value[0] = found
            for k in range(theta.size):
                theta[k], gradient[k] = end[k], slope[k]
        for k in range(theta.size):
            draws[t, k] = theta[k]
    return lengths.size


def warm_up_calls() -> Iterator[tuple[str, str, Callable[[], object]]]:
    """The kernel that has no model."""
    yield DEFAULT, "uniforms", lambda: uniforms_of(np.arange(2.0))


def warm_up_calls_on(model: tuple, x: np.ndarray, dim: int) -> Iterator[tuple[str, str, Callable[[], object]]]:
    """One call of each chain on a model, with data for it and theta of this dimension."""
    name, ones, once = type(model).__name__, np.ones(dim), np.zeros((1, dim))
    theta, start, schedule = once[0], (once[0], 0.0, once[0]), (1, 1.0, 1.0, 0.5)
    given = once, np.ones(1, np.int64), np.ones(1), 1.0, ones, ones, 1
    words = f"Langevin steps, {name}", f"trajectories, {name}"
    yield words[0], words[0], lambda: langevin(model, theta, x[None], schedule, once, ones)
    yield words[1], words[1], lambda: hamiltonian(model, x, start, *given)
