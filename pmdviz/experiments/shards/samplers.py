"""How a machine draws from its subposterior."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from pmdviz.engine.recipe import Recipe
from pmdviz.engine.session import Session
from pmdviz.methods import METHODS
from pmdviz.targets import Target

Draw = Callable[[Target, int, int], np.ndarray]  # (target, how many n, seed) -> (n, d)


class Sampler(NamedTuple):
    """A way to n draws that all count alike."""

    title: str
    draw: Draw
    method: str = ""


def _exact(target: Target, n: int, seed: int) -> np.ndarray:
    return target.exact.sample(np.random.default_rng([seed, 2]), n)


def _by(method: str) -> Sampler:
    def draw(target: Target, n: int, seed: int) -> np.ndarray:
        """n draws of q at the end of a run with n particles, in random order: their parents come in that of particles.

        Without it averages of i-th draws are averages of draws from the same place, and not from independent ones.
        """
        rng, recipe = np.random.default_rng([seed, 2]), Recipe(target, method, seed=seed, num_particles=n)
        return rng.permutation(Session(recipe, metrics_every=10**9).advance(10**9).density.sample(rng, n))

    return Sampler(METHODS[method].title, draw, method)


SAMPLERS = {"exact": Sampler("iid draws", _exact), "pmd": _by("pmd"), "smc_mcmc": _by("smc_mcmc")}
