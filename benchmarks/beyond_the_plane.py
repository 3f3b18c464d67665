"""PMD with many data and in many dimensions: today's default, limited steps alone, and these with the shaped kernel."""

from __future__ import annotations

import time
from argparse import Namespace
from functools import partial
from typing import Any

import numpy as np

from benchmarks.helpers.regressions import errors, linear, two_modes, weight_of_mode
from benchmarks.measuring import figures
from pmdviz.engine.recipe import Recipe
from pmdviz.engine.session import Session

OPTIONS = {"seed": 100}  # of the first data set; the others follow
SETTINGS: dict[str, dict[str, Any]] = {
    "format 1": {"step_limit": 0.0, "bandwidth_rule": "local"},  # the defaults once
    "limited steps": {"step_limit": 0.5, "bandwidth_rule": "local"},
    "limited steps, shaped kernel": {"step_limit": 0.5, "bandwidth_rule": "shaped"},
}
DEFAULT = [*SETTINGS][-1]
INDEPENDENT = {"draws": "independent", "resampler": "multinomial"}
LARGE = {"num_particles": 5000, "batch_size": 300, "step_limit": 0.7, "bandwidth_rule": "shaped"}
MIXTURES = {"N=1,000, sigma_x=2.5": {}, "N=400, sigma_x=1.5": {"num_data": 400, "sigma_x": 1.5}}
MANY = {
    "gaussian, N=20,000": ("gaussian", {"num_data": 20_000, "sigma_x": 1.0}),
    "gaussian, N=100,000": ("gaussian", {"num_data": 100_000, "sigma_x": 1.0}),
    "mixture, N=5,000": ("mixture", {"num_data": 5000}),
    "mixture, N=10,000": ("mixture", {"num_data": 10_000}),
    "mixture, N=20,000": ("mixture", {"num_data": 20_000}),
}
DIMENSIONS = {5: 30_000, 10: 30_000, 20: 30_000}  # observations used
OTHERS = ("importance", "smc", "smc_mcmc")  # methods that judge themselves too
PASSES = 3
MIN_WEIGHT = 0.3  # of each of two modes
_rounded = partial(figures, digits=3)
FAILED, WELL = {"tv": 0.3, "error_of_mean": 1.0}, {"tv": 0.15, "error_of_mean": 0.2}


