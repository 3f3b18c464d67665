"""Who takes part in `bench claims-logistic`, on which data, and the settings among which each one's best is sought."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from itertools import product
from typing import Any, NamedTuple

import numpy as np

from benchmarks.helpers.claims_entrants import Entrant
from benchmarks.helpers.jittered import components, jittered, originals
from benchmarks.search import PAPERS
from pmdviz.targets import Target, make_target
from pmdviz.targets.logistic import Logistic

PASSES = (0.25, 0.5, 1, 2, 3, 5)
SEARCH_DATA, SEARCH_RUNS = range(1001, 1002), range(100, 101)
NUM_ORIGINALS = 800  # images that are jittered; the other 200 are held out


class Problem(NamedTuple):
    """Eight against six: which images, what of them is learnt from, and the data seeds that judge."""

    words: str
    options: dict[str, Any]
    data_seeds: range = range(1011, 1014)
    run_seeds: range = range(200, 201)
    is_jittered: bool = False

    @property
    def budgets(self) -> tuple[int, ...]:
        """Observations used at the ends of PASSES."""
        return tuple(round(passes * self.options["num_data"]) for passes in PASSES)


PROBLEMS = {
    "digits": Problem(
        "8 x 8 pixels, 10 components, 280 images",
        {"data": "digits", "dim": 11, "num_data": 280, "prior_sd": 1.0},
        range(1011, 1016),
        range(200, 202),
    ),
    "mnist": Problem(
        "MNIST, 50 components, 800 images", {"data": "mnist", "dim": 51, "num_data": 800, "prior_sd": 1.0}
    ),
    "jittered": Problem(
        "MNIST jittered, 50 components, 4,000 images",
        {"dim": 51, "num_data": 4000, "prior_sd": 1.0},
        is_jittered=True,
    ),
}


class Jittered(Logistic):
    """Target `logistic` on images made of 800 real ones; 200 other real ones are held out. It enters no table."""

    name = ""

    def build(self) -> None:
        """The images by the data's seed, on the principal components of those that are learnt from."""
        super().build()
        seed, n = self.options.data_seed, self.options.num_data
        split = originals((8, 6), NUM_ORIGINALS, seed)
        made = list(jittered(split.features, split.classes, n, seed))
        found = components(iter(made), self.dim - 1)
        self.data = np.concatenate([found.rows(*block) for block in made])
        self.test_data = found.rows(split.test_features, split.test_classes)


@lru_cache(maxsize=2)
def target_of(name: str, data_seed: int) -> Target:
    """The target of a problem, made once in a process for the runs that follow one another."""
    problem = PROBLEMS[name]
    options = {**problem.options, "data_seed": data_seed}
    return Jittered(**options) if problem.is_jittered else make_target("logistic", **options)


def _grid(**values: tuple) -> tuple[dict[str, Any], ...]:
    return ({}, *(dict(zip(values, each, strict=True)) for each in product(*values.values())))


COUNT = {"num_particles": 1000}
STEPS = {"eta": 1.0, "n0": 100.0, "kappa": 0.5, "batch_size": 100}  # appendix H.2
ALGORITHM_1 = {
    **COUNT,
    **STEPS,
    "policy": "always",
    "step_limit": 0.0,
    "batches": "replacement",
    "draws": "independent",
    "resampler": "multinomial",
    "bandwidth_rule": "isotropic",
}
WIDTHS = tuple({**ALGORITHM_1, "bandwidth": h} for h in (1000**-0.5, 0.1))
ENTRANTS: dict[str, Entrant] = {
    "pmd": Entrant("pmd", "PMD, our default", (COUNT,)),
    "pmd warm": Entrant("pmd", "PMD, our default, warm start", ({**COUNT, "warm_start": True},), in_paper=False),
    "pmd, paper's steps": Entrant("pmd", "PMD, paper's step size", ({**COUNT, **STEPS},)),
    "pmd as printed": Entrant("pmd", "PMD, Algorithm 1 as printed", WIDTHS),
    "jaakkola_jordan": Entrant(
        "jaakkola_jordan",
        "SVI, Jaakkola-Jordan bound",
        _grid(eta=(1.0, 5.0), n0=(0.0,), kappa=(0.7, 1.0)),
    ),
    "svi": Entrant("svi", "SVI, reparametrised Gaussian", _grid(eta=(2.0, 5.0), n0=(5.0,)), in_paper=False),
    "sgld": Entrant(
        "sgld",
        "SGLD",
        _grid(a=(0.01, 0.1, 0.3), batch_size=(10, 50)),
        paper={"batch_size": 100, "burn_in": 1000},
    ),
    "smc": Entrant(
        "smc",
        "one-pass SMC",
        tuple({**COUNT, **one} for one in _grid(jitter=(0.3, 0.85), batch_size=(50,))),
        paper={**COUNT, **PAPERS["smc"], "batch_size": 100},
    ),
    "npv": Entrant(
        "npv",
        "NPV",
        tuple({"annealing": 0, **one} for one in _grid(eta=(4.0, 20.0), num_components=(2,))),
        paper={**PAPERS["npv"], "optimiser": "lbfgs", "num_components": 5},
    ),
    "svgd": Entrant(
        "svgd",
        "SVGD, 200 particles",
        tuple({"num_particles": 200, **one} for one in _grid(eta=(30.0,), n0=(30.0, 100.0))),
        paper={**PAPERS["svgd"], "num_particles": 200},
        in_paper=False,
    ),
}
REFERENCE = "reference"
TITLES: Mapping[str, str] = {
    **{key: one.title for key, one in ENTRANTS.items()},
    REFERENCE: "HMC, four long chains",
}
