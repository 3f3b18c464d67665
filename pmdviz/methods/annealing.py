"""Annealed importance sampling (Neal 2001): plain, Hamiltonian, stochastic, and without a gradient.

    log w <- log w + (β_t - β_{t-1}) log p(X | θ),   θ <- a move that leaves p(θ) p(X | θ)^β_t invariant

from draws from the prior, at β_0 = 0, to β_T = 1. The weight comes first, at the place before the move. `Ladder.step`
makes the weights; the methods differ in the move. HAIS (Sohl-Dickstein, Culpepper 2012) keeps a part of the momentum p,
here in units of the prior's sds s, that is with mass 1/s^2: p <- sqrt(1 - γ) p + sqrt(γ) N(0, I), then leapfrog steps
(`leapt`), accepted with probability min(1, exp(-ΔH)). A refused trajectory keeps its θ and turns p round, without which
the density of (θ, p) would not stay invariant.
"""

from __future__ import annotations

import math
from typing import ClassVar, NamedTuple

import numpy as np

from pmdviz.densities.density import Density, Points, effective_sample_size
from pmdviz.kernels.checks import Array, Rng
from pmdviz.knobs import Choice, Flag, Real, Whole
from pmdviz.methods import base, optimisers, weighting
from pmdviz.methods.base import BatchMethod, Stepped, checked_gradient, checked_log_likelihood, checked_log_prior
from pmdviz.methods.stein import leaders_width
from pmdviz.methods.stein.svgd import Surrogate, kernel_surrogate
from pmdviz.methods.step import BATCH_SIZE, BatchKnobs, Cost, Scalar, StepInfo, Work, total
from pmdviz.targets import Target
from pmdviz.targets.space import Discrete

CHANGES = 64  # single changes of a move on discrete states, at most
WANTED = {"gradient": 0.75, "reals": 0.35}  # share of proposals to be accepted; gradient: MALA and leapfrog alike


class Walkers(NamedTuple):
    """Points with the densities and gradients there."""

    points: Array  # (n, d)
    momenta: Array  # (n, d)
    log_prior: Array  # (n,)
    log_likelihood: Array  # (n,) scaled by N/B
    grad_prior: Array  # (n, d); (0, d) without gradient
    grad_likelihood: Array  # (n, d) scaled by N/B


class Rung(NamedTuple):
    """Where a move takes place."""

    target: Target
    batch: Array
    beta: float
    step: float  # prior sds
    pilots: int = 0  # walkers without weight: the last ones

    def log_density(self, walkers: Walkers) -> Array:
        """log prior + β log L, (n,)."""
        return walkers.log_prior + (self.beta * walkers.log_likelihood if self.beta else 0.0)

    def slope(self, walkers: Walkers) -> Array:
        """Gradient of that in prior sds, (n, d)."""
        return self.target.scale * (walkers.grad_prior + self.beta * walkers.grad_likelihood)


class Moved(NamedTuple):
    """Walkers after a move."""

    walkers: Walkers
    accepted: Array  # (n,) share of each walker's proposals
    cost: Cost


def asked(walkers: Walkers, target: Target, batch: Array, gradient: bool) -> tuple[Walkers, Cost]:
    """Likelihoods and gradients at the points, and their cost. Raises TargetError where no point has any likelihood."""
    scale, B, n = target.num_data / len(batch), len(batch), len(walkers.points)
    walkers = walkers._replace(log_likelihood=scale * checked_log_likelihood(target, walkers.points, batch))
    if not gradient:
        return walkers, Cost(B, B * n)
    joint, prior = checked_gradient(target, walkers.points, batch), target.grad_log_prior(walkers.points)
    likelihood = joint - prior  # the joint one has N/B in it
    return walkers._replace(grad_prior=prior, grad_likelihood=likelihood), Cost(2 * B, B * n, B * n)


def moved(rng: Rng, walkers: Walkers, at: Rung, leaps: int, kept: float) -> Moved:
    """By what the target offers: the leapfrog, a random walk, or single changes of discrete states."""
    if isinstance(at.target.space, Discrete):
        return changed(rng, walkers, at)
    return leapt(rng, walkers, at, leaps, kept) if "gradient" in at.target.offers else walked(rng, walkers, at)


