"""Particle Mirror Descent (Dai, He, Dai, Song 2016): Bayes' rule as stochastic mirror descent over densities."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from pmdviz.densities import KernelDensity, effective_sample_size, normalise
from pmdviz.errors import InputError, TargetError
from pmdviz.knobs import Choice, Flag, Real, Whole
from pmdviz.methods.base import (
    StepInfo,
    checked_log_likelihood,
    checked_log_prior,
    read_only,
    rows_in_words,
)
from pmdviz.methods.batching import BatchKnobs, BatchMethod
from pmdviz.methods.smoothing import SmoothingKnobs, smoothed
from pmdviz.schedules import SCHEDULES
from pmdviz.targets import Target

WARM_BATCH = 10  # rows a step in the first pass of a warm start
ROUNDING = 1e-9  # equal weights have ESS = m but for rounding, and are never below a threshold of 1


class PMDKnobs(BatchKnobs, SmoothingKnobs):
    """The knobs of `pmd`."""

    kind_words = "knob of method 'pmd':"

    num_particles = Whole(
        1500,
        bounds=(1, 100_000),
        softbounds=(100, 50_000),
        log=True,
        label="Particles m",
        acts="rejuvenation",
        doc="Points that carry the approximation.",
    )
    schedule = Choice(
        "decay",
        objects=["decay", "constant"],
        label="Step-size schedule",
        doc="decay: γ = min(1, η/(n₀ + t^κ)); constant: the same γ at every step.",
    )
    eta = Real(
        2.0,
        bounds=(0, 1_000_000),
        inclusive_bounds=(False, True),
        softbounds=(0.1, 100),
        log=True,
        label="Step size: η",
        only_if=("schedule", "decay"),
        doc="Numerator of γ = min(1, η/(n₀ + t^κ)).",
    )
    n0 = Real(
        20.0,
        bounds=(0, 1_000_000),
        softbounds=(0, 200),
        label="Step size: n₀",
        unit="steps",
        only_if=("schedule", "decay"),
        doc="Holds the first steps back: γ = min(1, η/(n₀ + t^κ)).",
    )
    kappa = Real(
        1.0,
        bounds=(0, 1),
        inclusive_bounds=(False, True),
        softbounds=(0.1, 1),
        label="Step size: κ",
        only_if=("schedule", "decay"),
        doc="How fast γ = min(1, η/(n₀ + t^κ)) falls.",
    )
    step_size = Real(
        0.1,
        bounds=(0, 1),
        inclusive_bounds=(False, True),
        softbounds=(0.001, 1),
        log=True,
        label="Step size γ",
        only_if=("schedule", "constant"),
        doc="Constant weight of the new batch against all that came before.",
    )
    policy = Choice(
        "ess",
        objects=["never", "always", "ess"],
        label="Rejuvenation",
        doc="When new particles are drawn from the density estimate: never (weighted particles), after every step "
        "(the paper's Algorithm 1), or when the effective sample size falls too low.",
    )
    ess_threshold = Real(
        0.5,
        bounds=(0, 1),
        inclusive_bounds=(False, True),
        softbounds=(0.05, 1),
        label="ESS threshold τ",
        unit="share of m",
        only_if=("policy", "ess"),
        doc="Rejuvenate when the effective sample size is below τ m.",
    )
    warm_start = Flag(
        False,
        label="Warm start",
        acts="restart",
        doc="First pass in batches of 10 with plain Bayes updates, mirror descent from the second pass on.",
    )

    def check(self) -> None:
        """A warm start needs every datum once in its first pass."""
        if self.warm_start and self.batches != "epochs":
            raise InputError("warm_start = true needs batches = 'epochs'; given: batches = 'replacement'")


class PMDState(NamedTuple):
    """Weighted particles and what they were drawn from."""

    particles: np.ndarray  # (m, d)
    log_weights: np.ndarray  # (m,) relative to the proposal, logsumexp 0
    log_proposal: np.ndarray  # (m,) log density the particles were drawn from, nats
    log_prior: np.ndarray  # (m,) nats
    iteration: int
    warm_iterations: int  # steps of the warm start's pass; 0 without one


class PMD(BatchMethod):
    """q_{t+1} ∝ q_t^(1-γ) [prior · likelihood(batch)^(N/B)]^γ  (Eq. 2), on weighted particles or a weighted KDE."""

    name = "pmd"
    title = "Particle Mirror Descent"
    reference = "Dai, He, Dai, Song 2016, Algorithm 1, Eq. 2-7; policy ess, rule local and warm start: ours"
    Knobs = PMDKnobs

    def init(self, rng: np.random.Generator, target: Target, knobs: PMDKnobs) -> PMDState:
        """m draws from the prior, equally weighted."""
        m = knobs.num_particles
        particles = target.sample_prior(rng, m)
        log_prior = checked_log_prior(target, particles)
        if (log_prior == -np.inf).any():
            at = particles[log_prior == -np.inf][0]
            raise TargetError(f"log_prior of target {target.name!r} is -inf at its own draw theta = {at}", at)
        warm = -(-target.num_data // WARM_BATCH) if knobs.warm_start else 0
        log_weights = np.full(m, -np.log(m))
        return PMDState(*read_only(particles, log_weights, log_prior, log_prior), 0, warm)

    def batch_size(self, state: PMDState, knobs: PMDKnobs, num_data: int) -> int:
        """B; in the warm start's pass 10, the last batch of it what is left."""
        if state.iteration < state.warm_iterations:
            return min(WARM_BATCH, num_data - WARM_BATCH * state.iteration)
        return super().batch_size(state, knobs, num_data)

    def batches(self, state: PMDState, knobs: PMDKnobs) -> str:
        """As the knob says; a warm start's pass stays one pass whatever is turned on the way."""
        return "epochs" if state.iteration < state.warm_iterations else knobs.batches

    def step(
        self, rng: np.random.Generator, state: PMDState, target: Target, batch: np.ndarray, knobs: PMDKnobs
    ) -> tuple[PMDState, StepInfo]:
        """One prox-mapping; a rejuvenation, where one is due, comes first."""
        ess = effective_sample_size(state.log_weights)
        reason = rejuvenation_reason(state, ess, knobs)
        if reason:
            state = rejuvenate(rng, state, self.density(state, knobs, target), target, knobs.num_particles)
        log_likelihood = checked_log_likelihood(target, state.particles, batch, state.log_prior > -np.inf)
        if state.iteration < state.warm_iterations:
            gamma, log_weights = 1.0, state.log_weights + log_likelihood
        else:
            gamma = SCHEDULES[knobs.schedule](state.iteration - state.warm_iterations + 1, knobs)
            log_weights = mirror_step(state, gamma, target.num_data / len(batch) * log_likelihood)
        if log_weights.max() == -np.inf:
            at, rows = state.particles[0], rows_in_words(batch)
            raise TargetError(f"every particle (one is theta = {at}) has probability 0 after {rows}", at, rows)
        (log_weights,) = read_only(normalise(log_weights))
        state = state._replace(log_weights=log_weights, iteration=state.iteration + 1)
        zeros = int((log_weights == -np.inf).sum())
        warm = state.iteration <= state.warm_iterations
        return state, StepInfo(
            visited=len(batch),
            step_size=None if warm else gamma,  # a Bayes update is no mirror step
            rejuvenated=reason,
            ess=ess,
            density_evaluations=len(batch) * len(state.particles),
            gradient_evaluations=0,
            zero_weight=zeros,
            words=_words(gamma, warm, len(batch), ess, state, reason, zeros),
        )

    def density(self, state: PMDState, knobs: PMDKnobs, target: Target) -> KernelDensity:
        """q_{t+1}: the weighted KDE before any resampling (Algorithm 1, lines 12-15)."""
        return smoothed(state.particles, state.log_weights, knobs, target)


