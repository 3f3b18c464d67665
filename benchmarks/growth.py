"""How time and memory of a PMD step grow with particles m, data N and dimension d, with the fitted exponents."""

from __future__ import annotations

import tempfile
import time
import tracemalloc
from argparse import Namespace
from collections.abc import Callable
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np
import psutil

from benchmarks.measuring import figures
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
            "m": _table("m", PARTICLES[:5] if options.quick else PARTICLES, lambda m: _of_run(_target(MANY, 2), m)),
            "N": _table("N", DATA[:3] if options.quick else DATA, _of_data),
            "d": _table("d", DIMENSIONS, lambda d: _of_run(_target(MANY, d), MANY)),
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


def _target(num_data: int, dim: int) -> Target:
    """A Gaussian with unknown mean in any dimension."""
    return _custom(0.3 + NOISE * np.random.default_rng(0).standard_normal((num_data, dim)))


def _custom(data: np.ndarray) -> Target:
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
    seconds, memory = {}, {}
    works: dict[str, Callable[[], Any]] = {
        "step": lambda: method.step(np.random.default_rng(0), state, target, batch, knobs),
        "rejuvenation": lambda: method.step(np.random.default_rng(0), state, target, batch, anew),
        "kernel": lambda: method.density(state, knobs, target),
    }
    resident = _resident()
    for name, work in works.items():
        seconds[f"{name}_ms"] = _cpu_ms(work, 1 if m > 10_000 else ROUNDS)
        memory[f"{name}_memory_mb"] = _peak_mb(work)
    return {**seconds, **memory, "resident_mb": max(0.0, _resident() - resident)}


def _of_data(num_data: int) -> dict[str, float]:
    """The data lie on disk: what making the target, the first step (which shuffles) and later ones cost."""
    with tempfile.TemporaryDirectory(prefix="pmdviz-growth-") as folder:
        data = _on_disk(Path(folder) / "data.npy", num_data)
        resident = _resident()
        made, target = _timed(lambda: _custom(data))
        session = Session(Recipe(target, num_particles=MANY, batch_size=BATCH, policy="never", budget=None), 10**6)
        if not np.shares_memory(session.target.data, data):
            raise AssertionError("the data were copied")
        first, _ = _timed(session.advance)
        step = _cpu_ms(lambda: session.advance(STEPS), ROUNDS) / STEPS
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


def _on_disk(path: Path, num_data: int) -> np.ndarray:
    data = np.lib.format.open_memmap(path, mode="w+", dtype=np.float64, shape=(num_data, 1))
    rng = np.random.default_rng(0)
    for start in range(0, num_data, 100_000):
        stop = min(start + 100_000, num_data)
        data[start:stop, 0] = 0.3 + NOISE * rng.standard_normal(stop - start)
    data.flush()
    return np.load(path, mmap_mode="r")


def _timed(work: Callable[[], Any]) -> tuple[float, Any]:
    start = time.process_time()
    result = work()
    return (time.process_time() - start) * 1000, result


def _cpu_ms(work: Callable[[], Any], rounds: int) -> float:
    work()
    return median(_timed(work)[0] for _ in range(rounds))


def _peak_mb(work: Callable[[], Any]) -> float:
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
