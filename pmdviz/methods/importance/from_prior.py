"""Importance sampling from the prior: the honest worst case that every other particle method must beat."""

from __future__ import annotations

from pmdviz.methods.grammar import Grammar, by
from pmdviz.methods.shared.batching import batch_size_knob
from pmdviz.methods.shared.particles import num_particles_knob
from pmdviz.methods.shared.smoothing import SmoothingKnobs
from pmdviz.methods.smc.one_pass import OnePass
from pmdviz.methods.step import WEIGHTED, Work


class ImportanceKnobs(SmoothingKnobs):
    """The knobs of `importance`."""

    kind_words = "knob of method 'importance':"

    num_particles = num_particles_knob(1500, "restart", "Number of draws from the prior; they never move.")
    batch_size = batch_size_knob(10)

    def work(self, num_data: int) -> Work:
        """m likelihoods of the batch."""
        return Work(likelihoods=self.num_particles * self.rows(num_data))


class Importance(OnePass):
    """m draws from the prior, weighted by the likelihood of the data seen so far; after one pass by all of it.

    The weights are exact for any m, but only the few draws that fell near the posterior carry any: the effective
    sample size falls like the posterior's share of the prior's volume.
    """

    name = "importance"
    title = "Importance sampling from the prior"
    about = "Importance sampling weights draws from the prior by the likelihood of the data."
    formula = "w_i ∝ p(X | θ_i),  θ_i ~ p(θ)"
    what_moves = (
        "Nothing moves: draws of the prior stay in place, and their weights follow the likelihood of the data seen."
    )
    goal = "count most"
    source = "any textbook on Monte Carlo methods, for example Robert and Casella 2004, section 3.3"
    short_title = "Importance sampling"
    grammar = Grammar(
        propagate=by("prior"),
        reweight=by("likelihood"),
    )
    Knobs = ImportanceKnobs
    scalars = WEIGHTED
