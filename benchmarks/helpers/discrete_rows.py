"""The rows of `bench stein` on GF-SVGD on a few values: TV after 500 steps, beside as many independent samples."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np

from pmdviz.engine.recipe import Recipe
from pmdviz.engine.session import Session
from pmdviz.targets import make_target

Measured = dict[str, float]
STEPS, COUNTS = 500, (20, 50, 100, 500)
THESIS = {"eta": 0.05, "kappa": 0.0}  # steps of Adam that do not fall


class Row(NamedTuple):
    """A setting on one table of probabilities, or with `samples` independent draws of it."""

    name: str
    table: str
    count: int
    knobs: Mapping[str, Any]
    samples: bool = False

    def recipe(self, seed: int) -> Recipe:
        """What is run."""
        options = {"table": self.table}
        return Recipe(
            "categorical",
            "discrete_gf_svgd",
            target_options=options,
            seed=seed,
            budget=None,
            num_particles=self.count,
            **self.knobs,
        )

    def measure(self, seed: int) -> Measured:
        """TV to the exact probabilities."""
        if self.samples:
            target = make_target("categorical", table=self.table)
            p = target.probabilities
            drawn = np.random.default_rng([seed, 1]).multinomial(self.count, p) / self.count
            return {"tv_states": float(0.5 * np.abs(drawn - p).sum())}
        session = Session(self.recipe(seed), metrics_every=10**9)
        session.advance(STEPS)
        return {"tv_states": float(session.frame.metrics["tv_states"])}


def _rows(table: str, words: str) -> list[Row]:
    return [
        *(Row(f"{words}, {n} particles", table, n, {}) for n in COUNTS),
        *(Row(f"{words}, {n} independent samples", table, n, {}, samples=True) for n in COUNTS),
        Row(f"{words}, 100 particles, steps that do not fall", table, 100, THESIS),
        Row(f"{words}, 100 particles, no optimiser", table, 100, {"optimiser": "plain"}),
        Row(f"{words}, 100 particles, plain SVGD", table, 100, {"weighting": "none"}),
    ]


CATEGORICAL = [*_rows("halves", "Five values, -1 to 1"), *_rows("three", "Three values"), *_rows("five", "Five values")]


def _specified(mean: float, sd: float) -> dict[str, tuple[float, float]]:
    """The number of runs is not given: as of four."""
    return {"tv_states": (mean, sd / 2)}


E7: dict[int, tuple[float, float]] = {20: (0.025, 0.025), 50: (0.030, 0.020), 100: (0.022, 0.011), 500: (0.022, 0.006)}
SAMPLES = {20: 0.157, 50: 0.100, 100: 0.072, 500: 0.033}
# Which of the tables is not said either: of plain SVGD there is 0.206, and the uniform distribution has 0.2 on "halves"
SPECIFIED: dict[str, dict[str, tuple[float, float]]] = {
    **{f"Five values, -1 to 1, {n} particles": _specified(*found) for n, found in E7.items()},
    **{f"Five values, -1 to 1, {n} independent samples": _specified(m, 0.3 * m) for n, m in SAMPLES.items()},
    "Five values, -1 to 1, 100 particles, plain SVGD": _specified(0.206, 0.02),
}
