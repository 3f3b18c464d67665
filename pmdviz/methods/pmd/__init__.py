"""Particle Mirror Descent (Dai, He, Dai, Song 2016): Bayes' rule as stochastic mirror descent over densities."""

from __future__ import annotations

import numpy as np

from pmdviz.densities import KernelDensity, effective_sample_size
from pmdviz.methods.base import StepInfo, checked_log_likelihood, read_only
from pmdviz.methods.batching import BatchMethod
from pmdviz.methods.particles import equal_log_weights, normalised, prior_draws
from pmdviz.methods.pmd.knobs import PMDKnobs
from pmdviz.methods.pmd.rejuvenation import rejuvenate, rejuvenation_reason, wanted_particles
from pmdviz.methods.pmd.state import PMDState
from pmdviz.methods.smoothing import smoothed
from pmdviz.schedules import SCHEDULES
from pmdviz.targets import Target

WARM_BATCH = 10  # rows a step in the first pass of a warm start


class PMD(BatchMethod):
    """q_{t+1} ∝ q_t^(1-γ) [prior · likelihood(batch)^(N/B)]^γ  (Eq. 2), on weighted particles or a weighted KDE."""

    name = "pmd"
    title = "Particle Mirror Descent"
    reference = "Dai, He, Dai, Song 2016, Algorithm 1, Eq. 2-7; policy ess, rule local, draws and warm start: ours"
    Knobs = PMDKnobs

    def init(self, rng: np.random.Generator, target: Target, knobs: PMDKnobs) -> PMDState:
        """m draws from the prior, equally weighted."""
        m = wanted_particles(1, knobs)
        particles, log_prior = prior_draws(rng, target, m, knobs.draws)
        warm = -(-target.num_data // WARM_BATCH) if knobs.warm_start else 0
        return PMDState(*read_only(particles, equal_log_weights(m), log_prior, log_prior), 0, warm, 1)

    def batch_size(self, state: PMDState, knobs: PMDKnobs, num_data: int) -> int:
        """B; in the warm start's pass 10, the last batch of it what is left."""
        if state.next_step < 1:
            return min(WARM_BATCH, num_data - WARM_BATCH * state.iteration)
        return super().batch_size(state, knobs, num_data)

    def batches(self, state: PMDState, knobs: PMDKnobs) -> str:
        """As the knob says; a warm start's pass stays one pass whatever is turned on the way."""
        return "epochs" if state.next_step < 1 else knobs.batches

    def step(
        self, rng: np.random.Generator, state: PMDState, target: Target, batch: np.ndarray, knobs: PMDKnobs
    ) -> tuple[PMDState, StepInfo]:
        """One prox-mapping; a rejuvenation, where one is due, comes first."""
        ess = effective_sample_size(state.log_weights)
        reason = rejuvenation_reason(state, ess, knobs)
        if reason:
            state = rejuvenate(rng, state, self.density(state, knobs, target), target, knobs)
        log_likelihood = checked_log_likelihood(target, state.particles, batch, state.log_prior > -np.inf)
        if state.next_step < 1:
            gamma, log_weights = 1.0, state.log_weights + log_likelihood
        else:
            gamma = SCHEDULES[knobs.schedule](state.next_step, knobs, *state.particles.shape)
            log_weights = mirror_step(state, gamma, target.num_data / len(batch) * log_likelihood)
        (log_weights,) = read_only(normalised(log_weights, state.particles, batch))
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


def _words(gamma: float, warm: bool, batch: int, ess: float, state: PMDState, reason: str, zeros: int) -> str:
    m = len(state.particles)
    after = effective_sample_size(state.log_weights)
    parts = ["warm start: plain Bayes update" if warm else f"γ = {gamma:.3g}", f"batch of {batch:,}"]
    parts += [f"ESS {after:,.0f} of {m:,} ({after / m:.0%})"]
    parts += [f"rejuvenated first ({reason})"] if reason else ["not rejuvenated"]
    parts += [f"{zeros:,} particles have weight 0"] if zeros else []
    return " · ".join(parts)
