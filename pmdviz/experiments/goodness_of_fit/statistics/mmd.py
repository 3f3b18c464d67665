"""The two-sample test against exact draws of the target, by permutations."""

from __future__ import annotations

import numpy as np

from pmdviz.experiments.goodness_of_fit.base import Kernels, KernelTest
from pmdviz.experiments.goodness_of_fit.bootstrap import Contrasts, permutation_contrasts, quadratic_forms
from pmdviz.experiments.goodness_of_fit.widths import median_square
from pmdviz.metrics.draws import BIN_DRAWS, differing, reference_draws, squared_distances
from pmdviz.targets import Target
from pmdviz.targets.space import Discrete, Reals


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
