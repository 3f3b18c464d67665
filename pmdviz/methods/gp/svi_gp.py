"""Stochastic variational inference for sparse Gaussian processes: one set of inducing inputs, natural gradients."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from pmdviz.densities.density import Density
from pmdviz.kernels.factors import precision
from pmdviz.methods.base import read_only
from pmdviz.methods.grammar import Grammar, by
from pmdviz.methods.shared import optimisers
from pmdviz.methods.shared.batching import BatchKnobs, BatchMethod, batch_size_knob
from pmdviz.methods.shared.pulls import mean_terms, mean_update
from pmdviz.methods.step import STEP_SIZE, ComputedTerms, Cost, StepInfo, Work
from pmdviz.targets import Target
from pmdviz.targets.blocks import Conditionals


class SVIGPKnobs(BatchKnobs):
    """The knobs of `svi_gp`."""

    kind_words = "knob of method 'svi_gp':"

    batch_size = batch_size_knob(128)
    eta = optimisers.eta(1.0)
    n0 = optimisers.n0(1.0)
    kappa = optimisers.kappa(0.5)

    def work(self, num_data: int) -> Work:
        """The likelihood of the batch, once."""
        return Work(likelihoods=self.rows(num_data))


class SVIGPState(NamedTuple):
    """q(u) on one set of inducing inputs: the fields of `Conditionals`, of one particle."""

    particles: np.ndarray  # (1, p)
    constants: np.ndarray
    natural: np.ndarray
    partitions: np.ndarray
    prior_partitions: np.ndarray
    iteration: int

    @property
    def conditionals(self) -> Conditionals:
        """The inducing inputs with q(u)."""
        return Conditionals(*self[:5])


class SVIGP(BatchMethod):
    """Ascent of L = sum_n [log N(y_n | a_n'm, noise) - (s_n + a_n'S a_n) / (2 noise)] - KL(q || prior), q = N(m, S).

    In whitened coordinates, a = L^-1 k(Z, x) and s = 1 - a'a. In natural parameters, precision P = S^-1 and linear term
    h = P m, a natural-gradient step on a batch is P <- (1-ρ) P + ρ (I + (N/B) sum a a' / noise) and
    h <- (1-ρ) h + ρ (N/B) sum a y / noise: with all data and ρ = 1 the optimum. The inducing inputs stay: rows of the
    data drawn without replacement. The bound is that of the model without FITC's correction, whatever the target has.
    """

    name = "svi_gp"
    title = "Stochastic variational inference for sparse Gaussian processes"
    about = (
        "Stochastic variational inference keeps one set of inducing inputs and fits a Gaussian to the function there."
    )
    formula = "maximise Σ_n E_q[log p(y_n | u)] - KL(q(u) || p(u)) over q(u) = N(m, S)"
    what_moves = "No particles: the Gaussian of the function at one fixed set of inducing inputs moves."
    source = "Hensman, Fusi, Lawrence 2013, Eq. 4 and section 3.2; the bound: Titsias 2009"
    short_title = "SVI-GP"
    family = "parametric"
    requires = frozenset({"conditional_family", "inducing_inputs"})
    grammar = Grammar(
        move=by("natural gradient", remark="of the ELBO, on a batch"),
    )
    Knobs = SVIGPKnobs
    scalars = (STEP_SIZE,)
    update = mean_update("ρ", "S′", bound="b", formula="m′ − m")

    def who(self, knobs: SVIGPKnobs) -> tuple[int, str]:
        """One Gaussian."""
        return 1, "Gaussian"

    def init(self, rng: np.random.Generator, target: Target, knobs: SVIGPKnobs) -> SVIGPState:
        """Inducing inputs among the data, and the prior there."""
        return SVIGPState(*read_only(*target.conditionals(rng, 1)), 0)

    def step(
        self, rng: np.random.Generator, state: SVIGPState, target: Target, batch: np.ndarray, knobs: SVIGPKnobs
    ) -> tuple[SVIGPState, StepInfo]:
        """One natural-gradient step."""
        t = state.iteration + 1
        rho = optimisers.decayed(t, knobs)
        after = target.bounded(state.conditionals, batch, 1 - rho, rho * target.num_data / len(batch))
        words = f"step {rho:.3g} · batch of {len(batch):,}"
        before, after = state, SVIGPState(*read_only(*after), t)
        return after, StepInfo(
            Cost(len(batch), len(batch)),
            words,
            scalars={"step_size": rho},
            terms=ComputedTerms(lambda: terms_of(before, after, rho)),
            numbers={"ρ": rho, "N/B": target.num_data / len(batch)},
        )

    def points(self, state: SVIGPState) -> np.ndarray:
        """m, in whitened coordinates, (1, number of inducing inputs)."""
        return spread_of(state, state.natural[0, :, -1])[None]

    def density(self, state: SVIGPState, knobs: SVIGPKnobs, target: Target) -> Density:
        """The Gaussian of the function, seen as the target sees it."""
        return target.conditional_density(state.conditionals, np.zeros(1))


def spread_of(state: SVIGPState, linear: np.ndarray) -> np.ndarray:
    """P^-1 h for the state's precision P and some h, (M,) each."""
    lower = np.tril(state.natural[0, :, :-1])
    return np.einsum("ij,j->i", precision(lower + np.tril(lower, -1).T), linear)


def terms_of(before: SVIGPState, after: SVIGPState, rho: float) -> dict[str, np.ndarray]:
    """What moved m, the prior of which is N(0, I): m' - m = ρ S' [-m + (N/B) sum a (y - a'm) / noise]."""
    old = spread_of(before, before.natural[0, :, -1])
    return mean_terms(spread_of(after, after.natural[0, :, -1]) - old, -rho * spread_of(after, old))
