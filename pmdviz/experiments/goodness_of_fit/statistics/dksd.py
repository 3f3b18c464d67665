"""The discrete kernel Stein discrepancy, by ratios of the probabilities of neighbouring states."""

from __future__ import annotations

import numpy as np

from pmdviz.experiments.goodness_of_fit.base import Kernels, StateTest
from pmdviz.experiments.goodness_of_fit.states import codes_of, neighbour_ratios, pair_sums
from pmdviz.targets import Target


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
