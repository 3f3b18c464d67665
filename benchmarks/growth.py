"""How time and memory of a PMD step grow with particles m, data N and dimension d, with the fitted exponents."""

from __future__ import annotations

import tempfile
import time
import tracemalloc
from argparse import Namespace
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import psutil

from benchmarks.measuring import Call, cpu_ms, figures, race
from pmdviz.api import custom_target
from pmdviz.engine.recipe import Recipe
from pmdviz.engine.session import Session
from pmdviz.kernels import pool
from pmdviz.kernels.likelihoods import gaussian_log_likelihood
from pmdviz.targets import Target

PARTICLES = (100, 300, 1000, 3000, 10_000, 30_000, 100_000)
DATA = (1000, 10_000, 100_000, 1_000_000, 10_000_000)
DIMENSIONS = (1, 2, 3, 5, 10, 20, 50)
STEPS, ROUNDS = 5, 7
BATCH, MANY, NOISE = 100, 2000, 2.0  # rows a step; particles where m is fixed; sd of a datum
REACHED = 0.1  # the exponents are fitted where the largest value is at most so many times more: overheads lie below


def run(options: Namespace) -> dict[str, Any]:
    """One table a variable, each with the exponents of its last decade and more."""
    pool.set_threads(1)
    try:
        return {
            "m": _table(
                "m", PARTICLES[: 5 if options.quick else None], lambda m: _of_run(_custom(_normal(MANY, 2)), m)
            ),
            "N": _table("N", DATA[: 3 if options.quick else None], _of_data),
            "d": _table("d", DIMENSIONS, lambda d: _of_run(_custom(_normal(MANY, d)), MANY)),
            "how": f"CPU, one thread, medians of {ROUNDS} (one above m = 10,000); memory: the most that NumPy held "
            "beyond what was there before (tracemalloc), and by how much the process's resident memory grew",
        }
    finally:
        pool.set_threads(None)


def _table(name: str, sizes: tuple[int, ...], measure: Callable[[int], dict[str, float]]) -> dict[str, Any]:
    rows = [{name: size, **measure(size)} for size in sizes]
    columns = {key: [row[key] for row in rows] for key in rows[0] if key not in (name, "resident_mb")}
    exponents = {key: exponent(sizes, values) for key, values in columns.items()}
    return {"rows": [{key: figures(value) for key, value in row.items()} for row in rows], "exponents": exponents}


def exponent(sizes: tuple[int, ...], values: list[float]) -> float | None:
    """Slope of log value over log size, by least squares where the value is at least a tenth of the largest.

    Fixed costs hide the growth of what is small. None where there are not three such sizes or a value is 0.
    """
    kept = [(size, value) for size, value in zip(sizes, values, strict=True) if value >= REACHED * max(values) > 0]
    kept = kept if len(kept) >= 3 else list(zip(sizes, values, strict=True))[-3:]
    if min(value for _, value in kept) <= 0:
        return None
    x, y = np.log(np.array(kept)).T
    return round(float(np.polyfit(x, y, 1)[0]), 2)


def _normal(num_data: int, dim: int) -> np.ndarray:
    return 0.3 + NOISE * np.random.default_rng(0).standard_normal((num_data, dim))


def _custom(data: np.ndarray) -> Target:
    """A Gaussian with unknown mean in any dimension."""
    dim = data.shape[1]
    return custom_target(
        log_prior=lambda theta: -0.5 * (theta**2).sum(axis=1),
        log_likelihood=lambda theta, batch: gaussian_log_likelihood(theta, batch, NOISE),
        sample_prior=lambda rng, n: rng.standard_normal((n, dim)),
        data=data,
        dim=dim,
        name="growing",
    )


def _of_run(target: Target, m: int) -> dict[str, float]:
    """A step without a rejuvenation, a rejuvenation, and the KDE's kernel, of a run with m particles."""
    session = Session(Recipe(target, num_particles=m, batch_size=BATCH, policy="never", budget=None), 10**6)
    state, knobs, method = session.advance(2).state, session.knobs, session.method
    anew, batch = knobs.replaced(policy="always"), target.data[:BATCH]
    works: dict[str, Call] = {
        "step": lambda: method.step(np.random.default_rng(0), state, target, batch, knobs),
        "rejuvenation": lambda: method.step(np.random.default_rng(0), state, target, batch, anew),
        "kernel": lambda: method.density(state, knobs, target),
    }
    resident, seconds = _resident(), race(works, 1 if m > 10_000 else ROUNDS)
    memory = {f"{name}_memory_mb": _peak_mb(work) for name, work in works.items()}
    grown = max(0.0, _resident() - resident)
    return {**{f"{name}_ms": ms for name, ms in seconds.items()}, **memory, "resident_mb": grown}


def _of_data(num_data: int) -> dict[str, float]:
    """The data lie on disk: what making the target, the first step (which shuffles) and later ones cost."""
    with tempfile.TemporaryDirectory(prefix="pmdviz-growth-") as folder:
        path = Path(folder) / "data.npy"
        np.save(path, _normal(num_data, 1))
        data = np.load(path, mmap_mode="r")
        resident, start = _resident(), time.process_time()
        target = _custom(data)
        made = 1000 * (time.process_time() - start)
        session = Session(Recipe(target, num_particles=MANY, batch_size=BATCH, policy="never", budget=None), 10**6)
        if not np.shares_memory(session.target.data, data):
            raise AssertionError("the data were copied")
        first = cpu_ms(session.advance)
        step = race({"": lambda: session.advance(STEPS)}, ROUNDS)[""] / STEPS
        memory = _peak_mb(lambda: session.advance(STEPS))
        shuffle = Session(Recipe(target, num_particles=10, batch_size=BATCH, budget=None), 10**6)
        return {
            "target_made_ms": made,
            "first_step_ms": first,
            "step_ms": step,
            "step_memory_mb": memory,
            "first_step_memory_mb": _peak_mb(shuffle.advance),
            "resident_mb": max(0.0, _resident() - resident),
        }


def _peak_mb(work: Call) -> float:
    """The most that NumPy held during the work beyond what it held before, in MB."""
    tracemalloc.start()
    try:
        before = tracemalloc.get_traced_memory()[0]
        work()
        return (tracemalloc.get_traced_memory()[1] - before) / 1e6
    finally:
        tracemalloc.stop()


def _resident() -> float:
    return psutil.Process().memory_info().rss / 1e6