def leapt(rng: Rng, walkers: Walkers, at: Rung, leaps: int, kept: float) -> Moved:
    """p <- kept p + sqrt(1 - kept^2) N(0, I); leapfrog; accepted with probability min(1, exp(-ΔH)), else p <- -p.

    H = -log prior - β log L + |p|²/2. `kept` = 0 is Hamiltonian Monte Carlo, and MALA with one leapfrog step; else the
    generalised one (Horowitz 1991), whose trajectories go on in the direction they had.
    """
    momenta = kept * walkers.momenta + np.sqrt(1 - kept**2) * rng.standard_normal(walkers.points.shape)
    log_u = np.log1p(-rng.random(len(momenta)))
    start = walkers._replace(momenta=momenta)
    end, alive, gradients = _trajectories(start, at, leaps)
    end, likelihoods = _valued(end, at, alive)
    kinetic = 0.5 * ((end.momenta**2).sum(1) - (momenta**2).sum(1))
    minus_delta_h = at.log_density(end) - finite(at.log_density(start)) - kinetic
    back = start._replace(momenta=-momenta)
    B = len(at.batch)
    calls = (likelihoods > 0) + sum(number > 0 for number in gradients)
    return _chosen(back, end, log_u < minus_delta_h, Cost(B * calls, B * likelihoods, B * sum(gradients)))


def _trajectories(start: Walkers, at: Rung, leaps: int) -> tuple[Walkers, Array, list[int]]:
    """Ends (with the gradients there), which of them did not diverge, and how many gradients each leap took.

    A trajectory that diverged ends where it started.
    """
    target, unit = at.target, at.target.scale
    now, alive, counts = start, np.ones(len(start.points), bool), []
    for _ in range(leaps):
        momenta = now.momenta + 0.5 * at.step * at.slope(now)
        points = now.points + at.step * unit * momenta
        alive = alive & (np.abs(points) <= base.REACH * unit).all(axis=1)
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


def walked(rng: Rng, walkers: Walkers, at: Rung) -> Moved:
    """θ' = θ + step · N(0, I) prior sds, accepted with probability min(1, p(θ') / p(θ))."""
    points = walkers.points + at.step * at.target.scale * rng.standard_normal(walkers.points.shape)
    return judged(np.log1p(-rng.random(len(points))), walkers, walkers._replace(points=points), at)


def changed(rng: Rng, walkers: Walkers, at: Rung) -> Moved:
    """d times, 64 at most: one coordinate of each state, at random, to another value, accepted or not likewise."""
    values, (n, d) = np.array(at.target.space.values), walkers.points.shape
    repeats, accepted, cost, rows = min(d, CHANGES), np.zeros(n), Cost(), np.arange(n)
    for _ in range(repeats):
        points, where = walkers.points.copy(), rng.integers(d, size=n)
        now = (points[rows, where][:, None] == values).argmax(axis=1)
        points[rows, where] = values[(now + rng.integers(1, len(values), size=n)) % len(values)]
        found = judged(np.log1p(-rng.random(n)), walkers, walkers._replace(points=points), at)
        walkers, accepted = found.walkers, accepted + found.accepted / repeats
        cost = total(cost, found.cost)
    return Moved(walkers, accepted, cost)


def judged(log_u: Array, walkers: Walkers, proposed: Walkers, at: Rung) -> Moved:
    """Proposals, accepted where log_u (n,) < log p(θ') - log p(θ)."""
    proposed, likelihoods = _valued(proposed, at, np.ones(len(log_u), bool))
    B = len(at.batch)
    cost = Cost(B if likelihoods else 0, B * likelihoods)
    return _chosen(walkers, proposed, log_u < at.log_density(proposed) - finite(at.log_density(walkers)), cost)


def _valued(end: Walkers, at: Rung, alive: Array) -> tuple[Walkers, int]:
    """The ends with their densities, -inf for those that are not alive; and how many likelihoods that took."""
    log_prior = np.where(alive, checked_log_prior(at.target, end.points), -np.inf)
    inside, scale = log_prior > -np.inf, at.target.num_data / len(at.batch)
    values = checked_log_likelihood(at.target, end.points, at.batch, inside, may_vanish=True)
    return end._replace(log_prior=log_prior, log_likelihood=scale * values), int(inside.sum())


def finite(values: Array) -> Array:
    """Log densities with -1e300 for -inf: from there any proposal of positive density is accepted, and no other one."""
    return np.maximum(values, -1e300)


def _chosen(old: Walkers, new: Walkers, accepted: Array, cost: Cost) -> Moved:
    """The new walkers where they are accepted, and else the old ones."""
    pairs, column = zip(old, new, strict=True), accepted[:, None]
    parts = (np.where(accepted if a.ndim == 1 else column, b, a) if len(a) else a for a, b in pairs)
    return Moved(Walkers(*parts), accepted.astype(np.float64), cost)


