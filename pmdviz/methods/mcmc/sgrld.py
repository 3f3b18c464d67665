"""Stochastic gradient Riemannian Langevin dynamics: noisy steps of topics that stay on the simplex by themselves."""

from __future__ import annotations

from functools import partial
from typing import NamedTuple

import numpy as np

from pmdviz.kernels.topics.sampling import mean_counts
from pmdviz.knobs import Whole
from pmdviz.methods.base import read_only
from pmdviz.methods.grammar import Grammar, by
from pmdviz.methods.mcmc.chain import Chain, ChainKnobs, appended, states_of
from pmdviz.methods.mcmc.sgld import NOISE, decay, delay, langevin_step, numerator
from pmdviz.methods.shared.batching import BatchKnobs, BatchMethod
from pmdviz.methods.shared.pulls import move_update
from pmdviz.methods.step import STEP_SIZE, ComputedTerms, Cost, StepInfo, Term, Work
from pmdviz.targets import Target
from pmdviz.targets.topics import seeds_of

SMALLEST = 1e-300  # of a topic's unnormalised probability


class SGRLDKnobs(BatchKnobs, ChainKnobs):
    """The knobs of `sgrld`."""

    kind_words = "knob of method 'sgrld':"

    a = numerator(1.0, "")
    b = delay(1000.0, 5000)
    g = decay(0.6)
    sweeps = Whole(
        10,
        bounds=(1, 1000),
        softbounds=(1, 100),
        log=True,
        label="Gibbs sweeps",
        doc="Sweeps over a document's topics that its expected counts are a mean of, after half as many that are not.",
    )

    def work(self, num_data: int) -> Work:
        """The documents of the batch of each chain."""
        return Work(likelihoods=self.num_chains * self.rows(num_data))


class SGRLDState(NamedTuple):
    """The draws so far, and where the chain stands before topics are normalised."""

    older: np.ndarray  # (n, K W)
    newer: np.ndarray  # (k, K W)
    expanded: np.ndarray  # (W, K) positive; φ_k = expanded[:, k] / its sum
    iteration: int


class SGRLD(BatchMethod, Chain):
    """θ <- |θ + ε/2 (β - θ + (N/B) sum over the batch of E[n_kw - φ_kw n_k]) + N(0, ε θ)|, φ_k = θ_k / sum θ_k.

    θ_kw ~ Gamma(β, 1) in the prior, which makes φ_k Dirichlet; the metric is diag(θ)^-1, so that a step is as large as
    the probability allows. E n, given φ, is a mean over Gibbs sweeps.
    """

    name = "sgrld"
    title = "Stochastic gradient Riemannian Langevin dynamics (LDA)"
    about = "Langevin dynamics on the topics takes noisy steps whose size grows with each word's probability."
    formula = "θ ← |θ + ε/2 [β - θ + (N/B) Σ E(n_{kw} - φ_{kw} n_k)] + N(0, ε θ)|"
    what_moves = "One set of topics wanders, with noise; what is shown is a mean over the draws that it leaves."
    source = "Patterson, Teh 2013, Eq. 11, expanded mean"
    short_title = "SGRLD"
    requires = frozenset({"documents"})
    grammar = Grammar(
        propagate=by("random start"),
        move=by("Langevin", remark="on a batch, in longer steps where a word is probable"),
    )
    Knobs = SGRLDKnobs
    scalars = (STEP_SIZE,)
    update = move_update(
        Term("prior", "prior", "ε/2 (β − θ)", "Towards the prior's mean β."),
        Term(
            "likelihood",
            "words of the batch",
            "+ ε/2 N/B Σ E(n_{kw} − φ_{kw} n_k)",
            "Words that the topic has more often than it expects gain.",
        ),
        NOISE._replace(formula="+ √(ε θ) ξ"),
        Term("mirrored", "mirrored at 0", "+ (|θ′| − θ′)", "What would be negative changes its sign."),
        unit="units of θ, before topics are normalised",
    )

    def batch_size(self, state: SGRLDState, knobs: SGRLDKnobs, num_data: int) -> int:
        """B for each chain."""
        return len(states_of(state)) * super().batch_size(state, knobs, num_data)

    def rows_per_draw(self, target: Target, knobs: SGRLDKnobs) -> float:
        """B."""
        return knobs.rows(target.num_data)

    def start(self, rng: np.random.Generator, target: Target, knobs: SGRLDKnobs) -> SGRLDState:
        """Gamma(1, 1): topics that differ, but by no more than words of equal rank would."""
        expanded = np.maximum(rng.gamma(1.0, size=target.documents(target.data_rows[:0]).shape), SMALLEST)
        return SGRLDState(*read_only(np.empty((0, target.dim)), _point(expanded), expanded), 0)

    def move(
        self, rng: np.random.Generator, state: SGRLDState, target: Target, batch: np.ndarray, knobs: SGRLDKnobs
    ) -> tuple[SGRLDState, StepInfo]:
        """One Langevin step along the gradient of a batch."""
        documents, theta = target.documents(batch), state.expanded
        step_size, noise = langevin_step(state.iteration + 1, knobs), rng.standard_normal(theta.shape)
        burn_in, seeds = knobs.sweeps // 2, seeds_of(rng, len(batch))
        counts = mean_counts(theta, documents.sparse, seeds, documents.alpha, burn_in, knobs.sweeps)
        share = target.num_data / len(batch)
        drift = documents.beta - theta + share * (counts - _shares(theta) * counts.sum(axis=0))
        moved = np.abs(theta + 0.5 * step_size * drift + np.sqrt(step_size * theta) * noise)
        (moved,) = read_only(np.maximum(moved, SMALLEST))
        state = appended(state, _point(moved))._replace(expanded=moved)
        words = f"ε = {step_size:.3g} · batch of {len(batch):,} documents · no accept step"
        return state, StepInfo(
            Cost(len(batch), len(batch)),
            words,
            scalars={"step_size": step_size},
            terms=ComputedTerms(partial(terms_of, theta, moved, documents.beta, step_size, drift, noise)),
            numbers={"ε": step_size, "N/B": share},
        )

    def points(self, state: SGRLDState) -> np.ndarray:
        """Where each chain stands before topics are normalised, topic by topic, (C, K W)."""
        return np.concatenate([_row(chain.expanded) for chain in states_of(state)])


def terms_of(
    theta: np.ndarray, moved: np.ndarray, beta: float, step_size: float, drift: np.ndarray, noise: np.ndarray
) -> dict[str, np.ndarray]:
    """What moved theta (W, K), by a drift and noise (W, K): (1, K W) each; nothing mirrored where all is positive."""
    prior, push = 0.5 * step_size * (beta - theta), np.sqrt(step_size * theta) * noise
    mirrored = moved - (theta + 0.5 * step_size * drift + push)
    parts = {"prior": prior, "likelihood": 0.5 * step_size * drift - prior, "noise": push}
    parts |= {"mirrored": mirrored} if mirrored.any() else {}
    return {name: _row(part) for name, part in parts.items()}


def _shares(theta: np.ndarray) -> np.ndarray:
    """φ, (W, K)."""
    return theta / theta.sum(axis=0)


def _point(theta: np.ndarray) -> np.ndarray:
    """The topics as one point (1, K W)."""
    return _row(_shares(theta))


def _row(theta: np.ndarray) -> np.ndarray:
    """(W, K) as (1, K W)."""
    return np.ascontiguousarray(theta.T).reshape(1, -1)
