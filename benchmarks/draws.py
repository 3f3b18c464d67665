"""How new particles are drawn: TV, KL and CPU time of default PMD with balanced and independent draws, 8 x 8 seeds."""

from __future__ import annotations

import time
from argparse import Namespace
from types import SimpleNamespace
from typing import Any

import numpy as np

from pmdviz import api
from pmdviz.methods.particles import DRAWS, from_prior
from pmdviz.metrics import perfect_draws

TARGETS = {"mixture": {}, "mixture, N=400, sigma_x=1.5": {"num_data": 400, "sigma_x": 1.5}, "banana": {}}
POLICIES = ("ess", "never")


def run(options: Namespace) -> dict[str, Any]:
    """For every target, policy and way of drawing: figures at 20,000 visited, by data seed and pooled."""
    seeds = 2 if options.quick else 8
    variances = {"variance of a mean, balanced over independent": _variance_ratios(50 if options.quick else 400)}
    return variances | {name: _of_target(name, seeds) for name in TARGETS}


def _of_target(name: str, seeds: int) -> dict[str, Any]:
    ways = {f"{p}, {d}": _figures(name, p, d, seeds) for p in POLICIES for d in DRAWS}
    return {"tv of perfect independent draws, by data seed": _floors(name, seeds), **ways}


def _variance_ratios(runs: int) -> dict[str, float]:
    """Of mean cos(theta_1) over 1,500 draws from the prior, a standard Gaussian in d dimensions."""
    found = {}
    for d in (1, 2, 3, 5, 10):
        prior = SimpleNamespace(dim=d, scale=np.ones(d), sample_prior=lambda rng, n, d=d: rng.standard_normal((n, d)))
        means = {
            draws: [np.cos(from_prior(np.random.default_rng(k), prior, 1500, draws)[:, 0]).mean() for k in range(runs)]
            for draws in DRAWS
        }
        found[f"d={d}"] = round(float(np.var(means["balanced"]) / np.var(means["independent"])), 3)
    return found


def _recipe_parts(name: str, data_seed: int) -> dict[str, Any]:
    return {"target": name.partition(",")[0], "target_options": {**TARGETS[name], "data_seed": data_seed}}


def _floors(name: str, seeds: int) -> list[float]:
    """TV of as many perfect independent draws, by data seed."""
    targets = (api.target(name.partition(",")[0], **TARGETS[name], data_seed=k) for k in range(seeds))
    return [round(perfect_draws.floor(target, 1500, rule="shaped").tv, 4) for target in targets]


def _figures(name: str, policy: str, draws: str, seeds: int) -> dict[str, Any]:
    tv, kl, seconds = np.empty((seeds, seeds)), np.empty((seeds, seeds)), []
    for data_seed in range(seeds):
        for seed in range(seeds):
            start = time.process_time()
            parts = {**_recipe_parts(name, data_seed), "policy": policy, "draws": draws}
            history = api.run(seed=seed, floor=False, **parts).history
            seconds.append(time.process_time() - start)
            tv[data_seed, seed], kl[data_seed, seed] = history["tv"][-1], history["kl_forward"][-1]
    by_data = tv.mean(axis=1)
    return {
        "tv": round(float(tv.mean()), 4),
        "tv_standard_error": round(float(by_data.std(ddof=1) / np.sqrt(seeds)), 4),
        "tv_by_data_seed": [round(float(value), 4) for value in by_data],
        "kl_forward_median": round(float(np.median(kl)), 4),
        "kl_forward_largest": round(float(kl.max()), 4),
        "cpu_seconds_a_run_median": round(float(np.median(seconds)), 3),
    }
