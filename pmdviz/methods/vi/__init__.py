"""Variational inference in closed form: Dirichlet densities of topics, and a bound of the logistic likelihood."""

from __future__ import annotations

from typing import NamedTuple, Protocol

import numpy as np

from pmdviz.densities.density import KernelDensity
from pmdviz.densities.product import MANY, DiagonalDensity, DirichletMixture
from pmdviz.kernels.checks import Array, Rng
from pmdviz.kernels.factors import cholesky, inverse
from pmdviz.kernels.topics import expected_counts
from pmdviz.methods import optimisers
from pmdviz.methods.base import BatchMethod, read_only
from pmdviz.methods.optimisers import mean_terms, mean_update, move_update
from pmdviz.methods.step import STEP_SIZE, BatchKnobs, ComputedTerms, Cost, StepInfo, Term, Work
from pmdviz.targets import Target

START = 100.0  # Gamma's shape at the start, its mean 1: topics that differ a little


class OnlineVBKnobs(BatchKnobs):
    """The knobs of `online_vb`."""

    eta = optimisers.ETA.at(1.0)
    n0 = optimisers.N0.at(1.0)
    kappa = optimisers.KAPPA.at(0.5)

    def work(self, num_data: int) -> Work:
        """One fit of each document of the batch."""
        return Work(likelihoods=self.rows(num_data))


class OnlineVBState(NamedTuple):
    """q(φ_k) = Dir(natural[0, :, k])."""

    natural: Array  # (1, W, K)
    iteration: int


class OnlineVB(BatchMethod):
    """Online variational Bayes (LDA).

    short_title: online VB
    about: Online variational Bayes fits independent Dirichlet densities to topics and shares, a batch at a time.
    formula: λ ← (1-ρ) λ + ρ [β + (N/B) Σ E_q n_{kw}],  q(φ_k) = Dir(λ_k)
    what_moves: No particles: one Dirichlet density of each topic moves towards what a batch of documents says.
    source: Hoffman, Blei, Bach 2010, Algorithm 2
    propagate: random start
    move: natural gradient (of the ELBO, on a batch)

    forgotten: The step forgets the share ρ of all counts so far.
    prior: The prior comes in anew as much is forgotten.
    counts: How often each word belongs to the topic, as if all documents were like these.

    q(z) and q(θ_d) are fitted to each document.
    """

    name = "online_vb"
    family = "parametric"
    requires = frozenset({"documents"})
    noun = "set of topics"
    scalars = (STEP_SIZE,)
    update = move_update(
        Term("forgotten", "forgotten", "− ρ λ"),
        Term("prior", "prior", "+ ρ β"),
        Term("counts", "words of the batch", "+ ρ N/B Σ E_q n_{kw}"),
        formula="λ_k′ − λ_k",
        unit="words",
    )

    def init(self, rng: Rng, target: Target, knobs: OnlineVBKnobs) -> OnlineVBState:
        """Dirichlet parameters near 1, drawn at random so that topics differ."""
        shape = target.documents(target.data_rows[:0]).shape
        return OnlineVBState(*read_only(rng.gamma(START, 1 / START, (1, *shape))), 0)

    def step(
        self, rng: Rng, state: OnlineVBState, target: Target, batch: Array, knobs: OnlineVBKnobs
    ) -> tuple[OnlineVBState, StepInfo]:
        """One natural gradient step on the batch."""
        t, documents = state.iteration + 1, target.documents(batch)
        rho = optimisers.decayed(t, knobs)
        counts = expected_counts(state.natural[0], documents.sparse, documents.alpha)
        aim = documents.beta + target.num_data / len(batch) * counts
        (natural,) = read_only((1 - rho) * state.natural + rho * aim)
        words = f"ρ = {rho:.3g} · batch of {len(batch):,} documents"
        before, share = state.natural[0], target.num_data / len(batch)

        def terms() -> dict[str, Array]:
            prior = np.full(before.shape, rho * documents.beta)
            return {"forgotten": -rho * before.T, "prior": prior.T, "counts": rho * share * counts.T}

        return OnlineVBState(natural, t), StepInfo(
            Cost(len(batch), len(batch)),
            words,
            scalars={"step_size": rho},
            terms=ComputedTerms(terms),
            numbers={"ρ": rho, "N/B": share},
        )

    def points(self, state: OnlineVBState) -> Array:
        """λ, topic by topic, (K, W)."""
        return state.natural[0].T

    def density(self, state: OnlineVBState, knobs: OnlineVBKnobs, target: Target) -> DirichletMixture:
        """The product of the topics' Dirichlet densities."""
        return DirichletMixture(state.natural, np.zeros(1))


# Stochastic variational inference with the bound of Jaakkola and Jordan: closed-form steps for logistic regression.


class Fitted(Protocol):
    """The state of a method that fits a Gaussian."""

    mean: Array
    cholesky: Array


class JaakkolaJordanKnobs(BatchKnobs):
    """The knobs of `jaakkola_jordan`."""

    eta = optimisers.ETA.at(2.0)
    n0 = optimisers.N0.at(10.0)
    kappa = optimisers.KAPPA.at(1.0)

    def work(self, num_data: int) -> Work:
        """The bound of every row of the batch."""
        return Work(likelihoods=self.rows(num_data))


