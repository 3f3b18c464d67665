"""Goodness-of-fit tests: a table of statistics of a sample, each with the same of samples that do come from the target.

A new test is one more entry of FIT_TESTS; it appears in every menu by itself.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from statistics import NormalDist
from typing import NamedTuple

import numpy as np

from pmdviz.errors import InputError
from pmdviz.kernels.checks import Array, Rng
from pmdviz.kernels.clusters import median_distance
from pmdviz.kernels.stein import stein_matrix
from pmdviz.knobs import documented
from pmdviz.methods.base import checked_gradient
from pmdviz.metrics.distances import BIN_DRAWS, differing, reference_draws, squared_distances
from pmdviz.targets import Target
from pmdviz.targets.enumeration import Enumeration, numbers_of, states_of
from pmdviz.targets.exact import normal_cdf
from pmdviz.targets.space import Discrete, Reals

# Null distributions: quadratic forms of a kernel matrix with random contrasts, and the p-value that they give.

LEVELS = 2.0**30  # of the entries of a kernel matrix
SLACK = 1e-12  # relative: statistics so near are the same but for rounding


class Contrasts(NamedTuple):
    """c = whole * scale, one a row: the first of the sample, the others of null draws."""

    whole: Array  # (m + 1, N) floats that are whole numbers
    scale: Array  # (m + 1,) of c'Uc


def bootstrap_contrasts(rng: Rng, n: int, draws: int, divided: bool = True) -> Contrasts:
    """u - 1/n for `draws` draws of u, after the contrast that gives S; not `divided`: as printed."""
    counts = rng.multinomial(n, np.full(n, 1 / n), size=draws).astype(float)
    whole = np.vstack([np.ones(n), counts - 1 if divided else n * counts - 1])
    return Contrasts(whole, np.append(1 / (n * (n - 1)), np.full(draws, 1 / n**2)))


def printed_contrasts(rng: Rng, n: int, draws: int) -> Contrasts:
    """As printed, (0.127) and Algorithm 10: u ~ Multinomial(n, 1/n) is not divided by n.

    title: GF-KSD, bootstrap as printed
    about: The same with the bootstrap as printed, whose counts are not divided by n: it never rejects.
    source: Han 2019 (thesis), Algorithm 10 and (0.127)
    """
    return bootstrap_contrasts(rng, n, draws, divided=False)


def permutation_contrasts(rng: Rng, n: int, draws: int) -> Contrasts:
    """1 for the points of one sample and -1 for the points of the other, n each: as they are, then shuffled."""
    signs = np.repeat([1.0, -1.0], n)
    whole = np.vstack([signs, rng.permuted(np.tile(signs, (draws, 1)), axis=1)])
    return Contrasts(whole, np.ones(draws + 1))


def quadratic_forms(contrasts: Contrasts, matrix: Array) -> Array:
    """sum_{i != j} c_i U_ij c_j of every contrast, (m + 1,), for U (N, N)."""
    off = matrix.copy()
    np.fill_diagonal(off, 0.0)  # before its largest entry is looked for: the diagonal may be 1e10 times all others
    largest = np.abs(off).max() or 1.0
    rounded = np.rint(off * (LEVELS / largest))
    sums = np.einsum("mi,mi->m", contrasts.whole @ rounded, contrasts.whole)
    return contrasts.scale * sums * (largest / LEVELS)


def mmd_squares(contrasts: Contrasts, matrix: Array) -> Array:
    """W / (n (n-1)) - X / n^2 with W and X the kernel's sums within and between: W - X is the quadratic form."""
    n = len(matrix) // 2
    difference, total = quadratic_forms(contrasts, matrix), matrix.sum() - np.trace(matrix)
    return 0.5 * (total + difference) / (n * (n - 1)) - 0.5 * (total - difference) / n**2


def p_value(values: Array) -> float:
    """(1 + #{S* >= S}) / (m + 1) for values (m + 1,), the first of them S."""
    observed = values[0] - SLACK * abs(values[0])
    return float((1 + np.count_nonzero(values[1:] >= observed)) / len(values))


