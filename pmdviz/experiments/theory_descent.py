"""Theorem 4 of particle mean-field VB: how fast the KL divergence falls on a Gaussian, and to which floor."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np

from pmdviz.engine.recipe import Recipe
from pmdviz.engine.session import Session
from pmdviz.errors import InputError
from pmdviz.experiments.base import Case, Chart, Experiment, Row, grouped, mean_series
from pmdviz.knobs import Choice, Knobs, Real, Whole
from pmdviz.targets import make_target

TARGET, METHOD = "correlated_gaussian", "pmfvb"
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
    grouping = Choice(
        "single", {"single": "each coordinate alone", "target": "the pairs", "joint": "all together"}, "Blocks"
    )
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

    precision: np.ndarray  # A, (d, d)
    blocks: tuple[tuple[int, ...], ...]
    h: float

    @property
    def eigenvalues(self) -> np.ndarray:
        """a of every block, (d,)."""
        return np.concatenate([np.linalg.eigvalsh(self.precision[np.ix_(block, block)]) for block in self.blocks])

    @property
    def sweep(self) -> np.ndarray:
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

    def exact(self, mean: np.ndarray, variance: float, steps: int) -> np.ndarray:
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

    def measured(self, particles: np.ndarray) -> float:
        """F(q) - F(q*) of the product of Gaussians with the blocks' means and covariances, particles (m, d)."""
        mean, found = particles.mean(axis=0), 0.0
        for block in self.blocks:
            rows = list(block)
            centred = particles[:, rows] - mean[rows]
            cov = np.einsum("mi,mj->ij", centred, centred) / len(particles)
            spread = self.precision[np.ix_(rows, rows)] @ cov
            found += 0.5 * (np.trace(spread) - len(rows) - np.linalg.slogdet(spread)[1])
        return float(found + 0.5 * mean @ self.precision @ mean)


def excess(u: np.ndarray) -> np.ndarray:
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
    Knobs = DescentKnobs

    def columns(self, knobs: DescentKnobs) -> Mapping[str, type]:
        """The KL above its least, in nats: measured, with infinitely many particles, its bound and floor; and an sd."""
        numbers = dict.fromkeys(("measured", "exact", "bound", "floor"), float)
        return {"h": float, "seed": int, "t": int, "time": float, **numbers, "sd": float}

    def cases(self, knobs: DescentKnobs) -> list[Case]:
        """A run each. Raises InputError where the steps do not contract."""
        steps = [knobs.step_size / 2**k for k in range(knobs.num_steps)]
        largest = theory(knobs.as_dict(), steps[0])
        if largest.rate >= 1:
            top = largest.eigenvalues.max()
            raise InputError(
                f"step_size must be below {2 / top:.3g}, 2 over the largest curvature of a block; got {steps[0]:g}",
                "step_size",
            )
        shared = {name: value for name, value in knobs.as_dict().items() if name not in ("runs", "step_size")}
        return [
            {**shared, "h": h, "every": 2**k, "seed": seed} for k, h in enumerate(steps) for seed in range(knobs.runs)
        ]

    def run(self, case: Case) -> list[Row]:
        """A row a look."""
        known, session = theory(case, case["h"]), Session(recipe_of(case), metrics_every=10**9)
        total = case["looks"] * case["every"]
        exact = known.exact(np.full(case["dim"], case["distance"]), case["start_sd"] ** 2, total)
        floor, rate, root, rows = known.floor, known.rate, np.sqrt(case["num_particles"]), []
        for t in range(0, total + 1, case["every"]):
            session.advance(t - session.frame.iteration)
            row = {"h": case["h"], "seed": case["seed"], "t": t, "time": t * case["h"]}
            bound = floor + rate**t * (exact[0, 0] - floor)
            row |= {"measured": known.measured(session.frame.particles), "exact": exact[t, 0], "bound": bound}
            rows.append({**row, "floor": floor, "sd": exact[t, 1] / root})
        return rows

    def summary(self, rows: Sequence[Row], knobs: DescentKnobs) -> list[Row]:
        """For each step size the floor, and the rate at which the KL fell on its way there."""
        runs = sorted(grouped(rows, "h").items(), reverse=True)
        return [self._entry(mine, knobs, h) for (h,), mine in runs]

    def _entry(self, rows: Sequence[Row], knobs: DescentKnobs, h: float) -> Row:
        known = theory(knobs.as_dict(), h)
        return {
            "h": h,
            "floor": known.floor,
            "floor measured": float(np.mean(settled(rows))),
            "of which m is finite": expected_noise(knobs),
            "rate per unit of time": known.rate ** (1 / h),
            "measured": fall(rows, h),
            "by constants": known.rate_of_constants ** (1 / h),
            "above the bound": above(rows, knobs),
        }

    def pictures(self, rows: Sequence[Row], knobs: DescentKnobs) -> list[Chart]:
        """The floor of each run, less what finitely many particles add, against h."""
        runs = [(h, settled(mine)) for (h, _), mine in sorted(grouped(rows, "h", "seed").items())]
        floors = [{"h": h, "floor": np.mean(ends) - expected_noise(knobs)} for h, ends in runs if ends]
        series, slopes = mean_series("mean of the runs", floors, "h", "floor"), [("of a Gaussian: slope 2", 2.0)]
        return [Chart([series], "Langevin step h", "KL above its least, settled (nats)", slopes=slopes)]


def theory(case: Case, h: float) -> Theory:
    """The exact recursion at step size h."""
    target = make_target(TARGET, **_options(case))
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
    return Recipe(TARGET, METHOD, target_options=_options(case), seed=case["seed"], budget=None, **knobs)


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


def above(rows: Sequence[Row], knobs: DescentKnobs) -> int:
    """At how many looks the KL stood above the bound by more than finitely many particles explain: by four sds."""
    noise = expected_noise(knobs)
    return sum(row["measured"] > row["bound"] + noise + 4 * row["sd"] for row in rows)
