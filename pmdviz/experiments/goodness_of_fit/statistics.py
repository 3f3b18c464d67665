"""The tests: each is declared once and appears in every menu by itself."""

from __future__ import annotations

from statistics import NormalDist

import numpy as np

from pmdviz.errors import InputError
from pmdviz.experiments.goodness_of_fit.base import (
    FIT_TESTS,
    FIXED,
    PER_DRAW,
    Compared,
    Contrasts,
    FitTest,
    Kernels,
    KernelTest,
    StateTest,
    bootstrap_contrasts,
    lacks_states,
    median_square,
    permutation_contrasts,
    quadratic_forms,
)
from pmdviz.experiments.goodness_of_fit.sample import (
    MAX_STATES,
    codes_of,
    enumerated,
    integrated_kernel,
    inverse_weights,
    log_p,
    neighbour_ratios,
    nodes_of,
    pair_sums,
)
from pmdviz.kernels.stein.black_box import stein_matrix
from pmdviz.methods.base import checked_gradient
from pmdviz.metrics.draws import BIN_DRAWS, differing, reference_draws, squared_distances
from pmdviz.targets import Target
from pmdviz.targets.reference.enumeration import numbers_of
from pmdviz.targets.reference.gaussian_mixture import normal_cdf
from pmdviz.targets.space import Discrete, Reals


class ChiSquareTest(FitTest):
    """sum over the states of (count - n p)^2 / (n p), and the same of multinomial counts: exact for any n p."""

    name = "chi_square"
    title = "Chi-square"
    about = "Pearson's chi-square of the counts of all states, with a p-value by simulated counts."
    source = "Pearson 1900; simulated as in Hope 1968"
    has_bandwidth = False

    def missing_in(self, target: Target) -> str:
        """Few states."""
        if lacks_states(target):
            return lacks_states(target)
        return "" if target.space.num_states <= MAX_STATES else f"{MAX_STATES:,} states or fewer"

    def seconds(self, target: Target, n: int, draws: int, kernels: int) -> float:
        """A count of every state in every draw."""
        return FIXED + PER_DRAW * target.space.num_states * draws

    def compare(
        self, rng: np.random.Generator, target: Target, points: np.ndarray, draws: int, bandwidth: str | float
    ) -> Compared:
        """Counts of the points, then simulated ones."""
        p = enumerated(target)[1]
        counts = np.bincount(numbers_of(target.space, points), minlength=len(p))
        return Compared(chi_squares(np.vstack([counts, rng.multinomial(len(points), p, size=draws)]), p))


def chi_squares(counts: np.ndarray, p: np.ndarray) -> np.ndarray:
    """(m,) of counts (m, S) that have the same sum n: sum c^2 / (n p) - n; inf where a state of p = 0 was counted."""
    n, possible = counts[0].sum(), p > 0
    found = (counts[:, possible] ** 2 / (n * p[possible])).sum(axis=1) - n
    found[counts[:, ~possible].any(axis=1)] = np.inf
    return found


# The discrete kernel Stein discrepancy, by ratios of the probabilities of neighbouring states.


class DKSDTest(StateTest):
    """U = s.s' k - s.D'k - s'.Dk + tr DD'k with k = exp(-H / (d h)), H the number of coordinates that differ.

    s_i(z) = 1 - p(z with coordinate i at its next value) / p(z), and D_i f(z) = f(z) - f(z with it at the one before),
    in the cyclic order of the values; of two values both are the flip.
    """

    name = "dksd"
    title = "Discrete KSD"
    about = "Discrete kernel Stein discrepancy, by ratios of the probabilities of states that differ in one coordinate."
    source = "Yang, Liu, Rao, Neville 2018"
    cost = (3e-8, 1.8e-9)

    def kernels(self, rng: np.random.Generator, target: Target, points: np.ndarray) -> Kernels:
        """The usual h is 1, as published: a median of so few distances jumps."""
        codes, scores = codes_of(target.space, points), 1 - neighbour_ratios(target, points)
        return Kernels(1.0, lambda h: dksd_kernel(codes, scores, len(target.space.values), h))


def dksd_kernel(codes: np.ndarray, scores: np.ndarray, num_values: int, h: float) -> np.ndarray:
    """U (n, n) of states with `codes` (n, d) and `scores` s (n, d)."""
    d, differ = codes.shape[1], 1.0 - np.eye(num_values)
    second, both = difference_tables(num_values, d * h)
    along = pair_sums(codes, second, scores)
    inside = np.einsum("ik,jk->ij", scores, scores) - along - along.T + pair_sums(codes, both)
    return np.exp(-pair_sums(codes, differ) / (d * h)) * inside


