"""What a goodness-of-fit test is: a statistic of the sample, and the same of samples that do come from the target."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import ClassVar, NamedTuple

import numpy as np

from pmdviz.experiments.goodness_of_fit.sample import enumerated
from pmdviz.kernels.distances import median_distance
from pmdviz.streams import stream
from pmdviz.targets import Target
from pmdviz.targets.space import Discrete

# Null distributions: quadratic forms of a kernel matrix with random contrasts, and the p-value that they give.

LEVELS = 2.0**30  # of the entries of a kernel matrix
SLACK = 1e-12  # relative: statistics so near are the same but for rounding


class Contrasts(NamedTuple):
    """c = whole * scale, one a row: the first of the sample, the others of null draws."""

    whole: np.ndarray  # (m + 1, N) floats that are whole numbers
    scale: np.ndarray  # (m + 1,) of c'Uc


def bootstrap_contrasts(rng: np.random.Generator, n: int, draws: int, divided: bool = True) -> Contrasts:
    """u - 1/n for `draws` draws of u, after the contrast that gives S; not `divided`: as printed."""
    counts = rng.multinomial(n, np.full(n, 1 / n), size=draws).astype(float)
    whole = np.vstack([np.ones(n), counts - 1 if divided else n * counts - 1])
    return Contrasts(whole, np.append(1 / (n * (n - 1)), np.full(draws, 1 / n**2)))


def permutation_contrasts(rng: np.random.Generator, n: int, draws: int) -> Contrasts:
    """1 for the points of one sample and -1 for those of the other, n each: as they are, then shuffled."""
    signs = np.repeat([1.0, -1.0], n)
    whole = np.vstack([signs, rng.permuted(np.tile(signs, (draws, 1)), axis=1)])
    return Contrasts(whole, np.ones(draws + 1))


def quadratic_forms(contrasts: Contrasts, matrix: np.ndarray) -> np.ndarray:
    """sum_{i != j} c_i U_ij c_j of every contrast, (m + 1,), for U (N, N)."""
    off = matrix.copy()
    np.fill_diagonal(off, 0.0)  # before its largest entry is looked for: the diagonal may be 1e10 times all others
    largest = np.abs(off).max() or 1.0
    rounded = np.rint(off * (LEVELS / largest))
    sums = np.einsum("mi,mi->m", contrasts.whole @ rounded, contrasts.whole)
    return contrasts.scale * sums * (largest / LEVELS)


def p_value(values: np.ndarray) -> float:
    """(1 + #{S* >= S}) / (m + 1) for values (m + 1,), the first of them S."""
    observed = values[0] - SLACK * abs(values[0])
    return float((1 + np.count_nonzero(values[1:] >= observed)) / len(values))


def combined(values: np.ndarray) -> np.ndarray:
    """One statistic (m + 1,) from B statistics (m + 1, B) of the same draws: minus the log of the least p-value.

    Each draw's p-values are its ranks among all m + 1; a single column stays as it is.
    """
    if values.shape[1] == 1:
        return values[:, 0]
    order = np.sort(values, axis=0)
    pairs = zip(order.T, values.T, strict=True)
    below = np.stack([np.searchsorted(known, own - SLACK * np.abs(own)) for known, own in pairs], axis=1)
    return -np.log((len(values) - below).min(axis=1) / len(values))


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


# The usual bandwidth of a Gaussian kernel.

SMALLEST = 1e-12  # of points most of which coincide


def median_square(points: np.ndarray) -> float:
    """h = the squared median distance of points (n, d), of exp(-|x - y|^2 / h); of points that coincide nearly 0."""
    return max(median_distance(points) ** 2, SMALLEST)
