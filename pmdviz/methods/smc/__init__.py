"""Sequential Monte Carlo that reads each datum once: with jitter, and as a particle filter for topics."""

from __future__ import annotations

from typing import NamedTuple, Protocol, TypeVar

import numpy as np

from pmdviz.densities.bandwidth import RULES
from pmdviz.densities.density import KernelDensity, effective_sample_size, weighted_sum
from pmdviz.densities.product import DirichletMixture
from pmdviz.kernels.checks import Array, Rng
from pmdviz.kernels.pool import one_blas_thread
from pmdviz.kernels.resampling import systematic
from pmdviz.kernels.topic_counts import filtered
from pmdviz.knobs import Choice, Flag, Whole
from pmdviz.methods.base import BatchMethod, checked_log_likelihood, checked_log_prior, read_only, usual_rows
from pmdviz.methods.particles import (
    ESS_THRESHOLD,
    KERNELS,
    NUM_PARTICLES,
    PREVIOUS,
    WIDTH,
    SmoothedMethod,
    SmoothingKnobs,
    children,
    covariance,
    descended,
    equal_log_weights,
    ess_below,
    ess_words,
    normalised,
    prior_draws,
    weight_scalars,
    weight_terms,
    weight_update,
)
from pmdviz.methods.step import BATCH_SIZE, WEIGHTED, Cost, MethodKnobs, StepInfo, Term, Work, events
from pmdviz.targets import Target
from pmdviz.targets.topics import seeds_of


class OnePassState(NamedTuple):
    """Weighted particles that stand for the posterior given the data seen so far."""

    particles: Array  # (m, d)
    log_weights: Array  # (m,) logsumexp 0
    supported: Array  # (m,) 1.0 where the prior is above 0, else 0.0
    iteration: int
    seen: int  # observations used, each once
    fewest: float  # the smallest ESS that new particles have been drawn from; infinite where none have
    fewest_at: int  # iteration of that
    log_z: float  # estimate of log p(data seen), nats


class Seen(Protocol):
    """A state that says how many data were `seen`."""

    seen: int


SeenState = TypeVar("SeenState", bound=Seen)
OwnKnobs = TypeVar("OwnKnobs", bound=MethodKnobs)


class Once(BatchMethod[SeenState, OwnKnobs]):
    """A method that visits every datum once; its state says how many have been `seen`."""

    budget_words = "one pass over the data"

    def default_budget(self, target: Target, knobs: OwnKnobs) -> int:
        """The one pass; never less than other methods have."""
        return max(usual_rows(target), target.num_data)

    def batch_size(self, state: SeenState, knobs: OwnKnobs, num_data: int) -> int:
        """B, and at last what is left."""
        return min(knobs.batch_size, num_data - state.seen)

    def batches(self, state: SeenState, knobs: OwnKnobs) -> str:
        """Always one pass: there is no second one to draw from."""
        return "epochs"

    def ended(self, state: SeenState, knobs: OwnKnobs, target: Target) -> str:
        """After the pass there is nothing more to do, whatever the budget."""
        return "one pass only" if state.seen >= target.num_data else ""


