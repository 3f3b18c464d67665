"""The reference line ("independent draws"): what exact sampling gets with as many draws as there are particles.

Draws from the exact posterior, drawn the same way as the method's own particles (thinned from `each` candidates, where
those are), judged as the run is: with the `shaped` rule, which has no number of its own, or else
with the `local` rule at the best factor c of a stated table; the mean over 16 seeded sets of draws, with its standard
error. TV and forward KL each have their own best c.
"""

import threading
from collections.abc import Callable, Sequence
from functools import cache
from itertools import count
from typing import NamedTuple

import numpy as np

from pmdviz.densities.bandwidth import chosen_shape, local, shaped_density
from pmdviz.densities.density import Density, KernelDensity
from pmdviz.kernels.checks import Array
from pmdviz.kernels.pool import run_blocks
from pmdviz.kernels.resampling import thinned
from pmdviz.metrics.divergences import measure, picture
from pmdviz.targets import Target

NUM_SETS = 16
FACTORS = (0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.05, 1.25, 1.5)
TABLES = {"local": FACTORS, "shaped": (1.0,)}  # of each rule that draws are evaluated by
START, USUAL_PLACES = 6, 5  # place in FACTORS where the search for the best one begins; how many it looks at as a rule
SETS_COST = np.inf  # of judging them, in pairs: always worth several threads


class Floor(NamedTuple):
    """Total variation and KL(p || q) of exact draws, with standard errors and the c that gave them."""

    tv: float
    tv_se: float
    tv_factor: float
    kl: float
    kl_se: float
    kl_factor: float


_known: dict[tuple, Floor | None] = {}
_locks: dict[tuple, threading.Lock] = {}


def known_floor(target: Target, num_particles: int, rule: str = "local", each: int = 1) -> Floor | None:
    """The floor if it has been computed before in this process, else None."""
    return _known.get((target.key, num_particles, rule, each))


def remember(target: Target, num_particles: int, rule: str, each: int, found: Floor) -> None:
    """Take a floor that another process has computed, unless this one has."""
    _known.setdefault((target.key, num_particles, rule, each), found)


def floor(
    target: Target,
    num_particles: int | None,
    progress: Callable[[int], None] = lambda sets: None,
    rule: str = "local",
    each: int = 1,
) -> Floor | None:
    """The floor of `num_particles` draws, computed once for each (target, m, rule, each).

    `each`: of how many candidates every draw is chosen, like the method's particles (`methods.weighting`).
    `progress` gets the number of finished sets, of 16. None without an exact posterior or particles.
    """
    if num_particles is None or target.planar is None:
        return None
    key = (target.key, num_particles, rule, each)
    with _locks.setdefault(key, threading.Lock()):  # only callers with the same arguments wait for one another
        if key not in _known:
            _known[key] = _computed(target, num_particles, progress, rule, each)
        return _known[key]


def _computed(target: Target, m: int, progress: Callable[[int], None], rule: str, each: int) -> Floor | None:
    sets, done = dict[int, Callable[[float], Density]](), count(1)
    table = TABLES[rule]

    def draw(start: int, stop: int) -> None:
        sets.update((k, _drawn(target, m, k, rule, each)) for k in range(start, stop))

    run_blocks(draw, NUM_SETS, 1, SETS_COST)

    @cache
    def values(place: int) -> Array:
        found = np.empty((NUM_SETS, 2))

        def judge(start: int, stop: int) -> None:
            for k in range(start, stop):
                found[k] = _judged(sets[k](table[place]), target)
                progress(min(next(done) // min(USUAL_PLACES, len(table)), NUM_SETS - 1))

        run_blocks(judge, NUM_SETS, 1, SETS_COST)
        return found

    best_tv = _lowest(table, lambda place: values(place)[:, 0])
    best_kl = _lowest(table, lambda place: values(place)[:, 1])
    progress(NUM_SETS)
    return None if best_tv is None or best_kl is None else Floor(*best_tv, *best_kl)


def _lowest(table: Sequence[float], values: Callable[[int], Array]) -> tuple[float, float, float] | None:
    """Mean, standard error and factor where the mean is lowest, by steps downhill; None where there is a NaN.

    The sets of draws are the same for every factor: the mean is a smooth function of it with one valley.
    """
    place = min(START, len(table) - 1)
    while True:
        near = range(max(place - 1, 0), min(place + 2, len(table)))
        means = [values(k).mean() for k in near]
        if np.isnan(means).any():  # kernels too narrow for every grid
            return None
        lowest = near[int(np.argmin(means))]
        if lowest == place:
            break
        place = lowest
    found = values(place)
    return float(found.mean()), float(found.std(ddof=1) / np.sqrt(NUM_SETS)), table[place]


def _drawn(target: Target, num_particles: int, k: int, rule: str, each: int) -> Callable[[float], Density]:
    """The estimate from the draws of the k-th set: a function of the factor."""
    rng = np.random.default_rng([num_particles, k])
    draws = target.exact.sample(rng, each * num_particles)
    if each > 1:
        draws = draws[thinned(draws / draws.std(axis=0), num_particles, rng.random(num_particles))]
    log_weights = np.full(num_particles, -np.log(num_particles))
    if rule == "shaped":
        shape = chosen_shape(draws, np.exp(log_weights), each)
        return lambda factor: shaped_density(draws, log_weights, shape, factor, target.scale)
    one = local(draws, np.exp(log_weights), 1.0, target.scale)
    return lambda factor: KernelDensity(draws, log_weights, factor * one)


def _judged(density: Density, target: Target) -> tuple[float | None, float | None]:
    """Total variation and forward KL of one estimate."""
    found = measure(density, target.exact, picture(density, target.exact, target.view_box))
    return found["tv"], found["kl_forward"]
