"""One test of one sample, from what a person gives to a result."""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from pmdviz.engine.recipe_parts import MAX_SEED, checked_whole
from pmdviz.errors import InputError, shown, unknown
from pmdviz.experiments.goodness_of_fit.base import p_value
from pmdviz.experiments.goodness_of_fit.sample import sample_of
from pmdviz.experiments.goodness_of_fit.statistics import FIT_TESTS, FitTest
from pmdviz.knobs import real_number
from pmdviz.targets import Target, make_target

RULES = ("median", "aggregated")  # of the bandwidth
MAX_DRAWS = 100_000


@dataclass(frozen=True, eq=False)
class FitResult:
    """What a test says of a sample.

    Attributes
    ----------
    test : str
    statistic : float
        Of a kernel test an unbiased estimate of the squared discrepancy; with several bandwidths -log of the least
        p-value.
    p_value : float
        (1 + #{S* >= S}) / (m + 1) over m draws S* of the null distribution.
    rejected : bool
        p_value <= alpha.
    alpha : float
    num_points : int
        How many points were tested.
    seconds : float
    note : str
        What was done to the sample, and what makes the p-value doubtful; "" where there is nothing to say.
    bandwidth : float or None
        h of `kernel`.
    bootstrap : array (m,)
        S*.
    kernel : array (n, n) or None
        The kernel matrix; of `mmd` (2 n, 2 n), the sample before the reference draws; of several bandwidths that with
        the least p-value.
    """

    test: str
    statistic: float
    p_value: float
    rejected: bool
    alpha: float
    num_points: int
    seconds: float
    note: str = ""
    bandwidth: float | None = None
    bootstrap: np.ndarray = field(default_factory=lambda: np.empty(0), repr=False)
    kernel: np.ndarray | None = field(default=None, repr=False)


def tested(
    target: str | Target, sample: Any, test: str, seed: int, alpha: float, draws: int, bandwidth: str | float
) -> FitResult:
    """The test that `pmdviz.test_fit` describes."""
    target, made = checked_target(target), find_test(test)
    check_pair(made, target)
    alpha, width = checked_alpha(alpha), checked_bandwidth(bandwidth)
    draws = checked_draws(draws, alpha)
    for_sample, for_test = np.random.SeedSequence(checked_whole("seed", seed, 0, MAX_SEED)).spawn(2)
    points, words = sample_of(sample, target, np.random.default_rng(for_sample))
    start = time.perf_counter()
    found = made.compare(np.random.default_rng(for_test), target, points, draws, width)
    seconds, p = time.perf_counter() - start, p_value(found.values)
    note = "; ".join(filter(None, (words, found.caveat)))
    arrays = {"bootstrap": found.values[1:], "kernel": found.kernel}
    statistic = float(found.values[0])
    return FitResult(test, statistic, p, p <= alpha, alpha, len(points), seconds, note, found.bandwidth, **arrays)


def find_test(name: Any) -> FitTest:
    """The test of a name. Raises InputError."""
    if not isinstance(name, str) or name not in FIT_TESTS:
        raise unknown("test", name, FIT_TESTS)
    return FIT_TESTS[name]


def checked_target(target: Any) -> Target:
    """A target, or the built-in one of that name at its defaults. Raises InputError."""
    return target if isinstance(target, Target) else make_target(target)


def check_pair(test: FitTest, target: Target) -> None:
    """Raise InputError where the test cannot be applied to the target, with those that can."""
    if missing := test.missing_in(target):
        others = [name for name, each in FIT_TESTS.items() if each.applies(target)]
        cure = f"; tests that apply to it: {', '.join(others)}" if others else ", and no other test applies to it"
        raise InputError(
            f"test {test.name!r} needs {missing}, which target {target.name!r} does not offer{cure}", "test"
        )


def checked_alpha(alpha: Any) -> float:
    """A level in (0, 1). Raises InputError."""
    value = real_number(alpha)
    if value is None or not 0 < value < 1:
        raise InputError(f"alpha must be a number above 0 and below 1; given: {shown(alpha)}", "alpha")
    return value


def checked_draws(draws: Any, alpha: float) -> int:
    """Enough draws of the null distribution for the test to reject. Raises InputError."""
    count, least = checked_whole("draws", draws, 1, MAX_DRAWS), int(np.ceil(1 / alpha - 1e-9)) - 1
    if count < least:
        raise InputError(
            f"draws must be at least {least:,} for alpha = {alpha:g}: fewer give no p-value so small; given: {count}",
            "draws",
        )
    return count


def checked_bandwidth(bandwidth: Any) -> str | float:
    """A rule or a bandwidth h > 0. Raises InputError."""
    if isinstance(bandwidth, str) and bandwidth in RULES:
        return bandwidth
    value = real_number(bandwidth)
    if value is None or value <= 0:
        raise InputError(
            f"bandwidth must be 'median', 'aggregated' or a number above 0; given: {shown(bandwidth)}", "bandwidth"
        )
    return value
