"""Sequential Monte Carlo: in one pass over the data, with jitter; tempered; and as a particle filter for topics."""

from __future__ import annotations

import math
from typing import NamedTuple, TypeVar

import numpy as np

from pmdviz.densities.bandwidth import RULES, local_scale, neighbourhood_covariance
from pmdviz.densities.density import KernelDensity, effective_sample_size, weighted_sum
from pmdviz.densities.product import DirichletMixture
from pmdviz.kernels.checks import Array, Rng
from pmdviz.kernels.factors import cholesky
from pmdviz.kernels.pool import one_blas_thread
from pmdviz.kernels.resampling import systematic
from pmdviz.kernels.topics import filtered
from pmdviz.knobs import Choice, Flag, Real, Whole
from pmdviz.methods import optimisers, weighting
from pmdviz.methods.base import BatchMethod, Stepped, checked_log_likelihood, checked_log_prior, usual_rows
from pmdviz.methods.step import BATCH_SIZE, Cost, MethodKnobs, StepInfo, events
from pmdviz.targets import Target
from pmdviz.targets.topics import seeds_of


class OnePassState(NamedTuple):
    """Weighted particles that approximate the posterior given the data seen so far."""

    particles: Array  # (m, d)
    log_weights: Array  # (m,) logsumexp 0
    supported: Array  # (m,) 1.0 where the prior is above 0, else 0.0
    iteration: int
    seen: int  # observations used, each once
    fewest: float  # the smallest ESS that new particles have been drawn from; infinite where none have
    fewest_at: int  # iteration of that
    log_z: float  # estimate of log p(data seen), nats


SeenState = TypeVar("SeenState", "OnePassState", "ParticleLDAState")
OwnKnobs = TypeVar("OwnKnobs", bound=MethodKnobs)


class Once(BatchMethod[SeenState, OwnKnobs]):
    """A method that visits every observation once; its state says how many have been `seen`, and `log_z` of them."""

    budget_words = "one pass over the data"
    estimates_log_z = True

    def default_budget(self, target: Target, knobs: OwnKnobs) -> int:
        """The one pass; never less than other methods have."""
        return max(usual_rows(target), target.num_data)

    def batch_size(self, state: SeenState, knobs: OwnKnobs, num_data: int) -> int:
        """B, and at last the rest."""
        return min(knobs.batch_size, num_data - state.seen)

    def batches(self, state: SeenState, knobs: OwnKnobs) -> str:
        """Always one pass: the data are not visited again."""
        return "epochs"

    def ended(self, state: SeenState, knobs: OwnKnobs, target: Target) -> str:
        """After the pass there is nothing more to do, whatever the budget."""
        return "one pass only" if state.seen >= target.num_data else ""

    def log_z(self, state: SeenState, knobs: OwnKnobs, target: Target) -> float | None:
        """Of the data seen."""
        return state.log_z if state.seen else None


ONCE = "Bayes' rule for the rows of this batch: each observation counts once."


