"""PMD with many data and in many dimensions: today's default, limited steps alone, and these with the shaped kernel."""

from __future__ import annotations

import time
from argparse import Namespace
from typing import Any

import numpy as np

from pmdviz.bench.regressions import errors, linear, two_modes, weight_of_mode
from pmdviz.recipe import Recipe
from pmdviz.session import Session

OPTIONS = {"seed": 100}  # of the first data set; the others follow
SETTINGS: dict[str, dict[str, Any]] = {
    "format 1": {"step_limit": 0.0, "bandwidth_rule": "local"},
    "limited steps": {"step_limit": 0.5, "bandwidth_rule": "local"},
    "limited steps, shaped kernel": {"step_limit": 0.5, "bandwidth_rule": "shaped"},
}
INDEPENDENT = {"draws": "independent", "resampler": "multinomial"}
LARGE = {"num_particles": 3000, "batch_size": 300, "step_limit": 0.7, "bandwidth_rule": "shaped"}
MIXTURES = {"N=1,000, sigma_x=2.5": {}, "N=400, sigma_x=1.5": {"num_data": 400, "sigma_x": 1.5}}
MANY = {
    "gaussian, N=20,000": ("gaussian", {"num_data": 20_000, "sigma_x": 1.0}),
    "gaussian, N=100,000": ("gaussian", {"num_data": 100_000, "sigma_x": 1.0}),
    "mixture, N=5,000": ("mixture", {"num_data": 5000}),
    "mixture, N=10,000": ("mixture", {"num_data": 10_000}),
    "mixture, N=20,000": ("mixture", {"num_data": 20_000}),
}
DIMENSIONS = {5: 30_000, 10: 30_000, 20: 30_000}  # data visited
PASSES = 3
LEAST_WEIGHT = 0.3  # of each of two modes


def run(options: Namespace) -> dict[str, Any]:
    """For each setting the figures of every case, pooled over data seeds and runs."""
    num_data_sets, runs = (2, 1) if options.quick else (8, 3)
    seeds = [(options.seed + k, 1000 * j + k) for k in range(num_data_sets) for j in range(runs)]
    return {name: _of_setting(knobs, seeds) for name, knobs in SETTINGS.items()} | {
        "d=50, m=3,000, B=300, step limit 0.7, shaped kernel, 60,000 visited": _regressions(
            50, 60_000, LARGE, seeds[::6]
        ),
    }


def _of_setting(knobs: dict[str, Any], seeds: list[tuple[int, int]]) -> dict[str, Any]:
    found: dict[str, Any] = {f"mixture, {name}": _mixture(given, knobs, seeds) for name, given in MIXTURES.items()}
    name, given = list(MIXTURES.items())[1]
    found[f"mixture, {name}, independent multinomial draws"] = _mixture(given, {**knobs, **INDEPENDENT}, seeds)
    found |= {name: _many(*case, knobs, seeds) for name, case in MANY.items()}
    found |= {f"linear regression, d={d}": _regressions(d, n, knobs, seeds) for d, n in DIMENSIONS.items()}
    return found | {"two modes, d=10": _modes(10, 30_000, knobs, seeds)}


def _ended(target: Any, budget: int, seed: int, knobs: dict[str, Any], **parts: Any) -> Session:
    session = Session(Recipe(target, "pmd", budget=budget, seed=seed, **parts, **knobs), metrics_every=50)
    session.advance(10**9)
    return session


def _mixture(given: dict[str, Any], knobs: dict[str, Any], seeds: list[tuple[int, int]]) -> dict[str, Any]:
    """TV at 5,000 and 20,000 visited; the standard error is that over data sets."""
    early, late = np.empty(len(seeds)), np.empty(len(seeds))
    for k, (data_seed, seed) in enumerate(seeds):
        history = _ended(
            "mixture", 20_000, seed, knobs, target_options={**given, "data_seed": data_seed}
        ).history.columns
        early[k], late[k] = history["tv"][np.searchsorted(history["visited"], (5000, 20_000))]
    sets = late.reshape(len({data_seed for data_seed, _ in seeds}), -1).mean(axis=1)
    return {
        "tv_at_5000": _rounded(early.mean()),
        "tv_at_20000": _rounded(late.mean()),
        "standard_error": _rounded(sets.std(ddof=1) / np.sqrt(len(sets))),
        "largest_tv": _rounded(late.max()),
    }


def _many(target: str, given: dict[str, Any], knobs: dict[str, Any], seeds: list[tuple[int, int]]) -> dict[str, Any]:
    """TV after three passes."""
    start, tv = time.process_time(), []
    for data_seed, seed in seeds:
        parts = {"target_options": {**given, "data_seed": data_seed}}
        tv.append(_ended(target, PASSES * given["num_data"], seed, knobs, **parts).frame.metrics["tv"])
    return {
        "runs": len(tv),
        "tv_at_most_0.15": int((np.array(tv) <= 0.15).sum()),
        "tv_median": _rounded(np.median(tv)),
        "tv_largest": _rounded(max(tv)),
        "cpu_seconds_a_run": round((time.process_time() - start) / len(tv), 2),
    }


def _regressions(d: int, budget: int, knobs: dict[str, Any], seeds: list[tuple[int, int]]) -> dict[str, Any]:
    """Errors of a linear regression: means over runs, and the worst run."""
    start, found = time.process_time(), []
    for data_seed, seed in seeds:
        made = linear(d, data_seed)
        found.append(errors(_ended(made.target, budget, seed, knobs).frame.density, made))
    seconds = time.process_time() - start
    means = {name: _rounded(np.mean([one[name] for one in found])) for name in found[0]}
    worst = {f"{name}_largest": _rounded(max(one[name] for one in found)) for name in ("error_of_mean", "kl")}
    return {"runs": len(found), **means, **worst, "cpu_seconds_a_run": round(seconds / len(found), 1)}


def _modes(d: int, budget: int, knobs: dict[str, Any], seeds: list[tuple[int, int]]) -> dict[str, Any]:
    """In how many runs both modes keep their weight."""
    shares = []
    for data_seed, seed in seeds:
        made = two_modes(d, data_seed)
        frame = _ended(made.target, budget, seed, knobs).frame
        shares.append(weight_of_mode(frame.particles, frame.weights, made))
    both = [min(share, 1 - share) for share in shares]
    return {
        "runs": len(both),
        "both_above_0.3": int((np.array(both) > LEAST_WEIGHT).sum()),
        "smaller_weight_median": _rounded(np.median(both)),
        "smaller_weight_least": _rounded(min(both)),
    }


def _rounded(value: float) -> float:
    return float(f"{value:.3g}")