# The knobs of every method on a ladder of temperatures.

PILOTS = 32  # walkers without weight by which the step is tuned


LEAPFROG_STEPS = Whole(1, (1, 1000), (1, 30), "Leapfrog steps L", log=True, basic=True)
SANDWICH = Flag(False, "Sandwich")  # of methods whose ladder can be taken backwards


class LadderKnobs(weighting.SmoothingKnobs):
    """Knobs of every method on a ladder.

    num_particles: Number of points that go up the ladder, each with a weight.
    num_temperatures: Number of steps from the prior to the posterior: more of them leave the weights more even.
    power: β = (t/T)^p: a larger p makes the first steps away from the prior smaller.
    tuning: By pilots: 32 points without weight set the step, so the estimate of Z stays unbiased. The share of their
        proposals that is accepted sets the step of the next temperature. A step of all walkers is off by up to 20 %, at
        random. None: the given step at all of them.
    time_step: Length of one leapfrog step, or sd of a random walk's proposals; with pilots the first one.
    leapfrog_steps: Leapfrog steps of a proposal, where the target has a gradient; with one it is a Langevin proposal
        (MALA).
    sandwich: When β = 1 is reached, take independent draws from the posterior back down the ladder. Their weights bound
        log Z from above in the mean; the upward weights bound it from below. It needs a target with exact draws.
    """

    num_particles = weighting.NUM_PARTICLES.at(500)
    num_temperatures = Whole(
        200, (1, 100_000), (10, 2000), "Number of temperatures T", log=True, basic=True, acts="restart"
    )
    power = Real(3.0, (0.1, 20), (1, 6), "Temperature exponent p", acts="restart")
    tuning = Choice("pilots", {"pilots": "by pilots", "none": "none"}, "Tuning of the step", acts="restart")
    time_step = Real(0.5, (1e-9, 1000), (0.001, 2), "Time step ε", "prior sd", log=True)
    sandwich = False  # of methods without this knob
    leapfrog_steps: int  # of a proposal

    def rungs(self) -> Array:
        """β_0 = 0 < ... < β_T = 1, (T + 1,)."""
        return np.linspace(0, 1, self.num_temperatures + 1) ** self.power

    def work(self, num_data: int) -> Work:
        """The gradients of all proposals, and the likelihoods at both ends."""
        pairs = (self.num_particles + PILOTS) * self.rows(num_data)
        return Work(likelihoods=2 * pairs, gradients=(1 + self.leapfrog_steps) * pairs)


RATE = 0.5  # of the tuning: log step grows by so much times the acceptance rate minus its target
LONGEST = 2.0  # step, in prior sds
JITTER = 0.2  # of the step at each rung: trajectories of one length can be periodic


class LadderState(NamedTuple):
    """Weighted particles that approximate prior x likelihood^beta, and those that walk.

    On the way up the first m walkers are the particles, and the others pilots. On the way back, where there is one,
    the particles stay at β = 1 and the walkers are exact draws.
    """

    particles: Array  # (m, d)
    log_weights: Array  # (m,) logsumexp 0
    walkers: Walkers  # (n,) of them; the log likelihood is scaled to all data, and 0 before it is known
    rungs: Array  # (T + 1,) inverse temperatures β: those that the run began with
    time_step: float  # for the next rung, prior sds
    time_steps: Array  # (T + 1,) used at each rung so far
    log_zs: Array  # (T + 1,) estimates of log Z at each rung of the way up, nats
    back_log_weights: Array  # (n,) of the way back, logsumexp 0
    back_log_z: float = 0.0  # log of the mean weight of the way back: estimate of log Z of the rung - log Z
    rung: int = 0  # of the walkers, in 0 .. T
    beta: float = 0.0  # of that rung
    returning: int = 0  # 1 during the way back and after it
    iteration: int = 0


STEP_ACCEPTANCE = Scalar("step_acceptance", "proposals accepted in a step", "share of them")
BEFORE_ITS_MOVE = "The likelihood at the particle's place before its move, to the power by which β rises."