def combined(values: Array) -> Array:
    """One statistic (m + 1,) from B statistics (m + 1, B) of the same draws: minus the log of the least p-value.

    Each draw's p-values are its ranks among all m + 1; a single column stays as it is.
    """
    if values.shape[1] == 1:
        return values[:, 0]
    order = np.sort(values, axis=0)
    pairs = zip(order.T, values.T, strict=True)
    below = np.stack([np.searchsorted(known, own - SLACK * np.abs(own)) for known, own in pairs], axis=1)
    return -np.log((len(values) - below).min(axis=1) / len(values))


# The parts of a test.

FIXED, PER_DRAW, PER_FORM = 1e-3, 4e-8, 5e-11  # seconds: of a test, a contrast's entry, a pair in a quadratic form
FEW = 0.1  # of the points, by (sum U_ii)^2 / sum U_ii^2: below, sizes up to 0.2 were measured at level 0.05
FACTORS = (0.0625, 0.25, 1.0, 4.0)  # of the usual bandwidth, of a test that combines several


class Compared(NamedTuple):
    """The result of a test on points."""

    values: Array  # (m + 1,) the statistic of the sample, then of m draws from its null distribution
    kernel: Array | None = None  # (N, N) of the points, where there is one
    bandwidth: float | None = None  # of that kernel
    caveat: str = ""  # a warning about the p-value


Need = tuple[str, Callable[[Target], bool]]
Kernels = tuple[float, Callable[[float], Array]]  # the usual bandwidth h, and h -> (N, N), symmetric
MakeKernels = Callable[[Rng, Target, Array], Kernels]  # of points (n, d)


@dataclass(frozen=True)
class FitTest:
    """A test of H0: the sample is iid from the target.

    Attributes
    ----------
    title, about, source : str
        Its words in menus, what it compares in a sentence, and where it comes from.
    needs : pairs of words and target -> bool
        What the test needs, and whether a target has it; each is asked only of targets that have those before.
    compare : (rng, target, points (n, d), m, bandwidth) -> Compared
        The statistic of the points and of m draws from its null distribution. The bandwidth is "median", "aggregated"
        or h > 0; a test without a kernel ignores it.
    seconds : (target, n, m, number of bandwidths) -> float
        What one sample is predicted to take on one core.
    kernels : of a test whose statistic is a quadratic form c'Uc off the diagonal of a kernel matrix U
    """

    title: str
    about: str
    source: str
    needs: Sequence[Need]
    compare: Callable[[Rng, Target, Array, int, str | float], Compared]
    seconds: Callable[[Target, int, int, int], float]
    kernels: MakeKernels | None = None

    @property
    def has_bandwidth(self) -> bool:
        """Whether a bandwidth makes a difference."""
        return self.kernels is not None

    def missing_in(self, target: Target) -> str:
        """What the test needs that the target lacks, in words; "" where it applies."""
        return next((words for words, has in self.needs if not has(target)), "")

    def applies(self, target: Target) -> bool:
        """Whether samples can be tested against `target`."""
        return not self.missing_in(target)


def few_decide(matrix: Array) -> str:
    """That few points decide: the bootstrap then rejects samples of the target too often (measured), or may."""
    own = np.diag(matrix)
    deciding = own.sum() ** 2 / max((own**2).sum(), np.finfo(float).tiny)
    if deciding >= FEW * len(own):
        return ""
    return f"{deciding:.0f} of {len(own):,} points decide, and a sample of the target may be rejected too often"


def kernel_test(
    described_by: Callable,
    needs: Sequence[Need],
    kernels: MakeKernels,
    cost: tuple[float, float],
    contrasts: Callable[[Rng, int, int], Contrasts] = bootstrap_contrasts,
    statistics: Callable[[Contrasts, Array], Array] = quadratic_forms,
    caveat: Callable[[Array], str] = few_decide,
) -> FitTest:
    """A test by kernel matrices; the docstring of `described_by` has its words. `cost`: seconds per n^2, and per n^2 d.

    With several bandwidths the null draws are the same for all, and the least of their p-values is compared with the
    least p-values of the null draws (Westfall, Young 1993): the level is kept. Schrab et al. 2022 combine so.
    """

    def compare(rng: Rng, target: Target, points: Array, draws: int, bandwidth: str | float) -> Compared:
        """One bandwidth, or several combined; the kernel matrix belongs to the least p-value."""
        usual, matrix_of = kernels(rng, target, points)
        drawn, best, columns = contrasts(rng, len(points), draws), (np.inf, 0.0, points), []
        factors = FACTORS if bandwidth == "aggregated" else (1.0,)
        for h in [factor * usual for factor in factors] if isinstance(bandwidth, str) else [float(bandwidth)]:
            matrix = matrix_of(h)
            columns.append(statistics(drawn, matrix))
            best = min(best, (p_value(columns[-1]), h, matrix), key=lambda found: found[0])
        return Compared(combined(np.stack(columns, axis=1)), best[2], best[1], caveat(best[2]))

    def seconds(target: Target, n: int, draws: int, bandwidths: int) -> float:
        pair = cost[0] + cost[1] * target.dim + PER_FORM * draws
        return FIXED + PER_DRAW * n * draws + bandwidths * pair * n**2

    return FitTest(**documented(described_by), needs=needs, compare=compare, seconds=seconds, kernels=kernels)


