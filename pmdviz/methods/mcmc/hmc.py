"""HMC (Duane et al. 1987; Neal 2011) and MALA (Roberts & Tweedie 1996)."""

from __future__ import annotations

from typing import Any

import numpy as np

from pmdviz.knobs import Whole
from pmdviz.methods.grammar import Grammar, by
from pmdviz.methods.mcmc.leapfrog import LeapfrogChain, LeapfrogKnobs, ratio_update
from pmdviz.methods.step import Term


class HMCKnobs(LeapfrogKnobs):
    """The knobs of `hmc`."""

    kind_words = "knob of method 'hmc':"

    leapfrog_steps = Whole(
        6,
        bounds=(1, 1000),
        softbounds=(1, 50),
        log=True,
        basic=True,
        label="Leapfrog steps L",
        doc="Each trajectory uses a random number of leapfrog steps, from 1 to L: a fixed number can be periodic.",
    )

    @property
    def longest(self) -> int:
        """The knob."""
        return self.leapfrog_steps


class HMC(LeapfrogChain):
    """θ' = the end of a trajectory of log p(θ|X) - |p|²/2, accepted with probability min(1, exp(-ΔH))."""

    name = "hmc"
    title = "Hamiltonian Monte Carlo"
    about = (
        "Hamiltonian Monte Carlo treats the negative log posterior as a landscape, gives a point a random "
        "push, and follows its motion to a distant proposal."
    )
    formula = "H(θ, p) = -log p(θ | X) + |p|²/2;  accept with probability min(1, exp(-ΔH))"
    what_moves = "One point glides along trajectories; the dots are the draws that it leaves behind."
    source = "Duane et al. 1987; Neal 2011; time step by dual averaging: Hoffman, Gelman 2014, section 3.2"
    short_title = "HMC"
    grammar = Grammar(
        propagate=by("prior", remark="where the chain starts"),
        move=by("HMC"),
        adapt=by("step size", remark="over the first draws, by how many proposals are accepted"),
    )
    Knobs = HMCKnobs
    chain_kernels = "trajectories"
    wanted_acceptance = 0.8
    update = ratio_update(
        Term(
            "potential",
            "potential energy lost",
            "log p(θ′ | X) − log p(θ | X)",
            "How much more probable the end of the trajectory is than its start.",
        ),
        Term(
            "kinetic",
            "kinetic energy lost",
            "+ |p|^{2}/2 − |p′|^{2}/2",
            "Paid for by speed: without the errors of the leapfrog both would add up to 0.",
        ),
    )

    def lengths(self, uniforms: np.ndarray, knobs: Any) -> np.ndarray:
        """Uniform on 1 .. the knob (Neal 2011, section 3.2)."""
        return np.minimum(1 + (uniforms * knobs.leapfrog_steps).astype(np.int64), knobs.leapfrog_steps)


# The Metropolis-adjusted Langevin algorithm (Roberts & Tweedie 1996): a Langevin step that may be rejected.


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
