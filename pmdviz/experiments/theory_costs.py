"""Table 1 of Dai, He, Dai, Song 2016 next to measurements: time and memory of a step against m, N and d."""

from __future__ import annotations

import time
import tracemalloc
from collections.abc import Callable, Mapping, Sequence
from statistics import median
from typing import NamedTuple

import numpy as np

from pmdviz.engine.frame import OVERHEAD
from pmdviz.engine.recipe import Recipe
from pmdviz.engine.session import Session
from pmdviz.experiments.base import Case, Experiment, Row
from pmdviz.knobs import Choice, Knobs, Value, Whole
from pmdviz.methods import METHODS
from pmdviz.streams import stream
from pmdviz.targets import make_target

MANY, FEW = (4000, 16_000, 64_000), (1000, 3000, 9000)  # particles of methods whose step takes O(m), O(m²)
DATA, DIMS, BATCH = (1000, 8000, 64_000), (2, 10, 50), 10
TARGET = "linear"  # every method runs on it in any dimension, and no row's likelihood is a sum known before
AXES = {"m": "m", "N": "num_data", "d": "dim"}  # letter -> field of a measurement
ROUNDS, MIN_MS = 3, 10.0  # measurements per median; each repeats the step until it lasts this long
STEPS = 5  # whose memory is looked at


class Line(NamedTuple):
    """A line of the table, and how its method is run here."""

    name: str
    criterion: str  # in which convergence is proved; "" where it is not
    rate: str
    time: str  # a step, in the paper's table; "" where it is not in the paper's table
    memory: str
    black_box: bool  # whether it needs the density alone: no gradient, no conditionals
    method: str
    size: str  # the knob that is the paper's m; "" where a step has none
    knobs: dict[str, Value]
    sizes: tuple[int, ...] = ()  # the m at which it is measured


PAPERS = (
    Line("SVI", "", "", "Ω(d)", "O(d)", False, "svi", "", {}),
    Line("NPV", "", "", "Ω(d m² N + d² N)", "O(d m)", False, "npv", "num_components", {}, (50, 150, 450)),
    Line("Static SMC", "", "", "Ω(d m)", "O(d m)", True, "smc", "num_particles", {"ess_threshold": 0.01}, MANY),
    Line("SGLD", "|⟨q − q*, f⟩|", "O(m^−1/3)", "Ω(d)", "O(d m)", True, "sgld", "", {}),
    Line("PMD, weighted particles", "|⟨q − q*, f⟩|", "O(m^−1/2)", "Ω(d m)", "O(d m)", True, "pmd", "num_particles",
         {"policy": "never"}, MANY),
    Line("PMD, weighted KDE", "KL(q* ‖ q)", "O(m^−1/2)", "Ω(d m²)", "O(d m)", True, "pmd", "num_particles",
         {"policy": "always", "draws": "independent", "bandwidth_rule": "local"}, FEW),
)  # fmt: skip


def _others() -> tuple[Line, ...]:
    """A line for every method that the paper's table does not have, with its default knobs."""
    target, named = make_target(TARGET), {line.method for line in PAPERS}
    return tuple(_line(name) for name, method in METHODS.items() if name not in named and not method.missing_in(target))


def _line(name: str) -> Line:
    method = METHODS[name]
    size = "num_particles" if "num_particles" in method.Knobs.specs() else ""
    sizes: tuple[int, ...] = () if not size else FEW if method.Knobs().work(1).kernels else MANY
    most = method.Knobs.specs()[size].bounds[1] if size else None
    if most is not None and sizes and sizes[-1] > most:
        sizes = tuple(int(most * share / sizes[-1]) for share in sizes)
    return Line(method.title, "", "", "", "", method.requires <= {"reals"}, name, size, {}, sizes)


LINES = PAPERS + _others()


class Cost(NamedTuple):
    """One measurement: CPU time of a step, and the most memory that NumPy held for it beyond the state."""

    name: str
    m: int | None
    num_data: int
    dim: int
    step_ms: float
    memory_kb: float


class Size(NamedTuple):
    """How large a problem is: particles (None where a method has none), data, dimension."""

    m: int | None
    num_data: int = DATA[0]
    dim: int = DIMS[0]


def plan(extent: str = "all") -> list[tuple[Line, Size]]:
    """The measurements: every line at each m, each N and each d, the other two at their smallest.

    With the extent `short` the paper's lines at two sizes of each: enough for a power, not for its error.
    """
    found, most = [], len(DATA) if extent == "all" else 2
    for line in LINES if extent == "all" else PAPERS:
        counts = line.sizes[:most] or (None,)
        sizes = [Size(m) for m in counts]
        sizes += [Size(counts[0], num_data=num_data) for num_data in DATA[1:most]]
        sizes += [Size(counts[0], dim=dim) for dim in DIMS[1:most]]
        found += [(line, size) for size in sizes]
    return found


