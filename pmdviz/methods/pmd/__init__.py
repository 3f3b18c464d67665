"""Particle Mirror Descent (Dai, He, Dai, Song 2016): Bayes' rule as stochastic mirror descent over densities."""

from __future__ import annotations

import numpy as np

from pmdviz.densities.density import effective_sample_size
from pmdviz.methods.base import checked_log_likelihood, read_only
from pmdviz.methods.grammar import Grammar, by
from pmdviz.methods.pmd.knobs import PMDKnobs
from pmdviz.methods.pmd.rejuvenation import rejuvenate, rejuvenation_reason, wanted_particles
from pmdviz.methods.pmd.state import PMDState
from pmdviz.methods.pmd.steps import UPDATE, WARM_UPDATE, Step, bayes_step, bayes_terms, mirror_step, mirror_terms
from pmdviz.methods.shared.batching import BatchMethod
from pmdviz.methods.shared.draws import candidates_each
from pmdviz.methods.shared.particles import descended, equal_log_weights, normalised, prior_draws, weight_terms
from pmdviz.methods.shared.schedules import SCHEDULES
from pmdviz.methods.shared.smoothing import SmoothedMethod
from pmdviz.methods.step import STEP_SIZE, WEIGHTED, Cost, Scalar, StepInfo, events
from pmdviz.targets import Target

PRIOR_LEFT = 0.05  # exponent of the starting density above which q is not meant to be the posterior yet
FROM_LIMITED = 0.1  # share of q above which steps that went less far than planned decide what it is
WARM_BATCH = 10  # rows a step in the first pass of a warm start