class Ladder(weighting.SmoothedMethod):
    """At rung t: log w += (β_t - β_{t-1}) log L(θ), then a move that leaves prior x L^β_t invariant.

    The mean of w is unbiased for Z whatever the moves are, as long as each leaves its rung's density invariant and
    depends on no particle that has a weight: the step is tuned by pilots, which have none. By Jensen's inequality
    E log Z-hat <= log Z. From exact draws from the posterior the same rungs in reverse give an unbiased 1/Z, and so an
    upper bound in the mean (Grosse, Ghahramani, Adams 2015).
    """

    scalars = (optimisers.TEMPERATURE, *weighting.SCALARS, optimisers.STEP_SIZE, STEP_ACCEPTANCE)
    estimates_log_z = True
    needs = (("sandwich", True, "exact", False),)
    takes_states: ClassVar[bool] = True  # whether its moves can change discrete states
    budget_words = "the whole ladder"
    update = weighting.tempered(BEFORE_ITS_MOVE)

    def missing_in(self, target: Target) -> str:
        """What `target` lacks: real coordinates, unless its states are discrete and the moves can change these."""
        return "" if self.takes_states and isinstance(target.space, Discrete) else super().missing_in(target)

    def move(self, rng: Rng, walkers: Walkers, at: Rung, knobs: LadderKnobs) -> Moved:
        """A move of every walker that leaves the rung's density invariant."""
        return moved(rng, walkers, at, knobs.leapfrog_steps, kept=0.0)

    def by_gradient(self, target: Target) -> bool:
        """Whether the moves take gradients: where the target has them."""
        return {"gradient", "reals"} <= target.offers

    def wanted(self, target: Target, knobs: LadderKnobs) -> float:
        """Share of proposals to be accepted, which tuning leads to."""
        if self.by_gradient(target):
            return WANTED["gradient"]
        return WANTED["reals"] if "reals" in target.offers else 1.0

    def default_budget(self, target: Target, knobs: LadderKnobs) -> int:
        """The whole ladder, and back where that is asked for; never less than other methods have."""
        rows = self.batch_size(None, knobs, target.num_data)
        ways = 2 if knobs.sandwich else 1
        rows *= ways * (knobs.num_temperatures * self.passes(target, knobs) + 2)
        walkers = 1.0 if target.data is not None else 1 + PILOTS / knobs.num_particles  # evaluations, of pilots too
        return max(base.usual_rows(target), math.ceil(walkers * rows))

    def passes(self, target: Target, knobs: LadderKnobs) -> int:
        """How often a move goes over its rows."""
        if self.by_gradient(target):
            return knobs.leapfrog_steps + 1
        return min(target.dim, CHANGES) if isinstance(target.space, Discrete) else 1

    def init(self, rng: Rng, target: Target, knobs: LadderKnobs) -> LadderState:
        """m draws from the prior, and the pilots: β = 0."""
        m, rungs = knobs.num_particles, knobs.rungs()
        points, log_prior = weighting.prior_draws(rng, target, m + (PILOTS if knobs.tuning == "pilots" else 0))
        n, d = points.shape
        momenta, nothing, zeros = rng.standard_normal((n, d)), np.empty((0, d)), np.zeros(len(rungs))
        walkers = Walkers(points, momenta, log_prior, np.zeros(n), nothing, nothing)
        arrays = zeros, zeros.copy(), np.empty(0)
        return LadderState(points[:m], weighting.equal(m), walkers, rungs, knobs.time_step, *arrays)

    def ended(self, state: LadderState, knobs: LadderKnobs, target: Target) -> str:
        """At β = 1, or after the way back."""
        if state.returning:
            return "back at β = 0" if state.rung == 0 or not knobs.sandwich else ""
        return "β = 1 reached" if state.rung == len(state.rungs) - 1 and not knobs.sandwich else ""

    def step(self, rng: Rng, state: LadderState, target: Target, batch: Array, knobs: LadderKnobs) -> Stepped:
        """One rung: the weights, then a move of every walker."""
        if not state.returning and state.rung == len(state.rungs) - 1:
            state = turned(rng, state, target, knobs)
        way = -1 if state.returning else 1
        beta, ess = float(state.rungs[state.rung + way]), effective_sample_size(state.log_weights)
        walkers, cost_here = self.known_at(state, target, batch)
        gained = self.gained(state, beta, walkers.log_likelihood)  # at their places before the move
        before, tuned = state, state.time_step
        if state.returning:  # the way back repeats the steps of the way up
            tuned = state.time_steps[state.rung + way]
        pilots = len(walkers.points) - len(state.log_weights)
        at = Rung(target, batch, beta, tuned * (1 + JITTER * (2 * rng.random() - 1)), pilots)
        after, accepted, cost = self.move(rng, walkers, at, knobs)
        state = reweighted(state, gained, beta, way, batch)
        state = settled(state, after, accepted, self.wanted(target, knobs), knobs)
        parts = {"previous": before.log_weights, "likelihood": gained[: len(state.log_weights)]}
        terms = {} if way < 0 else weighting.terms(state.log_weights, **parts)
        scalars = weighting.scalars(ess, state.log_weights) | {"temperature": beta, "step_acceptance": accepted.mean()}
        scalars |= {"step_size": at.step} if "reals" in target.offers else {}
        numbers = self.numbers(before, state, target, batch) if terms else {}
        words = _words(state, accepted)
        return state, StepInfo(total(cost_here, cost), words, scalars=scalars, terms=terms, numbers=numbers)

    def numbers(self, before: LadderState, after: LadderState, target: Target, batch: Array) -> dict[str, float]:
        """The symbols in what a step to the next rung adds to the log-weights."""
        return {"Δβ": after.beta - before.beta}

    def known_at(self, state: LadderState, target: Target, batch: Array) -> tuple[Walkers, Cost]:
        """The walkers with what the step needs: asked for in the first step, carried along later."""
        # `leapt` carries values and gradients along, in all but the first step of each way.
        known = state.iteration > 0 and (not state.returning or state.rung < len(state.log_zs) - 1)
        return (state.walkers, Cost()) if known else asked(state.walkers, target, batch, self.by_gradient(target))

    def gained(self, state: LadderState, beta: float, log_likelihood: Array) -> Array:
        """The gain of each walker's log-weight at the rung of `beta`: (β' - β) log L, (n,)."""
        return (beta - state.beta) * log_likelihood

    def log_z(self, state: LadderState, knobs: LadderKnobs, target: Target) -> float | None:
        """Of the highest rung reached; exp of it is unbiased."""
        highest = len(state.log_zs) - 1 if state.returning else state.rung
        return float(state.log_zs[highest]) if highest else None

    def log_z_above(self, state: LadderState, knobs: LadderKnobs, target: Target) -> float | None:
        """log Z at the walkers' rung by the way up, and from there on by the way back; at the end by the latter alone.

        Then it is an upper bound in the mean; None during the way up.
        """
        return float(state.log_zs[state.rung] - state.back_log_z) if state.returning else None

    def density(self, state: LadderState, knobs: LadderKnobs, target: Target) -> Density | Points:
        """A weighted KDE; of discrete states the weighted points."""
        if "reals" in target.offers:
            return super().density(state, knobs, target)
        return Points(state.particles, state.log_weights)

    def unfinished(self, state: LadderState, knobs: LadderKnobs) -> str:
        """That β is below 1."""
        return optimisers.on_the_way(state.beta) if state.beta < 1 and not state.returning else ""

    def caveat(self, state: LadderState, knobs: LadderKnobs) -> str:
        """That it has not finished, or that too few particles carry it."""
        return self.unfinished(state, knobs) or super().caveat(state, knobs)