class OnePass(SmoothedMethod, Once[OnePassState, OwnKnobs]):
    """Every datum is visited once: log w <- log w + sum over the batch of log p(x | theta).

    log p(batch | data before it) is estimated by the log of the weighted mean of p(batch | theta), and log Z is the sum
    over batches: exp of it is unbiased where particles are not redrawn, or redrawn without any noise.
    """

    estimates_log_z = True
    update = weight_update(
        PREVIOUS,
        Term(
            "likelihood",
            "likelihood of the batch",
            "+ Σ log p(x | θ)",
            "Bayes' rule for the rows of this batch: each datum counts once.",
        ),
    )

    def init(self, rng: Rng, target: Target, knobs: OwnKnobs) -> OnePassState:
        """m draws from the prior, equally weighted."""
        m = knobs.num_particles
        particles, _ = prior_draws(rng, target, m)
        return OnePassState(*read_only(particles, equal_log_weights(m), np.ones(m)), 0, 0, np.inf, 0, 0.0)

    def renewed(
        self, rng: Rng, state: OnePassState, target: Target, ess: float, knobs: OwnKnobs
    ) -> tuple[OnePassState, str, Array | None]:
        """The state that the step starts from; where particles were redrawn why ("" elsewhere), and their parents."""
        return state, "", None

    def step(
        self, rng: Rng, state: OnePassState, target: Target, batch: Array, knobs: OwnKnobs
    ) -> tuple[OnePassState, StepInfo]:
        """Bayes' rule for the batch, after new particles where they are due."""
        ess = effective_sample_size(state.log_weights)
        state, reason, parents = self.renewed(rng, state, target, ess, knobs)
        if reason and ess < state.fewest:
            state = state._replace(fewest=ess, fewest_at=state.iteration)
        log_likelihood = checked_log_likelihood(target, state.particles, batch, state.supported > 0)
        before = state.log_weights
        log_z = state.log_z + float(np.logaddexp.reduce(before + log_likelihood))
        (log_weights,) = read_only(normalised(state.log_weights + log_likelihood, state.particles, batch))
        state = state._replace(
            log_weights=log_weights, iteration=state.iteration + 1, seen=state.seen + len(batch), log_z=log_z
        )
        return state, StepInfo(
            Cost(len(batch), len(batch) * int((state.supported > 0).sum())),
            _words(state, len(batch), target.num_data, reason),
            events(rejuvenated=reason),
            weight_scalars(ess, log_weights),
            weight_terms(log_weights, previous=before, likelihood=log_likelihood),
            parents=parents,
        )

    def log_z(self, state: OnePassState, knobs: OwnKnobs, target: Target) -> float | None:
        """Of the data seen."""
        return state.log_z if state.seen else None

    def caveat(self, state: OnePassState, knobs: OwnKnobs) -> str:
        """That too few particles carry the posterior, or once did."""
        return super().caveat(state, knobs) or descended(state.fewest, state.fewest_at, state.particles)


def _words(state: OnePassState, batch: int, num_data: int, reason: str) -> str:
    parts = [f"batch of {batch:,}", f"{state.seen:,} of {num_data:,} data seen"]
    parts += [ess_words(state.log_weights)] + ([f"resampled and jittered first ({reason})"] if reason else [])
    return " · ".join(parts)


# One-pass sequential Monte Carlo (Balakrishnan, Madigan 2006): each datum once, resampling with jitter.


JITTERS = {"isotropic": 0.1, "median": 0.05, "covariance": 0.35, "local": 0.85}


class SMCKnobs(SmoothingKnobs):
    """The knobs of `smc`; the jitter that moves the particles and the kernel that judges them are two things.

    num_particles: Number of points that carry the approximation.
    ess_threshold: Resample, with jitter, when the ESS is below τ m.
    jitter_rule: Shape of the noise added to resampled particles; the rules are those of the bandwidth.
    jitter: Width of the noise added to resampled particles; its unit follows the jitter rule. Too little leaves copies
        of a few particles; too much blurs the modes at every resampling.
    shrinkage: Pull the particles together before the noise is added, so that it does not widen the posterior (Liu and
        West 2001).
    """

    num_particles = NUM_PARTICLES.at(1500, acts="resampling")
    batch_size = BATCH_SIZE.at(10)
    ess_threshold = ESS_THRESHOLD.at(0.5, basic=True)
    jitter_rule = Choice("local", {rule: KERNELS[rule] for rule in RULES}, "Jitter rule")
    jitter = WIDTH.at(0.85, label="Jitter width", default_by=("jitter_rule", JITTERS))
    shrinkage = Flag(True, "Shrinkage")

    def work(self, num_data: int) -> Work:
        """m likelihoods of the batch."""
        return Work(likelihoods=self.num_particles * self.rows(num_data))


