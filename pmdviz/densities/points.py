"""Weighted points as an approximation: of discrete states, where there is no density to speak of."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar

import numpy as np

from pmdviz.densities.density import weighted_sum
from pmdviz.kernels.resampling import systematic


@dataclass(frozen=True, eq=False)
class Points:
    """sum_i w_i delta(theta_i).

    Attributes
    ----------
    particles : array (m, d)
    log_weights : array (m,), logsumexp 0
    """

    particles: np.ndarray
    log_weights: np.ndarray
    few: ClassVar[bool] = False  # states have no shape

    @cached_property
    def weights(self) -> np.ndarray:
        """Weights (m,), sum 1."""
        return np.exp(self.log_weights)

    @cached_property
    def mean(self) -> np.ndarray:
        """E theta, (d,)."""
        return weighted_sum(self.weights, self.particles)

    @cached_property
    def cov(self) -> np.ndarray:
        """Cov theta, (d, d)."""
        centred = self.particles - self.mean
        return np.einsum("m,mi,mj->ij", self.weights, centred, centred)  # not BLAS, whose bits depend on its threads

    def sample(self, rng: np.random.Generator, n: int) -> np.ndarray:
        """n of the points (n, d), by systematic resampling."""
        return self.particles[systematic(self.weights, n, rng.random())]