class OnePass(weighting.SmoothedMethod, Once[OnePassState, OwnKnobs]):
    """Every observation is visited once: log w <- log w + sum over the batch of log p(x | theta).

    log p(batch | data before it) is estimated by the log of the weighted mean of p(batch | theta), and log Z is the sum
    over batches: exp of it is unbiased where particles are not redrawn, or redrawn without any noise.
    """

    update = weighting.following("likelihood of the batch", "+ Σ log p(x | θ)", ONCE)

    def init(self, rng: Rng, target: Target, knobs: OwnKnobs) -> OnePassState:
        """m draws from the prior, equally weighted."""
        m = knobs.num_particles
        particles, _ = weighting.prior_draws(rng, target, m)
        return OnePassState(particles, weighting.equal(m), np.ones(m), 0, 0, np.inf, 0, 0.0)

    def renewed(
        self, rng: Rng, state: OnePassState, target: Target, ess: float, knobs: OwnKnobs
    ) -> tuple[OnePassState, str, Array | None]:
        """The state that the step starts from; where particles were redrawn why ("" elsewhere), and their parents."""
        return state, "", None

    def step(self, rng: Rng, state: OnePassState, target: Target, batch: Array, knobs: OwnKnobs) -> Stepped:
        """Bayes' rule for the batch, after new particles where they are due."""
        ess = effective_sample_size(state.log_weights)
        state, reason, parents = self.renewed(rng, state, target, ess, knobs)
        if reason and ess < state.fewest:
            state = state._replace(fewest=ess, fewest_at=state.iteration)
        log_likelihood = checked_log_likelihood(target, state.particles, batch, state.supported > 0)
        before = state.log_weights
        log_z = state.log_z + float(np.logaddexp.reduce(before + log_likelihood))
        log_weights = weighting.normalised(state.log_weights + log_likelihood, state.particles, batch)
        iteration, seen = state.iteration + 1, state.seen + len(batch)
        state = state._replace(log_weights=log_weights, iteration=iteration, seen=seen, log_z=log_z)
        cost = Cost(len(batch), len(batch) * int((state.supported > 0).sum()))
        words, happened = _words(state, len(batch), target.num_data, reason), events(rejuvenated=reason)
        scalars = weighting.scalars(ess, log_weights)
        terms = weighting.terms(log_weights, previous=before, likelihood=log_likelihood)
        return state, StepInfo(cost, words, happened, scalars, terms, parents=parents)

    def caveat(self, state: OnePassState, knobs: OwnKnobs) -> str:
        """That too few particles carry the posterior, or once did."""
        return super().caveat(state, knobs) or weighting.descended(state.fewest, state.fewest_at, state.particles)


def _words(state: OnePassState, batch: int, num_data: int, reason: str) -> str:
    parts = [f"batch of {batch:,}", f"{state.seen:,} of {num_data:,} data seen"]
    parts += [weighting.words(state.log_weights)] + ([f"resampled and jittered first ({reason})"] if reason else [])
    return " · ".join(parts)


# One-pass sequential Monte Carlo (Balakrishnan, Madigan 2006): each observation once, resampling with jitter.


JITTERS = {"isotropic": 0.1, "median": 0.05, "covariance": 0.35, "local": 0.85}


class SMCKnobs(weighting.SmoothingKnobs):
    """The knobs of `smc`; the jitter that moves the particles and the kernel that judges them are two things.

    num_particles: Number of points that carry the approximation.
    ess_threshold: Resample, with jitter, when the ESS is below τ m.
    jitter_rule: Shape of the noise added to resampled particles; the rules are the same as for the bandwidth.
    jitter: Width of the noise added to resampled particles; its unit follows the jitter rule. Too little leaves copies
        of a few particles; too much blurs the modes at every resampling.
    shrinkage: Pull the particles together before the noise is added: then it does not widen the posterior (Liu and
        West 2001).
    """

    num_particles = weighting.NUM_PARTICLES.at(1500, acts="resampling")
    batch_size = BATCH_SIZE.at(10)
    ess_threshold = weighting.ESS_THRESHOLD.at(0.5, basic=True)
    jitter_rule = Choice("local", {rule: weighting.KERNELS[rule] for rule in RULES}, "Jitter rule")
    jitter = weighting.WIDTH.at(0.85, label="Jitter width", default_by=("jitter_rule", JITTERS))
    shrinkage = Flag(True, "Shrinkage")


class SMC(OnePass):
    """One-pass sequential Monte Carlo.

    short_title: One-pass SMC
    about: One-pass sequential Monte Carlo reads each data point once: it reweights the particles, and resamples them
        with a little jitter when few are effective.
    formula: w_i ← w_i · p(batch | θ_i);  resample and jitter when ESS is low
    what_moves: Particles stay in place and change weight; when few are effective, new ones are drawn near heavy ones.
    source: Balakrishnan and Madigan 2006; jitter by the rule local and shrinkage in its shape: ours
    propagate: prior
    reweight: likelihood (each observation once)
    resample: kernel density (when the ESS falls below τ m; points are pulled together first)
    adapt: kernel width (of the jitter, by the points)

    Below an ESS of tau m there are m draws from the weighted KDE.

    The weights do not correct for the smoothing. With shrinkage the particles' mean and covariance survive a
    resampling, though not their finer shape; without it each one adds the kernel's covariance: the price of one pass.
    """

    name = "smc"
    scalars = weighting.SCALARS
    marks = ("rejuvenated",)

    def renewed(
        self, rng: Rng, state: OnePassState, target: Target, ess: float, knobs: SMCKnobs
    ) -> tuple[OnePassState, str, Array | None]:
        """New particles where the ESS fell too low or another number of them is wanted."""
        reason = resampling_reason(len(state.particles), ess, knobs.ess_threshold, knobs)
        if not reason:
            return state, "", None
        weights = np.exp(state.log_weights)
        kernel = RULES[knobs.jitter_rule](state.particles, weights, knobs.jitter, target.scale)
        centres = shrunk(state.particles, weights, kernel, target.scale) if knobs.shrinkage else state.particles
        density = KernelDensity(centres, state.log_weights, kernel)
        particles, parents = weighting.children(rng, density, knobs.num_particles, "independent", "systematic")
        supported = (checked_log_prior(target, particles) > -np.inf).astype(np.float64)
        equal = weighting.equal(len(particles))
        return state._replace(particles=particles, log_weights=equal, supported=supported), reason, parents


