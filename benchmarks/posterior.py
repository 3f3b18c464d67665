"""How close default PMD comes to the posterior, beside independent draws: 8 data x 8 run seeds, two mixtures."""

from __future__ import annotations

from argparse import Namespace
from typing import Any

import numpy as np

from pmdviz import api
from pmdviz.metrics import perfect_draws

TARGETS = {
    "N=1000, sigma_x=2.5": {"num_data": 1000, "sigma_x": 2.5},
    "N=400, sigma_x=1.5": {"num_data": 400, "sigma_x": 1.5},
}
MEASURED = {"floor": False, "metrics_every": 10}  # so that the budgets below, all of them ends of passes, are measured
VISITED = (1000, 2000, 5000, 10_000, 20_000)


def run(options: Namespace) -> dict[str, Any]:
    """TV and KL(p || q) at several budgets, pooled and by data seed, with the floors."""
    seeds = 2 if options.quick else 8
    return {name: _of_target(target_options, seeds) for name, target_options in TARGETS.items()}


def _of_target(target_options: dict[str, Any], seeds: int) -> dict[str, Any]:
    tv, kl, floor = np.empty((seeds, seeds, len(VISITED))), np.empty((seeds, seeds)), np.empty(seeds)
    for data_seed in range(seeds):
        for seed in range(seeds):
            done = api.run(target_options={**target_options, "data_seed": data_seed}, seed=seed, **MEASURED)
            rows = np.searchsorted(done.history["visited"], VISITED)
            tv[data_seed, seed] = done.history["tv"][rows]
            kl[data_seed, seed] = done.history["kl_forward"][-1]
        floor[data_seed] = perfect_draws.floor(done.target, 1500, **done.final.drawn_as).tv
    ratio_end, ratio_5k = tv[:, :, -1].mean(axis=1) / floor, tv[:, :, 2].mean(axis=1) / floor
    return {
        "tv_by_visited": {str(v): round(float(tv[:, :, k].mean()), 4) for k, v in enumerate(VISITED)},
        "tv_at_20000": _mean_se(tv[:, :, -1]),
        "floor_mean": round(float(floor.mean()), 4),
        "floor_range": [round(float(floor.min()), 4), round(float(floor.max()), 4)],
        "pooled_ratio_to_floor": round(float(tv[:, :, -1].mean() / floor.mean()), 3),
        "ratio_by_data_seed_at_20000": [round(float(r), 3) for r in ratio_end],
        "ratio_by_data_seed_at_5000": [round(float(r), 3) for r in ratio_5k],
        "kl_forward_median": round(float(np.median(kl)), 4),
    }


def _mean_se(values: np.ndarray) -> dict[str, float]:
    """Mean and standard error over data seeds (rows), whose runs are averaged first."""
    by_data = values.mean(axis=1)
    error = by_data.std(ddof=1) / np.sqrt(len(by_data))
    return {"mean": round(float(by_data.mean()), 4), "standard_error": round(float(error), 4)}
