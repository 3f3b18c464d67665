"""Structured Particle Mirror Descent: particles for a part of the unknowns, the rest in closed form given each."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from pmdviz.densities.density import Density, effective_sample_size
from pmdviz.kernels.checks import Array, Rng
from pmdviz.methods import optimisers
from pmdviz.methods.base import BatchMethod, read_only
from pmdviz.methods.particles import (
    NUM_PARTICLES,
    equal_log_weights,
    normalised,
    weight_scalars,
    weight_terms,
    weight_update,
)
from pmdviz.methods.step import BATCH_SIZE, STEP_SIZE, WEIGHTED, BatchKnobs, Cost, StepInfo, Term, Work
from pmdviz.targets import Target
from pmdviz.targets.space import Conditionals

ALONE = 2.0  # effective particles below which one of them decides


class StructuredKnobs(BatchKnobs):
    """The knobs of `structured_pmd`.

    num_particles: Sets of the unknowns that have no closed form. With many data one soon has all weight.
    """

    num_particles = NUM_PARTICLES.at(16, softbounds=(1, 200))
    batch_size = BATCH_SIZE.at(128)
    eta = optimisers.ETA.at(1.0)
    n0 = optimisers.N0.at(1.0)
    kappa = optimisers.KAPPA.at(0.5)

    def work(self, num_data: int) -> Work:
        """The likelihood of the batch for each particle."""
        return Work(likelihoods=self.num_particles * self.rows(num_data))


class StructuredState(NamedTuple):
    """Weighted particles Z_j with q(u | Z_j) each."""

    particles: Array  # (m, p), and the other fields of `Conditionals`
    constants: Array
    natural: Array
    partitions: Array
    prior_partitions: Array
    log_weights: Array  # (m,) logsumexp 0
    iteration: int

    @property
    def conditionals(self) -> Conditionals:
        """The particles with their conditional densities."""
        return Conditionals(*self[:5])


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

    previous: What was known: the step forgets the share γ of it.
    likelihood: How well the particle explains the batch, with all that has a closed form integrated out.

    Mirror descent on q(Z, u) = q(Z) q(u | Z), with u given Z in an exponential family.

    Z is what has no closed form: drawn once from its prior (inducing inputs), or, of each row, drawn by the target
    whenever the row is visited (the topics of a document's words), and then weighted for what it was drawn from.
    q(u | Z) <- q(u | Z)^(1-γ) p(u | Z)^γ prod over the batch of p(x | u, Z)^(γ N/B), in natural parameters; with the
    log partition functions A of it before and after and of the prior,
    log w <- (1-γ) log w + A_after - (1-γ) A_before - γ A_prior + what of the likelihood does not depend on u.
    The weights are those of Eq. 2 and are left as they are: with many data they leave one particle, and it is said.
    """

    name = "structured_pmd"
    family = "structured"
    requires = frozenset({"conditional_family"})
    scalars = (STEP_SIZE, *WEIGHTED)
    update = weight_update(
        Term("previous", "weight before", "(1 − γ) log w"),
        Term("likelihood", "what Z says of the batch", "+ log ∫ q(u | Z)^{1−γ} [p(u | Z) p(x | u, Z)^{N/B}]^{γ} du"),
    )

    def init(self, rng: Rng, target: Target, knobs: StructuredKnobs) -> StructuredState:
        """m particles of the prior, equally weighted."""
        found = target.conditionals(rng, knobs.num_particles)
        return StructuredState(*read_only(*found, equal_log_weights(knobs.num_particles)), 0)

    def step(
        self, rng: Rng, state: StructuredState, target: Target, batch: Array, knobs: StructuredKnobs
    ) -> tuple[StructuredState, StepInfo]:
        """One mirror step on the batch."""
        t, m, before = state.iteration + 1, len(state.log_weights), state.conditionals
        gamma = optimisers.decayed(t, knobs)
        after, base = target.tilted(rng, before, batch, 1 - gamma, gamma * target.num_data / len(batch))
        partitions = after.partitions - (1 - gamma) * before.partitions - gamma * before.prior_partitions
        previous = (1 - gamma) * state.log_weights if gamma < 1 else np.zeros(m)
        log_weights = normalised(previous + partitions + base, state.particles, batch)
        ess = effective_sample_size(state.log_weights)
        state = StructuredState(*read_only(*after, log_weights), t)
        return state, StepInfo(
            Cost(len(batch), len(batch) * m),
            f"γ = {gamma:.3g} · batch of {len(batch):,} · ESS {effective_sample_size(log_weights):,.1f} of {m:,}",
            scalars={"step_size": gamma} | weight_scalars(ess, log_weights),
            terms=weight_terms(log_weights, previous=previous, likelihood=partitions + base),
            numbers={"γ": gamma, "N/B": target.num_data / len(batch)},
        )

    def density(self, state: StructuredState, knobs: StructuredKnobs, target: Target) -> Density:
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
        return (
            f"one of {m:,} particles carries all weight: q is the density of a single set of the unknowns that have no "
            "closed form, and says nothing of how uncertain these are"
        )
