"""Gibbs sampling (Geman & Geman 1984): each unknown drawn in turn from its conditional given all others."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from pmdviz.methods.base import StepInfo
from pmdviz.methods.cost import Work
from pmdviz.methods.mcmc.chain import ChainKnobs, FullDataChain, appended, burn_in, position, started
from pmdviz.targets import Target


class GibbsKnobs(ChainKnobs):
    """The knobs of `gibbs`."""

    kind_words = "knob of method 'gibbs':"

    burn_in = burn_in(50)

    def work(self, num_data: int) -> Work:
        """A label of every datum, which costs what a likelihood does."""
        return Work(likelihoods=num_data)


class GibbsState(NamedTuple):
    """The draws so far."""

    older: np.ndarray  # (n, d)
    newer: np.ndarray  # (k, d)
    iteration: int


class Gibbs(FullDataChain):
    """theta_k ~ p(theta_k | the others, X), k after k; for a mixture by way of the component label of each datum."""

    name = "gibbs"
    title = "Gibbs sampling"
    reference = "Geman, Geman 1984; component labels: Diebolt, Robert 1994"
    Knobs = GibbsKnobs

    def missing_in(self, target: Target) -> str:
        """Conditionals can be had only of some models."""
        return "" if target.has_conditionals else "exact conditionals (a Gibbs sweep)"

    def init(self, rng: np.random.Generator, target: Target, knobs: GibbsKnobs) -> GibbsState:
        """A draw from the prior."""
        return GibbsState(*started(rng, target), 0)

    def step(
        self, rng: np.random.Generator, state: GibbsState, target: Target, batch: np.ndarray, knobs: GibbsKnobs
    ) -> tuple[GibbsState, StepInfo]:
        """One sweep; it goes through all data once."""
        before = position(state)
        after = target.gibbs_sweep(rng, before, batch)
        distance = float(np.linalg.norm(after - before))
        return appended(state, after[None]), StepInfo(
            visited=len(batch),
            step_size=None,
            rejuvenated="",
            ess=None,
            density_evaluations=len(batch),
            gradient_evaluations=0,
            zero_weight=0,
            words=f"one sweep through all {len(batch):,} data · moved {distance:.3g}",
        )
