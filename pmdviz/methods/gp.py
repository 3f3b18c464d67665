"""Gaussian processes: other ways to a posterior of functions, on the targets that have inducing inputs."""

from __future__ import annotations

from functools import partial
from typing import NamedTuple

import numpy as np

from pmdviz.densities.density import Density
from pmdviz.densities.product import DirichletMixture
from pmdviz.kernels.checks import Array, Rng
from pmdviz.kernels.factors import precision
from pmdviz.knobs import Whole
from pmdviz.methods import optimisers
from pmdviz.methods.base import BatchMethod, Method, Stepped
from pmdviz.methods.step import BATCH_SIZE, BatchKnobs, ComputedTerms, Cost, MethodKnobs, StepInfo, Work
from pmdviz.targets import Target
from pmdviz.targets.space import Conditionals


class SubsetGPKnobs(MethodKnobs):
    """The knobs of `subset_gp`.

    subset_size: How many data points are used, in all. With all of them it is the exact Gaussian process. The time
        grows like the cube of their number.
    """

    subset_size = Whole(128, (1, 2048), (1, 512), "Subset size", "data points", log=True, basic=True)
    batch_size = BATCH_SIZE.at(16)

    def work(self, num_data: int) -> Work:
        """The likelihood of the batch, once; and the matrix of the subset."""
        return Work(kernels=float(self.subset_size) ** 2, likelihoods=self.rows(num_data))


class GPState(NamedTuple):
    """Inducing inputs and the posterior there."""

    conditionals: Conditionals  # of one particle
    iteration: int
    seen: int = 0  # rows of the subset so far

    @property
    def particles(self) -> Array:
        """The inputs, (1, p)."""
        return self.conditionals.particles


class FunctionFit(Method):
    """A method whose state is one set of inducing inputs and the Gaussian of the function there."""

    family = "parametric"
    requires = frozenset({"conditional_family", "inducing_inputs"})
    noun = "Gaussian"

    def density(self, state: GPState, knobs: MethodKnobs, target: Target) -> Density | DirichletMixture:
        """The Gaussian of the function, seen as the target sees it."""
        return target.conditional_density(state.conditionals, np.zeros(1))


class SubsetGP(FunctionFit):
    """Subset of data (exact Gaussian process).

    short_title: Subset of data
    about: Subset of data is the exact Gaussian process of some of the data; all others are left out.
    formula: p(f | y_1, …, y_S),  S ≤ N
    what_moves: No particles: the process is pinned down at one batch of inputs after the other.
    source: Rasmussen, Williams 2006, section 8.3.3; Quiñonero-Candela, Rasmussen 2005
    move: closed form (Bayes' rule, a batch of the subset at a time)

    p(f | rows of the subset), exact: with inducing inputs at these rows the sparse process is the process itself.

    A batch adds its inputs to the inducing inputs, where f given the others is the prior's, and then its rows by
    Bayes' rule: P <- P + sum a a' / noise, h <- h + sum a y / noise in whitened coordinates, which are nested.
    """

    name = "subset_gp"
    budget_words = "the subset"

    def init(self, rng: Rng, target: Target, knobs: SubsetGPKnobs) -> GPState:
        """No data: the prior."""
        return GPState(target.extended(None, target.data_rows[:0]), 0)

    def batch_size(self, state: GPState, knobs: SubsetGPKnobs, num_data: int) -> int:
        """B, and at last the rest of the subset."""
        return min(knobs.batch_size, min(knobs.subset_size, num_data) - state.seen)

    def batches(self, state: GPState, knobs: SubsetGPKnobs) -> str:
        """No row twice."""
        return "epochs"

    def ended(self, state: GPState, knobs: SubsetGPKnobs, target: Target) -> str:
        """When the subset is full."""
        return "the subset is full" if state.seen >= min(knobs.subset_size, target.num_data) else ""

    def step(self, rng: Rng, state: GPState, target: Target, batch: Array, knobs: SubsetGPKnobs) -> Stepped:
        """Bayes' rule for the batch."""
        wider = target.extended(state.conditionals, batch)
        after, seen = target.bounded(wider, batch, 1.0, 1.0), state.seen + len(batch)
        words = f"{seen:,} of {target.num_data:,} data points · batch of {len(batch):,}"
        return GPState(after, state.iteration + 1, seen), StepInfo(Cost(len(batch), len(batch)), words)


