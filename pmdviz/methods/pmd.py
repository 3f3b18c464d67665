"""Particle Mirror Descent (Dai, He, Dai, Song 2016): Bayes' rule as stochastic mirror descent over densities.

    q_{t+1} ∝ q_t^(1-γ) [p(θ) p(batch | θ)^(N/B)]^γ                                     (Eq. 2)
    log w <- (1-γ) log w + γ [log p(θ) + (N/B) sum log p(x | θ) - log q~(θ)]            (`mirror_step`)

for particles θ that were drawn from q~. In `PMD.step`: new particles where few still count (`rejuvenate`), the batch's
log likelihood, the step size γ (`scheduled`), and the log-weights. q_{t+1} is their kernel density estimate, which
`SmoothedMethod.density` makes for a picture or a rejuvenation: one kernel shape for each cluster, its width by leaving
one out unless `SmoothingKnobs` say otherwise.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import NamedTuple

import numpy as np

from pmdviz.densities.density import Density, effective_sample_size
from pmdviz.densities.product import DirichletMixture, Smoothed
from pmdviz.errors import InputError
from pmdviz.kernels.checks import Array, Rng
from pmdviz.kernels.resampling import largest_step
from pmdviz.knobs import Choice, Flag, Real, Whole
from pmdviz.methods import optimisers, weighting
from pmdviz.methods.base import BatchMethod, Stepped, checked_log_likelihood, checked_log_prior
from pmdviz.methods.step import BATCH_SIZE, BatchKnobs, Cost, Scalar, StepInfo, Term, Work, events
from pmdviz.targets import Target
from pmdviz.targets.space import Conditionals


class PMDState(NamedTuple):
    """Weighted particles and what they were drawn from."""

    particles: Array  # (m, d)
    log_weights: Array  # (m,) relative to the proposal, logsumexp 0
    log_proposal: Array  # (m,) log density the particles were drawn from, nats
    log_prior: Array  # (m,) nats
    rest_rows: Array  # the rows of a warm start's batch that a limited step has left to be applied; none otherwise
    each: int  # of how many candidates every one was chosen: evenly spread particles get a narrower kernel
    warm_iterations: int  # steps of the warm start's pass; 0 without one
    iteration: int = 0
    drawn_at: int = 1  # t of the step that the particles were drawn for
    held: int = 0  # limited steps so far, which the schedule does not count
    rest: float = 0.0  # share of `rest_rows` that is left
    in_a_row: int = 0  # how many steps before now were limited, one after the other
    fewest: float = np.inf  # the smallest ESS that new particles have been drawn from; infinite where none have
    fewest_at: int = 0  # iteration of that
    prior_left: float = 1.0  # exponent of the starting density that the steps have not replaced yet, in [0, 1]
    from_limited: float = 0.0  # share of q's exponent that limited mirror steps have put in, in [0, 1]

    @property
    def next_step(self) -> int:
        """t of the step to come: mirror steps count from 1, the steps of a warm start's pass up to 0.

        A limited step does not count: it goes a part of the way, and the clock waits.
        """
        return self.iteration - self.held - self.warm_iterations + 1

    @property
    def warming(self) -> bool:
        """Whether the step to come is a plain Bayes update of a warm start's pass."""
        return self.next_step < 1


POLICIES = {"never": "never", "always": "every step", "until": "every step until t₀", "ess": "when ESS is low"}
GROWTHS = {"fixed": "none", "power": "as a power of t", "jump": "once, after step t₀"}
SCHEDULES = {"decay": "decaying", "constant": "constant", "theorem6": "as in Theorem 6"}
POSITIVE = "(0, 1_000_000_000]"
REDRAWS, GROWS = ("policy", ("ess", "always", "until")), ("growth", ("power", "jump"))
HAS_RATE = {"bandwidth_rule": ("local", "covariance"), "schedule": ("theorem6",)}
BY_PROOF, HAS_T0, JUMPS = ("schedule", "theorem6"), {"policy": "until", "growth": "jump"}, ("policy", {"until": "jump"})


