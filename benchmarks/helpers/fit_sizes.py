"""How often a right sample is rejected, by how it comes out of a run; and means of kernels that have to be zero."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NamedTuple

import numpy as np

from benchmarks.helpers.contest import figures
from pmdviz.engine.recipe import Recipe
from pmdviz.engine.session import Session
from pmdviz.errors import InputError
from pmdviz.experiments.goodness_of_fit.experiment import Rate, rate_of
from pmdviz.experiments.goodness_of_fit.statistics import FIT_TESTS, enumerated
from pmdviz.experiments.goodness_of_fit.testing import tested
from pmdviz.experiments.workers import results
from pmdviz.targets import Target, make_target

FIRST, BLOCK = 800, 10  # seed, and runs of a piece of work
NORMAL = {"num_components": 1, "spread": 0.0, "variance": 1.0, "q0_sd": 1.5}


class Route(NamedTuple):
    """A run whose points are right but for how they depend on one another, and the test of them."""

    test: str
    recipe: Recipe


class RecipeRate(NamedTuple):
    """Of a recipe's runs."""

    rate: Rate
    num_points: float  # mean over the runs that were tested
    refused: int  # runs that left too few independent points


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


ROUTES = {
    "weighted particles: importance sampling": Route(
        "ksd", Recipe("gmm", "importance", target_options=NORMAL, num_particles=1000, budget=1)
    ),
    "resampled particles: tempered SMC": Route("ksd", Recipe("gaussian", "smc_mcmc", num_particles=2000)),
    "a chain: random walk": Route("ksd", Recipe("gmm", "random_walk", target_options=NORMAL, budget=5000)),
    "a chain: MALA": Route("ksd", Recipe("gmm", "mala", target_options=NORMAL, budget=4000)),
    "a chain: HMC": Route("ksd", Recipe("gmm", "hmc", target_options=NORMAL, budget=8000)),
    "a chain: Gibbs on spins": Route(
        "dksd", Recipe("ising", "gibbs", target_options={"size": 3, "coupling": 0.1}, budget=2000)
    ),
    "a density: Gaussian variational Bayes": Route("ksd", Recipe("gaussian", "svi", budget=40_000)),
    "particles that keep apart: SVGD": Route(
        "ksd", Recipe("gmm", "svgd", target_options=NORMAL, num_particles=100, budget=500)
    ),
}
ENUMERATED = {
    "Ising 3 x 3": make_target("ising", size=3, coupling=0.2, field=0.1),
    "Bernoulli RBM of 6 units": make_target("bernoulli_rbm", visible=6, hidden=4, weight_sd=0.5),
    "three values": make_target("categorical", table="three"),
    "five values": make_target("categorical"),
}


def sizes_by_route(runs: int) -> dict[str, dict[str, Any]]:
    """Rejections at the level 0.05 over run seeds, with Wilson's 95 % interval."""
    pieces = [(words, start) for words in ROUTES for start in range(FIRST, FIRST + runs, BLOCK)]
    found: dict[str, list[RecipeRate]] = {words: [] for words in ROUTES}
    for number, block, why in results(_block, pieces, None, lambda: None):
        if block is None:
            raise RuntimeError(f"{pieces[number]}: {why}")
        found[pieces[number][0]].append(block)
    return {words: _summed(ROUTES[words].test, blocks) for words, blocks in found.items()}


def _block(piece: tuple[str, int]) -> RecipeRate:
    words, start = piece
    return rejection_rate(ROUTES[words].recipe, ROUTES[words].test, range(start, start + BLOCK))


def _summed(test: str, blocks: list[RecipeRate]) -> dict[str, Any]:
    rate = rate_of(sum(one.rate.rejected for one in blocks), sum(one.rate.runs for one in blocks))
    return {
        "test": test,
        "rejected": figures(rate.value),
        "low": figures(rate.low),
        "high": figures(rate.high),
        "runs": rate.runs,
        "points": round(float(np.mean([one.num_points for one in blocks]))),
        "refused": sum(one.refused for one in blocks),
    }


def zero_means() -> dict[str, dict[str, float]]:
    """|E_p E_p U| over E_p E_p |U| by a sum over all pairs of states, of each kernel between them."""
    return {
        words: {
            name: figures(relative_mean(target, name), 2)
            for name in ("dksd", "gf_ksd_rao_blackwell")
            if FIT_TESTS[name].applies(target)
        }
        for words, target in ENUMERATED.items()
    }


def relative_mean(target: Target, name: str) -> float:
    """Of one kernel at its usual bandwidth."""
    states, p = enumerated(target)
    kernels = FIT_TESTS[name].kernels(np.random.default_rng(FIRST), target, states)
    matrix = kernels.matrix(kernels.usual)
    return float(abs(p @ matrix @ p) / (p @ np.abs(matrix) @ p))
