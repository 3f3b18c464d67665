"""Structured PMD on the sparse Gaussian process of appendix H.3.1: errors by step, and time beside plain NumPy."""

from __future__ import annotations

import time
from argparse import Namespace
from collections.abc import Callable
from statistics import median
from typing import Any

import numpy as np
from joblib import Parallel, delayed
from threadpoolctl import threadpool_limits

from benchmarks.helpers.claims_rules import pooled
from benchmarks.helpers.contest import figures
from benchmarks.helpers.plain_gp import PlainStructuredPMD
from pmdviz.engine.recipe import Recipe
from pmdviz.engine.session import Session
from pmdviz.kernels import pool
from pmdviz.methods.optimisers import decayed
from pmdviz.targets import Target, make_target

STEPS = (1, 5, 10, 20, 50, 80)
DATA, RUNS = range(2001, 2009), range(300, 304)
ROUNDS = 9


def run(options: Namespace) -> dict[str, Any]:
    """Errors over data seeds and run seeds, then the two clocks in turn."""
    data, runs = (DATA[:2], RUNS[:1]) if options.quick else (DATA, RUNS)
    return {
        "setting": "2,048 data, 16 particles, 128 inducing inputs, B = 128, step 1/(1 + sqrt t), noise 0.001, FITC",
        "data_seeds": list(data),
        "run_seeds": list(runs),
        "errors": _errors(data, runs),
        "time": _times(3 if options.quick else ROUNDS),
    }


def _errors(data: range, runs: range) -> dict[str, Any]:
    """RMSE to the truth and to the exact process after each step, mean and standard error over data sets."""
    found = Parallel(n_jobs=-1)(delayed(_run)(seed, runs) for seed in data)
    to_truth, to_exact, exact = (np.array(part) for part in zip(*found, strict=True))
    rows = [
        {"step": step, **_pair("rmse_to_truth", to_truth[:, :, k]), **_pair("rmse_to_exact", to_exact[:, :, k])}
        for k, step in enumerate(STEPS)
    ]
    return {"by_step": rows, **_pair("exact_process_rmse_to_truth", exact[:, None])}


def _pair(name: str, values: np.ndarray) -> dict[str, float | None]:
    mean, error = pooled(values)
    return {name: figures(mean), f"{name}_se": figures(error, 2)}


def _run(data_seed: int, runs: range) -> tuple[list[list[float]], list[list[float]], float]:
    with threadpool_limits(1):
        to_truth, to_exact = [], []
        for seed in runs:
            options = {"data_seed": data_seed}
            session = Session(
                Recipe("sparse_gp", "structured_pmd", target_options=options, seed=seed, budget=None), 10**9
            )
            frames = [session.advance(step - before) for before, step in zip((0, *STEPS), STEPS, strict=False)]
            to_truth.append([truth_error(frame.target, frame.density.mean) for frame in frames])
            to_exact.append([frame.metric("process_error") for frame in frames])
        target = session.target
        exact, _ = target.process_at(target.test_data[:, :-1])
        return to_truth, to_exact, float(np.sqrt(((exact - target.test_data[:, -1]) ** 2).mean()))


def truth_error(target: Target, mean: np.ndarray) -> float:
    """Root mean squared error of E(y | x) at held-out rows, for a mean of theta (d,)."""
    found = target.row_mean(mean[None], target.test_data)[0]
    return float(np.sqrt(((found - target.outcomes(target.test_data)) ** 2).mean()))


def _times(rounds: int) -> dict[str, Any]:
    """CPU seconds of eighty steps on one thread, each form in turn, and how far apart they end."""
    target, knobs = make_target("sparse_gp"), Recipe("sparse_gp", "structured_pmd").start_knobs()
    batches = _batches(target, knobs)
    pool.set_threads(1)
    try:
        with threadpool_limits(1):
            ours, plain = (lambda: _ours(target, knobs, batches)), (lambda: _plain(target, batches))
            ours(), plain()
            pairs = [(_cpu(ours), _cpu(plain)) for _ in range(rounds)]
            gap = np.abs(ours() - plain()).max()
    finally:
        pool.set_threads(None)
    mine, other = (median(part) for part in zip(*pairs, strict=True))
    return {
        "steps": STEPS[-1],
        "ours_cpu_s": figures(mine),
        "plain_numpy_cpu_s": figures(other),
        "ratio": figures(median(a / b for a, b in pairs)),
        "largest_difference_of_the_means": figures(float(gap), 2),
        "rounds": rounds,
        "how": "median CPU seconds of 80 steps and the mean at 128 points, one thread each, in turn",
    }


def _batches(target: Target, knobs: Any) -> list[tuple[np.ndarray, float]]:
    """Rows and step size of every step: shuffled passes."""
    rng, each = np.random.default_rng(0), target.num_data // knobs.batch_size
    passes = [rng.permutation(target.num_data) for _ in range(-(-STEPS[-1] // each))]
    found = []
    for t in range(STEPS[-1]):
        rows = passes[t // each][t % each * knobs.batch_size :][: knobs.batch_size]
        found.append((target.data[rows], decayed(t + 1, knobs)))
    return found


def _ours(target: Target, knobs: Any, batches: list[tuple[np.ndarray, float]]) -> np.ndarray:
    method, rng = Recipe("sparse_gp", "structured_pmd").make_method(), np.random.default_rng(1)
    state = method.init(rng, target, knobs)
    for rows, _ in batches:
        state, _ = method.step(rng, state, target, rows, knobs)
    return target.values(method.density(state, knobs, target).mean[None])[0]


def _plain(target: Target, batches: list[tuple[np.ndarray, float]]) -> np.ndarray:
    given = target.conditionals(np.random.default_rng(1), 16)  # the same inducing inputs
    inputs = given.particles * target.kernel_width
    plain = PlainStructuredPMD(inputs, target.kernel_width, target.options.noise_variance)
    plain.run(((rows[:, 0], rows[:, 1], gamma) for rows, gamma in batches), target.num_data)
    return plain.mean_at(target.points[:, 0])


def _cpu(work: Callable[[], Any]) -> float:
    start = time.process_time()
    work()
    return time.process_time() - start