class PMD(SmoothedMethod, BatchMethod):
    """q_{t+1} ∝ q_t^(1-γ) [prior · likelihood(batch)^(N/B)]^γ  (Eq. 2), on weighted particles or a weighted KDE.

    `density` is q_{t+1}: the weighted KDE before any resampling (Algorithm 1, lines 12-15).

    Unrolled, q is start^a prior^(1-a) likelihood^(1-a) with a = prod_t (1-γ_t): `prior_left`. The start is the prior,
    so the prior counts in full and the likelihood lacks a. In a warm start's pass the likelihood enters row by row, and
    `prior_left` is the share of the data still to come: 0 after a full pass, when prior and likelihood both count once.
    """

    name = "pmd"
    title = "Particle Mirror Descent"
    about = (
        "Particle Mirror Descent treats Bayes' rule as an optimisation over densities: each step follows the "
        "log posterior on a batch of the data and stays close, in KL, to the density before it."
    )
    formula = "q_{t+1} ∝ q_t^{1-γ} · [p(θ) p(batch | θ)^{N/B}]^γ"
    what_moves = "Particles stay in place and change weight; now and then new ones are drawn from the current density."
    source = "Dai, He, Dai, Song 2016, Algorithm 1, Eq. 2-7; policy ess, shaped rule, limits, draws, warm start ours"
    short_title = "PMD"
    grammar = Grammar(
        propagate=by("prior"),
        reweight=by("mirror step"),
        resample=by("kernel density", remark="when the ESS falls below τ m"),
        adapt=by("step size", "kernel width", remark="γ is limited so that half of the ESS is kept"),
    )
    Knobs = PMDKnobs
    scalars = (STEP_SIZE, *WEIGHTED, Scalar("prior_left", "prior left", "share"))
    marks = ("rejuvenated", "limited")
    update = UPDATE

    def init(self, rng: np.random.Generator, target: Target, knobs: PMDKnobs) -> PMDState:
        """m draws from the prior, equally weighted."""
        m = wanted_particles(1, knobs)
        particles, log_prior = prior_draws(rng, target, m, knobs.draws)
        warm = -(-target.num_data // WARM_BATCH) if knobs.warm_start else 0
        arrays = read_only(particles, equal_log_weights(m), log_prior, log_prior, target.data_rows[:0].copy())
        return PMDState(
            *arrays[:4],
            0,
            warm,
            drawn_at=1,
            each=candidates_each(knobs.draws, m, target.dim),
            held=0,
            rest=0.0,
            rest_rows=arrays[4],
            in_a_row=0,
            fewest=np.inf,
            fewest_at=0,
        )

    def batch_size(self, state: PMDState, knobs: PMDKnobs, num_data: int) -> int:
        """B; in the warm start's pass 10, the last batch of it what is left; none while one is being applied."""
        if state.rest:
            return 0
        if state.warming:
            return min(WARM_BATCH, num_data - WARM_BATCH * (state.iteration - state.held))
        return super().batch_size(state, knobs, num_data)

    def batches(self, state: PMDState, knobs: PMDKnobs) -> str:
        """As the knob says; a warm start's pass stays one pass whatever is turned on the way."""
        return "epochs" if state.warming else knobs.batches

    def step(
        self, rng: np.random.Generator, state: PMDState, target: Target, batch: np.ndarray, knobs: PMDKnobs
    ) -> tuple[PMDState, StepInfo]:
        """One prox-mapping; a rejuvenation, where one is due, comes first."""
        ess = effective_sample_size(state.log_weights)
        reason = rejuvenation_reason(state, ess, knobs)
        parents = None
        if reason:
            if ess < state.fewest:
                state = state._replace(fewest=ess, fewest_at=state.iteration)
            # While mirror steps are limited the particles still travel, and need the kernel of independent draws.
            travels = state.in_a_row and not state.warming
            source = self.density(state._replace(each=1) if travels else state, knobs, target)
            state, parents = rejuvenate(rng, state, source, target, knobs)
        warm, rows = state.warming, state.rest_rows if state.rest else batch
        scaled = checked_log_likelihood(target, state.particles, rows, state.log_prior > -np.inf)
        if warm:
            done = bayes_step(state, scaled, knobs.step_limit)
        else:
            gamma = SCHEDULES[knobs.schedule](state.next_step, knobs, *state.particles.shape)
            scaled = target.num_data / len(batch) * scaled
            done = mirror_step(state, gamma, scaled, knobs.step_limit)
        after = after_step(state, done, normalised(done.log_weights, state.particles, rows), rows, target.num_data)
        zeros = int((after.log_weights == -np.inf).sum())
        return after, StepInfo(
            Cost(len(batch), len(rows) * len(state.particles)),
            _words(done, warm, len(rows), ess, after, reason, zeros),
            events(rejuvenated=reason, limited=limited_words(done, warm)),
            {"ess_before": ess, "zero_weight": zeros, "prior_left": after.prior_left}
            | ({} if warm else {"step_size": done.size}),
            weight_terms(after.log_weights, **(bayes_terms if warm else mirror_terms)(state, done, scaled)),
            parents=parents,
            numbers={"s": done.size} if warm else {"γ": done.size, "N/B": target.num_data / len(batch)},
            update=WARM_UPDATE if warm else None,
        )

    def unfinished(self, state: PMDState, knobs: PMDKnobs) -> str:
        """That the start still has a share of q, or that limited steps have."""
        if state.prior_left > PRIOR_LEFT:
            return (
                f"the starting density still has {state.prior_left:.0%} of the exponent: "
                "q is not the posterior yet; more or larger steps bring it there"
            )
        if state.from_limited > FROM_LIMITED:
            return (
                f"limited steps decide {state.from_limited:.0%} of q: it is still on its way to the posterior; "
                "more steps, smaller steps or a lower step limit bring it there"
            )
        return ""

    def caveat(self, state: PMDState, knobs: PMDKnobs) -> str:
        """That too few particles carry q or once did, or that it is still on its way."""
        known = super().caveat(state, knobs) or descended(state.fewest, state.fewest_at, state.particles)
        return known or self.unfinished(state, knobs)


def after_step(state: PMDState, done: Step, log_weights: np.ndarray, rows: np.ndarray, num_data: int) -> PMDState:
    """The state with new weights. What a limited Bayes update has left of its batch waits in it."""
    warm, kept, rest = state.warming, 1 - done.size, done.wanted - done.size if state.warming else 0.0
    left = state.prior_left - done.size * len(rows) / num_data if warm else kept * state.prior_left
    from_limited = state.from_limited if warm else kept * state.from_limited + done.size * done.limited
    log_weights, rows = read_only(log_weights, (rows if rest else rows[:0]).copy())
    return state._replace(
        log_weights=log_weights,
        iteration=state.iteration + 1,
        held=state.held + done.limited,
        in_a_row=(state.in_a_row + 1) * done.limited,
        prior_left=max(left, 0.0),
        from_limited=from_limited,
        rest=rest,
        rest_rows=rows,
    )


def limited_words(done: Step, warm: bool) -> str:
    """How much shorter the step was made, "" where it was not."""
    if not done.limited:
        return ""
    return (
        f"{done.size:.2%} of a batch instead of {done.wanted:.2%}" if warm else f"γ {done.wanted:.3g} → {done.size:.3g}"
    )


def _words(done: Step, warm: bool, batch: int, ess: float, state: PMDState, reason: str, zeros: int) -> str:
    m = len(state.particles)
    after = effective_sample_size(state.log_weights)
    parts = ["warm start: plain Bayes update" if warm else f"γ = {done.size:.3g}", f"batch of {batch:,}"]
    parts += [f"limited ({limited_words(done, warm)})"] if done.limited else []
    parts += [f"ESS {after:,.0f} of {m:,} ({after / m:.0%})"]
    parts += [f"new particles drawn before this step ({reason})"] if reason else ["particles kept"]
    parts += [f"{zeros:,} particles have weight 0"] if zeros else []
    return " · ".join(parts)
