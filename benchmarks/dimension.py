"""What dimension does: every method on a Bayesian linear regression with a known answer, d from 1 to 20."""

from __future__ import annotations

import time
from argparse import Namespace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from benchmarks.charts import dimension_chart
from benchmarks.measuring import figures
from pmdviz.engine.recipe import Recipe
from pmdviz.engine.session import Session
from pmdviz.presets import find_preset
from pmdviz.targets.exact import GaussianExact

FIGURE = Path("assets/dimension.svg")
OPTIONS = {"seed": 300}  # of the first data set and the first run; the others follow
DIMENSIONS = (1, 2, 3, 5, 8, 10, 15, 20)
SLOW = (1, 2, 5, 10, 20)  # the dimensions of methods that take a minute a run, on the first data set alone
VISITED = 30_000  # by methods that take batches; the others visit what they need
DRAWS = 1500  # that the chain keeps, as many as others have particles


class Entrant(NamedTuple):
    """A method, its knobs where they are not the defaults, and the data that it may visit."""

    method: str
    knobs: dict[str, Any]
    visited: int | None = VISITED  # None: it ends of itself, or after its DRAWS
    slow: bool = False


ENTRANTS = {
    "PMD, Algorithm 1": Entrant("pmd", find_preset("algorithm_1").recipe.knobs, slow=True),
    "PMD, format 1": Entrant("pmd", {"step_limit": 0.0, "bandwidth_rule": "local"}),
    "PMD, limited steps": Entrant("pmd", {"bandwidth_rule": "local"}),
    "PMD, today": Entrant("pmd", {}),
    "one-pass SMC": Entrant("smc", {}, None),
    "tempered SMC": Entrant("smc_mcmc", {}, None),
    "SVGD": Entrant("svgd", {}, slow=True),
    "SVI": Entrant("svi", {}),
    "HMC": Entrant("hmc", {"burn_in": 100, "leapfrog_steps": 10}, None),
}


def run(options: Namespace) -> dict[str, Any]:
    """For each method and dimension the figures of its runs; a whole bench also draws assets/dimension.svg."""
    found: dict[str, dict[str, Any]] = {}
    for name, entrant in ENTRANTS.items():
        dimensions = (1, 5) if options.quick else SLOW if entrant.slow else DIMENSIONS
        seeds = range(options.seed, options.seed + (1 if entrant.slow else 3))
        found[name] = {str(d): pooled([figures_of(entrant, d, seed) for seed in seeds]) for d in dimensions}
    if not options.quick:
        FIGURE.parent.mkdir(exist_ok=True)
        FIGURE.write_text(dimension_chart(found), encoding="utf-8")
    return found


def figures_of(entrant: Entrant, d: int, seed: int) -> dict[str, Any]:
    """Of one run: how far q's moments are from the posterior's, and what it cost."""
    start = time.process_time()
    options = {"dim": d, "num_data": 1000, "correlation": 0.0, "data_seed": seed}
    recipe = Recipe("linear", entrant.method, options, seed=seed, budget=entrant.visited, **entrant.knobs)
    session = Session(recipe, metrics_every=10**6)
    if entrant.method == "hmc":
        session.advance(int(session.knobs.burn_in) + DRAWS)
    else:
        session.advance(10**9)
    seconds, frame = time.process_time() - start, session.frame
    q = frame.densities.get("gaussian", frame.density)  # of a chain the fit to its draws
    return {
        **distances(q.mean, q.cov, session.target.exact),
        "visited": frame.visited,
        "pairs": frame.density_evaluations + frame.gradient_evaluations,
        "cpu_seconds": seconds,
        "caveat": frame.caveat,
    }


def distances(mean: np.ndarray, covariance: np.ndarray, truth: GaussianExact) -> dict[str, float]:
    """Error of the mean in posterior sds (rms over coordinates), sd ratios, and KL(exact || the Gaussian) in nats."""
    d, exact = len(mean), truth.cov
    sd = np.sqrt(np.diag(exact))
    ratios, shift = np.sqrt(np.diag(covariance)) / sd, mean - truth.mean
    spread = np.trace(np.linalg.solve(covariance, exact)) + shift @ np.linalg.solve(covariance, shift) - d
    return {
        "error_of_mean": float(np.sqrt(((shift / sd) ** 2).mean())),
        "sd_ratio": float(np.exp(np.log(ratios).mean())),
        "sd_ratio_least": float(ratios.min()),
        "sd_ratio_largest": float(ratios.max()),
        "kl": float(0.5 * (spread + np.linalg.slogdet(covariance)[1] - np.linalg.slogdet(exact)[1])),
    }


def pooled(runs: list[dict[str, Any]]) -> dict[str, Any]:
    """[median, least, largest] of every figure, and how many runs carried a caveat."""
    names = [name for name in runs[0] if name != "caveat"]
    values = {name: np.array([one[name] for one in runs]) for name in names}
    found = {name: [figures(f(v), 3) for f in (np.median, np.min, np.max)] for name, v in values.items()}
    return {"runs": len(runs), **found, "caveats": sum(bool(one["caveat"]) for one in runs)}
