"""How a step's cost grows with m, N and d, and how fast the KL of particle mean-field VB falls, next to the theory."""

from __future__ import annotations

import time
import timeit
import tracemalloc
from collections.abc import Callable, Mapping, Sequence
from statistics import median
from typing import NamedTuple

import numpy as np

from pmdviz.engine.frame import OVERHEAD
from pmdviz.engine.recipe import Recipe
from pmdviz.engine.session import Session
from pmdviz.errors import InputError
from pmdviz.experiments import Case, Chart, Experiment, Row, grouped, mean_series
from pmdviz.kernels.checks import Array
from pmdviz.knobs import Choice, Knobs, Real, Value, Whole
from pmdviz.methods import METHODS
from pmdviz.streams import stream
from pmdviz.targets import make_target

# Table 1 of Dai, He, Dai, Song 2016 next to measurements: time and memory of a step against m, N and d.

MANY, FEW = (4000, 16_000, 64_000), (1000, 3000, 9000)  # particles of methods whose step takes O(m), O(m²)
DATA, DIMS, BATCH = (1000, 8000, 64_000), (2, 10, 50), 10
TARGET = "linear"  # every method runs on it in any dimension, and no row's likelihood is a sum known before
AXES = {"m": "m", "N": "num_data", "d": "dim"}  # letter -> column of a measurement
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


def _line(name: str) -> Line:
    method = METHODS[name]
    size = "num_particles" if "num_particles" in method.Knobs.specs() else ""
    sizes: tuple[int, ...] = () if not size else FEW if method.Knobs().work(1).kernels else MANY
    most = method.Knobs.specs()[size].bounds[1] if size else None
    if most is not None and sizes and sizes[-1] > most:
        sizes = tuple(int(most * share / sizes[-1]) for share in sizes)
    return Line(method.title, "", "", "", "", method.requires <= {"reals"}, name, size, {}, sizes)


TIMED = {line.method for line in PAPERS}
LINES = PAPERS + tuple(
    _line(name) for name in METHODS if name not in TIMED and not METHODS[name].missing_in(make_target(TARGET))
)  # all others with their default knobs


class Size(NamedTuple):
    """How large a problem is: particles (0 where a method has none), data, dimension."""

    m: int
    num_data: int = DATA[0]
    dim: int = DIMS[0]


def plan(extent: str = "all") -> list[tuple[Line, Size]]:
    """The measurements: every line at each m, each N and each d, the other two at their smallest.

    With the extent `short` the paper's lines at two sizes of each: enough for a power, not for its error.
    """
    found, most = [], len(DATA) if extent == "all" else 2
    for line in LINES if extent == "all" else PAPERS:
        counts = line.sizes[:most] or (0,)
        sizes = [Size(m) for m in counts]
        sizes += [Size(counts[0], num_data=num_data) for num_data in DATA[1:most]]
        sizes += [Size(counts[0], dim=dim) for dim in DIMS[1:most]]
        found += [(line, size) for size in sizes]
    return found


def measure(line: Line, size: Size, rounds: int = ROUNDS) -> Row:
    """CPU time and memory of a step of one line on linear regression, from the state after the first.

    The time is the median of rounds. Methods that take batches take 10 data. The memory includes the state and the most
    that NumPy holds besides while a step is done, the median of `STEPS`.
    """
    knobs: dict[str, Value] = {**line.knobs, **({line.size: size.m} if line.size else {})}
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
    timer = timeit.Timer(step, timer=time.process_time)
    repeats = max(1, int(MIN_MS / max(1000 * timer.timeit(1), 1e-3)))
    step_ms = 1000 * median(timer.repeat(rounds, repeats)) / repeats
    peak_kb = median(_peak_kb(step) for _ in range(STEPS))  # what a step needs may depend on its draws
    memory_kb = (frame.num_bytes - OVERHEAD) / 1e3 + peak_kb
    return {"name": line.name, **size._asdict(), "step_ms": step_ms, "memory_kb": memory_kb}


def _peak_kb(work: Callable[[], tuple]) -> float:
    tracemalloc.start()
    try:
        before = tracemalloc.get_traced_memory()[0]
        work()
        return (tracemalloc.get_traced_memory()[1] - before) / 1e3
    finally:
        tracemalloc.stop()


def exponents(rows: Sequence[Row]) -> dict[str, float | None]:
    """Fitted powers of m, N and d in time and memory of a line; None where a step has no m."""
    found = {}
    for letter, axis in AXES.items():
        others = [column for column in AXES.values() if column != axis]
        swept = [row for row in rows if all(row[column] == rows[0][column] for column in others)]
        found[f"time_{letter}"] = _slope(swept, axis, "step_ms")
        found[f"memory_{letter}"] = _slope(swept, axis, "memory_kb")
    return found


