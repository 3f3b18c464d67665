"""Table 1 of Dai, He, Dai, Song 2016 beside what is measured here: time and memory of a step against m and N."""

from __future__ import annotations

import functools
import os
import time
import tracemalloc
from collections.abc import Callable
from statistics import median
from typing import Any, NamedTuple

import numpy as np

from pmdviz.engine.frame import OVERHEAD
from pmdviz.engine.recipe.recipe import Recipe
from pmdviz.engine.session import Session
from pmdviz.errors import InputError
from pmdviz.experiments.sweep.fits import fitted
from pmdviz.experiments.sweep.job import init_worker
from pmdviz.experiments.sweep.workers import results

MANY, DATA, BATCH = (4000, 16_000, 64_000), (1000, 8000, 64_000), 10
ROUNDS, MIN_MS = 3, 10.0  # medians of so many; a measurement repeats the step until it lasts so long


class Line(NamedTuple):
    """A line of Table 1, and how its method is run here."""

    name: str
    criterion: str  # in which convergence is proved; "" where it is not
    rate: str
    time: str  # a step, as the paper has it
    memory: str
    black_box: bool
    method: str
    size: str  # the knob that is the paper's m; "" where a step has none
    knobs: dict[str, Any]
    sizes: tuple[int, ...] = ()  # the m at which it is measured


LINES = (
    Line("SVI", "", "", "Ω(d)", "O(d)", False, "svi", "", {}),
    Line("NPV", "", "", "Ω(d m² N + d² N)", "O(d m)", False, "npv", "num_components", {}, (25, 50, 100)),
    Line("Static SMC", "", "", "Ω(d m)", "O(d m)", True, "smc", "num_particles", {"ess_threshold": 0.01}, MANY),
    Line("SGLD", "|⟨q − q*, f⟩|", "O(m^−1/3)", "Ω(d)", "O(d m)", True, "sgld", "", {}),
    Line("PMD, weighted particles", "|⟨q − q*, f⟩|", "O(m^−1/2)", "Ω(d m)", "O(d m)", True, "pmd", "num_particles",
         {"policy": "never"}, MANY),
    Line("PMD, weighted KDE", "KL(q* ‖ q)", "O(m^−1/2)", "Ω(d m²)", "O(d m)", True, "pmd", "num_particles",
         {"policy": "always", "draws": "independent", "bandwidth_rule": "local"}, (875, 1750, 3500)),
)  # fmt: skip


class Cost(NamedTuple):
    """One measurement: CPU time of a step, and the most memory that NumPy held for it beyond the state."""

    name: str
    m: int | None
    num_data: int
    step_ms: float
    memory_kb: float


def plan() -> list[tuple[Line, int | None, int]]:
    """What is measured: every line at each m with the fewest data, and at each N with the fewest particles."""
    found = []
    for line in LINES:
        found += [(line, m, DATA[0]) for m in line.sizes or (None,)]
        found += [(line, (line.sizes or (None,))[0], num_data) for num_data in DATA[1:]]
    return found


def measure(line: Line, m: int | None, num_data: int) -> Cost:
    """A step of one line, from the state after the first, on a batch of 10 in two dimensions; the median of rounds.

    The memory is that of the state and the most that NumPy holds besides while the step is done.
    """
    knobs = {**line.knobs, "batch_size": BATCH, **({line.size: m} if line.size else {})}
    recipe = Recipe("gaussian", line.method, target_options={"num_data": num_data}, budget=None, **knobs)
    session = Session(recipe, metrics_every=10**9)
    frame, target = session.advance(1), session.target
    batch, rng = target.data[:BATCH], np.random.default_rng(0)

    def step() -> object:
        return frame.method.step(rng, frame.state, target, batch, frame.knobs)

    step()
    repeats = max(1, int(MIN_MS / max(_cpu_ms(step, 1), 1e-3)))
    step_ms = median(_cpu_ms(step, repeats) for _ in range(ROUNDS))
    return Cost(line.name, m, num_data, step_ms, (frame.num_bytes - OVERHEAD) / 1e3 + _peak_kb(step))


def _cpu_ms(work: Callable[[], object], repeats: int) -> float:
    start = time.thread_time()
    for _ in range(repeats):
        work()
    return (time.thread_time() - start) * 1000 / repeats


def _peak_kb(work: Callable[[], object]) -> float:
    tracemalloc.start()
    try:
        before = tracemalloc.get_traced_memory()[0]
        work()
        return (tracemalloc.get_traced_memory()[1] - before) / 1e3
    finally:
        tracemalloc.stop()


def exponents(costs: list[Cost], name: str) -> dict[str, float | None]:
    """Fitted powers of m and of N in time and memory of a line; None where a step has no m."""
    mine = [cost for cost in costs if cost.name == name]
    by_m = [cost for cost in mine if cost.m is not None and cost.num_data == DATA[0]]
    by_data = [cost for cost in mine if cost.m == mine[0].m]
    return {
        "time_m": _slope(by_m, "m", "step_ms"),
        "memory_m": _slope(by_m, "m", "memory_kb"),
        "time_N": _slope(by_data, "num_data", "step_ms"),
        "memory_N": _slope(by_data, "num_data", "memory_kb"),
    }


def _slope(costs: list[Cost], x: str, y: str) -> float | None:
    try:
        return fitted([getattr(c, x) for c in costs], [getattr(c, y) for c in costs]).slope
    except InputError:
        return None


def measure_all(tell: Callable[[int, int], object] = lambda done, total: None, niceness: int = 0) -> list[Cost]:
    """All of Table 1, one measurement after the other in worker processes, which compute with one thread each.

    `tell(done, total)` is called as they come; what it raises stops the work.
    """
    pieces, found = plan(), {}
    work = functools.partial(_measured, home=os.getpid(), niceness=niceness)
    for number, cost, why in results(work, pieces, 2, lambda: tell(len(found), len(pieces))):
        if cost is None:
            raise RuntimeError(why)
        found[number] = cost
    return [found[number] for number in sorted(found)]


def _measured(piece: tuple[Line, int | None, int], home: int, niceness: int) -> Cost:
    init_worker(home, niceness)
    return measure(*piece)