SMALLEST = 1e-12  # bandwidth of points most of which coincide


def median_square(points: Array) -> float:
    """h = the squared median distance of points (n, d), of exp(-|x - y|^2 / h); of points that coincide nearly 0."""
    return max(median_distance(points) ** 2, SMALLEST)


# Discrete states as numbers, and sums over the coordinates of what depends on a pair of values.

MAX_STATES = 2**12  # that a test visits all of


def codes_of(space: Discrete, points: Array) -> Array:
    """The place of each coordinate's value among the values in ascending order, (n, d) -> (n, d)."""
    return np.searchsorted(np.sort(space.values), points)


def pair_sums(codes: Array, table: Array, factors: Array | None = None) -> Array:
    """sum_k f_ik table[c_ik, c_jk] for every pair, (n, n), from codes (n, d) and a table (K, K); f (n, d) or 1."""
    rows = np.eye(len(table))[codes]
    if factors is not None:
        rows = rows * factors[:, :, None]
    columns = table.T[codes]
    flat = len(codes), -1
    return np.einsum("ik,jk->ij", rows.reshape(flat), columns.reshape(flat))  # not BLAS: its bits depend on threads


def log_p(target: Target, points: Array) -> Array:
    """Unnormalised log probabilities (n,), in nats. Raises InputError where one is not finite."""
    values = target.log_joint(points)
    if not np.isfinite(values).all():
        bad = target.space.words(points[~np.isfinite(values)][0])
        words = f"the sample holds {bad}, at which log p of target {target.name!r} is not finite"
        raise InputError(f"{words}; leave out points where p is 0")
    return values


def inverse_weights(log_density: Array) -> Array:
    """1 / p, of mean 1 over the points, from log p (n,)."""
    weights = np.exp(log_density.min() - log_density)
    return weights / weights.mean()


def neighbour_ratios(target: Target, points: Array) -> Array:
    """p(z with coordinate k at its next value) / p(z), (n, d); after the largest value comes the smallest."""
    values, codes, own = np.sort(target.space.values), codes_of(target.states, points), log_p(target, points)
    following = values[(codes + 1) % len(values)]
    ratios = np.empty(points.shape)
    for k in range(points.shape[1]):
        moved = points.copy()
        moved[:, k] = following[:, k]
        ratios[:, k] = np.exp(target.log_joint(moved) - own)
    return ratios


def enumerated(target: Target) -> tuple[Array, Array]:
    """All states (S, d), and their probabilities (S,). Raises InputError where there are more than 4,096."""
    space = target.space
    if not isinstance(space, Discrete) or space.num_states > MAX_STATES:
        states = f"{space.num_states:,} states" if isinstance(space, Discrete) else "real coordinates"
        words = f"this test enumerates the states of a discrete target, at most {MAX_STATES:,}"
        raise InputError(f"{words}; {target.name!r} has {states}: choose another statistic")
    exact = target.reference()
    known = exact if isinstance(exact, Enumeration) else Enumeration(space, target.log_joint)
    return states_of(space, np.arange(space.num_states)), known.probabilities


# The kernel of GF-KSD on discrete states with the latent points integrated out, for any number of values.

REACH = 9.0  # sds of N(0, 1) beyond which there is 1e-19 of it
NODES = 16  # of Gauss-Legendre in each panel
WIDEST = 0.5  # panel, in sds and in square roots of h