class PMDKnobs(optimisers.DecayingKnobs, BatchKnobs, weighting.SmoothingKnobs):
    """The knobs of `pmd`.

    num_particles: Number of points that carry the approximation.
    schedule: Decaying: γ = min(1, η/(n₀ + t^κ)). Constant: the same γ at every step. As in Theorem 6: γ = min(2/(t+1),
        Δ/(M m^(β/(d+2β)))), for which the paper proves its rate.
    eta: How far a step moves towards its batch: γ = min(1, η/(n₀ + t^κ)).
    n0: Makes the first steps smaller: γ = min(1, η/(n₀ + t^κ)).
    kappa: How fast γ = min(1, η/(n₀ + t^κ)) decays.
    step_size: Constant weight of the new batch relative to everything before it.
    delta: In Theorem 6, 1/Δ is a lower bound of the density on its support.
    gradient_bound: In Theorem 6, the sup-norm bound on the functional gradient.
    step_limit: A step keeps at least this fraction of the ESS. Where it would keep less, γ is reduced and the schedule
        waits. 0: no limit.
    policy: When new particles are drawn from the density estimate. Never: weighted particles. Every step: Algorithm 1
        of the paper, if new particles are independent, resampling is multinomial, batches are drawn with replacement
        and steps are not limited. When ESS is low: only when too few particles carry the weight.
    until: Last step t₀ after which new particles are drawn, or at which m is still small.
    ess_threshold: Rejuvenate when the effective sample size is below τ m.
    draws: How new particles are drawn, and the first ones at a restart. Evenly spread: 16 candidates per particle,
        thinned to one in every cell of a k-d tree. Independent: at random from the kernels, as in the paper.
    resampler: How the parents of new particles are resampled, ordered from least to most random.
    growth: How many particles a rejuvenation draws. None: always m. As a power of t: m t^ρ. Once, after step t₀: m,
        then the maximum.
    growth_exponent: The number of particles grows like t^ρ; Theorem 6 requires 2 + d/β.
    most_particles: Maximum number of particles.
    warm_start: The first pass makes plain Bayes updates in batches of 10; mirror descent starts with the second pass.
    """

    num_particles = weighting.NUM_PARTICLES.at(1500, acts="rejuvenation")
    schedule = Choice("decay", SCHEDULES, "Step-size schedule")
    eta = optimisers.ETA.at(2.0, only_if=("schedule", "decay"))
    n0 = optimisers.N0.at(20.0, only_if=("schedule", "decay"))
    kappa = optimisers.KAPPA.at(1.0, only_if=("schedule", "decay"))
    step_size = Real(0.1, "(0, 1]", (0.001, 1), "Step size γ", log=True, basic=True, only_if=("schedule", "constant"))
    delta = Real(1.0, POSITIVE, (0.01, 1000), "Density bound Δ", log=True, only_if=BY_PROOF)
    gradient_bound = Real(1.0, POSITIVE, (0.01, 1000), "Gradient bound M", "nats", log=True, only_if=BY_PROOF)
    step_limit = Real(0.5, "[0, 1)", (0, 0.95), "Step limit", "fraction of the ESS")
    policy = Choice("ess", POLICIES, "Rejuvenation", basic=True)
    until = Whole(20, (1, 1_000_000), (1, 200), "Until step t₀", "steps", log=True, only_if=HAS_T0)
    ess_threshold = weighting.ESS_THRESHOLD.at(0.5, only_if=("policy", "ess"))
    draws = Choice("balanced", {"balanced": "evenly spread", "independent": "independent"}, "New particles")
    resampler = Choice("systematic", {name: name for name in weighting.RESAMPLERS}, "Resampling")
    growth = Choice("fixed", GROWTHS, "Particle growth", acts="rejuvenation", only_if=REDRAWS, default_by=JUMPS)
    growth_exponent = Real(1.0, (0, 20), (0, 4), "Growth exponent ρ", acts="rejuvenation", only_if=("growth", "power"))
    most_particles = Whole(
        6000, (1, 100_000), (100, 50_000), "Maximum particles", log=True, acts="rejuvenation", only_if=GROWS
    )
    smoothness = weighting.SMOOTHNESS.at(2.0, only_if=HAS_RATE)
    warm_start = Flag(False, "Warm start", acts="restart")

    def work(self, num_data: int) -> Work:
        """A rejuvenation's m^2 kernels, and m likelihoods of the batch, m the most there may be."""
        grows = self.matters("most_particles", self.as_dict())
        m = max(self.num_particles, self.most_particles) if grows else self.num_particles
        return Work(kernels=m**2, likelihoods=m * self.rows(num_data))

    def check(self) -> None:
        """A warm start needs every observation once in its first pass."""
        if self.warm_start and self.batches != "epochs":
            start, batches = self.specs()["warm_start"], self.specs()["batches"]
            on_page = f"{start.label} needs {batches.label} set to “{batches.said('epochs')}”"
            raise InputError("warm_start = true needs batches = 'epochs'; got batches = 'replacement'", on_page=on_page)