def turned(rng: Rng, state: LadderState, target: Target, knobs: LadderKnobs) -> LadderState:
    """The way back begins: as many exact draws as there are particles, at β = 1."""
    points = target.exact.sample(rng, len(state.particles))
    n, d = points.shape
    fresh = Walkers(points, rng.standard_normal((n, d)), target.log_prior(points), np.zeros(n), *[np.empty((0, d))] * 2)
    return state._replace(walkers=fresh, returning=1, back_log_weights=weighting.equal(n))


def reweighted(state: LadderState, gained: Array, beta: float, way: int, batch: Array) -> LadderState:
    """The state a rung further, its weights normalised, and the log of their mean kept."""
    rung = state.rung + way
    state = state._replace(rung=rung, beta=beta, iteration=state.iteration + 1)
    if way < 0:
        raised = state.back_log_weights + gained
        log_z = state.back_log_z + float(np.logaddexp.reduce(raised))
        back = weighting.normalised(raised, state.walkers.points, batch)
        return state._replace(back_log_weights=back, back_log_z=log_z)
    raised = state.log_weights + gained[: len(state.log_weights)]
    log_zs = state.log_zs.copy()
    log_zs[rung] = log_zs[rung - 1] + float(np.logaddexp.reduce(raised))  # the log of their mean growth
    return state._replace(log_weights=weighting.normalised(raised, state.particles, batch), log_zs=log_zs)


def settled(state: LadderState, walkers: Walkers, accepted: Array, wanted: float, knobs: LadderKnobs) -> LadderState:
    """The state with its walkers moved, and the next rung's step by what the pilots accepted."""
    state = state._replace(walkers=walkers)
    if not state.returning:
        m, time_steps, step = len(state.log_weights), state.time_steps.copy(), state.time_step
        time_steps[state.rung] = step
        if knobs.tuning == "pilots" and len(accepted) > m:  # a run that began without pilots has none
            step = float(min(LONGEST, step * np.exp(RATE * (accepted[m:].mean() - wanted))))
        state = state._replace(particles=walkers.points[:m].copy(), time_steps=time_steps, time_step=step)
    return state


