"""Exact facts: weights under `never` against a power of the likelihood; the `local` rule against the best kernels."""

from __future__ import annotations

from argparse import Namespace
from typing import Any

import numpy as np

from pmdviz.densities.bandwidth import local
from pmdviz.densities.density import KernelDensity
from pmdviz.engine.recipe import Recipe
from pmdviz.engine.session import Session

M = 1500
FACTOR = 0.75
WIDTHS = np.geomspace(0.01, 1.0, 40)
SEPARATIONS = (0.5, 0.75, 1.0, 1.5, 2.0, 4.0)
MODE_SD = 0.25
LINE = np.linspace(-6, 6, 6001)


def run(options: Namespace) -> dict[str, Any]:
    """Largest error of the weights; TV ratios of `local` with c = 0.75."""
    draws = 4 if options.quick else 16
    return {
        "never_full_batch_largest_weight_error": max(weight_error(seed) for seed in range(4)),
        "local_to_normal_reference_tv": {f"d={d}": round(normal_ratio(d, draws), 3) for d in (1, 2, 5)},
        "local_to_best_isotropic_tv_two_modes": {f"±{s}": round(two_mode_ratio(s, draws), 3) for s in SEPARATIONS},
    }


def weight_error(seed: int, step_size: float = 0.2, steps: int = 12) -> float:
    """max |w / w_exact - 1| where w_exact is proportional to likelihood^(1 - (1-gamma)^t)."""
    knobs = {"policy": "never", "schedule": "constant", "step_size": step_size, "num_particles": 400, "step_limit": 0.0}
    recipe = Recipe("mixture", "pmd", target_options={"num_data": 50}, seed=seed, batch_size=50, budget=None, **knobs)
    session = Session(recipe)
    frame = session.advance(steps)
    power = 1 - (1 - step_size) ** steps
    log_w = power * session.target.log_likelihood(frame.particles, session.target.data)
    exact = np.exp(log_w - log_w.max())
    return float(np.abs(frame.weights / (exact / exact.sum()) - 1).max())


def normal_ratio(d: int, sets: int) -> float:
    """Mean TV of the `local` KDE of M standard normal draws over that of the normal-reference KDE."""
    reference = (4 / (d + 2)) ** (1 / (d + 4)) * M ** (-1 / (d + 4))
    tvs = np.array([_normal_tvs(d, reference, seed) for seed in range(sets)]).mean(axis=0)
    return float(tvs[0] / tvs[1])


def _normal_tvs(d: int, reference: float, seed: int) -> tuple[float, float]:
    rng = np.random.default_rng([d, seed])
    draws, points = rng.standard_normal((M, d)), rng.standard_normal((20_000, d))
    log_p = -0.5 * (points**2).sum(axis=1) - d / 2 * np.log(2 * np.pi)
    kernels = local(draws, np.full(M, 1 / M), FACTOR, np.ones(d)), reference * np.eye(d)
    return tuple(_tv_by_draws(draws, kernel, points, log_p) for kernel in kernels)


def _tv_by_draws(draws: np.ndarray, kernel: np.ndarray, points: np.ndarray, log_p: np.ndarray) -> float:
    """TV = E_p max(0, 1 - q/p), by points drawn from p."""
    log_q = KernelDensity(draws, np.full(len(draws), -np.log(len(draws))), kernel).log_density(points)
    return float(np.maximum(0.0, 1.0 - np.exp(log_q - log_p)).mean())


def two_mode_ratio(separation: float, sets: int) -> float:
    """Mean TV of the `local` KDE over that of the best isotropic kernel, on two modes of sd 0.25 at +-separation."""
    values = [_two_mode_tvs(separation, seed) for seed in range(sets)]
    ours = np.mean([v[0] for v in values])
    best = np.mean([v[1] for v in values], axis=0).min()
    return float(ours / best)


def _two_mode_tvs(separation: float, seed: int) -> tuple[float, list[float]]:
    rng = np.random.default_rng([int(separation * 100), seed])
    sign = np.where(rng.random(M) < 0.5, -1.0, 1.0)
    draws = (sign * separation + MODE_SD * rng.standard_normal(M))[:, None]
    p = sum(np.exp(-0.5 * ((LINE - s * separation) / MODE_SD) ** 2) for s in (-1, 1))
    p /= p.sum() * (LINE[1] - LINE[0])
    ours = local(draws, np.full(M, 1 / M), FACTOR, np.ones(1))
    return _line_tv(draws, ours, p), [_line_tv(draws, np.array([[h]]), p) for h in WIDTHS]


def _line_tv(draws: np.ndarray, kernel: np.ndarray, p: np.ndarray) -> float:
    log_q = KernelDensity(draws, np.full(M, -np.log(M)), kernel).log_density(LINE[:, None])
    return float(0.5 * np.abs(np.exp(log_q) - p).sum() * (LINE[1] - LINE[0]))