# The two steps of `pmd` on the log-weights, mirror descent and a warm start's Bayes' rule, and how far they may go.

WARM_UPDATE = weighting.following(
    "likelihood of the batch",
    "+ s Σ log p(x | θ)",
    "Bayes' rule for the rows of this batch; the share s of it is 1 unless the step is limited.",
)


def scheduled(t: int, knobs: PMDKnobs, m: int, d: int) -> float:
    """γ_t of step t = 1, 2, ... by the schedule of the knobs, with m particles in d dimensions.

    `theorem6` is min(2 / (t + 1), Δ / (M m^(β / (d + 2 β)))): 1/Δ bounds the density from below on its support, M the
    gradient's largest value, β is the Hölder smoothness (Dai et al. 2016, Theorem 6).
    """
    if knobs.schedule == "constant":
        return knobs.step_size
    if knobs.schedule == "decay":
        return optimisers.decayed(t, knobs)
    bound = knobs.gradient_bound * float(m) ** (knobs.smoothness / (d + 2 * knobs.smoothness))
    return min(2.0 / (t + 1), knobs.delta / bound)


class Step(NamedTuple):
    """Where a step leads."""

    log_weights: Array  # (m,), not yet normalised
    size: float  # how far it went: γ, or the share of a batch whose likelihood was applied
    wanted: float  # how far it was to go

    @property
    def limited(self) -> bool:
        """Whether it went less far than it was to go."""
        return self.size < self.wanted


def mirror_step(state: PMDState, gamma: float, scaled_log_likelihood: Array, share: float = 0.0) -> Step:
    """log w <- (1-γ) log w + γ (log prior + (N/B) Σ log p(x|θ) - log proposal), not yet normalised.

    From Eq. 2 with q_t ∝ w · proposal. A particle of weight 0 keeps it, as 0^(1-γ) does for γ < 1. With a `share` above
    0 γ is at most what leaves that share of the effective sample size.
    """
    pull = state.log_prior + scaled_log_likelihood - state.log_proposal  # γ (pull - log w) is what log w gains
    size = limit(state.log_weights, pull - _finite(state.log_weights), gamma, share)
    kept = (1 - size) * state.log_weights if size < 1 else 0.0  # 0 times -inf would be NaN
    return Step(kept + size * pull, size, gamma)


def bayes_step(state: PMDState, log_likelihood: Array, share: float = 0.0) -> Step:
    """log w <- log w + Σ log p(x|θ), or so much of the rest of the batch as the `share` of the ESS allows."""
    left = state.rest or 1.0
    size = limit(state.log_weights, log_likelihood, left, share)
    return Step(state.log_weights + size * log_likelihood, size, left)


def mirror_terms(state: PMDState, done: Step, scaled_log_likelihood: Array) -> dict[str, Array]:
    """The parts whose sum are the log-weights of `mirror_step`."""
    kept = (1 - done.size) * state.log_weights if done.size < 1 else np.zeros(len(state.log_weights))
    likelihood, taken_off = done.size * scaled_log_likelihood, -done.size * state.log_proposal
    return {"previous": kept, "prior": done.size * state.log_prior, "likelihood": likelihood, "proposal": taken_off}


def limit(log_weights: Array, slope: Array, most: float, share: float) -> float:
    """The largest step along `slope` up to `most` that keeps `share` of the ESS; 0: no limit."""
    reached = log_weights > -np.inf
    if share == 0.0 or not (reached & (slope > -np.inf)).any():  # no particle is left: `normalised` raises the error
        return most
    return largest_step(log_weights, slope, most, share)


def _finite(log_weights: Array) -> Array:
    """Log-weights to be taken off: a particle of weight 0 does not count, whatever its slope."""
    return np.where(log_weights > -np.inf, log_weights, 0.0)


# Rejuvenation: when the particles of `pmd` are redrawn from the density estimate, and how.

