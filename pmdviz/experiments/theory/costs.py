"""Table 1 of Dai, He, Dai, Song 2016 beside what is measured here: time and memory of a step against m and N."""

from __future__ import annotations

import time
import tracemalloc
from collections.abc import Callable, Mapping, Sequence
from statistics import median
from typing import Any, NamedTuple

import numpy as np

from pmdviz.engine.frame import OVERHEAD
from pmdviz.engine.recipe.recipe import Recipe
from pmdviz.engine.session import Session
from pmdviz.errors import InputError
from pmdviz.experiments.base import Case, Experiment, Row
from pmdviz.experiments.sweep.fits import fitted
from pmdviz.knobs import Knobs, Whole

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


def measure(line: Line, m: int | None, num_data: int, rounds: int = ROUNDS) -> Cost:
    """A step of one line, from the state after the first, on a batch of 10 in two dimensions; the median of rounds.

    The memory is that of the state and the most that NumPy holds besides while the step is done.
    """
    knobs = {**line.knobs, "batch_size": BATCH, **({line.size: m} if line.size else {})}
    recipe = Recipe("gaussian", line.method, target_options={"num_data": num_data}, budget=None, **knobs)
    session = Session(recipe, metrics_every=10**9)
    frame, target = session.advance(1), session.target
    batch, rng = target.data_rows[:BATCH], np.random.default_rng(0)

    def step() -> object:
        return frame.method.step(rng, frame.state, target, batch, frame.knobs)

    step()
    repeats = max(1, int(MIN_MS / max(_cpu_ms(step, 1), 1e-3)))
    step_ms = median(_cpu_ms(step, repeats) for _ in range(rounds))
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


class CostsKnobs(Knobs):
    """The knobs of `costs`."""

    kind_words = "knob of experiment 'costs':"

    rounds = Whole(ROUNDS, bounds=(1, 100), label="Rounds", doc="Each figure is the median of so many measurements.")


class Costs(Experiment):
    """Time and memory of a step of each line of Table 1 at growing m and N, with the powers fitted to them."""

    name = "costs"
    title = "Time and memory of a step"
    about = "Table 1 of the paper beside what is measured on this machine: time and memory of a step against m and N."
    source = "Dai, He, Dai, Song 2016, Table 1"
    Knobs = CostsKnobs

    def columns(self, knobs: CostsKnobs) -> Mapping[str, type]:
        """One measurement; m is 0 where a step has none."""
        return {"name": str, "m": int, "num_data": int, "step_ms": float, "memory_kb": float}

    def cases(self, knobs: CostsKnobs) -> list[Case]:
        """A line at an m and an N each."""
        return [{"name": line.name, "m": m or 0, "num_data": n, "rounds": knobs.rounds} for line, m, n in plan()]

    def run(self, case: Case) -> list[Row]:
        """One measurement, with one thread."""
        line = next(line for line in LINES if line.name == case["name"])
        cost = measure(line, case["m"] or None, case["num_data"], case["rounds"])
        return [{**cost._asdict(), "m": case["m"]}]

    def summary(self, rows: Sequence[Row], knobs: CostsKnobs) -> list[dict[str, Any]]:
        """The fitted powers of m and N in time and memory, line by line."""
        costs = costs_of(rows)
        names = dict.fromkeys(cost.name for cost in costs)
        return [{"name": name, **exponents(costs, name)} for name in names]


def costs_of(rows: Sequence[Row]) -> list[Cost]:
    """The measurements in rows of the experiment."""
    return [Cost(**{**{name: row[name] for name in Cost._fields}, "m": row["m"] or None}) for row in rows]
