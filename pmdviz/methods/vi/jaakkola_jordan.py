"""Stochastic variational inference with the bound of Jaakkola and Jordan: closed-form steps for logistic regression."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from pmdviz.densities.density import KernelDensity
from pmdviz.kernels.factors import cholesky, inverse
from pmdviz.methods.base import read_only
from pmdviz.methods.grammar import Grammar, by
from pmdviz.methods.shared import optimisers
from pmdviz.methods.shared.batching import BatchKnobs, BatchMethod
from pmdviz.methods.shared.pulls import mean_terms, mean_update
from pmdviz.methods.step import STEP_SIZE, ComputedTerms, Cost, StepInfo, Work
from pmdviz.targets import Target


class JaakkolaJordanKnobs(BatchKnobs):
    """The knobs of `jaakkola_jordan`."""

    kind_words = "knob of method 'jaakkola_jordan':"

    eta = optimisers.eta(2.0)
    n0 = optimisers.n0(10.0)
    kappa = optimisers.kappa()

    def work(self, num_data: int) -> Work:
        """The bound of every row of the batch."""
        return Work(likelihoods=self.rows(num_data))


class JaakkolaJordanState(NamedTuple):
    """q = N(mean, L L'), by its natural parameters too."""

    linear: np.ndarray  # (d,) h = P mean
    precision: np.ndarray  # (d, d) P
    mean: np.ndarray  # (d,)
    cholesky: np.ndarray  # (d, d) L, lower triangular, L L' = P^-1
    iteration: int


class JaakkolaJordan(BatchMethod):
    """Natural gradient ascent of the ELBO in which each log likelihood is replaced by a quadratic lower bound.

    On a batch the bound, at its tightest under q, makes the posterior a Gaussian with natural parameters (h_B, P_B),
    the batch scaled by N/B; a natural step goes there by a share: h <- (1 - rho) h + rho h_B, P alike. The local step
    xi^2 = E_q (x.w)^2 and the global step are Hoffman et al.'s.
    """

    name = "jaakkola_jordan"
    title = "SVI with the Jaakkola-Jordan bound"
    about = "A quadratic lower bound of the log likelihood makes every step of variational inference a closed form."
    formula = "log σ(z) ≥ log σ(ξ) + (z - ξ)/2 - λ(ξ) (z² - ξ²),  λ(ξ) = tanh(ξ/2)/(4ξ)"
    what_moves = "No particles: a single Gaussian moves towards the one that the batch's bound gives."
    source = "Jaakkola, Jordan 2000; stochastic: Hoffman, Blei, Wang, Paisley 2013; compared with in Dai et al. 2016"
    short_title = "SVI, bound"
    family = "parametric"
    requires = frozenset({"reals", "quadratic_bound"})
    grammar = Grammar(
        move=by("natural gradient", remark="of a quadratic bound of the ELBO, on a batch"),
    )
    Knobs = JaakkolaJordanKnobs
    scalars = (STEP_SIZE,)
    update = mean_update("ρ", "S′", bound="b")

    def who(self, knobs: JaakkolaJordanKnobs) -> tuple[int, str]:
        """One Gaussian."""
        return 1, "Gaussian"

    def init(self, rng: np.random.Generator, target: Target, knobs: JaakkolaJordanKnobs) -> JaakkolaJordanState:
        """The prior, N(0, diag(scale^2))."""
        d = target.dim
        parts = np.zeros(d), np.diag(target.scale**-2.0), np.zeros(d), np.diag(target.scale)
        return JaakkolaJordanState(*read_only(*parts), 0)

    def step(
        self,
        rng: np.random.Generator,
        state: JaakkolaJordanState,
        target: Target,
        batch: np.ndarray,
        knobs: JaakkolaJordanKnobs,
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

    def points(self, state: JaakkolaJordanState) -> np.ndarray:
        """The mean, (1, d)."""
        return state.mean[None]

    def density(self, state: JaakkolaJordanState, knobs: JaakkolaJordanKnobs, target: Target) -> KernelDensity:
        """The Gaussian itself: one kernel at its mean."""
        return KernelDensity(state.mean[None], np.zeros(1), state.cholesky)