GROWN = 1.5  # so many times more particles are worth a rejuvenation of their own

# From so many particles the O(m^2) density of the draws is taken in float32. It is off by 2e-5 nats at most: the
# weights are off by 2e-5 of themselves, while new draws of the particles move them by a hundredth.
SINGLE_FROM = 4000


def wanted_particles(t: int, knobs: PMDKnobs) -> int:
    """m_t: how many particles are drawn for step t; the steps of a warm start's pass have as many as step 1.

    m, or m t^ρ up to the maximum (Theorem 6 of Dai et al. 2016 reaches KL = O(1/T) with ρ = 2 + d/β), or m up to t₀ and
    then the maximum (the closing remark of section 3).
    """
    t, m = max(t, 1), knobs.num_particles
    if knobs.growth == "power":
        return int(min(float(knobs.most_particles), round(m * float(t) ** knobs.growth_exponent)))
    return knobs.most_particles if knobs.growth == "jump" and t > knobs.until else m


def rejuvenation_reason(state: PMDState, ess: float, knobs: PMDKnobs) -> str:
    """Why the next step must draw new particles first; "" where it need not."""
    m, wanted = len(state.particles), wanted_particles(state.next_step, knobs)
    size = "" if wanted == m else f"particles {m:,} → {wanted:,}"
    turned = wanted_particles(state.drawn_at, knobs) != m  # the knobs have been turned since
    grown = knobs.policy != "never" and not m <= wanted < GROWN * m
    due = _due(state, ess, knobs)
    if due:
        return f"{due}, {size}" if size else due
    return size if turned or grown else ""


def _due(state: PMDState, ess: float, knobs: PMDKnobs) -> str:
    """Why the policy draws new particles; "" where it does not."""
    m = len(state.particles)
    if knobs.policy == "always" and state.iteration > 0:
        return "at every step"
    # What the paper draws at the end of step t₀ is drawn before step t₀ + 1.
    if knobs.policy == "until" and state.iteration > 0 and state.next_step <= knobs.until + 1:
        return f"at every step until {knobs.until:,}"
    if knobs.policy == "ess" and weighting.ess_below(ess, knobs.ess_threshold, m):
        return f"only {ess / m:.0%} were still effective"
    return ""


def rejuvenate(rng: Rng, state: PMDState, density: Smoothed, target: Target, knobs: PMDKnobs) -> tuple[PMDState, Array]:
    """New particles from the weighted KDE, and each one's parent, (m,): equal weights, `log_proposal` by the KDE."""
    t = state.next_step
    m = wanted_particles(t, knobs)
    particles, parents = weighting.children(rng, density, m, knobs.draws, knobs.resampler)
    # The density of one draw, also of evenly spread ones: thinning leaves the law of each as it is.
    log_proposal = density.log_density(particles, single=m >= SINGLE_FROM)
    log_prior = checked_log_prior(target, particles)
    equal, each = weighting.equal(m), weighting.candidates_each(knobs.draws, m, target.dim)
    drawn = state._replace(particles=particles, log_weights=equal, log_proposal=log_proposal, log_prior=log_prior)
    return drawn._replace(drawn_at=max(t, 1), each=each), parents


PRIOR_LEFT = 0.05  # exponent of the starting density above which q is not meant to be the posterior yet
FROM_LIMITED = 0.1  # share of log q above which steps that went less far than planned decide what it is
WARM_BATCH = 10  # rows per step in the first pass of a warm start