@lru_cache(maxsize=64)
def tables_of(num_values: int, h: float) -> tuple[Array, Array]:
    """The kernel sums of one coordinate, A and S (K, K) for K values, to about 1e-13."""
    x, mass, bins = nodes_of(num_values, h)
    kernel, stein = np.zeros((num_values, num_values)), np.zeros((num_values, num_values))
    for a in range(num_values):
        own = bins == a
        squared = (x[own, None] - x) ** 2
        k = np.exp(-squared / h) * mass[own, None] * mass
        kappa = k * (x[own, None] * x - (2 / h + 4 / h**2) * squared + 2 / h)
        for table, values in ((kernel, k), (stein, kappa)):
            table[a] = np.add.reduceat(values.sum(axis=0), np.searchsorted(bins, np.arange(num_values)))
    return kernel, stein


def nodes_of(num_values: int, h: float) -> tuple[Array, Array, Array]:
    """Nodes (Q,) on the line, ascending, their share of the mass of their bin, and the number of that bin."""
    quantile = NormalDist().inv_cdf
    edges = [-REACH, *(quantile(k / num_values) for k in range(1, num_values)), REACH]
    roots, weights = np.polynomial.legendre.leggauss(NODES)
    widest, found = WIDEST * min(1.0, np.sqrt(h)), []
    for number, (low, high) in enumerate(zip(edges, edges[1:], strict=False)):
        ends = np.linspace(low, high, 1 + int(np.ceil((high - low) / widest)))
        half = 0.5 * np.diff(ends)
        x = ((ends[:-1] + half)[:, None] + half[:, None] * roots).ravel()
        mass = (half[:, None] * weights).ravel() * np.exp(-0.5 * x**2)
        found.append((x, mass / mass.sum(), np.full(len(x), number)))
    x, mass, bins = (np.concatenate(parts) for parts in zip(*found, strict=True))
    return x, mass, bins


def integrated_kernel(codes: Array, weights: Array, num_values: int, h: float) -> Array:
    """Kbar (n, n) of states with `codes` (n, d), `weights` (n,) proportional to 1/p, and h > 0 in units of p0."""
    kernel, stein = tables_of(num_values, float(h))
    joined = np.maximum(kernel, np.finfo(float).tiny)  # bins that no kernel joins
    product = np.exp(pair_sums(codes, np.log(joined)))
    return np.outer(weights, weights) * product * pair_sums(codes, stein / joined)


# Pearson's chi-square.


def compare_counts(rng: Rng, target: Target, points: Array, draws: int, bandwidth: str | float) -> Compared:
    """Chi-squares of the counts of the points, then of multinomial counts: exact for any n p.

    title: Chi-square
    about: Pearson's chi-square of the counts of all states, with a p-value by simulated counts.
    source: Pearson 1900; simulated as in Hope 1968
    """
    p = enumerated(target)[1]
    counts = np.bincount(numbers_of(target.states, points), minlength=len(p))
    return Compared(chi_squares(np.vstack([counts, rng.multinomial(len(points), p, size=draws)]), p))


def chi_squares(counts: Array, p: Array) -> Array:
    """(m,) of counts (m, S) that have the same sum n: sum c^2 / (n p) - n; inf where a state of p = 0 was counted."""
    n, possible = counts[0].sum(), p > 0
    found = (counts[:, possible] ** 2 / (n * p[possible])).sum(axis=1) - n
    found[counts[:, ~possible].any(axis=1)] = np.inf
    return found


# The discrete kernel Stein discrepancy, by ratios of the probabilities of neighbouring states.


def dksd_kernels(rng: Rng, target: Target, points: Array) -> Kernels:
    """The usual h is 1, as published: a median of so few distances jumps.

    title: Discrete KSD
    about: Discrete kernel Stein discrepancy, by ratios of the probabilities of states that differ in one coordinate.
    source: Yang, Liu, Rao, Neville 2018
    """
    codes, scores = codes_of(target.states, points), 1 - neighbour_ratios(target, points)
    return 1.0, lambda h: dksd_kernel(codes, scores, len(target.space.values), h)