def _slope(rows: list[Row], x: str, y: str) -> float | None:
    """Of least squares on log axes, from two sizes on."""
    points = [(row[x], row[y]) for row in rows if row[x] and row[y] > 0]
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

    def columns(self, knobs: CostsKnobs) -> Mapping[str, type]:
        """One measurement; m is 0 where a step has none."""
        return {"name": str, "m": int, "num_data": int, "dim": int, "step_ms": float, "memory_kb": float}

    def cases(self, knobs: CostsKnobs) -> list[Case]:
        """A line at an m, an N and a d each."""
        return [{"name": line.name, **at._asdict(), "rounds": knobs.rounds} for line, at in plan(knobs.extent)]

    def run(self, case: Case) -> list[Row]:
        """One measurement, by the CPU time of all threads of the process."""
        line = next(line for line in LINES if line.name == case["name"])
        return [measure(line, Size(case["m"], case["num_data"], case["dim"]), case["rounds"])]

    def summary(self, rows: Sequence[Row], knobs: CostsKnobs) -> list[Row]:
        """Table 1 of the paper, the figures at the smallest size, and the fitted powers of m, N and d, line by line."""
        lines, found = {line.name: line for line in LINES}, []
        for (name,), mine in grouped(rows, "name").items():
            line = lines[name]
            paper = {"proved in": line.criterion, "rate": line.rate}
            paper |= {"time, paper": line.time, "memory, paper": line.memory}
            own = {"black box": line.black_box, **{column: mine[0][column] for column in ("step_ms", "memory_kb")}}
            found.append({"name": name, **paper, **own, **exponents(mine)})
        return found


# Theorem 4 of particle mean-field VB: how fast the KL divergence falls on a Gaussian, and to which floor.

GROUPINGS = {"single": "each coordinate alone", "target": "the pairs", "joint": "all together"}
SETTLED = 0.25  # of the looks: the last ones, over which the floor is measured


class DescentKnobs(Knobs):
    """The knobs of `descent`.

    correlation: Correlation of the two coordinates of each pair.
    dim: Number of coordinates of the Gaussian.
    grouping: The coordinates that form a block. With the pairs, or all together, q is exact here.
    step_size: The others are a half of it, a quarter, and so on.
    num_steps: Number of step sizes.
    looks: Number of steps of the longest size; with shorter ones a look comes after as many more as cover the same
        time.
    num_particles: The theorem is about infinitely many.
    distance: Distance of the start's mean, per coordinate.
    start_sd: Standard deviation of the start, per coordinate.
    runs: Run seeds from 0 on.
    """

    correlation = Real(0.6, "(-1, 1)", (-0.95, 0.95), "Correlation ρ")
    dim = Whole(2, (2, 20), label="Dimension d")
    grouping = Choice("single", GROUPINGS, "Blocks")
    step_size = Real(0.8, "(0, 1]", (0.05, 1), "Longest Langevin step h", "θ²", log=True)
    num_steps = Whole(4, (2, 8), label="Step sizes")
    looks = Whole(40, (8, 1000), label="Looks")
    num_particles = Whole(3000, (100, 50_000), log=True, label="Particles m")
    distance = Real(6.0, (0, 1000), label="Distance of the start", unit="sds")
    start_sd = Real(2.0, "(0, 100]", label="Sd of the start")
    runs = Whole(2, (1, 100), label="Runs at each step size")


