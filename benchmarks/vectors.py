"""Wider vectors on Intel (LLVM's -prefer-256-bit): how much faster the KDE is, and whether a run keeps its bits."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from argparse import Namespace
from statistics import median
from typing import Any

import numpy as np

from pmdviz.densities.density import KernelDensity
from pmdviz.engine.recipe import Recipe
from pmdviz.engine.session import Session

ROUNDS, TIMES = 5, 40
M = 1500
DIMENSIONS = (2, 5, 20)
FEATURES = "from llvmlite import binding; print(binding.get_host_cpu_features().flatten())"
CHILD = "from benchmarks.vectors import measured; measured()"


def run(options: Namespace) -> dict[str, Any]:
    """New processes in turns, one as it comes and one with wider vectors, each once before to compile."""
    environments = {"as_it_comes": {}, "wider": {"NUMBA_CPU_FEATURES": wider()}}
    found: dict[str, list[dict[str, Any]]] = {name: [] for name in environments}
    for k in range(1 + (2 if options.quick else ROUNDS)):
        for name, given in environments.items():
            figures = json.loads(_printed(CHILD, **given))
            found[name] += [figures] * (k > 0)
    return compared(found["as_it_comes"], found["wider"])


def compared(plain: list[dict[str, Any]], wide: list[dict[str, Any]]) -> dict[str, Any]:
    """Medians of both kinds of process, their ratios, and whether all of them ended at the same frame."""
    names = [name for name in plain[0] if name != "frame"]
    usual, other = ({name: median(one[name] for one in kind) for name in names} for kind in (plain, wide))
    return {
        "as_it_comes": usual,
        "wider": other,
        "ratio": {name: round(other[name] / usual[name], 2) for name in names},
        "same_bits": len({one["frame"] for one in (*plain, *wide)}) == 1,
        "processes": len(plain),
        "how": f"kde_d: ms of CPU for m = n = {M:,} points in d dimensions; run: CPU seconds of the default one",
    }


def wider() -> str:
    """What `NUMBA_CPU_FEATURES` must say: the processor's own features, and that all 512 bits may be used."""
    return f"{_printed(FEATURES)},-prefer-256-bit"


def measured() -> None:
    """Print the figures of this process as JSON."""
    figures: dict[str, Any] = {f"kde_{d}": round(_kde_ms(d), 3) for d in DIMENSIONS}
    _ended()
    start = time.process_time()
    frame = _ended().frame
    print(json.dumps({**figures, "run": round(time.process_time() - start, 3), "frame": frame.digest}))


def _kde_ms(d: int) -> float:
    rng = np.random.default_rng(0)
    density = KernelDensity(rng.standard_normal((M, d)), np.full(M, -np.log(M)), 0.3 * np.eye(d))
    points, times = rng.standard_normal((M, d)), []
    for _ in range(1 + TIMES):
        start = time.process_time()
        density.log_density(points)
        times.append(time.process_time() - start)
    return 1000 * median(times[1:])


def _ended() -> Session:
    session = Session(Recipe())
    session.advance(10**9)
    return session


def _printed(program: str, **given: str) -> str:
    """What a new process prints that runs `program`."""
    environment = {**os.environ, "NUMBA_NUM_THREADS": "1", **given}
    done = subprocess.run([sys.executable, "-c", program], env=environment, capture_output=True, text=True, check=True)
    return done.stdout.strip()