def measure(line: Line, size: Size, rounds: int = ROUNDS) -> Cost:
    """A step of one line on linear regression, from the state after the first; the median of rounds.

    Methods that take batches take 10 data. The memory includes the state and the most that NumPy holds besides
    while a step is done, the median of `STEPS`.
    """
    knobs: dict[str, Value | None] = {**line.knobs, **({line.size: size.m} if line.size else {})}
    if "batch_size" in METHODS[line.method].Knobs.specs():
        knobs["batch_size"] = BATCH
    options = {"num_data": size.num_data, "dim": size.dim}
    session = Session(Recipe(TARGET, line.method, target_options=options, budget=None, **knobs), 10**9)
    frame, target = session.advance(1), session.target
    rows = frame.method.batch_size(frame.state, frame.knobs, size.num_data)
    batch, rng = target.data_rows[:rows], stream("rows")

    def step() -> tuple:
        return frame.method.step(rng, frame.state, target, batch, frame.knobs)

    step()
    repeats = max(1, int(MIN_MS / max(_cpu_ms(step, 1), 1e-3)))
    step_ms = median(_cpu_ms(step, repeats) for _ in range(rounds))
    peak_kb = median(_peak_kb(step) for _ in range(STEPS))  # what a step needs may depend on its draws
    return Cost(line.name, *size, step_ms, (frame.num_bytes - OVERHEAD) / 1e3 + peak_kb)


def _cpu_ms(work: Callable[[], tuple], repeats: int) -> float:
    start = time.process_time()
    for _ in range(repeats):
        work()
    return (time.process_time() - start) * 1000 / repeats


def _peak_kb(work: Callable[[], tuple]) -> float:
    tracemalloc.start()
    try:
        before = tracemalloc.get_traced_memory()[0]
        work()
        return (tracemalloc.get_traced_memory()[1] - before) / 1e3
    finally:
        tracemalloc.stop()


def exponents(costs: Sequence[Cost], name: str) -> dict[str, float | None]:
    """Fitted powers of m, N and d in time and memory of a line; None where a step has no m."""
    mine = [cost for cost in costs if cost.name == name]
    found = {}
    for letter, axis in AXES.items():
        others = [field for field in AXES.values() if field != axis]
        swept = [cost for cost in mine if all(getattr(cost, f) == getattr(mine[0], f) for f in others)]
        found[f"time_{letter}"] = _slope(swept, axis, "step_ms")
        found[f"memory_{letter}"] = _slope(swept, axis, "memory_kb")
    return found


def _slope(costs: list[Cost], x: str, y: str) -> float | None:
    """Of least squares on log axes, from two sizes on."""
    points = [(getattr(c, x), getattr(c, y)) for c in costs if getattr(c, x) and getattr(c, y) > 0]
    if len({size for size, _ in points}) < 2:
        return None
    log_x, log_y = np.log(np.array(points, float).T)
    return float(np.polyfit(log_x, log_y, 1)[0])


class CostsKnobs(Knobs):
    """The knobs of `costs`.

    extent: How much is measured. The short set takes less than a minute, all of it several.
    rounds: Measurements per figure; their median is reported.
    """

    extent = Choice("all", {"all": "every method, three sizes", "short": "the paper's methods, two sizes"}, "Extent")
    rounds = Whole(ROUNDS, (1, 100), label="Rounds")


class Costs(Experiment[CostsKnobs]):
    """Time and memory of a step of every method at growing m, N and d, with the powers fitted to them.

    title: Time and memory of a step
    about: Table 1 of the paper next to our measurements: a step of every method, by m, N and d.
    source: Dai, He, Dai, Song 2016, Table 1
    """

    name = "costs"
    Knobs = CostsKnobs

    def columns(self, knobs: CostsKnobs) -> Mapping[str, type]:
        """One measurement; m is 0 where a step has none."""
        return {"name": str, "m": int, "num_data": int, "dim": int, "step_ms": float, "memory_kb": float}

    def cases(self, knobs: CostsKnobs) -> list[Case]:
        """A line at an m, an N and a d each."""
        planned = plan(knobs.extent)
        return [
            {"name": line.name, **size._asdict(), "m": size.m or 0, "rounds": knobs.rounds} for line, size in planned
        ]

    def run(self, case: Case) -> list[Row]:
        """One measurement, by the CPU time of all threads of the process."""
        line = next(line for line in LINES if line.name == case["name"])
        cost = measure(line, Size(case["m"] or None, case["num_data"], case["dim"]), case["rounds"])
        return [{**cost._asdict(), "m": case["m"]}]

    def summary(self, rows: Sequence[Row], knobs: CostsKnobs) -> list[Row]:
        """The fitted powers of m, N and d in time and memory, line by line."""
        costs = costs_of(rows)
        names = dict.fromkeys(cost.name for cost in costs)
        return [{"name": name, **exponents(costs, name)} for name in names]


def costs_of(rows: Sequence[Row]) -> list[Cost]:
    """The measurements in rows of the experiment."""
    return [Cost(**{**{name: row[name] for name in Cost._fields}, "m": row["m"] or None}) for row in rows]