def _words(state: LadderState, accepted: Array) -> str:
    back = "independent draws back to " if state.returning else ""
    parts = [f"{back}β = {state.beta:.3g} (stage {state.rung:,} of {len(state.rungs) - 1:,})"]
    parts += [f"moves, {accepted.mean():.0%} accepted", weighting.words(state.log_weights)]
    if state.returning:
        above = state.log_zs[state.rung] - state.back_log_z
        parts += [f"log Z from {state.log_zs[-1]:.4g} below to {above:.4g} above"]
    return " · ".join(parts)


class AISKnobs(LadderKnobs):
    """The knobs of `ais`."""

    leapfrog_steps = LEAPFROG_STEPS.at(1)
    sandwich = SANDWICH.at(False)


class AIS(Ladder):
    """Annealed importance sampling.

    short_title: AIS
    about: Annealed importance sampling leads draws from a simple density to the posterior: it raises the
        inverse temperature β in small steps, and multiplies each weight by the likelihood to the power of the rise.
    formula: log w ← log w + (β_t - β_{t-1}) log p(X | θ);  then θ ~ move that leaves p(θ) p(X | θ)^{β_t} invariant
    what_moves: Particles follow the likelihood, whose power β rises, by Metropolis moves; each collects a weight.
    source: Neal 2001; the way back: Grosse, Ghahramani, Adams 2015; the step tuned by pilots: ours
    propagate: prior
    reweight: temperature
    move: MALA (HMC with more leapfrog steps; Metropolis without a gradient)
    adapt: step size (by pilots)

    The move is MALA, or HMC with L > 1. Without a gradient it is a random walk, and on discrete
    states single changes, d of them or 64.
    """

    name = "ais"
    bounds_log_z = True


# Hamiltonian annealed importance sampling (Sohl-Dickstein, Culpepper 2012): momenta that outlive a temperature.


class HAISKnobs(LadderKnobs):
    """The knobs of `hais`.

    refreshment: How much of the momentum's variance comes from a fresh draw at each temperature. At 0.5 the old
        momentum counts √0.5 = 0.71 times. At 1 all of it: that is AIS with the same leapfrog steps.
    """

    leapfrog_steps = LEAPFROG_STEPS.at(10)
    refreshment = Real(0.5, "(0, 1]", (0.01, 1), "Refreshment γ", "share of the momentum's variance", basic=True)
    sandwich = SANDWICH.at(False)


class HAIS(Ladder):
    """Hamiltonian annealed importance sampling.

    short_title: HAIS
    about: Hamiltonian annealed importance sampling leads draws of a simple density to the posterior by trajectories
        that keep some of their momentum from one temperature to the next.
    formula: log w ← log w + (β_t - β_{t-1}) log p(X | θ);  then p ← √{1-γ} p + √γ ξ;  θ, p by L leapfrog steps under
        p(θ) p(X | θ)^{β_t}, accepted with probability min(1, exp(-ΔH)), else p ← -p
    what_moves: Particles glide along trajectories while the power β of the likelihood rises; each collects a weight.
    source: Sohl-Dickstein, Culpepper 2012; partial refreshment: Horowitz 1991; the step tuned by pilots: ours
    propagate: prior
    reweight: temperature
    move: HMC (half of the momentum's variance is kept from one temperature to the next)
    adapt: step size (by pilots)

    The ladder is prior x L^β x N(p | 0, I), where the momenta's part has the same normaliser at every rung
    and cancels in the weights, so momenta stay N(0, I) at every rung. A refused trajectory turns its momentum round,
    without which the leapfrog and its acceptance would not leave the density of (θ, p) invariant.
    """

    name = "hais"
    requires = frozenset({"reals", "gradient"})
    takes_states = False
    bounds_log_z = True

    def move(self, rng: Rng, walkers: Walkers, at: Rung, knobs: HAISKnobs) -> Moved:
        """The leapfrog from a momentum that is partly new."""
        return leapt(rng, walkers, at, knobs.leapfrog_steps, kept=float(np.sqrt(1 - knobs.refreshment)))


# Annealed importance sampling with a minibatch at each temperature: it is cheap, and its log Z is wrong.


