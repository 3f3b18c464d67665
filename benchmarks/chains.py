"""Chains on the mixture: SGLD's best step size by a search, Gibbs beside it, and how many modes each run sits in."""

from __future__ import annotations

from argparse import Namespace
from itertools import product
from typing import Any

import numpy as np

from benchmarks.contest_tables import DELAY, FIRST_STEPS, POWERS
from pmdviz.engine.recipe import Recipe
from pmdviz.engine.session import Session
from pmdviz.errors import TargetError

TARGETS = {
    "the paper's (N = 1,000, sigma_x = 2.5)": {},
    "separated (N = 400, sigma_x = 1.5)": {"num_data": 400, "sigma_x": 1.5},
}
BUDGET = 20_000
GIBBS_BURN_IN, SGLD_BURN_IN = 50, 1000
GIBBS_DRAWS = 1500  # after the burn-in, as in the paper
RUNS = 8  # of each data set
ONE_MODE = 0.02  # a run with less than this share of its draws in either mode sits in the other


def run(options: Namespace) -> dict[str, Any]:
    """TV of each setting over data seeds and run seeds, at the paper's batch size and burn-in."""
    runs = [(data, run) for data in range(2 if options.quick else 5) for run in range(1 if options.quick else RUNS)]
    found = {}
    for words, given in TARGETS.items():
        rows = [_sgld(g, first, given, runs) for g, first in product(POWERS, FIRST_STEPS)]
        stable = [row for row in rows if "tv" in row]
        found[words] = {
            "sgld": rows,
            "sgld_best": min(stable, key=lambda row: row["tv"]),
            "sgld_default": _summary("sgld", {"burn_in": SGLD_BURN_IN}, given, runs, BUDGET),
            "gibbs_20000_visited": _summary("gibbs", {"burn_in": 5}, given, runs, BUDGET),
            "gibbs_1500_draws": _summary("gibbs", {"burn_in": GIBBS_BURN_IN}, given, runs, None),
        }
    return {"data_seeds_times_run_seeds": len(runs), **found}


def _sgld(g: float, first: float, given: dict[str, Any], runs: list[tuple[int, int]]) -> dict[str, Any]:
    """The step is `first` at t = 1 and falls by the power g."""
    a = first * (DELAY + 1) ** g
    setting = {"a": round(a, 6), "b": DELAY, "g": g, "first_step": first}
    try:
        return {
            **setting,
            **_summary("sgld", {"a": a, "b": DELAY, "g": g, "burn_in": SGLD_BURN_IN}, given, runs, BUDGET),
        }
    except TargetError:
        return {**setting, "unstable": True}


def _summary(
    method: str, knobs: dict[str, Any], given: dict[str, Any], runs: list[tuple[int, int]], budget: int | None
) -> dict[str, Any]:
    """Mean TV with its standard error, the share of runs that sit in one mode, and when each last changed sides."""
    ends = [_one(method, knobs, {**given, "data_seed": data}, seed, budget) for data, seed in runs]
    tvs, masses, crossings = np.array(ends).T
    return {
        "tv": round(float(tvs.mean()), 4),
        "standard_error": round(float(tvs.std(ddof=1) / np.sqrt(len(tvs))), 4),
        "least": round(float(tvs.min()), 4),
        "most": round(float(tvs.max()), 4),
        "runs_in_one_mode": round(float((np.minimum(masses, 1 - masses) < ONE_MODE).mean()), 4),
        "last_change_of_side": [int(at) for at in crossings],
    }


def _one(
    method: str, knobs: dict[str, Any], options: dict[str, Any], seed: int, budget: int | None
) -> tuple[float, float, int]:
    """TV of one run's last frame, the share of its draws with theta_2 > 0, and the last draw on another side."""
    recipe = Recipe("mixture", method, target_options=options, seed=seed, budget=budget, **knobs)
    session = Session(recipe, metrics_every=10**6)
    session.advance(10**6 if budget else int(session.knobs.burn_in) + GIBBS_DRAWS)
    draws, state = session.frame.densities["kde"].particles, session.frame.state
    every = np.concatenate([state.older, state.newer])[:, 1] > 0
    others = np.flatnonzero(every != every[-1])
    mass = float((draws[:, 1] > 0).mean())
    return float(session.frame.metrics["tv"]), mass, int(others[-1]) + 1 if len(others) else 0