def difference_tables(num_values: int, width: float) -> tuple[np.ndarray, np.ndarray]:
    """D'_i k / k and D_i D'_i k / k, (K, K) each, by the two values of coordinate i."""
    k = np.exp(-(1.0 - np.eye(num_values)) / width)
    one, other = np.roll(k, 1, axis=0), np.roll(k, 1, axis=1)  # the value before, of z and of z'
    return 1 - other / k, (k - one - other + np.roll(one, 1, axis=1)) / k


# The gradient-free kernel Stein discrepancy on discrete states, with a latent point drawn for each of them.


class GFKSDTest(StateTest):
    """U_ij = w_i kappa(x_i, x_j) w_j with kappa that of the surrogate rho = p0 = N(0, I), and w = 1 / p(z).

    x given z is p0 in the quantile bin of each coordinate's value: p_c(x) proportional to p0(x) p(Gamma(x)) then has
    rho / p_c = 1 / p(z), and is the law of x where z comes from p.
    """

    name = "gf_ksd"
    title = "GF-KSD"
    about = "Gradient-free kernel Stein discrepancy: a latent point is drawn for every state, and weighted by 1/p."
    source = "Han 2019 (thesis), Algorithm 10, with u divided by n in the bootstrap"
    cost = (3e-8, 1.2e-9)

    def kernels(self, rng: np.random.Generator, target: Target, points: np.ndarray) -> Kernels:
        """Of latent points."""
        latent = latent_of(rng, target.space, points)
        weights, scores = self.surrogate(target, points, latent)
        return Kernels(median_square(latent), lambda h: gf_kernel(latent, weights, h, scores))

    def surrogate(self, target: Target, points: np.ndarray, latent: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """w = rho / p_c (n,), of mean 1, and grad log rho (n, d) at latent points (n, d) of states (n, d)."""
        return inverse_weights(log_p(target, points)), -latent

    def mean_under(self, target: Target, h: float) -> float:
        """The same with x given z integrated out by quadrature, of one coordinate. Raises InputError for more."""
        states, p = enumerated(target)
        if target.dim > 1:
            raise InputError(f"latent points are integrated out in one dimension; target {target.name!r} has more")
        x, mass, bins = nodes_of(len(states), h)
        place = np.argsort(states[:, 0])[bins]
        weights, scores = self.surrogate(target, states[place], x[:, None])
        matrix = gf_kernel(x[:, None], weights, h, scores)
        shares = p[place] * mass
        return float(np.einsum("i,ij,j->", shares, matrix, shares) / np.abs(matrix).max())


class PrintedGFKSDTest(GFKSDTest):
    """The bootstrap as printed, (0.127) and Algorithm 10: u ~ Multinomial(n, 1/n) is not divided by n."""

    name = "gf_ksd_printed"
    title = "GF-KSD, bootstrap as printed"
    about = "The same with the bootstrap as printed, whose counts are not divided by n: it never rejects."
    source = "Han 2019 (thesis), Algorithm 10 and (0.127)"

    def contrasts(self, rng: np.random.Generator, n: int, draws: int) -> Contrasts:
        """Counts minus 1/n."""
        return bootstrap_contrasts(rng, n, draws, divided=False)


class SurrogateGFKSDTest(GFKSDTest):
    """The same with rho(x) = p0(x) p~(F(x)) and w = p~(F(x)) / p(z), F the distribution function of p0.

    p~ is the target's `log_relaxed`, whose coordinates go from the lowest value to the highest as F goes from 0 to 1.
    """

    name = "gf_ksd_surrogate"
    title = "GF-KSD, smooth surrogate"
    about = "The same with the target's smooth density in the surrogate: each latent point is weighted by p̃/p."
    source = "Han 2019 (thesis), (0.124) to (0.126), with u divided by n in the bootstrap"

    def missing_in(self, target: Target) -> str:
        """States, and a density between them."""
        if missing := super().missing_in(target):
            return missing
        return "" if "relaxation" in target.offers else "a smooth density between the states"

    def surrogate(self, target: Target, points: np.ndarray, latent: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """log w = log p~ - log p; the score is -x + F'(x) grad log p~, by the chain rule."""
        low, high = min(target.space.values), max(target.space.values)
        slope = (high - low) * np.exp(-0.5 * latent**2) / np.sqrt(2 * np.pi)
        values, gradient = target.log_relaxed_and_gradient(low + (high - low) * normal_cdf(latent))
        return inverse_weights(log_p(target, points) - values), slope * gradient - latent


def gf_kernel(latent: np.ndarray, weights: np.ndarray, h: float, scores: np.ndarray | None = None) -> np.ndarray:
    """w_i kappa(x_i, x_j) w_j (n, n) for latent points (n, d), weights (n,) and scores (n, d); of p0 they are -x."""
    return np.outer(weights, weights) * stein_matrix(latent, -latent if scores is None else scores, h)


def latent_of(rng: np.random.Generator, space: Discrete, points: np.ndarray) -> np.ndarray:
    """x (n, d) with Gamma(x) = z: Phi^-1 of a uniform point of [k/K, (k + 1)/K), k the place of the value."""
    shares = (codes_of(space, points) + rng.random(points.shape)) / len(space.values)
    inside = np.clip(shares, 1e-300, 1 - 1e-16)
    return np.array([*map(NormalDist().inv_cdf, inside.ravel())]).reshape(points.shape)


# The gradient-free kernel Stein discrepancy with the latent points integrated out: none is drawn.

LEAST, SHARE = 2.0, 0.125  # of h: E|x - y|^2 of one coordinate under p0; of 2 d, that of all (best on 9 and 16 spins)


class RaoBlackwellTest(StateTest):
    """U_ij = E(w_i kappa(x_i, x_j) w_j | z_i, z_j), by `integrated_kernel`."""

    name = "gf_ksd_rao_blackwell"
    title = "GF-KSD, latent points integrated out"
    about = "Gradient-free kernel Stein discrepancy with its mean over the latent points in place of one draw of them."
    source = "ours, from Han 2019 (thesis), Algorithm 10"
    cost = (3e-8, 8e-10)

    def kernels(self, rng: np.random.Generator, target: Target, points: np.ndarray) -> Kernels:
        """Of states alone."""
        codes, weights = codes_of(target.space, points), inverse_weights(log_p(target, points))
        return Kernels(
            max(LEAST, SHARE * 2 * target.dim), lambda h: integrated_kernel(codes, weights, len(target.space.values), h)
        )


# The kernel Stein discrepancy, by the gradient of the log density.


class KSDTest(KernelTest):
    """U = kappa_p of the points, with k(x, y) = exp(-|x - y|^2 / h), h in squared prior sds."""

    name = "ksd"
    title = "KSD"
    about = "Kernel Stein discrepancy of the points, by the gradient of log p; no normalising constant is needed."
    source = "Liu, Lee, Jordan 2016; Chwialkowski, Strathmann, Gretton 2016"
    cost = (3e-8, 1e-9)

    def missing_in(self, target: Target) -> str:
        """A score on real coordinates."""
        fits = {"reals", "gradient"} <= target.offers
        return "" if fits else "real coordinates and a gradient of the log density"

    def kernels(self, rng: np.random.Generator, target: Target, points: np.ndarray) -> Kernels:
        """In prior sds, in which coordinates of different units can be compared."""
        scaled = points / target.scale
        scores = checked_gradient(target, points, target.data_rows) * target.scale
        return Kernels(median_square(scaled), lambda h: stein_matrix(scaled, scores, h))


# Classical tests by the distribution functions of a target's coordinates: Kolmogorov-Smirnov and Anderson-Darling.

NODES = 20_001  # at which a distribution function is tabulated
PER_VALUE = 2e-7  # seconds: of drawing, looking up and sorting a coordinate
OFF = 1e-3  # of the mass of a marginal on its box, above which it is refused


class MarginalTest(FitTest):
    """The largest statistic of any coordinate, of u = F_k(x_k), and the same of exact draws: the level is kept.

    F_k is the integral of coordinate k's exact density, tabulated on the box that holds all but 1e-9 of the mass.
    """

    has_bandwidth = False

    def missing_in(self, target: Target) -> str:
        """An exact posterior of one coordinate, or one whose marginals are known."""
        known = "reals" in target.offers and target.exact is not None
        if known and (target.dim == 1 or hasattr(target.exact, "marginal_log_density")):
            return ""
        return "real coordinates whose exact distribution functions are known"

    def seconds(self, target: Target, n: int, draws: int, kernels: int) -> float:
        """As many exact samples as there are draws."""
        return FIXED + PER_VALUE * (n * draws + NODES) * target.dim

    def compare(
        self, rng: np.random.Generator, target: Target, points: np.ndarray, draws: int, bandwidth: str | float
    ) -> Compared:
        """Of the points, then of exact draws."""
        tables = [distribution(target, k) for k in range(target.dim)]

        def statistic(sample: np.ndarray) -> float:
            u = np.stack([np.interp(x, *table) for x, table in zip(sample.T, tables, strict=True)], axis=1)
            return float(self.statistics(np.sort(u, axis=0)).max())

        samples = (points, *(target.exact.sample(rng, len(points)) for _ in range(draws)))
        return Compared(np.array([statistic(sample) for sample in samples]))

    def statistics(self, u: np.ndarray) -> np.ndarray:
        """Of each column of u (n, d), ascending in [0, 1], (d,)."""
        raise NotImplementedError


class KolmogorovSmirnovTest(MarginalTest):
    """sup |F_n - F|."""

    name = "kolmogorov_smirnov"
    title = "Kolmogorov-Smirnov"
    about = "The largest distance of the sample's distribution function from the exact one, over all coordinates."
    source = "Kolmogorov 1933, Smirnov 1948; simulated as in Hope 1968"

    def statistics(self, u: np.ndarray) -> np.ndarray:
        """max_i max(i/n - u_i, u_i - (i - 1)/n)."""
        steps = np.arange(len(u) + 1)[:, None] / len(u)
        return np.maximum(steps[1:] - u, u - steps[:-1]).max(axis=0)


class AndersonDarlingTest(MarginalTest):
    """n times the integral of (F_n - F)^2 / (F (1 - F)) dF: tails count more than with Kolmogorov-Smirnov."""

    name = "anderson_darling"
    title = "Anderson-Darling"
    about = "Squared distance of distribution functions with more weight on the tails; the largest of any coordinate."
    source = "Anderson, Darling 1954; simulated as in Hope 1968"

    def statistics(self, u: np.ndarray) -> np.ndarray:
        """-n - (1/n) sum_i (2 i - 1) (log u_i + log(1 - u_(n + 1 - i)))."""
        n, inside = len(u), np.clip(u, 1e-12, 1 - 1e-12)
        odd = 2 * np.arange(n)[:, None] + 1
        return -n - (odd * (np.log(inside) + np.log1p(-inside[::-1]))).mean(axis=0)


def distribution(target: Target, k: int) -> tuple[np.ndarray, np.ndarray]:
    """Nodes (NODES,) and F_k there. Raises InputError where the density on the box does not have mass 1."""
    exact = target.exact
    nodes = np.linspace(*exact.box[k], NODES)
    log_density = exact.log_density if target.dim == 1 else exact.marginal_log_density([k])
    p = np.exp(log_density(nodes[:, None]))
    found = np.append(0.0, np.cumsum(0.5 * (p[1:] + p[:-1]) * np.diff(nodes)))
    if not abs(found[-1] - 1) < OFF:
        raise InputError(f"the density of coordinate {k + 1} of target {target.name!r} has mass {found[-1]:.4g}, not 1")
    return nodes, found / found[-1]


# The two-sample test against exact draws of the target, by permutations.


class MMDTest(KernelTest):
    """MMD^2, unbiased, of the points and as many reference draws; which is which is permuted.

    k = exp(-|x - y|^2 / h) on real coordinates, in prior sds, and exp(-H / (d h)) on states. The median is that of the
    pooled points, which no permutation changes: the test is exact.
    """

    name = "mmd"
    title = "MMD, two samples"
    about = "Maximum mean discrepancy between the points and as many exact draws of the target, by permutations."
    source = "Gretton et al. 2012; the kernel on states: Yang et al. 2018"
    cost = (1.2e-7, 1e-9)  # (2 n)^2 pairs

    def missing_in(self, target: Target) -> str:
        """Draws."""
        known = isinstance(target.space, (Reals, Discrete)) and target.reference() is not None
        return "" if known else "exact draws, or a reference that can be drawn from,"

    def kernels(self, rng: np.random.Generator, target: Target, points: np.ndarray) -> Kernels:
        """Of the points, and then of reference draws."""
        pool = reference_draws(target, BIN_DRAWS)
        pooled = np.concatenate([points, pool[rng.choice(len(pool), size=len(points), replace=False)]])
        if isinstance(target.space, Discrete):
            share = differing(pooled, pooled, target.space.values)
            return Kernels(1.0, lambda h: np.exp(-share / h))
        scaled = pooled / target.scale
        squared = squared_distances(scaled, scaled)
        return Kernels(median_square(scaled), lambda h: np.exp(-squared / h))

    def contrasts(self, rng: np.random.Generator, n: int, draws: int) -> Contrasts:
        """Signs."""
        return permutation_contrasts(rng, n, draws)

    def caveat(self, matrix: np.ndarray) -> str:
        """Permutations are exact."""
        return ""

    def statistics(self, contrasts: Contrasts, matrix: np.ndarray) -> np.ndarray:
        """W / (n (n-1)) - X / n^2 with W and X the kernel's sums within and between: W - X is the quadratic form."""
        n = len(matrix) // 2
        difference, total = quadratic_forms(contrasts, matrix), matrix.sum() - np.trace(matrix)
        return 0.5 * (total + difference) / (n * (n - 1)) - 0.5 * (total - difference) / n**2


for _name in sorted(FIT_TESTS):
    FIT_TESTS[_name] = FIT_TESTS.pop(_name)