def run(options: Namespace) -> dict[str, Any]:
    """For each setting the figures of every case, pooled over data seeds; the older settings on fewer."""
    num_data_sets, runs = (2, 1) if options.quick else (8, 3)
    seeds = [(options.seed + k, 1000 * j + k) for k in range(num_data_sets) for j in range(runs)]
    fewer = seeds[:: runs * max(1, num_data_sets // 4)]  # one run of each of four data sets
    found = {name: _of_setting(knobs, seeds if name == DEFAULT else fewer) for name, knobs in SETTINGS.items()}
    large = "d=50, m=5,000, B=300, step limit 0.7, shaped kernel, 60,000 visited"
    found[large] = _regressions(50, 60_000, LARGE, fewer)
    found["d=50, defaults, 60,000 visited"] = _regressions(50, 60_000, SETTINGS[DEFAULT], fewer)
    return found


def _of_setting(knobs: dict[str, Any], seeds: list[tuple[int, int]]) -> dict[str, Any]:
    found: dict[str, Any] = {f"mixture, {name}": _mixture(given, knobs, seeds) for name, given in MIXTURES.items()}
    name, given = list(MIXTURES.items())[1]
    found[f"mixture, {name}, independent multinomial draws"] = _mixture(given, {**knobs, **INDEPENDENT}, seeds)
    found |= {name: _many(*case, knobs, seeds) for name, case in MANY.items()}
    found |= {f"linear regression, d={d}": _regressions(d, n, knobs, seeds) for d, n in DIMENSIONS.items()}
    rule = {"bandwidth_rule": knobs["bandwidth_rule"]}
    for method in OTHERS:
        found |= {f"{method}, mixture, {name}": _other(method, given, rule, seeds) for name, given in MIXTURES.items()}
        for d in DIMENSIONS:
            found[f"{method}, linear regression, d={d}"] = _regressions(d, None, rule, _first_runs(seeds), method)
    found |= {"two modes, d=10": _modes(10, 30_000, knobs, seeds)}
    return found | {"caveats of all these": summed([case["caveats"] for case in found.values() if "caveats" in case])}


def told(ends: list[tuple[str, str, float]]) -> dict[str, int]:
    """Of runs (caveat, name of a figure, value): how many failed, or went well, and how many of these say so."""
    failed = [caveat for caveat, name, value in ends if value > FAILED[name]]
    well = [caveat for caveat, name, value in ends if value <= WELL[name]]
    return {
        "failed": len(failed),
        "failed_with_caveat": sum(map(bool, failed)),
        "well": len(well),
        "well_with_caveat": sum(map(bool, well)),
    }


def summed(counts: list[dict[str, int]]) -> dict[str, Any]:
    """All counts together, with the two rates; None where no run failed, or went well."""
    found: dict[str, Any] = {name: sum(count[name] for count in counts) for name in counts[0]}
    for kind in ("failed", "well"):
        found[f"rate_{kind}"] = _rounded(found[f"{kind}_with_caveat"] / found[kind]) if found[kind] else None
    return found


def _first_runs(seeds: list[tuple[int, int]]) -> list[tuple[int, int]]:
    return [(data_seed, seed) for data_seed, seed in seeds if seed < 1000]


def _ended(
    target: Any, budget: int | None, seed: int, knobs: dict[str, Any], method: str = "pmd", **parts: Any
) -> Session:
    session = Session(Recipe(target, method, budget=budget, seed=seed, **parts, **knobs), metrics_every=50)
    session.advance(10**9)
    return session


def _other(method: str, given: dict[str, Any], knobs: dict[str, Any], seeds: list[tuple[int, int]]) -> dict[str, Any]:
    """TV of another method at its end, on the first of each data set's runs."""
    ends = []
    for data_seed, seed in _first_runs(seeds):
        frame = _ended("mixture", None, seed, knobs, method, target_options={**given, "data_seed": data_seed}).frame
        ends.append((frame.caveat, "tv", frame.metrics["tv"]))
    return {"tv_median": _rounded(np.median([value for *_, value in ends])), "caveats": told(ends)}


def _mixture(given: dict[str, Any], knobs: dict[str, Any], seeds: list[tuple[int, int]]) -> dict[str, Any]:
    """TV at 5,000 and 20,000 visited; the standard error is that over data sets."""
    early, late, caveats = np.empty(len(seeds)), np.empty(len(seeds)), []
    for k, (data_seed, seed) in enumerate(seeds):
        session = _ended("mixture", 20_000, seed, knobs, target_options={**given, "data_seed": data_seed})
        history = session.history.columns
        early[k], late[k] = history["tv"][np.searchsorted(history["visited"], (5000, 20_000))]
        caveats.append((session.frame.caveat, "tv", late[k]))
    sets = late.reshape(len({data_seed for data_seed, _ in seeds}), -1).mean(axis=1)
    return {
        "tv_at_5000": _rounded(early.mean()),
        "tv_at_20000": _rounded(late.mean()),
        "standard_error": _rounded(sets.std(ddof=1) / np.sqrt(len(sets))),
        "largest_tv": _rounded(late.max()),
        "caveats": told(caveats),
    }


def _many(target: str, given: dict[str, Any], knobs: dict[str, Any], seeds: list[tuple[int, int]]) -> dict[str, Any]:
    """TV after three passes."""
    start, ends = time.process_time(), []
    for data_seed, seed in seeds:
        parts = {"target_options": {**given, "data_seed": data_seed}}
        frame = _ended(target, PASSES * given["num_data"], seed, knobs, **parts).frame
        ends.append((frame.caveat, "tv", frame.metrics["tv"]))
    tv = [value for *_, value in ends]
    return {
        "runs": len(tv),
        "tv_at_most_0.15": int((np.array(tv) <= 0.15).sum()),
        "tv_median": _rounded(np.median(tv)),
        "tv_largest": _rounded(max(tv)),
        "cpu_seconds_a_run": round((time.process_time() - start) / len(tv), 2),
        "caveats": told(ends),
    }


def _regressions(
    d: int, budget: int | None, knobs: dict[str, Any], seeds: list[tuple[int, int]], method: str = "pmd"
) -> dict[str, Any]:
    """Errors of a linear regression: means over runs, and the worst run."""
    start, found, ends = time.process_time(), [], []
    for data_seed, seed in seeds:
        made = linear(d, data_seed)
        frame = _ended(made.target, budget, seed, knobs, method).frame
        found.append(errors(frame.density, made))
        ends.append((frame.caveat, "error_of_mean", found[-1]["error_of_mean"]))
    seconds = time.process_time() - start
    means = {name: _rounded(np.mean([one[name] for one in found])) for name in found[0]}
    worst = {f"{name}_largest": _rounded(max(one[name] for one in found)) for name in ("error_of_mean", "kl")}
    cpu = round(seconds / len(found), 1)
    return {"runs": len(found), **means, **worst, "cpu_seconds_a_run": cpu, "caveats": told(ends)}


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
        "both_above_0.3": int((np.array(both) > MIN_WEIGHT).sum()),
        "smaller_weight_median": _rounded(np.median(both)),
        "smaller_weight_least": _rounded(min(both)),
    }