@one_blas_thread()
def shrunk(particles: Array, weights: Array, cholesky: Array, scale: Array) -> Array:
    """Particles (m, d) drawn towards their mean so that the kernel L L' gives them back their covariance V.

    theta <- mean + A (theta - mean) with A V A' + L L' = V, that is A = C (I - K)^(1/2) C^-1 for V = C C' and
    K = C^-1 L L' C^-T; with an isotropic K = h^2 I this is the a = sqrt(1 - h^2) of Liu and West 2001. In a direction
    in which the kernel is wider than the particles all of them go to the mean. `scale` (d,): the prior's sd.
    """
    mean = weighted_sum(weights, particles)
    factor = np.linalg.cholesky(weighting.covariance(particles, weights, scale))
    relative = np.linalg.solve(factor, cholesky)
    shares, directions = np.linalg.eigh(relative @ relative.T)
    kept = (directions * np.sqrt(np.clip(1.0 - shares, 0.0, None))) @ directions.T
    return mean + np.einsum("ij,mj->mi", factor @ kept @ np.linalg.inv(factor), particles - mean)


def resampling_reason(m: int, ess: float, threshold: float, knobs: SMCKnobs | TemperingKnobs) -> str:
    """Why the next step must draw new particles first; "" where it need not."""
    if knobs.num_particles != m:
        return f"particles {m:,} → {knobs.num_particles:,}"
    return f"only {ess / m:.0%} were still effective" if weighting.ess_below(ess, threshold, m) else ""


# Tempered sequential Monte Carlo: from prior to posterior by powers of the likelihood, with Metropolis moves.

RELATED = 0.1  # correlation of the particles with where their moves began: below it they are close to independent
FAMILIES = 10  # draws from the prior that particles must descend from, unless their moves have made them independent
MOVES_AT_ONE, MOST_AT_ONE = 30, 400  # times d: moves at β = 1 in the default budget; and at most
HALVINGS = 60  # of the interval that holds the next temperature: to the last bit


class TemperingKnobs(weighting.SmoothingKnobs):
    """The knobs of `smc_mcmc`.

    num_particles: Number of points that carry the approximation.
    ladder: Each temperature is an exponent β of the likelihood. Adaptive: as large as the ESS allows. Fixed in advance:
        β = (k/K)^p.
    ess_threshold: With adaptive temperatures the next β leaves an ESS of τ m; with fixed ones, it triggers resampling.
    num_temperatures: Number of steps from prior to posterior.
    power: β = (k/K)^p: a larger p makes the first steps away from the prior smaller.
    num_moves: Metropolis moves of every particle at each temperature, at least; each uses all N data points. At
        β = 1 there are more, until the particles are almost independent of where they arrived.
    move_shape: Whether proposals have the covariance of all particles together, or of each mode.
    move_scale: Length of the proposed moves, relative to the optimum for a Gaussian.
    """

    num_particles = weighting.NUM_PARTICLES.at(1500, acts="resampling")
    ladder = Choice("adaptive", {"adaptive": "adaptive", "fixed": "fixed in advance"}, "Temperatures")
    ess_threshold = weighting.ESS_THRESHOLD.at(0.5, basic=True)
    num_temperatures = Whole(10, (1, 1000), (1, 50), "Number of temperatures K", only_if=("ladder", "fixed"))
    power = Real(3.0, (0.1, 20), (1, 6), "Temperature exponent p", only_if=("ladder", "fixed"))
    num_moves = Whole(3, (1, 1000), (1, 20), "Moves per temperature", basic=True)
    move_shape = Choice("local", {rule: weighting.KERNELS[rule] for rule in ("covariance", "local")}, "Move shape")
    move_scale = Real(0.6, "(0, 1000]", (0.1, 3), "Move length", "× 2.38/√d", log=True, basic=True)


