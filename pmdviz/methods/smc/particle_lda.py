"""A particle filter for topics: each document once, each particle with the topics of all words that it has seen."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from pmdviz.densities.density import effective_sample_size
from pmdviz.densities.product import DirichletMixture
from pmdviz.kernels.resampling import systematic
from pmdviz.kernels.topics.sampling import filtered
from pmdviz.knobs import Whole
from pmdviz.methods.base import read_only
from pmdviz.methods.grammar import Grammar, by
from pmdviz.methods.shared.batching import batch_size_knob
from pmdviz.methods.shared.particles import (
    PREVIOUS,
    equal_log_weights,
    ess_below,
    ess_threshold_knob,
    normalised,
    num_particles_knob,
    weight_terms,
    weight_update,
)
from pmdviz.methods.smc.one_pass import Once
from pmdviz.methods.step import WEIGHTED, Cost, MethodKnobs, StepInfo, Term, Work, events
from pmdviz.targets import Target
from pmdviz.targets.topics import seeds_of


class ParticleLDAKnobs(MethodKnobs):
    """The knobs of `particle_lda`."""

    kind_words = "knob of method 'particle_lda':"

    num_particles = num_particles_knob(16, "restart", "Number of sets of topics.", (1, 200))
    batch_size = batch_size_knob(100)
    ess_threshold = ess_threshold_knob(0.5, "Sets of topics are resampled when the ESS falls below this share.")
    sweeps = Whole(
        5,
        bounds=(0, 100),
        softbounds=(0, 20),
        label="Gibbs sweeps",
        doc="How often the topics of a document's words are drawn again before the next document.",
    )

    def work(self, num_data: int) -> Work:
        """The documents of the batch for each particle."""
        return Work(likelihoods=self.num_particles * self.rows(num_data))


class ParticleLDAState(NamedTuple):
    """Weighted particles, each q(Φ | topics of all words so far) = Dir(natural)."""

    natural: np.ndarray  # (m, W, K) beta and the number of tokens of each word and topic
    log_weights: np.ndarray  # (m,) logsumexp 0
    log_z: float  # estimate of log p(documents so far)
    iteration: int
    seen: int


class ParticleLDA(Once):
    """Sequential Monte Carlo on the topics z of words, with Φ and the documents' shares integrated out.

    z_n ~ p(z_n | z_1 .. z_n-1, w_1 .. w_n) and log w <- log w + log p(w_n | z_1 .. z_n-1, w_1 .. w_n-1), word by word;
    particles are resampled between batches. Only counts are kept, so that words of earlier documents keep their topics.
    """

    name = "particle_lda"
    title = "Particle filter for topics (one-pass SMC-LDA)"
    about = (
        "A particle filter reads each document once and gives every word a topic, at random, in each of its particles."
    )
    formula = "w ← w · p(w_n | z_{<n}),  z_n ~ p(z_n | z_{<n}, w_n)"
    what_moves = "Particles collect counts of words by topic; those that foresee the next words gain weight."
    source = "Canini, Shi, Griffiths 2009, Algorithm 4, with sweeps over the newest document alone"
    short_title = "SMC-LDA"
    family = "structured"
    requires = frozenset({"documents"})
    grammar = Grammar(
        propagate=by("conditional", remark="a topic for every word"),
        reweight=by("likelihood", remark="of each word, before it has a topic"),
        resample=by("copies", remark="when the ESS falls below τ m"),
        move=by("Gibbs", remark="sweeps over the newest document"),
    )
    Knobs = ParticleLDAKnobs
    scalars = WEIGHTED
    estimates_log_z = True
    marks = ("rejuvenated",)
    update = weight_update(
        PREVIOUS,
        Term(
            "likelihood",
            "words of the batch",
            "+ Σ_n log p(w_n | z_{<n}, w_{<n})",
            "How well the topics found so far foresee each next word.",
        ),
    )

    def init(self, rng: np.random.Generator, target: Target, knobs: ParticleLDAKnobs) -> ParticleLDAState:
        """No words yet: the prior of the topics in every particle."""
        m, documents = knobs.num_particles, target.documents(target.data_rows[:0])
        natural = np.full((m, *documents.shape), documents.beta)
        return ParticleLDAState(*read_only(natural, equal_log_weights(m)), 0.0, 0, 0)

    def step(
        self,
        rng: np.random.Generator,
        state: ParticleLDAState,
        target: Target,
        batch: np.ndarray,
        knobs: ParticleLDAKnobs,
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
            {"ess_before": ess, "zero_weight": int((log_weights == -np.inf).sum())},
            weight_terms(log_weights, previous=before, likelihood=found),
            parents=parents,
        )

    def points(self, state: ParticleLDAState) -> np.ndarray:
        """The counts of each particle, (m, W K)."""
        return state.natural.reshape(len(state.natural), -1)

    def density(self, state: ParticleLDAState, knobs: ParticleLDAKnobs, target: Target) -> DirichletMixture:
        """The mixture of the particles' Dirichlet densities."""
        return DirichletMixture(state.natural, state.log_weights)

    def log_z(self, state: ParticleLDAState, knobs: ParticleLDAKnobs, target: Target) -> float | None:
        """Of the documents read; exp of it is unbiased."""
        return state.log_z if state.seen else None