def mirror_step(state: PMDState, gamma: float, scaled_log_likelihood: np.ndarray) -> np.ndarray:
    """log w <- (1-γ) log w + γ (log prior + (N/B) Σ log p(x|θ) - log proposal), not yet normalised.

    From Eq. 2 with q_t ∝ w · proposal. A particle of weight 0 keeps it, as 0^(1-γ) does for γ < 1.
    """
    pull = state.log_prior + scaled_log_likelihood - state.log_proposal
    kept = (1 - gamma) * state.log_weights if gamma < 1 else 0.0
    return kept + gamma * pull


def rejuvenation_reason(state: PMDState, ess: float, knobs: PMDKnobs) -> str:
    """Why the next step must draw new particles first; "" where it need not."""
    m = len(state.particles)
    if knobs.num_particles != m:
        return f"particles {m:,} → {knobs.num_particles:,}"
    if knobs.policy == "always" and state.iteration > 0:
        return "policy always"
    if knobs.policy == "ess" and ess < knobs.ess_threshold * m * (1 - ROUNDING):
        return f"ESS was {ess / m:.0%} of m"
    return ""


def rejuvenate(
    rng: np.random.Generator, state: PMDState, density: KernelDensity, target: Target, num_particles: int
) -> PMDState:
    """Draw `num_particles` new particles from the current weighted KDE; they start with equal weights."""
    particles = density.sample(rng, num_particles)
    log_weights = np.full(num_particles, -np.log(num_particles))
    log_proposal, log_prior = density.log_density(particles), checked_log_prior(target, particles)
    drawn = read_only(particles, log_weights, log_proposal, log_prior)
    return state._replace(**dict(zip(("particles", "log_weights", "log_proposal", "log_prior"), drawn, strict=True)))


def _words(gamma: float, warm: bool, batch: int, ess: float, state: PMDState, reason: str, zeros: int) -> str:
    m = len(state.particles)
    after = effective_sample_size(state.log_weights)
    parts = ["warm start: plain Bayes update" if warm else f"γ = {gamma:.3g}", f"batch of {batch:,}"]
    parts += [f"ESS {after:,.0f} of {m:,} ({after / m:.0%})"]
    parts += [f"rejuvenated first ({reason})"] if reason else ["not rejuvenated"]
    parts += [f"{zeros:,} particles have weight 0"] if zeros else []
    return " · ".join(parts)