class TemperingState(NamedTuple):
    """Weighted particles that approximate prior x likelihood^beta."""

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
    enough: int  # moves at β = 1 after which the particles are almost independent of `starts`; 0: not known
    log_z: float  # estimate of log of the mean of L^beta under the prior, nats


class Tempering(weighting.SmoothedMethod):
    """Tempered sequential Monte Carlo.

    short_title: Tempered SMC
    about: Tempered sequential Monte Carlo leads particles from the prior to the posterior by raising the power of the
        likelihood step by step.
    formula: p_β(θ) ∝ p(θ) p(X | θ)^β,  β from 0 to 1
    what_moves: Particles are resampled and take Metropolis steps while the likelihood's power grows from 0 to 1.
    source: Del Moral, Doucet, Jasra 2006, section 3.2; adaptive temperatures: Jasra et al. 2011
    propagate: prior
    reweight: temperature
    resample: copies (after every rise of β)
    move: Metropolis
    adapt: temperatures + proposal (the next temperature leaves an ESS of τ m)

    w ∝ L^(β' - β), resampling, and random-walk Metropolis moves that leave prior x L^β' invariant.

    A step visits all data once: the first one gives the prior draws their likelihood, every other one moves each
    particle once. When the moves at a temperature are done the weights go on to the next; the particles are resampled
    at the start of the step after that. At beta = 1 the moves go on until, in every coordinate, the correlation of the
    particles with where they arrived is below 0.1, and then as many again: the square of that is left, 0.01. Moves
    adapted by the correlation: Drovandi and Pettitt 2011; Buchholz, Chopin, Jacob 2021, section 3.3.
    """

    name = "smc_mcmc"
    scalars = (optimisers.TEMPERATURE, *weighting.SCALARS)
    marks = ("rejuvenated",)
    estimates_log_z = True
    budget_words = "the way to β = 1 and 30 d moves there, 400 at most"
    update = weighting.tempered("The likelihood to the power by which β rises.")

    def default_budget(self, target: Target, knobs: TemperingKnobs) -> int:
        """The way to β = 1 and 30 d moves there, 400 at most; never less than other methods have.

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
        particles, log_prior = weighting.prior_draws(rng, target, m)
        arrays = particles, weighting.equal(m), log_prior, np.zeros(m), np.arange(m)
        return TemperingState(*arrays, 0.0, 0, 0, 0, particles, 0, 0.0)

    def ended(self, state: TemperingState, knobs: TemperingKnobs, target: Target) -> str:
        """At the posterior itself, after enough moves."""
        return "β = 1 reached" if state.enough and state.moves >= max(state.enough, knobs.num_moves) else ""

    def unfinished(self, state: TemperingState, knobs: TemperingKnobs) -> str:
        """That β is below 1."""
        return optimisers.on_the_way(state.beta) if state.beta < 1 else ""

    def step(self, rng: Rng, state: TemperingState, target: Target, batch: Array, knobs: TemperingKnobs) -> Stepped:
        """One pass over the data: the first likelihoods or a move of every particle; then the next β."""
        ess = effective_sample_size(state.log_weights)
        threshold = 1.0 if knobs.ladder == "adaptive" else knobs.ess_threshold
        reason = resampling_reason(len(state.particles), ess, threshold, knobs)
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
            numbers = {"Δβ": state.beta - before.beta}
            likelihood = (state.beta - before.beta) * before.log_likelihood
            terms = weighting.terms(state.log_weights, previous=before.log_weights, likelihood=likelihood)
        state = state._replace(iteration=state.iteration + 1)
        cost = Cost(len(batch) if asked else 0, len(batch) * asked)
        words = _tempering_words(state, knobs, reason, accepted)
        scalars = weighting.scalars(ess, state.log_weights) | {"temperature": state.beta}
        info = StepInfo(cost, words, events(rejuvenated=reason), scalars, terms, parents=parents, numbers=numbers)
        return state, info

    def log_z(self, state: TemperingState, knobs: TemperingKnobs, target: Target) -> float | None:
        """At the present temperature: consistent; its bias falls like 1/m, as temperatures and moves are adapted."""
        return state.log_z if state.num_temperatures else None

    def caveat(self, state: TemperingState, knobs: TemperingKnobs) -> str:
        """That it has not finished, that too few particles carry it, or that they are of few families.

        The variance of a mean is that between families (Chan and Lai 2013), until moves have made the particles almost
        independent of where they arrived.
        """
        known = self.unfinished(state, knobs) or super().caveat(state, knobs)
        families = len(np.unique(state.ancestors))
        if known or state.enough or families >= min(FAMILIES, len(state.particles)):
            return known
        draws = f"{families} draws" if families > 1 else "one draw"
        words = f"all descend from {draws} from the prior: the moves at β = 1 have not made up for that yet"
        return f"{words}; use a larger budget or more particles"


def resampled(rng: Rng, state: TemperingState, num_particles: int) -> tuple[TemperingState, Array]:
    """Systematic resampling, without any noise: the moves come after. Also returns each particle's parent, (m,)."""
    parents = systematic(np.exp(state.log_weights), num_particles, rng.random())
    names = ("particles", "log_prior", "log_likelihood", "ancestors", "starts")
    chosen = {name: getattr(state, name)[parents] for name in names}
    return state._replace(**chosen, log_weights=weighting.equal(num_particles), moves=0, enough=0), parents


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
    log_weights = weighting.normalised(raised, state.particles, batch)
    number, log_z = state.num_temperatures + 1, state.log_z + float(np.logaddexp.reduce(raised))
    return state._replace(log_weights=log_weights, beta=beta, num_temperatures=number, moves=0, log_z=log_z)


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
    particles = np.where(accepted[:, None], proposed, state.particles)
    log_prior = np.where(accepted, log_prior, state.log_prior)
    log_likelihood = np.where(accepted, log_likelihood, state.log_likelihood)
    state = state._replace(particles=particles, log_prior=log_prior, log_likelihood=log_likelihood)
    return state._replace(moves=state.moves + 1), int(inside.sum()), float(accepted.mean())


