"""The floor: what a perfect sampler gets with as many draws as there are particles.

iid draws of the exact posterior, judged with the `local` rule at the best factor c of a stated table; the mean over
16 seeded sets of draws, with its standard error. TV and forward KL each have their own best c.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from pmdviz.bandwidths import local
from pmdviz.densities import KernelDensity
from pmdviz.divergences import measure, picture
from pmdviz.targets import Target

NUM_SETS = 16
FACTORS = (0.5, 0.6, 0.7, 0.8, 0.9, 1.05, 1.25, 1.5)


class Floor(NamedTuple):
    """Total variation and KL(p || q) of perfect draws, with standard errors and the c that gave them."""

    tv: float
    tv_se: float
    tv_factor: float
    kl: float
    kl_se: float
    kl_factor: float


_known: dict[tuple, Floor | None] = {}
_locks: dict[tuple, threading.Lock] = {}


def known_floor(target: Target, num_particles: int) -> Floor | None:
    """The floor if it has been computed before in this process, else None."""
    return _known.get((target.key, num_particles))


def floor(
    target: Target, num_particles: int | None, progress: Callable[[int], object] = lambda sets: None
) -> Floor | None:
    """The floor of `num_particles` draws, computed once for each (target, m).

    `progress` is told how many sets are done. None without an exact posterior, and for a method without particles.
    """
    if num_particles is None or target.exact is None:
        return None
    key = (target.key, num_particles)
    with _locks.setdefault(key, threading.Lock()):  # only those who ask for the same wait for one another
        if key not in _known:
            _known[key] = _computed(target, num_particles, progress)
        return _known[key]


def _computed(
    target: Target, num_particles: int, progress: Callable[[int], object] = lambda sets: None
) -> Floor | None:
    rows = []
    for k in range(NUM_SETS):
        rows.append(_of_one_set(target, num_particles, k))
        progress(k + 1)
    values = np.array(rows, float)  # (sets, factors, 2)
    if np.isnan(values).any():  # kernels too narrow for every grid
        return None
    means, errors = values.mean(axis=0), values.std(axis=0, ddof=1) / np.sqrt(NUM_SETS)
    best_tv, best_kl = means[:, 0].argmin(), means[:, 1].argmin()
    return Floor(
        *(float(means[best_tv, 0]), float(errors[best_tv, 0]), FACTORS[best_tv]),
        *(float(means[best_kl, 1]), float(errors[best_kl, 1]), FACTORS[best_kl]),
    )


def _of_one_set(target: Target, num_particles: int, k: int) -> list[tuple[float, float]]:
    rng = np.random.default_rng([num_particles, k])
    draws = target.exact.sample(rng, num_particles)
    log_weights = np.full(num_particles, -np.log(num_particles))
    one = local(draws, np.exp(log_weights), 1.0, target.scale)
    rows = []
    for factor in FACTORS:
        density = KernelDensity(draws, log_weights, factor * one)
        metrics = measure(density, target.exact, picture(density, target.exact, target.view_box))
        rows.append((metrics["tv"], metrics["kl_forward"]))
    return rows