class SMC(OnePass):
    """One-pass sequential Monte Carlo.

    short_title: One-pass SMC
    about: One-pass sequential Monte Carlo reads each data point once: it reweights the particles, and resamples them
        with a little jitter when few still count.
    formula: w_i ← w_i · p(batch | θ_i);  resample and jitter when ESS is low
    what_moves: Particles stay in place and change weight; when few count, new ones are drawn near the heavy ones.
    source: Balakrishnan and Madigan 2006; jitter by the rule local and shrinkage in its shape: ours
    propagate: prior
    reweight: likelihood (each datum once)
    resample: kernel density (when the ESS falls below τ m; points are pulled together first)
    adapt: kernel width (of the jitter, by the points)

    Below an ESS of tau m there are m draws from the weighted KDE.

    The weights do not correct for the smoothing. With shrinkage the particles' mean and covariance survive a
    resampling, though not their finer shape; without it each one adds the kernel's covariance: the price of one pass.
    """

    name = "smc"
    scalars = WEIGHTED
    marks = ("rejuvenated",)

    def renewed(
        self, rng: Rng, state: OnePassState, target: Target, ess: float, knobs: SMCKnobs
    ) -> tuple[OnePassState, str, Array | None]:
        """New particles where the ESS fell too low or another number of them is wanted."""
        reason = resampling_reason(len(state.particles), ess, knobs)
        if not reason:
            return state, "", None
        density = self.jitter_density(state, knobs, target)
        particles, parents = children(rng, density, knobs.num_particles, "independent", "systematic")
        supported = (checked_log_prior(target, particles) > -np.inf).astype(np.float64)
        drawn = read_only(particles, equal_log_weights(len(particles)), supported)
        return (
            state._replace(**dict(zip(("particles", "log_weights", "supported"), drawn, strict=True))),
            reason,
            parents,
        )

    def jitter_density(self, state: OnePassState, knobs: SMCKnobs, target: Target) -> KernelDensity:
        """The weighted KDE that new particles are drawn from."""
        weights = np.exp(state.log_weights)
        cholesky = RULES[knobs.jitter_rule](state.particles, weights, knobs.jitter, target.scale)
        centres = shrunk(state.particles, weights, cholesky, target.scale) if knobs.shrinkage else state.particles
        return KernelDensity(centres, state.log_weights, cholesky)


@one_blas_thread()
def shrunk(particles: Array, weights: Array, cholesky: Array, scale: Array) -> Array:
    """Particles (m, d) drawn towards their mean so that the kernel L L' gives them back their covariance V.

    theta <- mean + A (theta - mean) with A V A' + L L' = V, that is A = C (I - K)^(1/2) C^-1 for V = C C' and
    K = C^-1 L L' C^-T; with an isotropic K = h^2 I this is the a = sqrt(1 - h^2) of Liu and West 2001. In a direction
    in which the kernel is wider than the particles all of them go to the mean. `scale` (d,): the prior's sd.
    """
    mean = weighted_sum(weights, particles)
    factor = np.linalg.cholesky(covariance(particles, weights, scale))
    relative = np.linalg.solve(factor, cholesky)
    shares, directions = np.linalg.eigh(relative @ relative.T)
    kept = (directions * np.sqrt(np.clip(1.0 - shares, 0.0, None))) @ directions.T
    return mean + np.einsum("ij,mj->mi", factor @ kept @ np.linalg.inv(factor), particles - mean)


def resampling_reason(m: int, ess: float, knobs: SMCKnobs) -> str:
    """Why the next step must draw new particles first; "" where it need not."""
    if knobs.num_particles != m:
        return f"particles {m:,} → {knobs.num_particles:,}"
    return f"only {ess / m:.0%} were still effective" if ess_below(ess, knobs.ess_threshold, m) else ""