def proposal_cholesky(state: TemperingState, target: Target, knobs: TemperingKnobs) -> Array:
    """Cholesky factor (d, d) of the proposals' covariance: (scale 2.38)^2 / d times the particles' or modes'."""
    particles, weights, d = state.particles, np.exp(state.log_weights), target.dim
    if knobs.move_shape == "local":
        shape = neighbourhood_covariance(particles, weights, target.scale) / local_scale(d)
        shape = shape + weighting.covariance_floor(particles, weights, target.scale)
    else:
        shape = weighting.covariance(particles, weights, target.scale)
    return knobs.move_scale * 2.38 / np.sqrt(d) * cholesky(shape)


def _tempering_words(state: TemperingState, knobs: TemperingKnobs, reason: str, accepted: float | None) -> str:
    of = knobs.num_moves if state.beta < 1.0 else max(state.enough, knobs.num_moves) if state.enough else 0
    last = f" of {of:,}" if of else ""
    did = "likelihoods of the prior's draws" if accepted is None else f"a move, {accepted:.0%} accepted"
    parts = [did, f"β = {state.beta:.3g} (stage {state.num_temperatures}, move {state.moves}{last})"]
    parts += [weighting.words(state.log_weights)] + ([f"resampled first ({reason})"] if reason else [])
    return " · ".join(parts)


# A particle filter for topics: each document once, each particle with the topics of all words that it has seen.


class ParticleLDAKnobs(MethodKnobs):
    """The knobs of `particle_lda`.

    num_particles: Number of sets of topics.
    ess_threshold: Sets of topics are resampled when the ESS falls below this share.
    sweeps: How often the topics of a document's words are drawn again before the next document.
    """

    num_particles = weighting.NUM_PARTICLES.at(16, softbounds=(1, 200))
    batch_size = BATCH_SIZE.at(100)
    ess_threshold = weighting.ESS_THRESHOLD.at(0.5)
    sweeps = Whole(5, (0, 100), (0, 20), "Gibbs sweeps")


