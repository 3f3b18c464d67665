"""Who is measured against d: every method as it is by default, and settings of PMD that stand for ideas."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from pmdviz.engine.recipe import Recipe
from pmdviz.experiments.dimension.families import FAMILIES, Family
from pmdviz.methods import METHODS
from pmdviz.targets import Target


class Entrant(NamedTuple):
    """A method, and its knobs where they are not the defaults."""

    title: str  # in legends
    method: str
    knobs: Mapping[str, Any]

    def fits(self, family: Family) -> bool:
        """Whether the family offers what the method needs."""
        return METHODS[self.method].requires <= family.offers

    def recipe(self, target: Target, num_particles: int, visited: int | None, seed: int) -> Recipe:
        """Its run, to the end of its own budget where `visited` is None. Raises InputError where it does not fit."""
        knobs = dict(self.knobs)
        if count := METHODS[self.method].Knobs.specs().get("num_particles"):
            knobs["num_particles"] = min(num_particles, int(count.bounds[1]))
        return Recipe(target, self.method, seed=seed, budget=... if visited is None else visited, **knobs)


ALGORITHM_1 = {  # as the paper prints it
    **{"policy": "always", "bandwidth_rule": "isotropic", "bandwidth": 0.05, "draws": "independent"},
    **{"resampler": "multinomial", "batches": "replacement", "batch_size": 10, "step_limit": 0.0},
    **{"eta": 1.0, "n0": 100.0, "kappa": 0.5},
}
ENTRANTS = {
    name: Entrant(method.title, name, {})
    for name, method in METHODS.items()
    if any(method.requires <= family.offers for family in FAMILIES.values())
}
ENTRANTS |= {
    "pmd_weights": Entrant("PMD, no new particles", "pmd", {"policy": "never", "step_limit": 0.0}),
    "pmd_modes": Entrant("PMD, kernel of each mode's shape", "pmd", {"bandwidth_rule": "local"}),
    "pmd_unlimited": Entrant("PMD, steps without a limit", "pmd", {"step_limit": 0.0}),
    "pmd_algorithm_1": Entrant("PMD, Algorithm 1 as printed", "pmd", ALGORITHM_1),
}
SETTINGS = ("pmd", "pmd_weights", "pmd_modes", "pmd_unlimited", "pmd_algorithm_1")
TEAMS: dict[str, tuple[str, tuple[str, ...]]] = {
    "few": ("a few of different kinds", ("pmd", "pmd_weights", "smc_mcmc", "hmc")),
    "settings": ("settings of PMD", SETTINGS),
    "all": ("all that run on it", (*ENTRANTS,)),
}