class StochasticAISKnobs(BatchKnobs, LadderKnobs):
    """The knobs of `stochastic_ais`."""

    batch_size = BATCH_SIZE.at(100)
    leapfrog_steps = LEAPFROG_STEPS.at(1)


TWO_BATCHES = "+ N/B [β′ Σ_{batch′} log p(x | θ) − β Σ_{batch} log p(x | θ)]"


class StochasticAIS(BatchMethod, Ladder):
    """Stochastic annealed importance sampling.

    short_title: Stochastic AIS
    about: Stochastic annealed importance sampling replaces the likelihood by a batch's at each temperature, which
        spoils the weights and log Z.
    formula: log w ← log w + (N/B) [β_t log p(batch_t | θ) - β_{t-1} log p(batch_{t-1} | θ)]
    what_moves: Particles chase the posterior of one batch after another, and most of the weight goes to a few of them.
    source: Han 2019, section on stochastic annealed importance sampling; that it is biased: ours
    propagate: prior
    reweight: temperature (one batch comes in, the one before it goes out)
    move: MALA (HMC with more leapfrog steps; Metropolis without a gradient)
    adapt: step size (by pilots)

    likelihood: The new batch comes in and the one before it goes out, which leaves the noise of both.

    In place of the likelihood stands L_t = exp of (N/B) sum over batch t of log p(x | θ).

    The move at rung t and the denominator of the next weight share batch t; then w is exact for a ladder that ends at
    prior x L_T, the posterior of ONE batch counted N/B times, and not at the posterior. So the mean of Z-hat is the
    mean of Z_T, which by Jensen's inequality is above Z, but it is so by rare batches and particles. What a run sees
    lies far below: walkers that follow batch t-1 fit batch t less well. On N data around θ in d dimensions that costs
    β_t d (N/B - 1) nats at each rung where the moves forget their start, so MORE temperatures make it worse
    (T/(p + 1) times d (N/B - 1) in all; ours). With B = N and shuffled passes it is `ais`.
    """

    name = "stochastic_ais"
    update = weighting.following("likelihoods of two batches", TWO_BATCHES)

    def missing_in(self, target: Target) -> str:
        """What `target` lacks: data, too, for the batches."""
        return super().missing_in(target) or ("data to take batches of" if target.data is None else "")

    def passes(self, target: Target, knobs: LadderKnobs) -> int:
        """In addition to the move's, the evaluations of the new batch where the walkers stand."""
        return super().passes(target, knobs) + (2 if self.by_gradient(target) else 1)

    def known_at(self, state: LadderState, target: Target, batch: Array) -> tuple[Walkers, Cost]:
        """Of this batch, in every step."""
        walkers, _ = super().known_at(state._replace(iteration=1), target, batch)
        return asked(walkers, target, batch, self.by_gradient(target))

    def numbers(self, before: LadderState, after: LadderState, target: Target, batch: Array) -> dict[str, float]:
        """Both values of β, and N/B."""
        return {"N/B": target.num_data / len(batch), "β′": after.beta, "β": before.beta}

    def gained(self, state: LadderState, beta: float, log_likelihood: Array) -> Array:
        """β' log L' - β log L, (n,), where L is of the batch before."""
        if state.beta == 0:
            return beta * log_likelihood
        with np.errstate(invalid="ignore"):
            found = beta * log_likelihood - state.beta * state.walkers.log_likelihood
        return np.where(np.isnan(found), -np.inf, found)


# Annealed importance sampling without a gradient: Langevin proposals by a surrogate's, or random walks.

BY_PILOTS, AS_PRINTED, WALK = "pilots", "printed", "walk"
PROPOSALS = {
    BY_PILOTS: "Langevin, surrogate by pilots",
    AS_PRINTED: "Langevin, surrogate by all (as printed)",
    WALK: "random walk",
}


class GFAISKnobs(LadderKnobs):
    """The knobs of `gf_ais`.

    proposals: Langevin: along the gradient of Σ p(x′) exp(-|x-x′|²/h), a sum over pilots or over all walkers x′, with p
        at the temperature. As printed, each walker is a centre of its own proposal: the move does not leave p
        invariant, and log Z is wrong in high dimensions. Without pilots (no tuning, or during the way back): a random
        walk.
    """

    proposals = Choice(BY_PILOTS, PROPOSALS, "Kind of proposal", basic=True)
    leapfrog_steps = 0
    sandwich = SANDWICH.at(False)

    def work(self, num_data: int) -> Work:
        """The likelihoods of all proposals, and in the first step of where they start from; kernels of surrogates."""
        walkers = self.num_particles + PILOTS
        centres = {BY_PILOTS: PILOTS, AS_PRINTED: walkers, WALK: 0}[self.proposals]
        return Work(likelihoods=2 * walkers * self.rows(num_data), kernels=2 * centres * walkers)


