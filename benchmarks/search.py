"""Best settings of the baselines on the separated mixture: a small search, then default and best on fresh seeds."""

from __future__ import annotations

from argparse import Namespace
from itertools import product
from typing import Any

import numpy as np

from pmdviz.engine.recipe import Recipe
from pmdviz.engine.session import Session

TARGET = {"num_data": 400, "sigma_x": 1.5}  # modes well separated for every data seed
BUDGET = 20_000
SEARCH_SEEDS, SEEDS, DATA_SEEDS = range(100, 104), range(8), range(5)

ONE_PASS = " (one pass)"  # such an entrant is the method, value and gradient of a point counted once
GRIDS: dict[str, dict[str, tuple]] = {
    "pmd": {},
    "importance": {"bandwidth": (0.5, 0.75, 1.0, 1.5)},
    "smc": {"jitter": (0.7, 0.85, 1.0, 1.25, 1.5, 2.0), "shrinkage": (True, False), "batch_size": (10, 50)},
    "smc_mcmc": {"num_moves": (2, 3, 5, 8), "move_scale": (0.4, 0.6, 1.0), "ess_threshold": (0.5, 0.8)},
    "svi": {"optimiser": ("natural", "adam"), "eta": (2.0, 5.0, 10.0), "n0": (5.0, 20.0, 40.0)},
    "npv": {"num_components": (10, 20, 30, 50), "eta": (4.0, 6.0), "annealing": (0, 3000, 5000, 10_000)},
    "svgd": {"length_scale_rule": ("liu_wang", "local"), "eta": (10.0, 20.0), "num_particles": (500,)},
    "sgld": {"a": (0.03, 0.06, 0.12), "batch_size": (5, 10, 20), "burn_in": (0.1, 0.2, 0.5)},
    "psgld": {"a": (0.005, 0.01, 0.02), "batch_size": (5, 10, 20), "burn_in": (0.1, 0.2, 0.5)},
    "gibbs": {"burn_in": (0.05, 0.1, 0.2, 0.5)},
    "hmc": {"tune": (False,), "time_step": (0.05, 0.1), "leapfrog_steps": (4, 6, 10), "burn_in": (0.1, 0.2, 0.5)},
    "mala": {"tune": (True, False), "time_step": (0.1, 0.15), "burn_in": (0.1, 0.2, 0.5)},
}
GRIDS |= {name + ONE_PASS: {**GRIDS[name], "one_pass": (True,)} for name in ("hmc", "mala")}
PAPERS: dict[str, dict[str, Any]] = {  # as the methods' own papers have them
    "smc": {"jitter_rule": "covariance", "jitter": 0.35},
    "npv": {"annealing": 0, "start": "prior"},
    "svgd": {"length_scale_rule": "liu_wang", "optimiser": "adagrad"},
}


def run(options: Namespace) -> dict[str, Any]:
    """TV at the budget (mean over data and run seeds, standard error) of each method: default, paper's, best."""
    return {"target": TARGET, "budget": BUDGET, **{name: _method(name, options.quick) for name in GRIDS}}


def _method(name: str, quick: bool) -> dict[str, Any]:
    grid = _settings(GRIDS[name])[: 2 if quick else None]
    tried = [{"knobs": knobs, **_summary(name, knobs, SEARCH_SEEDS[: 1 if quick else None])} for knobs in grid]
    best = min(tried, key=lambda row: row["tv"])["knobs"]
    best = {knob: value for knob, value in best.items() if knob != "num_particles"}  # fewer in the search alone
    seeds = SEEDS[: 1 if quick else None]
    found = {"tried": tried, "default": _summary(name, {}, seeds), "best": {"knobs": best}}
    found["best"] |= _summary(name, best, seeds) if best else found["default"]
    if name in PAPERS:
        found["paper"] = {"knobs": PAPERS[name], **_summary(name, PAPERS[name], seeds)}
    return found


def _settings(grid: dict[str, tuple]) -> list[dict[str, Any]]:
    return [dict(zip(grid, values, strict=True)) for values in product(*grid.values())]


def _summary(name: str, knobs: dict[str, Any], seeds: range, budget: int = BUDGET) -> dict[str, Any]:
    ends = [_end(name, knobs, data_seed, seed, budget) for data_seed in DATA_SEEDS for seed in seeds]
    tvs, visited = np.array(ends).T
    return {
        "tv": round(float(tvs.mean()), 4),
        "standard_error": round(float(tvs.std(ddof=1) / np.sqrt(len(tvs))), 4),
        "lowest": round(float(tvs.min()), 4),
        "highest": round(float(tvs.max()), 4),
        "runs": len(tvs),
        "visited": round(float(visited.mean())),
    }


def _end(name: str, knobs: dict[str, Any], data_seed: int, seed: int, budget: int) -> tuple[float, int]:
    """TV of the last frame, and what had been visited by then."""
    if name.endswith(ONE_PASS):
        name, knobs = name.removesuffix(ONE_PASS), {"one_pass": True, **knobs}
    options = {**TARGET, "data_seed": data_seed}
    session = Session(Recipe("mixture", name, target_options=options, seed=seed, budget=budget, **knobs), 10**9)
    frame = session.advance(10**9)
    return frame.metrics["tv"], frame.visited