# Stochastic variational inference for sparse Gaussian processes: one set of inducing inputs, natural gradients.


class SVIGPKnobs(optimisers.DecayingKnobs, BatchKnobs):
    """The knobs of `svi_gp`."""

    batch_size = BATCH_SIZE.at(128)


class SVIGP(FunctionFit, BatchMethod):
    """Stochastic variational inference for sparse Gaussian processes.

    short_title: SVI-GP
    about: Stochastic variational inference keeps one set of inducing inputs and fits a Gaussian to the function there.
    formula: maximise Σ_n E_q[log p(y_n | u)] - KL(q(u) || p(u)) over q(u) = N(m, S)
    what_moves: No particles: the Gaussian of the function at one fixed set of inducing inputs moves.
    source: Hensman, Fusi, Lawrence 2013, Eq. 4 and section 3.2; the bound: Titsias 2009
    move: natural gradient (of the ELBO, on a batch)

    Ascent of L = sum_n [log N(y_n | a_n'm, noise) - (s_n + a_n'S a_n) / (2 noise)] - KL(q || prior), q = N(m, S).

    In whitened coordinates, a = L^-1 k(Z, x) and s = 1 - a'a. In natural parameters, precision P = S^-1 and linear term
    h = P m, a natural-gradient step on a batch is P <- (1-ρ) P + ρ (I + (N/B) sum a a' / noise) and
    h <- (1-ρ) h + ρ (N/B) sum a y / noise: with all data and ρ = 1 the optimum. The inducing inputs stay: rows of the
    data drawn without replacement. The bound belongs to the model without FITC's correction, whatever the target has.
    """

    name = "svi_gp"
    scalars = (optimisers.STEP_SIZE,)
    update = optimisers.mean_update("ρ", "S′", bound="b", formula="m′ − m")

    def init(self, rng: Rng, target: Target, knobs: SVIGPKnobs) -> GPState:
        """Inducing inputs among the data, and the prior there."""
        return GPState(target.conditionals(rng, 1), 0)

    def step(self, rng: Rng, state: GPState, target: Target, batch: Array, knobs: SVIGPKnobs) -> Stepped:
        """One natural-gradient step."""
        t = state.iteration + 1
        rho = optimisers.decayed(t, knobs)
        found = target.bounded(state.conditionals, batch, 1 - rho, rho * target.num_data / len(batch))
        before, after = state, GPState(found, t)
        cost, words = Cost(len(batch), len(batch)), f"step {rho:.3g} · batch of {len(batch):,}"
        numbers, terms = {"ρ": rho, "N/B": target.num_data / len(batch)}, partial(terms_of, before, after, rho)
        return after, StepInfo(cost, words, scalars={"step_size": rho}, terms=ComputedTerms(terms), numbers=numbers)

    def points(self, state: GPState) -> Array:
        """m, in whitened coordinates, (1, number of inducing inputs)."""
        return mean_of(state)[None]


def spread_of(state: GPState, linear: Array) -> Array:
    """P^-1 h for the state's precision P and some h, (M,) each."""
    lower = np.tril(state.conditionals.natural[0, :, :-1])
    return np.einsum("ij,j->i", precision(lower + np.tril(lower, -1).T), linear)


def mean_of(state: GPState) -> Array:
    """m = P^-1 h, (M,)."""
    return spread_of(state, state.conditionals.natural[0, :, -1])


def terms_of(before: GPState, after: GPState, rho: float) -> dict[str, Array]:
    """What moved m, the prior of which is N(0, I): m' - m = ρ S' [-m + (N/B) sum a (y - a'm) / noise]."""
    old = mean_of(before)
    return optimisers.mean_terms(mean_of(after) - old, -rho * spread_of(after, old))