class Theory(NamedTuple):
    """Algorithm 1 on N(0, A^-1) from N(m_0, s^2 I), with infinitely many particles and gradients averaged over all.

    A block b has A_b of A, F(q) is KL(q || p), and q* = prod_b N(0, A_b^-1) the best product. By hand (ours):

    - F(q) - F(q*) = sum phi(u) + m'A m / 2 with phi(u) = (u - 1 - log u) / 2 over the eigenvalues u of A_b V_b.
    - Along an eigenvector of A_b with eigenvalue a the variance goes v <- (1 - h a/2)^2 v + h, to 1 / (a (1 - h a/4)).
      As phi is convex, phi(a v_t) <= phi* + (1 - h a/2)^(2t) (phi_0 - phi*).
    - The mean goes m <- M m, M = prod_b (1 - h/2 E_b A), the last block leftmost: m_t'A m_t <= k^t m_0'A m_0
      with k the square of the norm of A^(1/2) M A^(-1/2).

    So F(q_t) - F(q*) <= floor + rate^t (F(q_0) - F(q*) - floor), floor = sum phi(1 / (1 - h a/4)), near h^2 sum a^2/64.
    """

    precision: Array  # A, (d, d)
    blocks: tuple[tuple[int, ...], ...]
    h: float

    @property
    def eigenvalues(self) -> Array:
        """a of every block, (d,)."""
        return np.concatenate([np.linalg.eigvalsh(self.precision[np.ix_(block, block)]) for block in self.blocks])

    @property
    def sweep(self) -> Array:
        """M (d, d): what a step does to the mean."""
        moved = np.eye(len(self.precision))
        for block in self.blocks:
            rows = list(block)
            moved[rows] -= 0.5 * self.h * self.precision[rows] @ moved
        return moved

    @property
    def floor(self) -> float:
        """F(q_t) - F(q*) as t grows, in nats."""
        return float(excess(1 / (1 - 0.25 * self.h * self.eigenvalues)).sum())

    @property
    def rate(self) -> float:
        """The largest factor by which a step multiplies the distance to the floor."""
        root = np.linalg.cholesky(self.precision)  # A = R R', and m'A m = |R'm|^2
        mean = np.linalg.norm(root.T @ self.sweep @ np.linalg.inv(root.T), 2) ** 2
        return float(max(mean, ((1 - 0.5 * self.h * self.eigenvalues) ** 2).max()))

    @property
    def rate_of_constants(self) -> float:
        """The same from the least and largest eigenvalue c and C of A alone and the number K of blocks.

        Of the mean 1 - h c / (4 (1 + K (h C/2)^2)), for h C <= 2: a block's step of length h/2 lowers m'A m / 2 by h/4
        of its squared gradient at least, and the gradients along the step differ from the first by at most C times
        its length. Of the variances (1 - h c/2)^2, or (1 - h C/2)^2. The factor is NaN for h C > 2, where it has no
        meaning.
        """
        c, *_, top = np.linalg.eigvalsh(self.precision)
        if self.h * top > 2:
            return float("nan")
        mean = 1 - 0.25 * self.h * c / (1 + len(self.blocks) * (0.5 * self.h * top) ** 2)
        return float(max(mean, (1 - 0.5 * self.h * c) ** 2, (1 - 0.5 * self.h * top) ** 2))

    def exact(self, mean: Array, variance: float, steps: int) -> Array:
        """F(q_t) - F(q*) at t = 0 .. steps from mean (d,) and variance, and how it spreads: (steps + 1, 2), in nats.

        The spread is the sd times sqrt m of the same from m independent draws of q_t, to first order, at most.
        """
        a, v, found = self.eigenvalues, np.full(len(mean), variance), []
        for _ in range(steps + 1):
            slope = self.precision @ mean
            spread = np.sqrt(0.5 * ((a * v - 1) ** 2).sum() + v.max() * (slope**2).sum())
            found.append((excess(a * v).sum() + 0.5 * mean @ slope, spread))
            mean, v = self.sweep @ mean, (1 - 0.5 * self.h * a) ** 2 * v + self.h
        return np.array(found)

    def measured(self, particles: Array) -> float:
        """F(q) - F(q*) of the product of Gaussians with the blocks' means and covariances, particles (m, d)."""
        mean, found = particles.mean(axis=0), 0.0
        for block in self.blocks:
            rows = list(block)
            centred = particles[:, rows] - mean[rows]
            cov = np.einsum("mi,mj->ij", centred, centred) / len(particles)
            spread = self.precision[np.ix_(rows, rows)] @ cov
            found += 0.5 * (np.trace(spread) - len(rows) - np.linalg.slogdet(spread)[1])
        return float(found + 0.5 * mean @ self.precision @ mean)


def excess(u: Array) -> Array:
    """KL(N(0, u) || N(0, 1)) = (u - 1 - log u) / 2, in nats."""
    return 0.5 * (u - 1 - np.log(u))


