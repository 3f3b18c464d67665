"""Classical tests by the distribution functions of a target's coordinates: Kolmogorov-Smirnov and Anderson-Darling."""

from __future__ import annotations

import numpy as np

from pmdviz.errors import InputError
from pmdviz.experiments.goodness_of_fit.base import FIXED, Compared, FitTest
from pmdviz.targets import Target

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
