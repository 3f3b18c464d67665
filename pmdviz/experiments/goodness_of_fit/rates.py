"""How often a test rejects: rates with intervals, and the rate over the seeds of a recipe."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

import numpy as np

from pmdviz.engine.recipe import Recipe
from pmdviz.engine.session import Session
from pmdviz.errors import InputError
from pmdviz.experiments.goodness_of_fit.testing import tested

Z = 1.959964  # of 95 %


class Rate(NamedTuple):
    """A share of rejections, and Wilson's interval that holds the true rate with 95 % confidence."""

    rejected: int
    runs: int
    low: float
    high: float

    @property
    def value(self) -> float:
        """rejected / runs."""
        return self.rejected / self.runs


class RecipeRate(NamedTuple):
    """Of a recipe's runs."""

    rate: Rate
    num_points: float  # mean over the runs that were tested
    refused: int  # runs that left too few independent points


def rate_of(rejected: int, runs: int) -> Rate:
    """With p = rejected / runs: (p + z^2/2n +- z sqrt(p (1-p)/n + z^2/4n^2)) / (1 + z^2/n)  (Wilson 1927)."""
    p, spread = rejected / runs, Z**2 / runs
    middle, half = p + spread / 2, Z * np.sqrt(p * (1 - p) / runs + spread / (4 * runs))
    return Rate(rejected, runs, max(0.0, float(middle - half) / (1 + spread)), float(middle + half) / (1 + spread))


def rejection_rate(
    recipe: Recipe, test: str, seeds: Iterable[int], alpha: float = 0.05, draws: int = 200, bandwidth: str = "median"
) -> RecipeRate:
    """How often `test` rejects the end of a run of `recipe` as a sample of its own target, over run seeds.

    Raises InputError where every run leaves too few independent points, or its method's points cannot be tested.
    """
    found, refusals = [], []
    for seed in seeds:
        session = Session(Recipe.from_dict({**recipe.to_dict(), "seed": int(seed)}), metrics_every=10**9)
        while not session.done:
            session.advance(10**9)
        try:
            found.append(tested(session.target, session, test, int(seed), alpha, draws, bandwidth))
        except InputError as error:
            refusals.append(error)
    if not found:
        raise refusals[0] if refusals else InputError("a rejection rate needs at least one seed")
    rate = rate_of(sum(one.rejected for one in found), len(found))
    return RecipeRate(rate, float(np.mean([one.num_points for one in found])), len(refusals))
