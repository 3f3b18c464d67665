"""Theorem 2 term by term: what a run did at each step beside what the recurrence allows."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from pmdviz.densities.grid import Grid
from pmdviz.engine.batches import BatchStream
from pmdviz.engine.recipe.recipe import Recipe
from pmdviz.errors import InputError
from pmdviz.experiments.theory.formulas import theorem2, theorem2_unrolled
from pmdviz.targets import Target

SIDES = {1: 1024, 2: 160}
FLOOR = -1e5  # nats; log q of particles that all have weight 0 there


class Terms(NamedTuple):
    """One step t -> t + 1 of Theorem 2, each term measured on a grid that holds the posterior."""

    t: int
    gamma: float
    kl: float  # KL(p || q_t)
    kept: float  # (1 - gamma) KL(p || q_t)
    gradient: float  # ||g_t||, the largest absolute value of g_t on the grid
    noise: float  # gamma^2 / 2 ||g_t||^2
    inexactness: float  # eps_t = KL(q_{t+1} || exact prox-mapping), Eq. 3
    bound: float  # the sum of kept, noise and inexactness
    measured: float  # KL(p || q_{t+1})


def terms(recipe: Recipe, steps: int, tell: Callable[[int], object] = lambda t: None) -> list[Terms]:
    """The terms of the first steps of a `pmd` recipe on a target with an exact posterior in one or two dimensions.

    The run is that of the recipe, batch for batch. Raises InputError for another method or target.
    """
    target, method, knobs = recipe.make_target(), recipe.make_method(), recipe.start_knobs()
    if recipe.method != "pmd":
        raise InputError(f"Theorem 2 is about 'pmd'; given: a recipe of {recipe.method!r}")
    if target.exact is None or target.dim > 2:
        raise InputError(f"target {target.name!r} has no exact posterior on a grid")
    for_method, for_batches = np.random.SeedSequence(recipe.seed).spawn(2)
    rng, stream = np.random.default_rng(for_method), BatchStream(np.random.default_rng(for_batches), target.num_data)
    state, board = method.init(rng, target, knobs), _Board(target)
    log_q, found = board.log_q(method.density(state, knobs, target)), []
    for _ in range(steps):
        if state.next_step < 1:
            raise InputError("Theorem 2 is about mirror steps; give a recipe without warm_start")
        size = method.batch_size(state, knobs, target.num_data)
        batch = target.data[stream.draw(size, method.batches(state, knobs))]
        state, info = method.step(rng, state, target, batch, knobs)
        after = board.log_q(method.density(state, knobs, target))
        found.append(board.terms(state.iteration, float(info.step_size), log_q, after, batch))
        log_q = after
        tell(state.iteration)
    return found


class _Board:
    """A grid over the box Omega that holds prior and posterior; densities are normalised on it, as in Lemma 18."""

    def __init__(self, target: Target) -> None:
        self.target = target
        pairs = zip(target.view_box, target.exact.box, strict=True)
        self.grid = Grid(tuple((min(a, c), max(b, d)) for (a, b), (c, d) in pairs), SIDES[target.dim])
        self.points = self.grid.points
        self.log_prior = target.log_prior(self.points)
        self.log_p = self._normalised(target.exact.log_density(self.points))
        self.p = np.exp(self.log_p)

    def _normalised(self, log_values: np.ndarray) -> np.ndarray:
        """Log masses of the cells, sum of masses 1."""
        below = log_values - log_values.max()
        return below - np.log(np.exp(below).sum())

    def log_q(self, density: Any) -> np.ndarray:
        """Log mass of q in each cell, (cells,)."""
        return self._normalised(np.maximum(density.log_density(self.points), FLOOR))

    def terms(self, t: int, gamma: float, before: np.ndarray, after: np.ndarray, batch: np.ndarray) -> Terms:
        """The terms of the step from `before` to `after`."""
        scaled = self.target.num_data / len(batch) * self.target.log_likelihood(self.points, batch)
        g = before - self.log_prior - scaled  # the stochastic gradient of Eq. 1
        g = g - 0.5 * (g.max() + g.min())  # a constant does nothing to a step: the one with the smallest ||g||
        exact = self._normalised(before - gamma * g)
        inexactness = float((np.exp(after) * (after - exact)).sum())
        kl, gradient = self._kl(before), float(np.abs(g).max())
        bound = theorem2(kl, gamma, gradient, inexactness)
        kept, noise = (1 - gamma) * kl, 0.5 * gamma**2 * gradient**2
        return Terms(t, gamma, kl, kept, gradient, noise, inexactness, bound, self._kl(after))

    def _kl(self, log_q: np.ndarray) -> float:
        return float((self.p * (self.log_p - log_q)).sum())


def averaged(runs: list[list[Terms]]) -> list[Terms]:
    """The mean over runs of every term, step by step: the theorem is about expectations.

    ||g_t|| is the root of the mean of its square, as in the theorem.
    """
    means = []
    for rows in zip(*runs, strict=True):
        table = np.array(rows, float)
        mean = dict(zip(Terms._fields, table.mean(axis=0).tolist(), strict=True))
        gradient = float(np.sqrt((table[:, Terms._fields.index("gradient")] ** 2).mean()))
        means.append(Terms(**{**mean, "t": rows[0].t, "gradient": gradient}))
    return means


def unrolled(rows: list[Terms]) -> np.ndarray:
    """What the recurrence alone says of KL(p || q_t) from the first KL on, t = 1 .. T + 1."""
    columns = [[getattr(row, name) for row in rows] for name in ("gamma", "gradient", "inexactness")]
    return theorem2_unrolled(rows[0].kl, *columns)
