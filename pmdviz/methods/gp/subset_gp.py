"""Subset of data: the exact Gaussian process of the first rows that are visited, and nothing of the others."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from pmdviz.densities.density import Density
from pmdviz.knobs import Whole
from pmdviz.methods.base import Method, read_only
from pmdviz.methods.grammar import Grammar, by
from pmdviz.methods.shared.batching import batch_size_knob
from pmdviz.methods.step import Cost, MethodKnobs, StepInfo, Work
from pmdviz.targets import Target
from pmdviz.targets.blocks import Conditionals


class SubsetGPKnobs(MethodKnobs):
    """The knobs of `subset_gp`."""

    kind_words = "knob of method 'subset_gp':"

    subset_size = Whole(
        128,
        bounds=(1, 2048),
        softbounds=(1, 512),
        log=True,
        basic=True,
        label="Subset size",
        unit="data points",
        doc="How many data points are used, in all. With all of them it is the exact Gaussian process. Time grows like "
        "the cube.",
    )
    batch_size = batch_size_knob(16)

    def work(self, num_data: int) -> Work:
        """The likelihood of the batch, once; and the matrix of the subset."""
        return Work(kernels=float(self.subset_size) ** 2, likelihoods=self.rows(num_data))


class SubsetGPState(NamedTuple):
    """The subset as inducing inputs, and the exact posterior there: the fields of `Conditionals`, of one particle."""

    particles: np.ndarray  # (1, p)
    constants: np.ndarray
    natural: np.ndarray
    partitions: np.ndarray
    prior_partitions: np.ndarray
    iteration: int
    seen: int  # rows of the subset so far

    @property
    def conditionals(self) -> Conditionals:
        """The inputs of the subset with the posterior there."""
        return Conditionals(*self[:5])


class SubsetGP(Method):
    """p(f | rows of the subset), exact: with inducing inputs at these rows the sparse process is the process itself.

    A batch adds its inputs to the inducing inputs, where f given the others is the prior's, and then its rows by
    Bayes' rule: P <- P + sum a a' / noise, h <- h + sum a y / noise in whitened coordinates, which are nested.
    """

    name = "subset_gp"
    title = "Subset of data (exact Gaussian process)"
    about = "Subset of data is the exact Gaussian process of some of the data; all others are left out."
    formula = "p(f | y_1, …, y_S),  S ≤ N"
    what_moves = "No particles: the process is pinned down at one batch of inputs after the other."
    source = "Rasmussen, Williams 2006, section 8.3.3; Quiñonero-Candela, Rasmussen 2005"
    short_title = "Subset of data"
    family = "parametric"
    requires = frozenset({"conditional_family", "inducing_inputs"})
    grammar = Grammar(
        move=by("closed form", remark="Bayes' rule, a batch of the subset at a time"),
    )
    Knobs = SubsetGPKnobs
    budget_words = "the subset"

    def who(self, knobs: SubsetGPKnobs) -> tuple[int, str]:
        """One Gaussian."""
        return 1, "Gaussian"

    def init(self, rng: np.random.Generator, target: Target, knobs: SubsetGPKnobs) -> SubsetGPState:
        """No data: the prior."""
        none = target.extended(None, target.data_rows[:0])
        return SubsetGPState(*read_only(*none), 0, 0)

    def batch_size(self, state: SubsetGPState, knobs: SubsetGPKnobs, num_data: int) -> int:
        """B, and at last what is left of the subset."""
        return min(knobs.batch_size, min(knobs.subset_size, num_data) - state.seen)

    def batches(self, state: SubsetGPState, knobs: SubsetGPKnobs) -> str:
        """No row twice."""
        return "epochs"

    def ended(self, state: SubsetGPState, knobs: SubsetGPKnobs, target: Target) -> str:
        """When the subset is full."""
        full = state.seen >= min(knobs.subset_size, target.num_data)
        return "the subset is full" if full else ""

    def step(
        self, rng: np.random.Generator, state: SubsetGPState, target: Target, batch: np.ndarray, knobs: SubsetGPKnobs
    ) -> tuple[SubsetGPState, StepInfo]:
        """Bayes' rule for the batch."""
        wider = target.extended(state.conditionals, batch)
        after, seen = target.bounded(wider, batch, 1.0, 1.0), state.seen + len(batch)
        words = f"{seen:,} of {target.num_data:,} data points · batch of {len(batch):,}"
        state = SubsetGPState(*read_only(*after), state.iteration + 1, seen)
        return state, StepInfo(Cost(len(batch), len(batch)), words)

    def density(self, state: SubsetGPState, knobs: SubsetGPKnobs, target: Target) -> Density:
        """The Gaussian of the function, seen as the target sees it."""
        return target.conditional_density(state.conditionals, np.zeros(1))
