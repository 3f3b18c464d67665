"""Moves of many walkers at once that leave prior x likelihood^β as it is: by the leapfrog, a random walk, or flips."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from pmdviz.methods.base import checked_gradient, checked_log_likelihood, checked_log_prior
from pmdviz.methods.step import Cost
from pmdviz.targets import Target
from pmdviz.targets.space import Discrete

REACH = 1e6  # prior sds: a trajectory beyond that has diverged
CHANGES = 64  # single changes of a move on discrete states, at most
WANTED = {"gradient": 0.75, "reals": 0.35}  # share of proposals to be accepted


class Walkers(NamedTuple):
    """Points, and what is known at them."""

    points: np.ndarray  # (n, d)
    momenta: np.ndarray  # (n, d)
    log_prior: np.ndarray  # (n,)
    log_likelihood: np.ndarray  # (n,) scaled by N/B
    grad_prior: np.ndarray  # (n, d); (0, d) without gradient
    grad_likelihood: np.ndarray  # (n, d)


class Rung(NamedTuple):
    """Where a move takes place."""

    target: Target
    batch: np.ndarray
    beta: float
    step: float  # prior sds
    pilots: int = 0  # walkers without weight: the last ones

    def log_density(self, walkers: Walkers) -> np.ndarray:
        """log prior + β log L, (n,)."""
        return walkers.log_prior + (self.beta * walkers.log_likelihood if self.beta else 0.0)

    def slope(self, walkers: Walkers) -> np.ndarray:
        """Gradient of that in prior sds, (n, d)."""
        return self.target.scale * (walkers.grad_prior + self.beta * walkers.grad_likelihood)


class Moved(NamedTuple):
    """What came of it."""

    walkers: Walkers
    accepted: np.ndarray  # (n,) share of each walker's proposals
    cost: Cost


def has_gradient(target: Target) -> bool:
    """Whether the leapfrog can be used."""
    return {"gradient", "reals"} <= target.offers


def wanted(target: Target, gradient: bool) -> float:
    """Share of proposals to be accepted, which tuning leads to; `gradient`: whether moves ask for them."""
    if gradient:
        return WANTED["gradient"]
    return WANTED["reals"] if "reals" in target.offers else 1.0


def passes(target: Target, leaps: int, gradient: bool) -> int:
    """How often a move asks for its rows."""
    if gradient:
        return leaps + 1
    return min(target.dim, CHANGES) if isinstance(target.space, Discrete) else 1


def asked(walkers: Walkers, target: Target, batch: np.ndarray, gradient: bool) -> tuple[Walkers, Cost]:
    """What is to be known at the points, and its cost. Raises TargetError where no point has any likelihood."""
    scale, B, n = target.num_data / len(batch), len(batch), len(walkers.points)
    walkers = walkers._replace(log_likelihood=scale * checked_log_likelihood(target, walkers.points, batch))
    if not gradient:
        return walkers, Cost(B, B * n)
    joint, prior = checked_gradient(target, walkers.points, batch), target.grad_log_prior(walkers.points)
    return walkers._replace(grad_prior=prior, grad_likelihood=joint - prior), Cost(2 * B, B * n, B * n)


def moved(rng: np.random.Generator, walkers: Walkers, at: Rung, leaps: int, kept: float) -> Moved:
    """By what the target offers: the leapfrog, a random walk, or single changes of discrete states."""
    if isinstance(at.target.space, Discrete):
        return changed(rng, walkers, at)
    return leapt(rng, walkers, at, leaps, kept) if "gradient" in at.target.offers else walked(rng, walkers, at)


def leapt(rng: np.random.Generator, walkers: Walkers, at: Rung, leaps: int, kept: float) -> Moved:
    """p <- kept p + sqrt(1 - kept^2) N(0, I); leapfrog; accepted with probability min(1, exp(-ΔH)), else p <- -p.

    H = -log prior - β log L + |p|²/2. `kept` = 0 is Hamiltonian Monte Carlo, and MALA with one leapfrog step; else the
    generalised one (Horowitz 1991), whose trajectories go on in the direction they had.
    """
    momenta = kept * walkers.momenta + np.sqrt(1 - kept**2) * rng.standard_normal(walkers.points.shape)
    log_u = np.log1p(-rng.random(len(momenta)))
    start = walkers._replace(momenta=momenta)
    end, alive, gradients = _trajectories(start, at, leaps)
    end, likelihoods = _valued(end, at, alive)
    gained = at.log_density(end) - finite(at.log_density(start)) + 0.5 * ((momenta**2).sum(1) - (end.momenta**2).sum(1))
    back = start._replace(momenta=-momenta)
    B = len(at.batch)
    calls = (likelihoods > 0) + sum(number > 0 for number in gradients)
    return _chosen(back, end, log_u < gained, Cost(B * calls, B * likelihoods, B * sum(gradients)))


def _trajectories(start: Walkers, at: Rung, leaps: int) -> tuple[Walkers, np.ndarray, list[int]]:
    """Ends (with the gradients there), which of them did not diverge, and how many gradients each leap asked for.

    A diverged one stands where it started.
    """
    target, unit = at.target, at.target.scale
    now, alive, counts = start, np.ones(len(start.points), bool), []
    for _ in range(leaps):
        momenta = now.momenta + 0.5 * at.step * at.slope(now)
        points = now.points + at.step * unit * momenta
        alive = alive & (np.abs(points) <= REACH * unit).all(axis=1)
        points[~alive] = start.points[~alive]
        prior = target.grad_log_prior(points)
        likelihood = np.zeros_like(points)
        if alive.any():
            likelihood[alive] = target.grad_log_joint(points[alive], at.batch) - prior[alive]
        counts.append(int(alive.sum()))
        alive = alive & np.isfinite(prior).all(axis=1) & np.isfinite(likelihood).all(axis=1)
        for array, known in ((points, start.points), (prior, start.grad_prior), (likelihood, start.grad_likelihood)):
            array[~alive] = known[~alive]
        now = now._replace(points=points, grad_prior=prior, grad_likelihood=likelihood)
        momenta = momenta + 0.5 * at.step * at.slope(now)
        momenta[~alive] = start.momenta[~alive]
        now = now._replace(momenta=momenta)
    return now, alive, counts


def walked(rng: np.random.Generator, walkers: Walkers, at: Rung) -> Moved:
    """θ' = θ + step · N(0, I) prior sds, accepted with probability min(1, p(θ') / p(θ))."""
    points = walkers.points + at.step * at.target.scale * rng.standard_normal(walkers.points.shape)
    return judged(np.log1p(-rng.random(len(points))), walkers, walkers._replace(points=points), at)


def changed(rng: np.random.Generator, walkers: Walkers, at: Rung) -> Moved:
    """d times, 64 at most: one coordinate of each state, at random, to another value, accepted or not likewise."""
    values, (n, d) = np.array(at.target.space.values), walkers.points.shape
    repeats, accepted, cost, rows = min(d, CHANGES), np.zeros(n), Cost(), np.arange(n)
    for _ in range(repeats):
        points, where = walkers.points.copy(), rng.integers(d, size=n)
        now = (points[rows, where][:, None] == values).argmax(axis=1)
        points[rows, where] = values[(now + rng.integers(1, len(values), size=n)) % len(values)]
        found = judged(np.log1p(-rng.random(n)), walkers, walkers._replace(points=points), at)
        walkers, accepted = found.walkers, accepted + found.accepted / repeats
        cost = Cost(*(a + b for a, b in zip(cost, found.cost, strict=True)))
    return Moved(walkers, accepted, cost)


def judged(log_u: np.ndarray, walkers: Walkers, proposed: Walkers, at: Rung) -> Moved:
    """Proposals, accepted where log_u (n,) < log p(θ') - log p(θ)."""
    proposed, likelihoods = _valued(proposed, at, np.ones(len(log_u), bool))
    B = len(at.batch)
    cost = Cost(B if likelihoods else 0, B * likelihoods)
    return _chosen(walkers, proposed, log_u < at.log_density(proposed) - finite(at.log_density(walkers)), cost)


def _valued(end: Walkers, at: Rung, alive: np.ndarray) -> tuple[Walkers, int]:
    """The ends with their densities, -inf for those that are not alive; and how many likelihoods were asked for."""
    log_prior = np.where(alive, checked_log_prior(at.target, end.points), -np.inf)
    inside, scale = log_prior > -np.inf, at.target.num_data / len(at.batch)
    values = checked_log_likelihood(at.target, end.points, at.batch, inside, may_vanish=True)
    return end._replace(log_prior=log_prior, log_likelihood=scale * values), int(inside.sum())


def finite(values: np.ndarray) -> np.ndarray:
    """Densities of 0 as very small ones: anything may be accepted from there, but nothing that has none either."""
    return np.maximum(values, -1e300)


def _chosen(old: Walkers, new: Walkers, accepted: np.ndarray, cost: Cost) -> Moved:
    """Row by row."""
    parts = (
        np.where(accepted if a.ndim == 1 else accepted[:, None], b, a) if len(a) else a
        for a, b in zip(old, new, strict=True)
    )
    return Moved(Walkers(*parts), accepted.astype(np.float64), cost)
