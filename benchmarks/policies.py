"""Rejuvenation: `always` gets worse as more data are visited, `ess` does not; and the predicted fixed point."""

from __future__ import annotations

from argparse import Namespace
from typing import Any

import numpy as np

from pmdviz import api
from pmdviz.engine.recipe import Recipe
from pmdviz.engine.session import Session

MIXTURE = {"bandwidth_rule": "isotropic", "bandwidth": 0.05, "batch_size": 100, "eta": 1.0, "n0": 10.0}
MIXTURE |= {"step_limit": 0.0}
UNIT_GAUSSIAN = {"dim": 1, "num_data": 1, "sigma_x": 2**0.5, "prior_sd": 2**0.5}  # posterior sd 1
STEP_SIZE = 0.1
SETTLING, AVERAGED = 100, 100
DRAWS: dict[str, dict[str, Any]] = {
    "balanced": {},
    "independent, systematic": {"draws": "independent"},
    "independent, multinomial": {"draws": "independent", "resampler": "multinomial"},  # as in the paper
}


def run(options: Namespace) -> dict[str, Any]:
    """TV at 20,000 minus TV at 2,000 visited; variance of q against its fixed point."""
    seeds = range(3 if options.quick else 8)
    gaussian = range(4 if options.quick else 12)
    return {
        "tv_20000_minus_tv_2000": {policy: _drift(policy, seeds) for policy in ("always", "ess")},
        "variance_under_always": {
            f"h={h}, m={m}": _settled_variance(h, m, gaussian) for h, m in ((0.5, 1500), (0.1, 1500), (0.1, 500))
        },
        "variance_by_draws, h=0.1, m=1000": {
            name: _settled_variance(0.1, 1000, gaussian, **knobs) for name, knobs in DRAWS.items()
        },
    }


def fixed_point(step_size: float, bandwidth: float, sd: float = 1.0) -> float:
    """The positive v of v = 1/((1-gamma)/v + gamma/s^2) + h^2: where the variance of q settles under `always`."""
    gap, spread = sd**2 - bandwidth**2, 4 * bandwidth**2 * sd**2 / step_size
    return sd**2 + (-gap + np.sqrt(gap**2 + spread)) / 2


def _drift(policy: str, seeds: range) -> dict[str, float]:
    differences, ends = [], []
    for seed in seeds:
        history = api.run(seed=seed, policy=policy, floor=False, metrics_every=10, **MIXTURE).history
        tv = history["tv"][np.searchsorted(history["visited"], (2000, 20_000))]
        differences.append(tv[1] - tv[0])
        ends.append(tv[1])
    return {**_with_error(np.array(differences)), "tv_at_20000": round(float(np.mean(ends)), 4)}


def _settled_variance(bandwidth: float, m: int, seeds: range, **more: Any) -> dict[str, float]:
    variances = np.array([_one_variance(bandwidth, m, seed, **more) for seed in seeds])
    expected = float(fixed_point(STEP_SIZE, bandwidth))
    found = _with_error(variances)
    return {
        **found,
        "fixed_point": round(expected, 4),
        "standard_errors_away": round((found["mean"] - expected) / found["standard_error"], 2),
    }


def _one_variance(bandwidth: float, m: int, seed: int, **more: Any) -> float:
    knobs = {"policy": "always", "schedule": "constant", "step_size": STEP_SIZE, "num_particles": m}
    knobs |= {"bandwidth_rule": "isotropic", "bandwidth": bandwidth, "step_limit": 0.0, **more}
    recipe = Recipe("gaussian", "pmd", target_options=UNIT_GAUSSIAN, seed=seed, budget=None, **knobs)
    session = Session(recipe, metrics_every=10**6)
    session.advance(SETTLING)
    return float(np.mean([session.advance().density.cov[0, 0] for _ in range(AVERAGED)]))


def _with_error(values: np.ndarray) -> dict[str, float]:
    error = values.std(ddof=1) / np.sqrt(len(values))
    return {"mean": round(float(values.mean()), 4), "standard_error": round(float(error), 5)}
