"""Calibration: whether true parameters drawn from the prior have uniform ranks among the posterior's draws."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from pmdviz.engine.recipe import Recipe
from pmdviz.engine.session import Session
from pmdviz.experiments.base import Case, Experiment, Histogram, Picture, Row, Size, size_of_run
from pmdviz.knobs import Choice, Knobs, Value, Whole

NUM_BINS = 10
NUM_RANKED = 99  # draws of a chain, evenly spaced, among which the truth is ranked: nearly independent if it has mixed
NEVER = 1_000_000  # iterations between two rows of the history: only the end counts
NARROW, WIDE = 1.3, 0.7  # of 12 Var(rank), from which q is called too narrow or too wide
METHODS = {
    "hmc": "Hamiltonian Monte Carlo",
    "hot_sgld": "SGLD with long steps on batches of two",
    "walk": "a random walk with short steps",
}
SETTINGS: Mapping[str, Mapping[str, Value]] = {
    "hmc": {"method": "hmc", "budget": 20_000},
    "hot_sgld": {"method": "sgld", "budget": 4_000, "a": 0.15, "g": 0.0, "batch_size": 2},
    "walk": {"method": "random_walk", "budget": 4_000, "tune": False, "scale": 0.02},
}


class CalibrationKnobs(Knobs):
    """Knobs of `calibration`.

    method: The sampler that is checked.
    num_data_sets: Parameters drawn from the prior, each with data of its own.
    """

    method = Choice("hmc", METHODS, "Method", basic=True)
    num_data_sets = Whole(60, (10, 1000), (20, 200), "Data sets", basic=True)


class Calibration(Experiment[CalibrationKnobs]):
    """Draw theta from N(0, 1) and 20 observations given theta; run the sampler; rank theta among 99 of its draws.

    The rank is the share of draws below theta. Over many data sets it is uniform on 0, 1/99, ..., 1 if the draws are
    independent and from the posterior (simulation-based calibration). It piles up in the middle where they are too
    wide, at both ends where they are too narrow, or where they are correlated. So a chain is thinned (section 4 of the
    source), and its bulk ESS is given: with less than the 99 draws, ranks at both ends may be due to correlation alone.

    title: Calibration of a sampler
    about: Ranks of true parameters among thinned draws from their posteriors: uniform for a sampler that is right.
    source: Talts, Betancourt, Simpson, Vehtari, Gelman 2018
    """

    name = "calibration"
    Knobs = CalibrationKnobs

    def columns(self, knobs: CalibrationKnobs) -> Mapping[str, type]:
        """The truth, its rank, and the bulk ESS of all draws, per data set."""
        return {"seed": int, "theta": float, "rank": float, "bulk_ess": float}

    def cases(self, knobs: CalibrationKnobs) -> list[Case]:
        """One per data set."""
        return [{"method": knobs.method, "seed": seed} for seed in range(knobs.num_data_sets)]

    def run(self, case: Case) -> list[Row]:
        """Data, draws and the rank."""
        session = Session(_recipe(case), metrics_every=NEVER)
        while not session.done:
            session.advance(1000)
        theta = session.recipe.target_options["theta"]
        draws = session.frame.particles[:, 0]
        ranked = draws[np.linspace(0, len(draws) - 1, NUM_RANKED).astype(np.int64)]
        below, ess = float((ranked < theta).mean()), session.frame.metrics["bulk_ess"]
        return [{"seed": case["seed"], "theta": theta, "rank": below, "bulk_ess": ess}]

    def summary(self, rows: Sequence[Row], knobs: CalibrationKnobs) -> list[Row]:
        """How often the truth is in the central intervals, 12 Var(rank), 1 for uniform ranks, and the bulk ESS."""
        ranks = np.array([row["rank"] for row in rows], float)
        if len(ranks) < NUM_BINS:
            return []
        spread = float(12 * np.mean((ranks - 0.5) ** 2))
        verdict = "too narrow" if spread > NARROW else "too wide" if spread < WIDE else "calibrated"
        inside = {f"inside {100 * level:.0f} %": _inside(ranks, level) for level in (0.5, 0.9)}
        return [
            {
                "method": METHODS[knobs.method],
                "data sets": len(ranks),
                **inside,
                "spread": spread,
                "draws": verdict,
                "bulk ESS": float(np.median([row["bulk_ess"] for row in rows])),
            }
        ]

    def pictures(self, rows: Sequence[Row], knobs: CalibrationKnobs) -> Sequence[Picture]:
        """The ranks, and how many a bin would have if they were uniform."""
        edges = np.linspace(0, 1, NUM_BINS + 1)
        counts, _ = np.histogram([row["rank"] for row in rows], edges)
        title = f"{METHODS[knobs.method]}: uniform would be {len(rows) / NUM_BINS:.0f} per bin"
        return [Histogram(edges, counts, (), "rank of the true θ among the draws", "data sets", title)]

    def size(self, case: Case) -> Size:
        """That of its run."""
        recipe = _recipe(case)
        return size_of_run(recipe, recipe.make_target())


def _inside(ranks: np.ndarray, level: float) -> float:
    """Share of the ranks in the central interval of that probability."""
    return float(np.mean(np.abs(ranks - 0.5) <= level / 2))


def _recipe(case: Case) -> Recipe:
    """The run on data of a true parameter that is drawn from the prior."""
    theta = float(np.random.default_rng([case["seed"], 2018]).standard_normal())
    options = {"dim": 1, "theta": round(theta, 6), "data_seed": case["seed"]}
    settings = dict(SETTINGS[case["method"]])
    return Recipe("gaussian", settings.pop("method"), target_options=options, seed=case["seed"], **settings)