# A particle filter for topics: each document once, each particle with the topics of all words that it has seen.


class ParticleLDAKnobs(MethodKnobs):
    """The knobs of `particle_lda`.

    num_particles: Number of sets of topics.
    ess_threshold: Sets of topics are resampled when the ESS falls below this share.
    sweeps: How often the topics of a document's words are drawn again before the next document.
    """

    num_particles = NUM_PARTICLES.at(16, softbounds=(1, 200))
    batch_size = BATCH_SIZE.at(100)
    ess_threshold = ESS_THRESHOLD.at(0.5)
    sweeps = Whole(5, (0, 100), (0, 20), "Gibbs sweeps")

    def work(self, num_data: int) -> Work:
        """The documents of the batch for each particle."""
        return Work(likelihoods=self.num_particles * self.rows(num_data))


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
    particles are resampled between batches. Only counts are kept, so that words of earlier documents keep their topics.
    """

    name = "particle_lda"
    family = "structured"
    requires = frozenset({"documents"})
    scalars = WEIGHTED
    estimates_log_z = True
    marks = ("rejuvenated",)
    update = weight_update(PREVIOUS, Term("likelihood", "words of the batch", "+ Σ_n log p(w_n | z_{<n}, w_{<n})"))

    def init(self, rng: Rng, target: Target, knobs: ParticleLDAKnobs) -> ParticleLDAState:
        """No words yet: the prior of the topics in every particle."""
        m, documents = knobs.num_particles, target.documents(target.data_rows[:0])
        natural = np.full((m, *documents.shape), documents.beta)
        return ParticleLDAState(*read_only(natural, equal_log_weights(m)), 0.0, 0, 0)

    def step(
        self, rng: Rng, state: ParticleLDAState, target: Target, batch: Array, knobs: ParticleLDAKnobs
    ) -> tuple[ParticleLDAState, StepInfo]:
        """Resample where the ESS is low, then read the documents of the batch."""
        m, documents = len(state.natural), target.documents(batch, len(state.natural))
        ess, natural, before, reason = effective_sample_size(state.log_weights), state.natural, state.log_weights, ""
        parents = None
        if ess_below(ess, knobs.ess_threshold, m):
            parents = systematic(np.exp(before), m, rng.random())
            natural = natural[parents]
            before, reason = equal_log_weights(m), f"resampled: ESS was {ess:.1f} of {m:,}"
        natural, found = filtered(
            natural, documents.sparse, seeds_of(rng, m, len(batch)), documents.alpha, knobs.sweeps
        )
        log_z = state.log_z + float(np.logaddexp.reduce(before + found))
        log_weights = normalised(before + found, np.empty((m, 0)), batch)
        seen = state.seen + len(batch)
        after = ParticleLDAState(*read_only(natural, log_weights), log_z, state.iteration + 1, seen)
        words = f"batch of {len(batch):,} · {seen:,} of {target.num_data:,} documents read · ESS "
        return after, StepInfo(
            Cost(len(batch), len(batch) * m),
            words + f"{effective_sample_size(log_weights):,.1f} of {m:,}",
            events(rejuvenated=reason),
            weight_scalars(ess, log_weights),
            weight_terms(log_weights, previous=before, likelihood=found),
            parents=parents,
        )

    def points(self, state: ParticleLDAState) -> Array:
        """The counts of each particle, (m, W K)."""
        return state.natural.reshape(len(state.natural), -1)

    def density(self, state: ParticleLDAState, knobs: ParticleLDAKnobs, target: Target) -> DirichletMixture:
        """The mixture of the particles' Dirichlet densities."""
        return DirichletMixture(state.natural, state.log_weights)

    def log_z(self, state: ParticleLDAState, knobs: ParticleLDAKnobs, target: Target) -> float | None:
        """Of the documents read; exp of it is unbiased."""
        return state.log_z if state.seen else None
