"""What a goodness-of-fit test is: a statistic of the sample, and the same of samples that do come from the target."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import ClassVar, NamedTuple

import numpy as np

from pmdviz.experiments.goodness_of_fit.bootstrap import (
    Contrasts,
    bootstrap_contrasts,
    combined,
    p_value,
    quadratic_forms,
)
from pmdviz.experiments.goodness_of_fit.states import enumerated
from pmdviz.streams import stream
from pmdviz.targets import Target
from pmdviz.targets.space import Discrete

FIT_TESTS: dict[str, FitTest] = {}

FIXED, PER_DRAW, PER_FORM = 1e-3, 4e-8, 5e-11  # seconds: of a test, a contrast's entry, a pair in a quadratic form
FEW = 0.1  # of the points, by (sum U_ii)^2 / sum U_ii^2: below, sizes up to 0.2 were measured at level 0.05
FACTORS = (0.0625, 0.25, 1.0, 4.0)  # of the usual bandwidth, of a test that combines several


class Compared(NamedTuple):
    """What a test computes."""

    values: np.ndarray  # (m + 1,) the statistic of the sample, then those of m draws from its null distribution
    kernel: np.ndarray | None = None  # (N, N) of the points, where there is one
    bandwidth: float | None = None  # of that kernel
    caveat: str = ""  # what one must know to judge the p-value


class Kernels(NamedTuple):
    """Kernels of one sample that differ in their bandwidth."""

    usual: float  # bandwidth h
    matrix: Callable[[float], np.ndarray]  # h -> (N, N), symmetric


class FitTest:
    """A test of H0: the sample is iid from the target. A subclass with a `name` enters FIT_TESTS by being defined.

    Attributes
    ----------
    name, title, about, source : str
        Its key, its words in menus, what it compares in a sentence, and where it comes from.
    cost : (float, float)
        Measured seconds of a kernel matrix per n^2, and per n^2 d.
    """

    name: ClassVar[str] = ""
    title: ClassVar[str] = ""
    about: ClassVar[str] = ""
    source: ClassVar[str] = ""
    has_bandwidth: ClassVar[bool] = True
    cost: ClassVar[tuple[float, float]] = (3e-8, 1.5e-9)

    def __init_subclass__(cls) -> None:
        if cls.name:
            FIT_TESTS[cls.name] = cls()

    def missing_in(self, target: Target) -> str:
        """What the test needs that `target` lacks, in words; "" where it applies."""
        raise NotImplementedError

    def applies(self, target: Target) -> bool:
        """Whether samples can be tested against `target`."""
        return not self.missing_in(target)

    def seconds(self, target: Target, n: int, draws: int, kernels: int) -> float:
        """What one sample is predicted to take on one core, with so many bandwidths."""
        pair = self.cost[0] + self.cost[1] * target.dim + PER_FORM * draws
        return FIXED + PER_DRAW * n * draws + kernels * pair * n**2

    def compare(
        self, rng: np.random.Generator, target: Target, points: np.ndarray, draws: int, bandwidth: str | float
    ) -> Compared:
        """The statistic of points (n, d) and of `draws` draws from its null distribution.

        `bandwidth` is "median", "aggregated" or h > 0; a test without a kernel takes no notice of it.
        """
        raise NotImplementedError


class KernelTest(FitTest):
    """A test whose statistic is a quadratic form c'Uc off the diagonal of a kernel matrix U.

    With several bandwidths the null draws are the same for all, and the least of their p-values is compared with the
    least p-values of the null draws (Westfall, Young 1993): the level is kept. Schrab et al. 2022 combine so.
    """

    def kernels(self, rng: np.random.Generator, target: Target, points: np.ndarray) -> Kernels:
        """The kernels of points (n, d)."""
        raise NotImplementedError

    def contrasts(self, rng: np.random.Generator, n: int, draws: int) -> Contrasts:
        """c of the sample and of the null draws: of a Stein kernel the bootstrap's."""
        return bootstrap_contrasts(rng, n, draws)

    def statistics(self, contrasts: Contrasts, matrix: np.ndarray) -> np.ndarray:
        """(m + 1,) from one kernel matrix."""
        return quadratic_forms(contrasts, matrix)

    def caveat(self, matrix: np.ndarray) -> str:
        """That few points decide: the bootstrap then rejects samples of the target too often (measured), or may."""
        own = np.diag(matrix)
        deciding = own.sum() ** 2 / max((own**2).sum(), np.finfo(float).tiny)
        if deciding >= FEW * len(own):
            return ""
        return f"{deciding:.0f} of {len(own):,} points decide, and a sample of the target may be rejected too often"

    def compare(
        self, rng: np.random.Generator, target: Target, points: np.ndarray, draws: int, bandwidth: str | float
    ) -> Compared:
        """One bandwidth, or several combined; the kernel matrix is that of the least p-value."""
        kernels = self.kernels(rng, target, points)
        contrasts = self.contrasts(rng, len(points), draws)
        best, columns = (np.inf, None, None), []
        for h in bandwidths(bandwidth, kernels.usual):
            matrix = kernels.matrix(h)
            columns.append(self.statistics(contrasts, matrix))
            best = min(best, (p_value(columns[-1]), h, matrix), key=lambda found: found[0])
        return Compared(combined(np.stack(columns, axis=1)), best[2], best[1], self.caveat(best[2]))


class StateTest(KernelTest):
    """A kernel test of discrete states."""

    def missing_in(self, target: Target) -> str:
        """States."""
        return lacks_states(target)

    def mean_under(self, target: Target, h: float) -> float:
        """E U(z, z') for independent z, z' from the target, by its largest entry: 0 but for rounding.

        By a visit of all states. Raises InputError where there are more than 4,096.
        """
        states, p = enumerated(target)
        matrix = self.kernels(stream("rows"), target, states).matrix(h)
        return float(np.einsum("i,ij,j->", p, matrix, p) / np.abs(matrix).max())


def bandwidths(chosen: str | float, usual: float) -> Iterator[float]:
    """The bandwidths h that "median", "aggregated" or a number asks for."""
    if chosen == "median":
        yield usual
    elif chosen == "aggregated":
        yield from (factor * usual for factor in FACTORS)
    else:
        yield float(chosen)


def lacks_states(target: Target) -> str:
    """What a test of discrete states says of a target with real coordinates."""
    return "" if isinstance(target.space, Discrete) else "discrete states"