class ParticleLDAState(NamedTuple):
    """Weighted particles, each q(Φ | topics of all words so far) = Dir(natural)."""

    natural: Array  # (m, W, K) beta and the number of tokens of each word and topic
    log_weights: Array  # (m,) logsumexp 0
    log_z: float  # estimate of log p(documents so far)
    iteration: int
    seen: int


class ParticleLDA(Once):
    """Particle filter for topics (one-pass SMC-LDA).

    short_title: SMC-LDA
    about: A particle filter reads each document once and gives every word a topic, at random, in each of its particles.
    formula: w ← w · p(w_n | z_{<n}),  z_n ~ p(z_n | z_{<n}, w_n)
    what_moves: Particles collect counts of words by topic; those that foresee the next words gain weight.
    source: Canini, Shi, Griffiths 2009, Algorithm 4, with sweeps over the newest document alone
    propagate: conditional (a topic for every word)
    reweight: likelihood (of each word, before it has a topic)
    resample: copies (when the ESS falls below τ m)
    move: Gibbs (sweeps over the newest document)

    likelihood: How well the topics found so far foresee each next word.

    Sequential Monte Carlo on the topics z of words, with Φ and the documents' shares integrated out.

    z_n ~ p(z_n | z_1 .. z_n-1, w_1 .. w_n) and log w <- log w + log p(w_n | z_1 .. z_n-1, w_1 .. w_n-1), word by word;
    particles are resampled between batches. Only counts are kept: words of earlier documents keep their topics.
    """

    name = "particle_lda"
    family = "structured"
    requires = frozenset({"documents"})
    scalars = weighting.SCALARS
    marks = ("rejuvenated",)
    update = weighting.following("words of the batch", "+ Σ_n log p(w_n | z_{<n}, w_{<n})")

    def init(self, rng: Rng, target: Target, knobs: ParticleLDAKnobs) -> ParticleLDAState:
        """No words yet: the prior of the topics in every particle."""
        m, documents = knobs.num_particles, target.documents(target.data_rows[:0])
        return ParticleLDAState(np.full((m, *documents.shape), documents.beta), weighting.equal(m), 0.0, 0, 0)

    def step(self, rng: Rng, state: ParticleLDAState, target: Target, batch: Array, knobs: ParticleLDAKnobs) -> Stepped:
        """Resample where the ESS is low, then read the documents of the batch."""
        m, documents = len(state.natural), target.documents(batch, len(state.natural))
        ess, natural, before, reason = effective_sample_size(state.log_weights), state.natural, state.log_weights, ""
        parents = None
        if weighting.ess_below(ess, knobs.ess_threshold, m):
            parents = systematic(np.exp(before), m, rng.random())
            natural = natural[parents]
            before, reason = weighting.equal(m), f"resampled: ESS was {ess:.1f} of {m:,}"
        seeds = seeds_of(rng, m, len(batch))
        natural, found = filtered(natural, documents.sparse, seeds, documents.alpha, knobs.sweeps)
        log_z = state.log_z + float(np.logaddexp.reduce(before + found))
        log_weights = weighting.normalised(before + found, np.empty((m, 0)), batch)
        seen = state.seen + len(batch)
        after = ParticleLDAState(natural, log_weights, log_z, state.iteration + 1, seen)
        words = f"batch of {len(batch):,} · {seen:,} of {target.num_data:,} documents read · ESS "
        words += f"{effective_sample_size(log_weights):,.1f} of {m:,}"
        cost, terms = Cost(len(batch), len(batch) * m), weighting.terms(log_weights, previous=before, likelihood=found)
        scalars = weighting.scalars(ess, log_weights)
        return after, StepInfo(cost, words, events(rejuvenated=reason), scalars, terms, parents=parents)

    def points(self, state: ParticleLDAState) -> Array:
        """The counts of each particle, (m, W K)."""
        return state.natural.reshape(len(state.natural), -1)

    def density(self, state: ParticleLDAState, knobs: ParticleLDAKnobs, target: Target) -> DirichletMixture:
        """The mixture of the particles' Dirichlet densities."""
        return DirichletMixture(state.natural, state.log_weights)
