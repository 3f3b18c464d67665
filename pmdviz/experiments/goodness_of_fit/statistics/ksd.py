"""The kernel Stein discrepancy, by the gradient of the log density."""

from __future__ import annotations

import numpy as np

from pmdviz.experiments.goodness_of_fit.base import Kernels, KernelTest
from pmdviz.experiments.goodness_of_fit.widths import median_square
from pmdviz.kernels.stein.black_box import stein_matrix
from pmdviz.methods.base import checked_gradient
from pmdviz.targets import Target


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