class GFAIS(Ladder):
    """Gradient-free annealed importance sampling.

    short_title: GF-AIS
    about: Gradient-free annealed importance sampling leads draws from a simple density to the posterior by
        Langevin proposals along a surrogate's gradient, which need densities alone, and gives each a weight.
    formula: log w ← log w + (β_t - β_{t-1}) log p(X | θ);  then θ' = θ + (ε²/2) S² ∇ log ρ(θ) + ε S ξ, accepted so that
        p_β is invariant
    what_moves: Particles drift uphill on a sum of kernels while the likelihood's power β rises; each collects a weight.
    source: Han 2019 (thesis), Figure 11 and (0.88); Neal 2001; pilots as centres and for the step: ours
    propagate: prior
    reweight: temperature
    move: MALA (by the gradient of kernels at pilots, weighted by their density)
    adapt: step size + surrogate (by pilots, which have no weight)

    As annealed importance sampling, with MALA by the gradient of a surrogate at each temperature.

    θ' = θ + (ε²/2) S ∇ log ρ(θ) + ε N(0, S), S the prior's variances, accepted by the ratio of p_β = prior x L^β with
    the proposals' densities. ρ(x) = sum_j p_β(x_j) exp(-|x - x_j|²/h), in prior sds, h = med²/(2 log(n + 1)), as in
    annealed GF-SVGD (0.88). The centres x_j are the pilots; each half of them has the other half. So ρ depends on no
    particle that has a weight, p_β is invariant, and the mean weight is unbiased for Z.

    The thesis takes all chains as centres. Then ρ at θ' has a kernel at the θ that was left: the move does not leave
    p_β invariant, and the more so the fewer other centres are near.
    """

    name = "gf_ais"
    takes_states = False
    kernel_groups = ("responsibilities", "svgd")
    bounds_log_z = True

    def by_gradient(self, target: Target) -> bool:
        """Never."""
        return False

    def wanted(self, target: Target, knobs: GFAISKnobs) -> float:
        """Of Langevin proposals 0.57 (Roberts, Rosenthal 1998)."""
        return super().wanted(target, knobs) if knobs.proposals == WALK else 0.57

    def move(self, rng: Rng, walkers: Walkers, at: Rung, knobs: GFAISKnobs) -> Moved:
        """One proposal for each walker."""
        n = len(walkers.points)
        every, middle = slice(0, n), n - at.pilots // 2
        if knobs.proposals == AS_PRINTED:
            return langevin(rng, walkers, at, [(every, every)])
        if knobs.proposals == WALK or at.pilots < 2:
            return walked(rng, walkers, at)
        weighed, first, second = slice(0, n - at.pilots), slice(n - at.pilots, middle), slice(middle, n)
        return langevin(rng, walkers, at, [(weighed, slice(n - at.pilots, n)), (first, second), (second, first)])


def langevin(rng: Rng, walkers: Walkers, at: Rung, groups: list[tuple[slice, slice]]) -> Moved:
    """MALA by surrogates: a leapfrog step along grad log rho, accepted by p_β. `groups`: walkers, and their centres."""
    n, unit, log_p = len(walkers.points), at.target.scale, finite(at.log_density(walkers))
    rhos = [(mine, surrogate(walkers.points[centres] / unit, log_p[centres])) for mine, centres in groups]

    def slope(points: Array) -> Array:
        found = np.empty_like(points)
        for mine, rho in rhos:
            found[mine] = rho.score(points[mine] / unit)
        return found

    start = rng.standard_normal(walkers.points.shape)
    log_u = np.log1p(-rng.random(n))
    half = start + 0.5 * at.step * slope(walkers.points)
    points = walkers.points + at.step * unit * half
    end = half + 0.5 * at.step * slope(points)
    gain = 0.5 * ((start**2).sum(axis=1) - (end**2).sum(axis=1))
    return judged(log_u - gain, walkers, walkers._replace(points=points), at)


def surrogate(centres: Array, log_p: Array) -> Surrogate:
    """sum_j p(x_j) exp(-|x - x_j|²/h) of centres (n, d) in prior sds with h = med²/(2 log(n + 1))  (0.88)."""
    return kernel_surrogate(np.ascontiguousarray(centres), log_p - log_p.max(), leaders_width(centres, 1.0))
