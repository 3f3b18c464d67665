"""Gibbs sampling (Geman & Geman 1984): each unknown drawn in turn from its conditional given all others."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from pmdviz.methods.grammar import Grammar, by
from pmdviz.methods.mcmc.chain import ChainKnobs, FullDataChain, appended, position, started
from pmdviz.methods.step import Cost, StepInfo, Work
from pmdviz.targets import Target


class GibbsKnobs(ChainKnobs):
    """The knobs of `gibbs`."""

    kind_words = "knob of method 'gibbs':"

    def work(self, num_data: int) -> Work:
        """A label of every datum, which costs what a likelihood does."""
        return Work(likelihoods=self.num_chains * num_data)


class GibbsState(NamedTuple):
    """The draws so far."""

    older: np.ndarray  # (n, d)
    newer: np.ndarray  # (k, d)
    iteration: int


class Gibbs(FullDataChain):
    """theta_k ~ p(theta_k | the others, X), k after k; for a mixture by way of the component label of each datum."""

    name = "gibbs"
    title = "Gibbs sampling"
    about = "Gibbs sampling draws each unknown in turn from its exact conditional distribution, given all the others."
    formula = "θ_k ~ p(θ_k | θ_{others}, X)"
    what_moves = "One point jumps from draw to draw; the dots are the draws that it leaves behind."
    source = "Geman, Geman 1984; component labels: Diebolt, Robert 1994"
    grammar = Grammar(
        propagate=by("prior", remark="where the chain starts"),
        move=by("Gibbs"),
    )
    Knobs = GibbsKnobs
    kernel_groups = ("gibbs",)
    requires = frozenset({"conditionals"})

    def start(self, rng: np.random.Generator, target: Target, knobs: GibbsKnobs) -> GibbsState:
        """A draw from the prior."""
        return GibbsState(*started(rng, target), 0)

    def move(
        self, rng: np.random.Generator, state: GibbsState, target: Target, batch: np.ndarray, knobs: GibbsKnobs
    ) -> tuple[GibbsState, StepInfo]:
        """One sweep; it goes through all data once."""
        before = position(state)
        after = target.gibbs_sweep(rng, before, batch)
        distance = float(np.linalg.norm(after - before))
        over = "" if target.data is None else f" through all {len(batch):,} data"
        return appended(state, after[None]), StepInfo(
            Cost(len(batch), len(batch)),
            words=f"one sweep{over} · moved {distance:.3g}",
        )
