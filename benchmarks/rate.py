"""Theorem 5: the error of bounded functions under weighted particles falls like m^(-1/2) on the conjugate Gaussian."""

from __future__ import annotations

from argparse import Namespace
from typing import Any

import numpy as np

from pmdviz.engine.recipe import Recipe
from pmdviz.engine.session import Session
from pmdviz.targets import Target

OPTIONS = {"dim": 1, "num_data": 20, "sigma_x": 2.0}  # data of variance 4
SIZES = (64, 128, 256, 512, 1024, 2048, 4096)
FUNCTIONS = {
    "theta > 0.5": lambda theta: (theta > 0.5).astype(float),
    "cos(2 theta)": lambda theta: np.cos(2 * theta),
    "tanh(theta)": np.tanh,
}


def run(options: Namespace) -> dict[str, Any]:
    """For particles drawn independently, as the theorem has it, and balanced."""
    seeds = 10 if options.quick else 60
    return {
        "m": list(SIZES),
        **{draws: _figures(draws, seeds) for draws in ("independent", "balanced")},
        "theory": -0.5,
    }


def _figures(draws: str, seeds: int) -> dict[str, Any]:
    """Root mean square errors for each m, with gamma = 1/t, B = 1, T = m, and the fitted slopes."""
    target = Recipe("gaussian", target_options=OPTIONS).make_target()
    errors = np.array([_errors(m, draws, seeds, target) for m in SIZES])  # (sizes, functions)
    slopes = [_slope(errors[:, k]) for k in range(len(FUNCTIONS))]
    return {
        "root_mean_square_error": {n: [round(float(e), 5) for e in errors[:, k]] for k, n in enumerate(FUNCTIONS)},
        "slope": {name: round(slope, 3) for name, slope in zip(FUNCTIONS, slopes, strict=True)},
        "slope_pooled": round(_slope(np.sqrt((errors**2).mean(axis=1))), 3),
    }


def _errors(m: int, draws: str, seeds: int, target: Target) -> np.ndarray:
    exact = _exact_values(target)
    found = np.array([_estimates(m, draws, seed) for seed in range(seeds)])
    return np.sqrt(((found - exact) ** 2).mean(axis=0))


def _estimates(m: int, draws: str, seed: int) -> list[float]:
    knobs = {
        "step_limit": 0.0,
        "policy": "never",
        "eta": 1.0,
        "n0": 0.0,
        "num_particles": m,
        "batch_size": 1,
        "batches": "replacement",
    }
    recipe = Recipe("gaussian", target_options=OPTIONS, seed=seed, budget=m, draws=draws, **knobs)
    session = Session(recipe, metrics_every=10**6)
    frame = session.advance(m)
    return [float(frame.weights @ f(frame.particles[:, 0])) for f in FUNCTIONS.values()]


def _exact_values(target: Target) -> np.ndarray:
    line = np.linspace(-6, 6, 24_001)
    p = np.exp(target.exact.log_density(line[:, None])) * (line[1] - line[0])
    return np.array([p @ f(line) for f in FUNCTIONS.values()])


def _slope(errors: np.ndarray) -> float:
    return float(np.polyfit(np.log(SIZES), np.log(errors), 1)[0])
