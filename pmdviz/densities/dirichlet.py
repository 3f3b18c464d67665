"""Topics as weighted products of Dirichlet densities, one a topic."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar

import numpy as np

from pmdviz.densities.density import weighted_sum
from pmdviz.kernels.resampling import systematic

SMALLEST = 1e-300  # a drawn probability that would vanish


@dataclass(frozen=True, eq=False)
class DirichletMixture:
    """q(Φ) = sum_i w_i prod_k Dir(φ_k | natural_i[:, k]); a point is Φ (K, W) in one row.

    Attributes
    ----------
    natural : array (m, W, K)
    log_weights : array (m,), logsumexp 0
    """

    natural: np.ndarray
    log_weights: np.ndarray
    few: ClassVar[bool] = False

    @cached_property
    def weights(self) -> np.ndarray:
        """Weights (m,), sum 1."""
        return np.exp(self.log_weights)

    @cached_property
    def topics(self) -> np.ndarray:
        """Mean topics of each component, (m, W, K)."""
        return self.natural / self.natural.sum(axis=1, keepdims=True)

    @cached_property
    def particles(self) -> np.ndarray:
        """The same as points (m, K W)."""
        return np.ascontiguousarray(self.topics.transpose(0, 2, 1)).reshape(len(self.natural), -1)

    @property
    def mean(self) -> np.ndarray:
        """E Φ, (K W,)."""
        return weighted_sum(self.weights, self.particles)

    def log_density(self, points: np.ndarray) -> np.ndarray:
        """log q at points (n, K W) -> (n,), per unit of each topic's first W - 1 entries, in nats."""
        m, words, topics = self.natural.shape
        logs = np.log(np.maximum(points, SMALLEST)).reshape(len(points), topics, words)
        terms = np.einsum("nkw,mwk->nm", logs, self.natural - 1.0)
        log_gamma = np.vectorize(math.lgamma, otypes=[float])
        constants = (log_gamma(self.natural.sum(axis=1)) - log_gamma(self.natural).sum(axis=1)).sum(axis=1)
        return np.logaddexp.reduce(terms + constants + self.log_weights, axis=1)

    def sample(self, rng: np.random.Generator, n: int) -> np.ndarray:
        """n draws (n, K W): components by systematic resampling, and topics of each one's Dirichlet densities."""
        chosen = systematic(self.weights, n, rng.random())
        return dirichlet(rng, self.natural.transpose(0, 2, 1)[chosen]).reshape(n, -1)


def dirichlet(rng: np.random.Generator, parameters: np.ndarray) -> np.ndarray:
    """One draw for every vector of parameters (..., W), none of its entries below 1e-300.

    By logs: x = Γ(a + 1) U^(1/a) is Γ(a), and vanishes in floating point where a is small.
    """
    logs = np.log(rng.gamma(parameters + 1.0)) + np.log1p(-rng.random(parameters.shape)) / parameters
    drawn = np.maximum(np.exp(logs - logs.max(axis=-1, keepdims=True)), SMALLEST)
    return drawn / drawn.sum(axis=-1, keepdims=True)