def dksd_kernel(codes: Array, scores: Array, num_values: int, h: float) -> Array:
    """U = s.s' k - s.D'k - s'.Dk + tr DD'k (n, n), k = exp(-H / (d h)), of states with `codes` and `scores` s (n, d).

    H is the number of coordinates that differ, s_i(z) = 1 - p(z with coordinate i at its next value) / p(z), and
    D_i f(z) = f(z) - f(z with it at the one before), in cyclic order; of two values both are the flip.
    """
    d, differ = codes.shape[1], 1.0 - np.eye(num_values)
    second, both = difference_tables(num_values, d * h)
    along = pair_sums(codes, second, scores)
    inside = np.einsum("ik,jk->ij", scores, scores) - along - along.T + pair_sums(codes, both)
    return np.exp(-pair_sums(codes, differ) / (d * h)) * inside


def difference_tables(num_values: int, width: float) -> tuple[Array, Array]:
    """D'_i k / k and D_i D'_i k / k, (K, K) each, by the two values of coordinate i."""
    k = np.exp(-(1.0 - np.eye(num_values)) / width)
    one, other = np.roll(k, 1, axis=0), np.roll(k, 1, axis=1)  # the value before, of z and of z'
    return 1 - other / k, (k - one - other + np.roll(one, 1, axis=1)) / k


# The gradient-free kernel Stein discrepancy on discrete states: U_ij = w_i kappa(x_i, x_j) w_j of latent points x.

LEAST, SHARE = 2.0, 0.125  # of h: E|x - y|^2 of one coordinate under p0; of 2 d, of all (best on 9 and 16 spins)
Surrogate = Callable[[Target, Array, Array], tuple[Array, Array]]


def gf_kernels(surrogate: Surrogate) -> MakeKernels:
    """Those of a latent point drawn for each state, with kappa of a surrogate rho and weights w = rho / p_c.

    x given z is p0 = N(0, I) in the quantile bin of each coordinate's value: p_c(x), proportional to p0(x) p(Gamma(x)),
    is the law of x where z comes from p.
    """

    def kernels(rng: Rng, target: Target, points: Array) -> Kernels:
        latent = latent_of(rng, target.states, points)
        weights, scores = surrogate(target, points, latent)
        return median_square(latent), lambda h: gf_kernel(latent, weights, h, scores)

    return kernels


def normal_surrogate(target: Target, points: Array, latent: Array) -> tuple[Array, Array]:
    """rho = p0: w = 1 / p(z) (n,), of mean 1, and grad log rho (n, d) at latent points (n, d) of states (n, d).

    title: GF-KSD
    about: Gradient-free kernel Stein discrepancy: a latent point is drawn for every state, and weighted by 1/p.
    source: Han 2019 (thesis), Algorithm 10, with u divided by n in the bootstrap
    """
    return inverse_weights(log_p(target, points)), -latent


def smooth_surrogate(target: Target, points: Array, latent: Array) -> tuple[Array, Array]:
    """rho(x) = p0(x) p~(F(x)): log w = log p~ - log p; the score is -x + F'(x) grad log p~, by the chain rule.

    F is the distribution function of p0, and p~ the target's `log_relaxed`, whose coordinates go from the lowest value
    to the highest as F goes from 0 to 1.

    title: GF-KSD, smooth surrogate
    about: The same with the target's smooth density in the surrogate: each latent point is weighted by p̃/p.
    source: Han 2019 (thesis), (0.124) to (0.126), with u divided by n in the bootstrap
    """
    low, high = min(target.space.values), max(target.space.values)
    slope = (high - low) * np.exp(-0.5 * latent**2) / np.sqrt(2 * np.pi)
    values, gradient = target.log_relaxed_and_gradient(low + (high - low) * normal_cdf(latent))
    return inverse_weights(log_p(target, points) - values), slope * gradient - latent


def gf_kernel(latent: Array, weights: Array, h: float, scores: Array | None = None) -> Array:
    """w_i kappa(x_i, x_j) w_j (n, n) for latent points (n, d), weights (n,) and scores (n, d); of p0 they are -x."""
    return np.outer(weights, weights) * stein_matrix(latent, -latent if scores is None else scores, h)


def latent_of(rng: Rng, space: Discrete, points: Array) -> Array:
    """x (n, d) with Gamma(x) = z: Phi^-1 of a uniform point of [k/K, (k + 1)/K), k the place of the value."""
    shares = (codes_of(space, points) + rng.random(points.shape)) / len(space.values)
    inside = np.clip(shares, 1e-300, 1 - 1e-16)
    return np.array([*map(NormalDist().inv_cdf, inside.ravel())]).reshape(points.shape)


