"""The Metropolis-adjusted Langevin algorithm (Roberts & Tweedie 1996): a Langevin step that may be rejected.

A proposal θ + ε²/2 S² ∇ log p(θ|X) + ε S N(0, I), S the prior's sds, accepted by the ratio of the posterior times the
proposal's density each way. That is one leapfrog step of Hamiltonian Monte Carlo from a fresh momentum (Neal 2011,
section 5.2), and it is done that way here.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from pmdviz.methods.grammar import Grammar, by
from pmdviz.methods.mcmc.leapfrog import LeapfrogChain, LeapfrogKnobs
from pmdviz.methods.mcmc.ratio import ratio_update
from pmdviz.methods.step import Term


class MALAKnobs(LeapfrogKnobs):
    """The knobs of `mala`."""

    kind_words = "knob of method 'mala':"


class MALA(LeapfrogChain):
    """θ' ~ N(θ + ε²/2 S² ∇ log p(θ|X), ε² S²), accepted with probability min(1, p(θ') q(θ|θ') / (p(θ) q(θ'|θ)))."""

    name = "mala"
    title = "Metropolis-adjusted Langevin"
    about = "MALA proposes a small step uphill plus noise, and accepts or rejects it so that the posterior stays exact."
    formula = "θ' = θ + ε²/2 ∇ log p(θ | X) + ε ξ,  ξ ~ N(0, I)"
    what_moves = (
        "One point drifts uphill with noise, or stays where it is; the dots are the draws that it leaves behind."
    )
    source = "Roberts, Tweedie 1996; acceptance 0.574: Roberts, Rosenthal 1998; tuning: Hoffman, Gelman 2014"
    short_title = "MALA"
    grammar = Grammar(
        propagate=by("prior", remark="where the chain starts"),
        move=by("MALA"),
        adapt=by("step size", remark="over the first draws, by how many proposals are accepted"),
    )
    Knobs = MALAKnobs
    chain_kernels = "trajectories"
    wanted_acceptance = 0.574
    update = ratio_update(
        Term(
            "potential",
            "posterior",
            "log p(θ′ | X) − log p(θ | X)",
            "How much more probable the proposal is than where the chain stands.",
        ),
        Term(
            "kinetic",
            "proposal",
            "+ log q(θ | θ′) − log q(θ′ | θ)",
            "How much more readily the way back would be proposed than the way there.",
        ),
    )

    def lengths(self, uniforms: np.ndarray, knobs: Any) -> np.ndarray:
        """One."""
        return np.ones(len(uniforms), np.int64)
