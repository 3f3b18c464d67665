"""Annealed importance sampling by random walks: what it is worth without a gradient."""

from __future__ import annotations

import numpy as np

from pmdviz.methods.annealing import moves
from pmdviz.methods.annealing.knobs import PILOTS, LadderKnobs, sandwich_knob
from pmdviz.methods.annealing.ladder import Ladder
from pmdviz.methods.annealing.moves import Walkers
from pmdviz.methods.base import Method
from pmdviz.methods.cost import Work
from pmdviz.methods.grammar import Grammar, by
from pmdviz.targets import Target


class GFAISKnobs(LadderKnobs):
    """The knobs of `gf_ais`."""

    kind_words = "knob of method 'gf_ais':"

    leaps = 0
    sandwich = sandwich_knob()

    def work(self, num_data: int) -> Work:
        """The likelihoods of all proposals, and in the first step of where they start from."""
        return Work(likelihoods=2 * (self.num_particles + PILOTS) * self.rows(num_data))


class GFAIS(Ladder):
    """As annealed importance sampling, with a random walk at each temperature even where there is a gradient.

    θ' = θ + ε N(0, S), S the prior's variances, accepted with probability min(1, p_β(θ') / p_β(θ)): this leaves
    p_β = prior x L^β as it is, so that the mean weight is unbiased for Z as it is with any other move. A walk forgets
    its start in about d times as many steps as the leapfrog, and so the weights fall behind as d grows.
    """

    name = "gf_ais"
    title = "Gradient-free annealed importance sampling"
    about = (
        "Gradient-free annealed importance sampling leads draws of a simple density to the posterior by random walks, "
        "which ask for densities alone, and weighs each by what it gained."
    )
    formula = "log w ← log w + (β_t - β_{t-1}) log p(X | θ),  θ' = θ + ε ξ accepted by p(θ') p(X | θ')^{β_t}"
    what_moves = "Particles walk at random while the temperature rises, and each collects a weight of its own."
    source = "Neal 2001; as a baseline without gradients: Han 2019 (thesis); the step tuned by pilots: ours"
    short_title = "GF-AIS"
    grammar = Grammar(
        propagate=by("prior"),
        reweight=by("temperature"),
        move=by("Metropolis"),
        adapt=by("step size", remark="by pilots, which have no weight"),
    )
    Knobs = GFAISKnobs
    kernel_groups = ("responsibilities", "svgd")
    bounds_log_z = True

    def missing_in(self, target: Target) -> str:
        """A walk needs real coordinates and nothing else."""
        return Method.missing_in(self, target)

    def by_gradient(self, target: Target) -> bool:
        """Never."""
        return False

    def move(self, rng: np.random.Generator, walkers: Walkers, at: moves.Rung, knobs: GFAISKnobs) -> moves.Moved:
        """One proposal for each walker."""
        return moves.walked(rng, walkers, at)