def integrated_kernels(rng: Rng, target: Target, points: Array) -> Kernels:
    """U_ij = E(w_i kappa(x_i, x_j) w_j | z_i, z_j): no latent point is drawn.

    title: GF-KSD, latent points integrated out
    about: Gradient-free kernel Stein discrepancy with its mean over the latent points instead of one draw of them.
    source: ours, from Han 2019 (thesis), Algorithm 10
    """
    codes, weights = codes_of(target.states, points), inverse_weights(log_p(target, points))
    usual = max(LEAST, SHARE * 2 * target.dim)
    return usual, lambda h: integrated_kernel(codes, weights, len(target.space.values), h)


# Kernels on real coordinates, in prior sds, in which coordinates of different units can be compared.


def ksd_kernels(rng: Rng, target: Target, points: Array) -> Kernels:
    """kappa_p with k(x, y) = exp(-|x - y|^2 / h).

    title: KSD
    about: Kernel Stein discrepancy of the points, by the gradient of log p; no normalising constant is needed.
    source: Liu, Lee, Jordan 2016; Chwialkowski, Strathmann, Gretton 2016
    """
    scaled = points / target.scale
    scores = checked_gradient(target, points, target.data_rows) * target.scale
    return median_square(scaled), lambda h: stein_matrix(scaled, scores, h)


def mmd_kernels(rng: Rng, target: Target, points: Array) -> Kernels:
    """Of the points, and then of as many reference draws: exp(-|x - y|^2 / h), and exp(-H / (d h)) on states.

    The median is taken over the pooled points, which no permutation changes: the test is exact.

    title: MMD, two samples
    about: Maximum mean discrepancy between the points and as many exact draws from the target, by permutations.
    source: Gretton et al. 2012; the kernel on states: Yang et al. 2018
    """
    pool = reference_draws(target, BIN_DRAWS)
    pooled = np.concatenate([points, pool[rng.choice(len(pool), size=len(points), replace=False)]])
    if isinstance(target.space, Discrete):
        share = differing(pooled, pooled, target.space.values)
        return 1.0, lambda h: np.exp(-share / h)
    scaled = pooled / target.scale
    squared = squared_distances(scaled, scaled)
    return median_square(scaled), lambda h: np.exp(-squared / h)


# Classical tests by the distribution functions of a target's coordinates.

CDF_NODES = 20_001  # at which a distribution function is tabulated
PER_VALUE = 2e-7  # seconds: of drawing, looking up and sorting a coordinate
OFF = 1e-3  # of the mass of a marginal on its box, above which it is refused


def marginal_test(statistics: Callable[[Array], Array]) -> FitTest:
    """The largest statistic of any coordinate, of u = F_k(x_k), and the same of exact draws: the level is kept.

    `statistics` gives (d,) of u (n, d), each column ascending in [0, 1].
    """

    def compare(rng: Rng, target: Target, points: Array, draws: int, bandwidth: str | float) -> Compared:
        """Of the points, then of exact draws."""
        tables = [distribution(target, k) for k in range(target.dim)]

        def statistic(sample: Array) -> float:
            u = np.stack([np.interp(x, *table) for x, table in zip(sample.T, tables, strict=True)], axis=1)
            return float(statistics(np.sort(u, axis=0)).max())

        samples = (points, *(target.exact.sample(rng, len(points)) for _ in range(draws)))
        return Compared(np.array([statistic(sample) for sample in samples]))

    def seconds(target: Target, n: int, draws: int, bandwidths: int) -> float:
        return FIXED + PER_VALUE * (n * draws + CDF_NODES) * target.dim

    return FitTest(**documented(statistics), needs=[MARGINALS], compare=compare, seconds=seconds)


def kolmogorov_smirnov(u: Array) -> Array:
    """sup |F_n - F| = max_i max(i/n - u_i, u_i - (i - 1)/n).

    title: Kolmogorov-Smirnov
    about: The largest distance of the sample's distribution function from the exact one, over all coordinates.
    source: Kolmogorov 1933, Smirnov 1948; simulated as in Hope 1968
    """
    steps = np.arange(len(u) + 1)[:, None] / len(u)
    return np.maximum(steps[1:] - u, u - steps[:-1]).max(axis=0)


