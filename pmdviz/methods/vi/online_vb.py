"""Online variational Bayes for topics: stochastic natural gradients of the ELBO over Dirichlet densities."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from pmdviz.densities.product import DirichletMixture
from pmdviz.kernels.topics.variational import expected_counts
from pmdviz.methods.base import read_only
from pmdviz.methods.grammar import Grammar, by
from pmdviz.methods.shared import optimisers
from pmdviz.methods.shared.batching import BatchKnobs, BatchMethod
from pmdviz.methods.shared.pulls import move_update
from pmdviz.methods.step import STEP_SIZE, ComputedTerms, Cost, StepInfo, Term, Work
from pmdviz.targets import Target

START = 100.0  # Gamma's shape at the start, its mean 1: topics that differ a little


class OnlineVBKnobs(BatchKnobs):
    """The knobs of `online_vb`."""

    kind_words = "knob of method 'online_vb':"

    eta = optimisers.eta(1.0)
    n0 = optimisers.n0(1.0)
    kappa = optimisers.kappa(0.5)

    def work(self, num_data: int) -> Work:
        """One fit of each document of the batch."""
        return Work(likelihoods=self.rows(num_data))


class OnlineVBState(NamedTuple):
    """q(φ_k) = Dir(natural[0, :, k])."""

    natural: np.ndarray  # (1, W, K)
    iteration: int


class OnlineVB(BatchMethod):
    """λ <- (1 - ρ) λ + ρ (β + (N/B) sum over the batch of E n_kw), with q(z) and q(θ_d) fitted to each document."""

    name = "online_vb"
    title = "Online variational Bayes (LDA)"
    about = "Online variational Bayes fits independent Dirichlet densities to topics and shares, a batch at a time."
    formula = "λ ← (1-ρ) λ + ρ [β + (N/B) Σ E_q n_{kw}],  q(φ_k) = Dir(λ_k)"
    what_moves = "No particles: one Dirichlet density of each topic moves towards what a batch of documents says."
    source = "Hoffman, Blei, Bach 2010, Algorithm 2"
    short_title = "online VB"
    family = "parametric"
    requires = frozenset({"documents"})
    grammar = Grammar(
        propagate=by("random start"),
        move=by("natural gradient", remark="of the ELBO, on a batch"),
    )
    Knobs = OnlineVBKnobs
    scalars = (STEP_SIZE,)
    update = move_update(
        Term("forgotten", "forgotten", "− ρ λ", "The step forgets the share ρ of all counts so far."),
        Term("prior", "prior", "+ ρ β", "The prior comes in anew as much is forgotten."),
        Term(
            "counts",
            "words of the batch",
            "+ ρ N/B Σ E_q n_{kw}",
            "How often each word belongs to the topic, as if all documents were like these.",
        ),
        formula="λ_k′ − λ_k",
        unit="words",
    )

    def who(self, knobs: OnlineVBKnobs) -> tuple[int, str]:
        """One approximation."""
        return 1, "set of topics"

    def init(self, rng: np.random.Generator, target: Target, knobs: OnlineVBKnobs) -> OnlineVBState:
        """Dirichlet parameters near 1, drawn at random so that topics differ."""
        shape = target.documents(target.data_rows[:0]).shape
        return OnlineVBState(*read_only(rng.gamma(START, 1 / START, (1, *shape))), 0)

    def step(
        self, rng: np.random.Generator, state: OnlineVBState, target: Target, batch: np.ndarray, knobs: OnlineVBKnobs
    ) -> tuple[OnlineVBState, StepInfo]:
        """One natural gradient step on the batch."""
        t, documents = state.iteration + 1, target.documents(batch)
        rho = optimisers.decayed(t, knobs)
        counts, _ = expected_counts(state.natural[0], documents.sparse, documents.alpha)
        aim = documents.beta + target.num_data / len(batch) * counts
        (natural,) = read_only((1 - rho) * state.natural + rho * aim)
        words = f"ρ = {rho:.3g} · batch of {len(batch):,} documents"
        before, share = state.natural[0], target.num_data / len(batch)

        def terms() -> dict[str, np.ndarray]:
            prior = np.full(before.shape, rho * documents.beta)
            return {"forgotten": -rho * before.T, "prior": prior.T, "counts": rho * share * counts.T}

        return OnlineVBState(natural, t), StepInfo(
            Cost(len(batch), len(batch)),
            words,
            scalars={"step_size": rho},
            terms=ComputedTerms(terms),
            numbers={"ρ": rho, "N/B": share},
        )

    def points(self, state: OnlineVBState) -> np.ndarray:
        """λ, topic by topic, (K, W)."""
        return state.natural[0].T

    def density(self, state: OnlineVBState, knobs: OnlineVBKnobs, target: Target) -> DirichletMixture:
        """The product of the topics' Dirichlet densities."""
        return DirichletMixture(state.natural, np.zeros(1))
