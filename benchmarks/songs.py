"""Structured PMD, SVI-GP and a subset on synthetic songs of YearPredictionMSD's shape: RMSE, seconds, memory."""

from __future__ import annotations

import tempfile
import time
from argparse import Namespace
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import psutil
from threadpoolctl import threadpool_limits

from benchmarks.helpers.contest import figures
from pmdviz.kernels.gaussian_processes import covariances
from pmdviz.methods import find_method
from pmdviz.targets.gaussian_process import GaussianProcess, SongYearsOptions, median_distance
from pmdviz.targets.series import FEATURES, drawn_songs
from pmdviz.targets.space import Conditionals

OPTIONS = {"rows": 463_715, "particles": 16}
NUM_TEST, INDUCING, BATCH, PASSES = 5163, 1024, 512, 2
LOOKS = 4  # at the RMSE and the memory, a pass
BLOCK = 20_000


class Songs(GaussianProcess):
    """Rows in a memory map. It has no name: it enters no table."""

    Options = SongYearsOptions

    def __init__(self, data: np.ndarray, test_data: np.ndarray, **options: Any) -> None:
        self._given = data, test_data
        super().__init__(**options)

    def build(self) -> None:
        """Inducing inputs of θ are the first of a shuffle; every method draws its own."""
        self.data, self.test_data = self._given
        first = np.asarray(self.data[: self.options.dim, :-1], dtype=float)
        self._place(first, self.options.width * median_distance(first))


def run(options: Namespace) -> dict[str, Any]:
    """Each method in turn, on all threads that it has; BLAS has one."""
    rows = 20_000 if options.quick else options.rows
    with tempfile.TemporaryDirectory(prefix="pmdviz-songs-") as folder, threadpool_limits(1):
        target = Songs(_on_disk(Path(folder) / "songs.npy", rows), drawn_songs(np.random.default_rng(1), NUM_TEST),
                       dim=128 if options.quick else INDUCING)  # fmt: skip
        step = {"eta": 1.0, "n0": 1.0, "kappa": 0.5, "batch_size": BATCH}
        size = target.options.dim
        methods = {
            "svi": ("svi_gp", step),
            "subset": ("subset_gp", {"subset_size": size, "batch_size": 256}),
            "pmd": ("structured_pmd", {**step, "num_particles": options.particles}),
        }
        found = {key: _measured(target, *method) for key, method in methods.items()}
        return {
            "rows": rows,
            "features": FEATURES,
            "inducing_inputs": size,
            "batch_size": BATCH,
            "passes": PASSES,
            "particles": options.particles,
            "held_out": NUM_TEST,
            "sd_of_held_out": figures(float(target.test_data[:, -1].std())),
            "data_mb": figures(target.data.nbytes / 1e6),
            "methods": found,
        }


def _on_disk(path: Path, rows: int) -> np.ndarray:
    data = np.lib.format.open_memmap(path, mode="w+", dtype=np.float32, shape=(rows, FEATURES + 1))
    rng = np.random.default_rng(0)
    for start in range(0, rows, BLOCK):
        data[start : start + BLOCK] = drawn_songs(rng, min(BLOCK, rows - start))
    data.flush()
    return np.load(path, mmap_mode="r")


def _measured(target: Songs, name: str, given: dict[str, Any]) -> dict[str, Any]:
    """RMSE, seconds and memory at each look; looks are not timed."""
    method, rng = find_method(name), np.random.default_rng(2)
    knobs = method.Knobs.checked(given)
    state = method.init(rng, target, knobs)
    looks, wall, cpu, visited = [], 0.0, 0.0, 0
    for rows in _batches(rng, target.num_data):
        size = method.batch_size(state, knobs, target.num_data)
        start = time.perf_counter(), time.process_time()
        batch = np.asarray(target.data[np.sort(rows[:size])], dtype=float)
        state, _ = method.step(rng, state, target, batch, knobs)
        wall, cpu, visited = wall + time.perf_counter() - start[0], cpu + time.process_time() - start[1], visited + size
        done = bool(method.ended(state, knobs, target)) or visited >= PASSES * target.num_data
        if done or visited * LOOKS // target.num_data > len(looks):
            log_weights = getattr(state, "log_weights", np.zeros(1))
            rmse = _rmse(target, state.conditionals, np.exp(log_weights))
            looks.append({"visited": visited, "rmse": figures(rmse), "seconds": figures(wall, 3),
                          "cpu_s": figures(cpu, 3), "resident_mb": round(_resident())})  # fmt: skip
        if done:
            break
    return {"knobs": given, "looks": looks}


def _batches(rng: np.random.Generator, num_data: int) -> Iterator[np.ndarray]:
    """Rows of shuffled passes; what is left of a pass begins the next."""
    rest = rng.permutation(num_data)
    while True:
        if len(rest) < BATCH:
            rest = np.concatenate([rest, rng.permutation(num_data)])
        yield rest[:BATCH]
        rest = rest[BATCH:]


def _rmse(target: Songs, given: Conditionals, weights: np.ndarray) -> float:
    """Of the weighted mean over the particles that count, at held-out rows."""
    x, mean = target.test_data[:, :-1] / target.kernel_width, np.zeros(len(target.test_data))
    for j in np.flatnonzero(weights > 1e-9):
        inputs = given.particles[j].reshape(-1, FEATURES)
        precision = given.natural[j, :, :-1] + np.tril(given.natural[j, :, :-1], -1).T
        value = np.linalg.solve(given.constants[j].T, np.linalg.solve(precision, given.natural[j, :, -1]))
        mean += weights[j] * (covariances(x, inputs) @ value)
    return float(np.sqrt(((mean - target.test_data[:, -1]) ** 2).mean()))


def _resident() -> float:
    return psutil.Process().memory_info().rss / 1e6