def anderson_darling(u: Array) -> Array:
    """n times the integral of (F_n - F)^2 / (F (1 - F)) dF: tails count more than with Kolmogorov-Smirnov.

    -n - (1/n) sum_i (2 i - 1) (log u_i + log(1 - u_(n + 1 - i))).

    title: Anderson-Darling
    about: Squared distance of distribution functions with more weight on the tails; the largest of any coordinate.
    source: Anderson, Darling 1954; simulated as in Hope 1968
    """
    n, inside = len(u), np.clip(u, 1e-12, 1 - 1e-12)
    odd = 2 * np.arange(n)[:, None] + 1
    return -n - (odd * (np.log(inside) + np.log1p(-inside[::-1]))).mean(axis=0)


def distribution(target: Target, k: int) -> tuple[Array, Array]:
    """Nodes (CDF_NODES,) on the box that holds all but 1e-9 of the mass, and F_k there, the integral of the density.

    Raises InputError where the density on the box does not have mass 1.
    """
    exact = target.exact
    nodes = np.linspace(*exact.box[k], CDF_NODES)
    log_density = exact.log_density if target.dim == 1 else exact.marginal_log_density([k])
    p = np.exp(log_density(nodes[:, None]))
    found = np.append(0.0, np.cumsum(0.5 * (p[1:] + p[:-1]) * np.diff(nodes)))
    if not abs(found[-1] - 1) < OFF:
        words = f"the density of coordinate {k + 1} of target {target.name!r} has mass {found[-1]:.4g}, not 1"
        raise InputError(f"{words}; choose another statistic")
    return nodes, found / found[-1]


# The table, in the order of menus, after what tests need of a target.

STATES: Need = "discrete states", lambda target: isinstance(target.space, Discrete)
FEW_STATES: Need = f"{MAX_STATES:,} states or fewer", lambda target: target.space.num_states <= MAX_STATES
RELAXATION: Need = "a smooth density between the states", lambda target: "relaxation" in target.offers
OF_SLOPES = "real coordinates and a gradient of the log density"
OF_DRAWS = "exact draws, or a reference that can be drawn from,"
GRADIENT: Need = OF_SLOPES, lambda target: {"reals", "gradient"} <= target.offers
DRAWS: Need = OF_DRAWS, lambda target: isinstance(target.space, (Reals, Discrete)) and target.reference() is not None


def _has_marginals(target: Target) -> bool:
    several = target.dim > 1 and not hasattr(target.exact, "marginal_log_density")
    return "reals" in target.offers and target.exact is not None and not several


MARGINALS: Need = "real coordinates whose exact distribution functions are known", _has_marginals
NORMAL, GF_COST = gf_kernels(normal_surrogate), (3e-8, 1.2e-9)

FIT_TESTS: dict[str, FitTest] = {
    "anderson_darling": marginal_test(anderson_darling),
    "chi_square": FitTest(
        **documented(compare_counts),
        needs=[STATES, FEW_STATES],
        compare=compare_counts,
        seconds=lambda target, n, draws, bandwidths: FIXED + PER_DRAW * target.space.num_states * draws,
    ),
    "dksd": kernel_test(dksd_kernels, [STATES], dksd_kernels, (3e-8, 1.8e-9)),
    "gf_ksd": kernel_test(normal_surrogate, [STATES], NORMAL, GF_COST),
    "gf_ksd_printed": kernel_test(printed_contrasts, [STATES], NORMAL, GF_COST, printed_contrasts),
    "gf_ksd_rao_blackwell": kernel_test(integrated_kernels, [STATES], integrated_kernels, (3e-8, 8e-10)),
    "gf_ksd_surrogate": kernel_test(smooth_surrogate, [STATES, RELAXATION], gf_kernels(smooth_surrogate), GF_COST),
    "kolmogorov_smirnov": marginal_test(kolmogorov_smirnov),
    "ksd": kernel_test(ksd_kernels, [GRADIENT], ksd_kernels, (3e-8, 1e-9)),
    "mmd": kernel_test(  # of (2 n)^2 pairs; permutations are exact
        mmd_kernels, [DRAWS], mmd_kernels, (1.2e-7, 1e-9), permutation_contrasts, mmd_squares, lambda matrix: ""
    ),
}
