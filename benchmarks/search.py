"""Best settings of the baselines on the separated mixture: a small search, then default and best on fresh seeds."""

from __future__ import annotations

from argparse import Namespace
from itertools import product
from typing import Any

import numpy as np

from benchmarks.contest_tables import GRIDS, ONE_PASS, PAPERS, SEPARATED
from pmdviz.engine.recipe import Recipe
from pmdviz.engine.session import Session

BUDGET = 20_000
SEARCH_SEEDS, SEEDS, DATA_SEEDS = range(100, 104), range(8), range(5)


def run(options: Namespace) -> dict[str, Any]:
    """TV at the budget (mean over data and run seeds, standard error) of each method: default, paper's, best."""
    return {"target": SEPARATED, "budget": BUDGET, **{name: _method(name, options.quick) for name in GRIDS}}


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
    options = {**SEPARATED, "data_seed": data_seed}
    session = Session(Recipe("mixture", name, target_options=options, seed=seed, budget=budget, **knobs), 10**9)
    frame = session.advance(10**9)
    return frame.metrics["tv"], frame.visited