class JaakkolaJordanState(NamedTuple):
    """q = N(mean, L L'), by its natural parameters too."""

    linear: Array  # (d,) h = P mean
    precision: Array  # (d, d) P
    mean: Array  # (d,)
    cholesky: Array  # (d, d) L, lower triangular, L L' = P^-1
    iteration: int


class GaussianFit(BatchMethod):
    """A method that fits q = N(mean, L L'): its state has `mean` (d,) and `cholesky`, L (d, d) or its diagonal (d,)."""

    family = "parametric"
    noun = "Gaussian"

    def points(self, state: Fitted) -> Array:
        """The mean, (1, d)."""
        return state.mean[None]

    def density(self, state: Fitted, knobs: BatchKnobs, target: Target) -> KernelDensity | DiagonalDensity:
        """The Gaussian itself: one kernel at its mean."""
        if state.cholesky.ndim == 1 and target.dim > MANY:
            return DiagonalDensity(state.mean[None], np.zeros(1), state.mean[None], state.cholesky)
        factor = state.cholesky if state.cholesky.ndim == 2 else np.diag(state.cholesky)
        return KernelDensity(state.mean[None], np.zeros(1), factor)


def sds(state: Fitted) -> Array:
    """sd_q(theta_k), (d,)."""
    return state.cholesky if state.cholesky.ndim == 1 else np.sqrt((state.cholesky**2).sum(axis=1))


def gaussian_words(state: Fitted) -> str:
    """Mean and sds of the first six coordinates, for a step's line."""
    mean, sd = (", ".join(f"{v:.3g}" for v in values[:6]) for values in (state.mean, sds(state)))
    return f"mean ({mean}) · sd ({sd})"


class JaakkolaJordan(GaussianFit):
    """SVI with the Jaakkola-Jordan bound.

    short_title: SVI, bound
    about: A quadratic lower bound of the log likelihood makes every step of variational inference a closed form.
    formula: log σ(z) ≥ log σ(ξ) + (z - ξ)/2 - λ(ξ) (z² - ξ²),  λ(ξ) = tanh(ξ/2)/(4ξ)
    what_moves: No particles: a single Gaussian moves towards the one that the batch's bound gives.
    source: Jaakkola, Jordan 2000; stochastic: Hoffman, Blei, Wang, Paisley 2013; compared with in Dai et al. 2016
    move: natural gradient (of a quadratic bound of the ELBO, on a batch)

    Natural gradient ascent of the ELBO in which each log likelihood is replaced by a quadratic lower bound.

    On a batch the bound, at its tightest under q, makes the posterior a Gaussian with natural parameters (h_B, P_B),
    the batch scaled by N/B; a natural step goes there by a share: h <- (1 - rho) h + rho h_B, P alike. The local step
    xi^2 = E_q (x.w)^2 and the global step are Hoffman et al.'s.
    """

    name = "jaakkola_jordan"
    requires = frozenset({"reals", "quadratic_bound"})
    scalars = (STEP_SIZE,)
    update = mean_update("ρ", "S′", bound="b")

    def init(self, rng: Rng, target: Target, knobs: JaakkolaJordanKnobs) -> JaakkolaJordanState:
        """The prior, N(0, diag(scale^2))."""
        d = target.dim
        parts = np.zeros(d), np.diag(target.scale**-2.0), np.zeros(d), np.diag(target.scale)
        return JaakkolaJordanState(*read_only(*parts), 0)

    def step(
        self, rng: Rng, state: JaakkolaJordanState, target: Target, batch: Array, knobs: JaakkolaJordanKnobs
    ) -> tuple[JaakkolaJordanState, StepInfo]:
        """One natural step."""
        t = state.iteration + 1
        rho = optimisers.decayed(t, knobs)
        towards = target.quadratic_bound(state.mean, state.cholesky, batch)
        linear = (1 - rho) * state.linear + rho * towards.linear
        precision = (1 - rho) * state.precision + rho * towards.precision
        # P = U U' with an upper triangular U, so P^-1 = L L' with L = U^-T.
        factor = inverse(cholesky(precision[::-1, ::-1]))[::-1, ::-1].T
        mean = np.einsum("ik,jk,j->i", factor, factor, linear)
        size = np.sqrt((factor**2).sum(axis=1).mean())
        words = f"step {rho:.3g} · batch of {len(batch):,} · mean of length {np.linalg.norm(mean):.3g} · sd {size:.3g}"
        before, unit = state.mean, target.scale
        state = JaakkolaJordanState(*read_only(linear, precision, mean, factor), t)
        return state, StepInfo(
            Cost(len(batch), len(batch), 0),
            words,
            scalars={"step_size": rho},
            terms=ComputedTerms(lambda: mean_terms(mean - before, -rho * factor @ (factor.T @ (before / unit**2)))),
            numbers={"ρ": rho, "N/B": target.num_data / len(batch)},
        )
