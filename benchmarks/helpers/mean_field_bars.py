"""The bars of the specification on mean-field particles, each held against the means of the measured rows."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from benchmarks.helpers.stein_rules import Runs, mean_of

VOLATILITY, EXACT = "PMFVB, h = 0.002, data seed 3", "Exact MCMC, data seed 3"


class Bar(NamedTuple):
    """A number of a row, divided by that of another row if there is one, and between what it has to lie."""

    row: str
    what: str
    low: float
    high: float
    over: str = ""

    def found(self, runs: Runs) -> float:
        """Mean over the seeds."""
        mean = mean_of(runs[self.row][self.what])[0]
        return mean / float(runs[self.over][self.what].mean()) if self.over else mean


BARS: Mapping[str, Bar] = {
    **{
        f"logistic regression, data {seed}: sd ratios within 0.10 of Laplace's mean field": Bar(
            f"PMFVB, data {seed}", "off_theory", 0.0, 0.10
        )
        for seed in range(3)
    },
    "stochastic volatility, h = 0.002: mean of s2 in [0.12, 0.21]": Bar(VOLATILITY, "s2", 0.12, 0.21),
    "stochastic volatility, h = 0.002: sd of s2 below 0.3 of the exact one": Bar(VOLATILITY, "s2_sd", 0.0, 0.3, EXACT),
    "stochastic volatility, B as printed: mean of q(mu) beyond 5": Bar(
        "PMFVB, B as printed, data seed 3", "mu", 5.0, float("inf")
    ),
}


def judged(runs: Runs) -> dict[str, dict[str, Any]]:
    """What each bar found, and whether it is met."""
    found = {words: bar.found(runs) for words, bar in BARS.items()}
    return {
        words: {"found": float(f"{value:.3g}"), "met": bool(BARS[words].low <= value <= BARS[words].high)}
        for words, value in found.items()
    }