class Descent(Experiment[DescentKnobs]):
    """Runs of `pmfvb` from far away at several step sizes: the KL at every look, with the exact one and its bound.

    title: Particle mean-field VB: the decrease of the KL
    about: Does the KL fall geometrically, as for log-concave posteriors, and where does it stop? On a Gaussian both are
        known.
    source: Tran, Tseng, Kohn 2023, Theorem 4 and Lemma 1; the constants are ours
    """

    name = "descent"

    def columns(self, knobs: DescentKnobs) -> Mapping[str, type]:
        """The KL above its least, in nats: measured, with infinitely many particles, its bound and floor; and an sd."""
        numbers = dict.fromkeys(("measured", "exact", "bound", "floor"), float)
        return {"h": float, "seed": int, "t": int, "time": float, **numbers, "sd": float}

    def cases(self, knobs: DescentKnobs) -> list[Case]:
        """A run each. Raises InputError where the steps do not contract."""
        steps = [knobs.step_size / 2**k for k in range(knobs.num_steps)]
        largest = theory(knobs.as_dict(), steps[0])
        if largest.rate >= 1:
            bound = f"{2 / largest.eigenvalues.max():.3g}, 2 over the largest curvature of a block"
            raise InputError(f"step_size must be below {bound}; got {steps[0]:g}", "step_size")
        shared = {name: value for name, value in knobs.as_dict().items() if name not in ("runs", "step_size")}
        each = [(2**k, h, seed) for k, h in enumerate(steps) for seed in range(knobs.runs)]
        return [{**shared, "h": h, "every": every, "seed": seed} for every, h, seed in each]

    def run(self, case: Case) -> list[Row]:
        """A row a look."""
        known, session = theory(case, case["h"]), Session(recipe_of(case), metrics_every=10**9)
        total = case["looks"] * case["every"]
        exact = known.exact(np.full(case["dim"], case["distance"]), case["start_sd"] ** 2, total)
        floor, rate, root, rows = known.floor, known.rate, np.sqrt(case["num_particles"]), []
        for t in range(0, total + 1, case["every"]):
            session.seek(t)
            row = {"h": case["h"], "seed": case["seed"], "t": t, "time": t * case["h"]}
            bound = floor + rate**t * (exact[0, 0] - floor)
            row |= {"measured": known.measured(session.frame.particles), "exact": exact[t, 0], "bound": bound}
            rows.append({**row, "floor": floor, "sd": exact[t, 1] / root})
        return rows

    def summary(self, rows: Sequence[Row], knobs: DescentKnobs) -> list[Row]:
        """For each step size the floor, and the rate at which the KL fell on its way there."""
        found, noise = [], expected_noise(knobs)
        for (h,), mine in sorted(grouped(rows, "h").items(), reverse=True):
            known, floor = theory(knobs.as_dict(), h), float(np.mean(settled(mine)))
            entry = {"h": h, "floor": known.floor, "floor measured": floor, "of which m is finite": noise}
            entry |= {"rate per unit of time": known.rate ** (1 / h), "measured": fall(mine, h)}
            # Above the bound by more than finitely many particles explain: by four sds.
            above = sum(row["measured"] > row["bound"] + noise + 4 * row["sd"] for row in mine)
            found.append({**entry, "by constants": known.rate_of_constants ** (1 / h), "above the bound": above})
        return found

    def pictures(self, rows: Sequence[Row], knobs: DescentKnobs) -> list[Chart]:
        """The floor of each run, less what finitely many particles add, against h."""
        runs = [(h, settled(mine)) for (h, _), mine in sorted(grouped(rows, "h", "seed").items())]
        floors = [{"h": h, "floor": np.mean(ends) - expected_noise(knobs)} for h, ends in runs if ends]
        series, slopes = mean_series("mean of the runs", floors, "h", "floor"), [("of a Gaussian: slope 2", 2.0)]
        return [Chart([series], "Langevin step h", "KL above its least, settled (nats)", slopes=slopes)]


def theory(case: Case, h: float) -> Theory:
    """The exact recursion at step size h."""
    target = make_target("correlated_gaussian", **_options(case))
    groups: dict[str, list] = {"single": [(k,) for k in range(target.dim)], "joint": [tuple(range(target.dim))]}
    blocks = groups.get(case["grouping"]) or [block.coordinates for block in target.blocks]
    return Theory(target.precision, tuple(map(tuple, blocks)), h)


def _options(case: Case) -> Case:
    names = {"dim": "dim", "correlation": "correlation", "q0_mean": "distance", "q0_sd": "start_sd"}
    return {option: case[name] for option, name in names.items()}


def recipe_of(case: Case) -> Recipe:
    """The run of a case: gradients are averaged over all particles."""
    m = case["num_particles"]
    knobs = {"num_particles": m, "num_others": min(m, 10_000), "step_size": case["h"], "grouping": case["grouping"]}
    parts = {"target_options": _options(case), "seed": case["seed"], "budget": None}
    return Recipe("correlated_gaussian", "pmfvb", **parts, **knobs)


def expected_noise(knobs: DescentKnobs) -> float:
    """The excess of m particles in a KL of fitted Gaussians: half a nat over m for each parameter (Akaike 1974)."""
    d = knobs.dim
    size = {"single": 1, "target": min(2, d), "joint": d}[knobs.grouping]
    return 0.5 * d * (1 + (size + 1) / 2) / knobs.num_particles


def settled(rows: Sequence[Row]) -> list[float]:
    """The KL at the last looks."""
    last = max(row["t"] for row in rows)
    return [row["measured"] for row in rows if row["t"] > (1 - SETTLED) * last]


def fall(rows: Sequence[Row], h: float) -> float:
    """The factor per unit of time while the KL falls from its start to ten times its floor; NaN if it never does."""
    way = [row for row in rows if row["measured"] > 10 * max(row["floor"], 1e-3)]
    if len({row["t"] for row in way}) < 2:
        return float("nan")
    slope = np.polyfit([row["time"] for row in way], np.log([row["measured"] for row in way]), 1)[0]
    return float(np.exp(slope))
