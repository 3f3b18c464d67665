"""CPU seconds of `pmfvb` beside the same algorithm in plain NumPy, in turn in the same minutes, one BLAS thread."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping

import numpy as np
from threadpoolctl import threadpool_limits

from benchmarks.helpers.plain_mean_field import plain, session
from benchmarks.helpers.plain_volatility import plain_volatility
from benchmarks.helpers.volatility_rows import PARTICLES
from pmdviz.engine.recipe import Recipe
from pmdviz.engine.session import Session

STEPS, ROUNDS = 400, 5
H = 0.002  # of stochastic volatility
MOST = 0.6  # of the plain form's CPU


def against_numpy(quick: bool = False) -> dict[str, dict[str, float]]:
    """Of the logistic regression of E12 and of stochastic volatility at h = 0.002."""
    rounds = 2 if quick else ROUNDS
    with threadpool_limits(1):
        return {"logistic": _compared(_logistic(), rounds), "stochastic volatility": _compared(_volatility(), rounds)}


def _logistic() -> dict[str, Callable[[], object]]:
    ours, rng = session(), np.random.default_rng(0)
    formula, products = plain(ours), plain(ours, products=True)
    return {
        "ours": lambda: ours.advance(STEPS),
        "NumPy": lambda: [formula.step(rng) for _ in range(STEPS)],
        "NumPy, products of exponentials": lambda: [products.step(rng) for _ in range(STEPS)],
    }


def _volatility() -> dict[str, Callable[[], object]]:
    knobs = {"num_particles": PARTICLES, "step_size": H}
    ours = Session(Recipe("stochastic_volatility", "pmfvb", budget=None, **knobs), metrics_every=10**9)
    y, rng = ours.target.data[:, 1], np.random.default_rng(0)
    return {
        "ours": lambda: ours.advance(STEPS),
        "NumPy": lambda: plain_volatility(y, PARTICLES, H, STEPS, rng),
        "NumPy, no lower bound": lambda: plain_volatility(y, PARTICLES, H, STEPS, rng, bounded=False),
    }


def _compared(runs: Mapping[str, Callable[[], object]], rounds: int) -> dict[str, float]:
    """Least CPU seconds of each over the rounds, and ours over each other's."""
    runs["ours"]()  # compiled
    seconds = dict.fromkeys(runs, np.inf)
    for _ in range(rounds):
        for name, run in runs.items():
            began = time.process_time()
            run()
            seconds[name] = min(seconds[name], time.process_time() - began)
    ratios = {f"ours over {name}": seconds["ours"] / seconds[name] for name in runs if name != "ours"}
    return {name: float(f"{value:.3g}") for name, value in (seconds | ratios).items()}
