"""The bars of the specification on tests and on combined models, each held against what was measured."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from benchmarks.helpers.contest import figures
from benchmarks.helpers.fit_rules import Measured, rates, slope_of

DISCRETE = ("dksd", "gf_ksd", "gf_ksd_rao_blackwell", "gf_ksd_surrogate", "mmd")
SPINS = "Ising 3 x 3, T = 10"  # p; the last of its curve is T' = 4


class Bar(NamedTuple):
    """A number, and between what it has to lie."""

    found: Callable[[Measured], float]
    low: float
    high: float


def _rate(words: str, test: str, place: int) -> Callable[[Measured], float]:
    return lambda found: rates(found, words, test)[place]["rejected"]


def _highest(words: str, test: str) -> Callable[[Measured], float]:
    return lambda found: max(entry["rejected"] for entry in rates(found, words, test))


def _slope(words: str, combiner: str) -> Callable[[Measured], float]:
    return lambda found: slope_of(found, words, combiner)[0]


BARS: Mapping[str, Bar] = {
    **{f"size of {test}, {SPINS}: in [0, 0.12]": Bar(_rate(SPINS, test, 0), 0.0, 0.12) for test in DISCRETE},
    "the bootstrap as printed rejects below 0.03": Bar(_highest(SPINS, "gf_ksd_printed"), 0.0, 0.03),
    "power of gf_ksd_rao_blackwell at T' = 4: above 0.8": Bar(_rate(SPINS, "gf_ksd_rao_blackwell", -1), 0.8, 1.0),
    "power of dksd at T' = 4: above 0.9": Bar(_rate(SPINS, "dksd", -1), 0.9, 1.0),
    "Gaussian, slope of plain draws: in [-1.3, -0.7]": Bar(_slope("Gaussian", "naive"), -1.3, -0.7),
    **{
        f"Gaussian, slope of {name}: below -1.6": Bar(_slope("Gaussian", name), -float("inf"), -1.6)
        for name in ("control", "weighted")
    },
    "Gaussian mixture, slope of plain draws: in [-1.3, -0.7]": Bar(_slope("Gaussian mixture", "naive"), -1.3, -0.7),
    "Gaussian mixture, slope of weighted: below -1.6": Bar(_slope("Gaussian mixture", "weighted"), -float("inf"), -1.6),
}


def judged(found: Measured) -> dict[str, dict[str, Any]]:
    """What each bar found in the measured configurations, and whether it is met."""
    values = {words: bar.found(found) for words, bar in BARS.items()}
    return {
        words: {"found": figures(value, 3), "met": bool(BARS[words].low <= value <= BARS[words].high)}
        for words, value in values.items()
    }