class PMD(weighting.SmoothedMethod, BatchMethod):
    """Particle Mirror Descent.

    short_title: PMD
    about: Particle Mirror Descent treats Bayes' rule as an optimisation over densities: each step follows the log
        posterior on a batch of the data and stays close, in KL, to the density before it.
    formula: q_{t+1} ∝ q_t^{1-γ} · [p(θ) p(batch | θ)^{N/B}]^γ
    what_moves: Particles stay in place and change weight; now and then new ones are drawn from the current density.
    source: Dai, He, Dai, Song 2016, Algorithm 1, Eq. 2-7; policy ess, shaped rule, limits, draws, warm start ours
    propagate: prior
    reweight: mirror step
    resample: kernel density (when the ESS falls below τ m)
    adapt: step size + kernel width (γ is limited so that half of the ESS is kept)

    previous: The density so far: the step drops the share γ of its logarithm.
    prior: The prior enters again as the old weights are dropped.
    likelihood: The pull of this batch, as if all data were like it.
    proposal: Where many particles were drawn each of them counts for less.

    q is weighted particles, or their weighted KDE (Eq. 2).

    `density` is q_{t+1}: the weighted KDE before any resampling (Algorithm 1, lines 12-15).

    Unrolled, q is start^a prior^(1-a) likelihood^(1-a) with a = prod_t (1-γ_t): `prior_left`. With batches that is the
    mean exponent over the data, and each time that new particles are drawn the kernel smooths q besides. The start is
    the prior, so the prior counts in full and the likelihood lacks a. In a warm start's pass the likelihood enters row
    by row, and `prior_left` is the share of the data still to come: 0 after a full pass, when prior and likelihood both
    count once.
    """

    name = "pmd"
    scalars = (optimisers.STEP_SIZE, *weighting.SCALARS, Scalar("prior_left", "prior left", "share"))
    marks = ("rejuvenated", "limited")
    update = weighting.update(
        Term("previous", "weight before", "(1 − γ) log w"),
        Term("prior", "prior", "+ γ log p(θ)"),
        Term("likelihood", "likelihood of the batch", "+ γ N/B Σ log p(x | θ)"),
        Term("proposal", "density it was drawn from", "− γ log q̃(θ)"),
    )

    def init(self, rng: Rng, target: Target, knobs: PMDKnobs) -> PMDState:
        """m draws from the prior, equally weighted."""
        m = wanted_particles(1, knobs)
        particles, log_prior = weighting.prior_draws(rng, target, m, knobs.draws)
        warm = -(-target.num_data // WARM_BATCH) if knobs.warm_start else 0
        each, none = weighting.candidates_each(knobs.draws, m, target.dim), target.data_rows[:0].copy()
        return PMDState(particles, weighting.equal(m), log_prior, log_prior, none, each, warm)  # drawn from the prior

    def batch_size(self, state: PMDState, knobs: PMDKnobs, num_data: int) -> int:
        """B; in the warm start's pass 10, the last batch of it the rest; none while one is being applied."""
        if state.rest:
            return 0
        if state.warming:
            return min(WARM_BATCH, num_data - WARM_BATCH * (state.iteration - state.held))
        return super().batch_size(state, knobs, num_data)

    def batches(self, state: PMDState, knobs: PMDKnobs) -> str:
        """As the knob says; a warm start's pass stays one pass whatever changes during it."""
        return "epochs" if state.warming else knobs.batches

    def step(self, rng: Rng, state: PMDState, target: Target, batch: Array, knobs: PMDKnobs) -> Stepped:
        """One prox-mapping; a rejuvenation, where one is due, comes first."""
        ess = effective_sample_size(state.log_weights)
        reason = rejuvenation_reason(state, ess, knobs)
        parents = None
        if reason:
            if ess < state.fewest:
                state = state._replace(fewest=ess, fewest_at=state.iteration)
            # While mirror steps are limited the particles still travel and need the wider kernel of independent draws.
            travels = state.in_a_row and not state.warming
            source = self.density(state._replace(each=1) if travels else state, knobs, target)
            state, parents = rejuvenate(rng, state, source, target, knobs)
        warm, rows = state.warming, state.rest_rows if state.rest else batch
        log_likelihood = checked_log_likelihood(target, state.particles, rows, state.log_prior > -np.inf)
        if warm:
            done = bayes_step(state, log_likelihood, knobs.step_limit)
            parts = {"previous": state.log_weights, "likelihood": done.size * log_likelihood}
        else:
            gamma = scheduled(state.next_step, knobs, *state.particles.shape)
            scaled = target.num_data / len(batch) * log_likelihood
            done = mirror_step(state, gamma, scaled, knobs.step_limit)
            parts = mirror_terms(state, done, scaled)
        log_weights = weighting.normalised(done.log_weights, state.particles, rows)
        after = after_step(state, done, log_weights, rows, target.num_data)
        scalars = weighting.scalars(ess, log_weights) | {"prior_left": after.prior_left}
        numbers = {"s": done.size} if warm else {"γ": done.size, "N/B": target.num_data / len(batch)}
        info = StepInfo(
            Cost(len(batch), len(rows) * len(state.particles)),
            _words(done, warm, len(rows), after, reason),
            events(rejuvenated=reason, limited=limited_words(done, warm)),
            scalars | ({} if warm else {"step_size": done.size}),
            weighting.terms(after.log_weights, **parts),
        )
        return after, info._replace(parents=parents, numbers=numbers, update=WARM_UPDATE if warm else None)

    def densities_between(
        self, state: PMDState, knobs: PMDKnobs, target: Target, last: Callable[[], Mapping[str, Density]]
    ) -> Mapping[str, Density]:
        """The weighted KDE in the clusters of the last measured frame: to choose them takes as long as all else."""
        q = next(iter(last().values()))
        return {"": weighting.smoothed(state.particles, state.log_weights, knobs, target.scale, state.each, q)}

    def unfinished(self, state: PMDState, knobs: PMDKnobs) -> str:
        """That the start still has a share of q, or that limited steps have."""
        if state.prior_left > PRIOR_LEFT:
            why, cure = f"the starting density still makes up {state.prior_left:.0%} of log q", "more or larger steps"
        elif state.from_limited > FROM_LIMITED:
            why = f"steps shortened by the step limit make up {state.from_limited:.0%} of log q"
            cure = "more steps, smaller steps or a lower step limit"
        else:
            return ""
        return f"{why}: q is not the posterior yet; {cure} bring it there"

    def caveat(self, state: PMDState, knobs: PMDKnobs) -> str:
        """That too few particles carry q or once did, or that it is still on its way."""
        known = super().caveat(state, knobs) or weighting.descended(state.fewest, state.fewest_at, state.particles)
        return known or self.unfinished(state, knobs)


def after_step(state: PMDState, done: Step, log_weights: Array, rows: Array, num_data: int) -> PMDState:
    """The state with new weights. It keeps the rest of a batch that a limited Bayes update has not applied yet."""
    warm, kept, rest = state.warming, 1 - done.size, done.wanted - done.size if state.warming else 0.0
    # Outside a warm start's pass each step leaves (1 - γ) of the share of the start, and of what limited steps added.
    left = state.prior_left - done.size * len(rows) / num_data if warm else kept * state.prior_left
    from_limited = state.from_limited if warm else kept * state.from_limited + done.size * done.limited
    return state._replace(
        log_weights=log_weights,
        iteration=state.iteration + 1,
        held=state.held + done.limited,
        in_a_row=(state.in_a_row + 1) * done.limited,
        prior_left=max(left, 0.0),
        from_limited=from_limited,
        rest=rest,
        rest_rows=(rows if rest else rows[:0]).copy(),
    )


def limited_words(done: Step, warm: bool) -> str:
    """How much shorter the step was made, "" where it was not."""
    if done.limited and warm:
        return f"{done.size:.2%} of a batch instead of {done.wanted:.2%}"
    return f"γ {done.wanted:.3g} → {done.size:.3g}" if done.limited else ""


def _words(done: Step, warm: bool, batch: int, state: PMDState, reason: str) -> str:
    parts = ["warm start: plain Bayes update" if warm else f"γ = {done.size:.3g}", f"batch of {batch:,}"]
    parts += [f"limited ({limited_words(done, warm)})"] if done.limited else []
    parts += [weighting.words(state.log_weights)]
    parts += [f"new particles drawn before this step ({reason})"] if reason else ["particles kept"]
    return " · ".join(parts)


# Structured Particle Mirror Descent: particles for a part of the unknowns, the rest in closed form given each.

ALONE = 2.0  # effective particles below which one of them decides


class StructuredKnobs(optimisers.DecayingKnobs, BatchKnobs):
    """The knobs of `structured_pmd`.

    num_particles: Sets of the unknowns that have no closed form. With many data one of them soon has all weight.
    """

    num_particles = weighting.NUM_PARTICLES.at(16, softbounds=(1, 200))
    batch_size = BATCH_SIZE.at(128)


class StructuredState(NamedTuple):
    """Weighted particles Z_j with q(u | Z_j) each."""

    conditionals: Conditionals
    log_weights: Array  # (m,) logsumexp 0
    iteration: int

    @property
    def particles(self) -> Array:
        """Z, (m, p)."""
        return self.conditionals.particles


class Structured(BatchMethod):
    """Structured Particle Mirror Descent.

    short_title: structured PMD
    about: Structured Particle Mirror Descent keeps particles for a part of the unknowns and solves for the rest in
        closed form.
    formula: q_{t+1}(u | Z) ∝ q_t(u | Z)^{1-γ} [p(u | Z) p(x_t | u, Z)^{N/B}]^{γ}
    what_moves: Particles stay in place and change weight; the density that belongs to each one moves.
    source: Dai, He, Dai, Song 2016, appendix F, with the errata of docs/replication/errata.md
    propagate: prior (of Z alone; u given Z has a closed form)
    reweight: mirror step (also of q(u | Z), in closed form)

    previous: The density so far: the step drops the share γ of its logarithm.
    likelihood: How well the particle explains the batch, with all that has a closed form integrated out.

    Mirror descent on q(Z, u) = q(Z) q(u | Z), with u given Z in an exponential family.

    Z are the unknowns without a closed form: drawn once from its prior, or drawn by the target for each row
    whenever the row is visited (the topics of a document's words), and then weighted for what it was drawn from.
    q(u | Z) <- q(u | Z)^(1-γ) p(u | Z)^γ prod over the batch of p(x | u, Z)^(γ N/B), in natural parameters; with the
    log partition functions A of it before and after and of the prior,
    log w <- (1-γ) log w + A_after - (1-γ) A_before - γ A_prior + what of the likelihood does not depend on u.
    The weights follow Eq. 2 and are left as they are: with many data they leave one particle, and a warning appears.
    """

    name = "structured_pmd"
    family = "structured"
    requires = frozenset({"conditional_family"})
    scalars = (optimisers.STEP_SIZE, *weighting.SCALARS)
    update = weighting.update(
        Term("previous", "weight before", "(1 − γ) log w"),
        Term("likelihood", "what Z says of the batch", "+ log ∫ q(u | Z)^{1−γ} [p(u | Z) p(x | u, Z)^{N/B}]^{γ} du"),
    )

    def init(self, rng: Rng, target: Target, knobs: StructuredKnobs) -> StructuredState:
        """m particles of the prior, equally weighted."""
        m = knobs.num_particles
        return StructuredState(target.conditionals(rng, m), weighting.equal(m), 0)

    def step(self, rng: Rng, state: StructuredState, target: Target, batch: Array, knobs: StructuredKnobs) -> Stepped:
        """One mirror step on the batch."""
        t, m, before = state.iteration + 1, len(state.log_weights), state.conditionals
        gamma = optimisers.decayed(t, knobs)
        after, base = target.tilted(rng, before, batch, 1 - gamma, gamma * target.num_data / len(batch))
        partitions = after.partitions - (1 - gamma) * before.partitions - gamma * before.prior_partitions
        previous = (1 - gamma) * state.log_weights if gamma < 1 else np.zeros(m)
        log_weights = weighting.normalised(previous + partitions + base, state.particles, batch)
        ess = effective_sample_size(state.log_weights)
        state = StructuredState(after, log_weights, t)
        words = f"γ = {gamma:.3g} · batch of {len(batch):,} · ESS {effective_sample_size(log_weights):,.1f} of {m:,}"
        scalars = {"step_size": gamma} | weighting.scalars(ess, log_weights)
        terms = weighting.terms(log_weights, previous=previous, likelihood=partitions + base)
        numbers = {"γ": gamma, "N/B": target.num_data / len(batch)}
        return state, StepInfo(Cost(len(batch), len(batch) * m), words, {}, scalars, terms, numbers=numbers)

    def density(self, state: StructuredState, knobs: StructuredKnobs, target: Target) -> Density | DirichletMixture:
        """The mixture of the particles' conditional densities."""
        return target.conditional_density(state.conditionals, state.log_weights)

    def caveat(self, state: StructuredState, knobs: StructuredKnobs) -> str:
        """That one particle decides: a mixture in name only.

        Their marginal likelihoods differ by tens to thousands of nats with many data, and particles that stay in place
        cannot come nearer to the best one.
        """
        m = len(state.log_weights)
        if m < ALONE or effective_sample_size(state.log_weights) >= ALONE:
            return ""
        unseen = "q does not show how uncertain the unknowns without a closed form are"
        return f"one of {m:,} particles carries all weight: {unseen}; use more particles, smaller steps or fewer data"
