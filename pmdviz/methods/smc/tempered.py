"""Tempered sequential Monte Carlo: from prior to posterior by powers of the likelihood, with Metropolis moves."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from pmdviz.densities.bandwidth import local_scale, neighbourhood_covariance
from pmdviz.densities.density import effective_sample_size, weighted_sum
from pmdviz.kernels.checks import Array, Rng
from pmdviz.kernels.factors import cholesky
from pmdviz.kernels.resampling import systematic
from pmdviz.knobs import Choice, Real, Whole
from pmdviz.methods.base import checked_log_likelihood, checked_log_prior, read_only, usual_rows
from pmdviz.methods.particles import (
    ESS_THRESHOLD,
    KERNELS,
    NUM_PARTICLES,
    SmoothedMethod,
    SmoothingKnobs,
    covariance,
    covariance_floor,
    equal_log_weights,
    ess_below,
    ess_words,
    normalised,
    prior_draws,
    tempered_update,
    weight_scalars,
    weight_terms,
)
from pmdviz.methods.step import TEMPERATURE, WEIGHTED, Cost, StepInfo, Work, events, on_the_way
from pmdviz.targets import Target

RELATED = 0.1  # correlation of the particles with where their moves began: below it they are close to independent
FAMILIES = 10  # draws of the prior that particles must descend from, unless their moves have made them independent
MOVES_AT_ONE, MOST_AT_ONE = 30, 400  # times d: moves at temperature 1 in the default budget; and at most
HALVINGS = 60  # of the interval that holds the next temperature: to the last bit


class TemperingKnobs(SmoothingKnobs):
    """The knobs of `smc_mcmc`.

    num_particles: Number of points that carry the approximation.
    ladder: Each temperature is an exponent β of the likelihood. Adaptive: as large as the ESS allows. Fixed in advance:
        β = (k/K)^p.
    ess_threshold: With adaptive temperatures the next β leaves an ESS of τ m; with fixed ones, it triggers resampling.
    num_temperatures: Number of steps from prior to posterior.
    power: β = (k/K)^p: a larger p makes the first steps away from the prior smaller.
    num_moves: Metropolis moves of every particle at each temperature, at least; each uses all N data points. At
        temperature 1 there are more, until the particles are almost independent of where they arrived.
    move_shape: Whether proposals have the covariance of all particles together, or of each mode.
    move_scale: Length of the proposed moves, relative to the optimum for a Gaussian.
    """

    num_particles = NUM_PARTICLES.at(1500, acts="resampling")
    ladder = Choice("adaptive", {"adaptive": "adaptive", "fixed": "fixed in advance"}, "Temperatures")
    ess_threshold = ESS_THRESHOLD.at(0.5, basic=True)
    num_temperatures = Whole(10, (1, 1000), (1, 50), "Number of temperatures K", only_if=("ladder", "fixed"))
    power = Real(3.0, (0.1, 20), (1, 6), "Temperature exponent p", only_if=("ladder", "fixed"))
    num_moves = Whole(3, (1, 1000), (1, 20), "Moves per temperature", basic=True)
    move_shape = Choice("local", {rule: KERNELS[rule] for rule in ("covariance", "local")}, "Move shape")
    move_scale = Real(0.6, "(0, 1000]", (0.1, 3), "Move length", "× 2.38/√d", log=True, basic=True)

    def work(self, num_data: int) -> Work:
        """m likelihoods of all data: a step is one of the moves."""
        return Work(likelihoods=self.num_particles * num_data)


class TemperingState(NamedTuple):
    """Weighted particles that stand for prior x likelihood^beta."""

    particles: Array  # (m, d)
    log_weights: Array  # (m,) logsumexp 0
    log_prior: Array  # (m,)
    log_likelihood: Array  # (m,) of all data; 0 before it is known, -inf outside the prior's support
    ancestors: Array  # (m,) which of the first draws each descends from
    beta: float  # exponent of the likelihood, in [0, 1]
    num_temperatures: int  # temperatures so far
    moves: int  # at the present one
    iteration: int
    starts: Array  # (m, d) where the moves at the present temperature began
    enough: int  # moves at temperature 1 after which the particles are almost independent of `starts`; 0: not known
    log_z: float  # estimate of log of the mean of L^beta under the prior, nats


class Tempering(SmoothedMethod):
    """Tempered sequential Monte Carlo.

    short_title: Tempered SMC
    about: Tempered sequential Monte Carlo leads particles from the prior to the posterior by raising the power of the
        likelihood step by step.
    formula: p_β(θ) ∝ p(θ) p(X | θ)^β,  β from 0 to 1
    what_moves: Particles are resampled and take Metropolis steps while the likelihood's power grows from 0 to 1.
    source: Del Moral, Doucet, Jasra 2006, section 3.2; adaptive temperatures: Jasra et al. 2011
    propagate: prior
    reweight: temperature
    resample: copies (after every rise of the temperature)
    move: Metropolis
    adapt: temperatures + proposal (the next temperature leaves an ESS of τ m)

    w ∝ L^(β' - β), resampling, and random-walk Metropolis moves that leave prior x L^β' as it is.

    A step visits all data once: the first one gives the prior draws their likelihood, every other one moves each
    particle once. When the moves at a temperature are done the weights go on to the next; the particles are resampled
    at the start of the step after that. At beta = 1 the moves go on until, in every coordinate, the correlation of the
    particles with where they arrived is below 0.1, and then as many again: the square of that is left, 0.01. Moves
    adapted by the correlation: Drovandi and Pettitt 2011; Buchholz, Chopin, Jacob 2021, section 3.3.
    """

    name = "smc_mcmc"
    scalars = (TEMPERATURE, *WEIGHTED)
    marks = ("rejuvenated",)
    estimates_log_z = True
    budget_words = "the way to temperature 1 and 30 d moves there, 400 at most"
    update = tempered_update("As much of the likelihood as the temperature β rises by.")

    def default_budget(self, target: Target, knobs: TemperingKnobs) -> int:
        """The way to temperature 1 and 30 d moves there, 400 at most; never less than other methods have.

        That an adaptive ladder has 1 + d log2(N) / 4 temperatures is a rule of thumb, for d = 1 as for 2: the
        posterior's volume falls as N^(-d/2), and a temperature gains a factor of about 4.
        """
        rungs = 1 + math.ceil(max(target.dim, 2) * math.log2(target.num_data) / 4)
        if knobs.ladder == "fixed":
            rungs = knobs.num_temperatures
        at_one = min(MOVES_AT_ONE * target.dim, MOST_AT_ONE)
        return max(usual_rows(target), (1 + rungs * knobs.num_moves + at_one) * target.num_data)

    def init(self, rng: Rng, target: Target, knobs: TemperingKnobs) -> TemperingState:
        """m draws from the prior: beta = 0."""
        m = knobs.num_particles
        particles, log_prior = prior_draws(rng, target, m)
        return TemperingState(
            *read_only(particles, equal_log_weights(m), log_prior, np.zeros(m), np.arange(m)),
            *(0.0, 0, 0, 0, particles, 0, 0.0),
        )

    def ended(self, state: TemperingState, knobs: TemperingKnobs, target: Target) -> str:
        """At the posterior itself, after enough moves."""
        done = state.enough and state.moves >= max(state.enough, knobs.num_moves)
        return "temperature 1 reached" if done else ""

    def unfinished(self, state: TemperingState, knobs: TemperingKnobs) -> str:
        """That the temperature is below 1."""
        return on_the_way(state.beta) if state.beta < 1 else ""

    def step(
        self, rng: Rng, state: TemperingState, target: Target, batch: Array, knobs: TemperingKnobs
    ) -> tuple[TemperingState, StepInfo]:
        """One pass over the data: the first likelihoods or a move of every particle; then the next β."""
        ess = effective_sample_size(state.log_weights)
        reason = resampling_reason(state, ess, knobs)
        parents = None
        if reason:
            state, parents = resampled(rng, state, knobs.num_particles)
        if state.iteration == 0:
            values = checked_log_likelihood(target, state.particles, batch)
            state, asked, accepted = state._replace(log_likelihood=values), len(values), None
        else:
            state = state if state.moves else state._replace(starts=state.particles)
            state, asked, accepted = moved(rng, state, target, batch, knobs)
            if state.beta == 1.0 and not state.enough and correlation(state) < RELATED:
                state = state._replace(enough=2 * state.moves)
        terms, numbers = dict[str, Array](), dict[str, float]()
        if state.beta < 1.0 and (state.iteration == 0 or state.moves >= knobs.num_moves):
            before, state = state, tempered(state, batch, knobs)
            terms, numbers = tempering_terms(before, state), {"Δβ": state.beta - before.beta}
        read_only(*(each for each in state if isinstance(each, Array)))
        state = state._replace(iteration=state.iteration + 1)
        return state, StepInfo(
            Cost(len(batch) if asked else 0, len(batch) * asked),
            _words(state, knobs, reason, accepted),
            events(rejuvenated=reason),
            weight_scalars(ess, state.log_weights) | {"temperature": state.beta},
            terms,
            parents=parents,
            numbers=numbers,
        )

    def log_z(self, state: TemperingState, knobs: TemperingKnobs, target: Target) -> float | None:
        """At the present temperature: consistent; its bias falls like 1/m, as temperatures and moves are adapted."""
        return state.log_z if state.num_temperatures else None

    def caveat(self, state: TemperingState, knobs: TemperingKnobs) -> str:
        """That it is on the way, that too few particles carry it, or that they are of few families.

        The variance of a mean is that between families (Chan and Lai 2013), until moves have made the particles almost
        independent of where they arrived.
        """
        known = self.unfinished(state, knobs) or super().caveat(state, knobs)
        families = len(np.unique(state.ancestors))
        if known or state.enough or families >= min(FAMILIES, len(state.particles)):
            return known
        draws = f"{families} draws" if families > 1 else "one draw"
        return (
            f"all descend from {draws} of the prior: the moves at temperature 1 have not made up for that yet; "
            "more budget or more particles do"
        )


def resampling_reason(state: TemperingState, ess: float, knobs: TemperingKnobs) -> str:
    """Why the step must resample first; "" where it need not."""
    m = len(state.particles)
    if knobs.num_particles != m:
        return f"particles {m:,} → {knobs.num_particles:,}"
    fell = ess_below(ess, 1.0 if knobs.ladder == "adaptive" else knobs.ess_threshold, m)
    return f"only {ess / m:.0%} were still effective" if fell else ""


def resampled(rng: Rng, state: TemperingState, num_particles: int) -> tuple[TemperingState, Array]:
    """Systematic resampling, without any noise: the moves come after. And each particle's parent, (m,)."""
    parents = systematic(np.exp(state.log_weights), num_particles, rng.random())
    chosen = state._replace(
        particles=state.particles[parents],
        log_weights=equal_log_weights(num_particles),
        log_prior=state.log_prior[parents],
        log_likelihood=state.log_likelihood[parents],
        ancestors=state.ancestors[parents],
        starts=state.starts[parents],
        moves=0,
        enough=0,
    )
    return chosen, parents


def correlation(state: TemperingState) -> float:
    """The largest correlation, over the coordinates, of the particles with where their moves began; 1 if undefined."""
    weights = np.exp(state.log_weights)
    now, start = (x - weighted_sum(weights, x) for x in (state.particles, state.starts))
    squares = weighted_sum(weights, now**2) * weighted_sum(weights, start**2)
    if not (squares > 0).all():
        return 1.0
    return float((weighted_sum(weights, now * start) / np.sqrt(squares)).max())


def tempered(state: TemperingState, batch: Array, knobs: TemperingKnobs) -> TemperingState:
    """The next temperature: log w <- log w + (β' - β) log L."""
    beta = next_beta(state, knobs)
    raised = state.log_weights + (beta - state.beta) * state.log_likelihood
    log_weights, log_z = normalised(raised, state.particles, batch), state.log_z + float(np.logaddexp.reduce(raised))
    number = state.num_temperatures + 1
    return state._replace(log_weights=log_weights, beta=beta, num_temperatures=number, moves=0, log_z=log_z)


def tempering_terms(before: TemperingState, after: TemperingState) -> dict[str, Array]:
    """What the new log-weights are the sum of."""
    likelihood = (after.beta - before.beta) * before.log_likelihood
    return weight_terms(after.log_weights, previous=before.log_weights, likelihood=likelihood)


def next_beta(state: TemperingState, knobs: TemperingKnobs) -> float:
    """The fixed ladder's next num_temperatures, or the largest β' <= 1 after which the ESS is τ m or more."""
    if knobs.ladder == "fixed":
        rungs = (np.arange(1, knobs.num_temperatures + 1) / knobs.num_temperatures) ** knobs.power
        return float(rungs[np.searchsorted(rungs, state.beta, side="right")])
    low, high, wanted = state.beta, 1.0, knobs.ess_threshold * len(state.log_weights)
    if _ess_at(state, high) >= wanted:
        return 1.0
    for _ in range(HALVINGS):
        middle = 0.5 * (low + high)
        low, high = (middle, high) if _ess_at(state, middle) >= wanted else (low, middle)
    return high  # above the present one, even where one particle holds all the weight


def _ess_at(state: TemperingState, beta: float) -> float:
    log_weights = state.log_weights + (beta - state.beta) * (state.log_likelihood - state.log_likelihood.max())
    weights = np.exp(log_weights - log_weights.max())
    return float(weights.sum() ** 2 / (weights**2).sum())


def moved(
    rng: Rng, state: TemperingState, target: Target, batch: Array, knobs: TemperingKnobs
) -> tuple[TemperingState, int, float]:
    """One random-walk Metropolis move of every particle: the state, likelihoods asked for, share accepted."""
    m, d = state.particles.shape
    cholesky = proposal_cholesky(state, target, knobs)
    proposed = state.particles + np.einsum("ij,mj->mi", cholesky, rng.standard_normal((m, d)))
    log_u = np.log1p(-rng.random(m))
    log_prior = checked_log_prior(target, proposed)
    inside = log_prior > -np.inf
    log_likelihood = checked_log_likelihood(target, proposed, batch, inside, may_vanish=True)
    old = state.log_prior + state.beta * state.log_likelihood
    accepted = log_u < log_prior + state.beta * log_likelihood - old
    state = state._replace(
        particles=np.where(accepted[:, None], proposed, state.particles),
        log_prior=np.where(accepted, log_prior, state.log_prior),
        log_likelihood=np.where(accepted, log_likelihood, state.log_likelihood),
        moves=state.moves + 1,
    )
    return state, int(inside.sum()), float(accepted.mean())


def proposal_cholesky(state: TemperingState, target: Target, knobs: TemperingKnobs) -> Array:
    """Cholesky factor (d, d) of the proposals' covariance: (scale 2.38)^2 / d times that of the particles or modes."""
    particles, weights, d = state.particles, np.exp(state.log_weights), target.dim
    if knobs.move_shape == "local":
        shape = neighbourhood_covariance(particles, weights, target.scale) / local_scale(d)
        shape = shape + covariance_floor(particles, weights, target.scale)
    else:
        shape = covariance(particles, weights, target.scale)
    return knobs.move_scale * 2.38 / np.sqrt(d) * cholesky(shape)


def _words(state: TemperingState, knobs: TemperingKnobs, reason: str, accepted: float | None) -> str:
    of = knobs.num_moves if state.beta < 1.0 else max(state.enough, knobs.num_moves) if state.enough else 0
    last = f" of {of:,}" if of else ""
    did = "likelihoods of the prior's draws" if accepted is None else f"a move, {accepted:.0%} accepted"
    parts = [did, f"β = {state.beta:.3g} (temperature {state.num_temperatures}, move {state.moves}{last})"]
    parts += [ess_words(state.log_weights)] + ([f"resampled first ({reason})"] if reason else [])
    return " · ".join(parts)
