"""Weights whose prior variances are unknown too: what particle mean-field VB for nets asks of a target."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np


class InverseGamma(NamedTuple):
    """p(v) proportional to v^(-shape - 1) e^(-rate / v): E 1/v = shape / rate, and rate has the unit of v."""

    shape: float
    rate: float


class InLatentScales:
    """Mix-in of a target that declares "latent_scales": w_j ~ N(0, tau_j), tau_j ~ `scale_prior`.

    theta is the weights, the first `num_weights` coordinates, and in a regression the log of the noise variance s2 ~
    `noise_prior`, the last one; tau is integrated out of the target's own prior. In such a model the best factors q of
    tau and s2 are inverse gamma too, given the weights' (Eq. 37-38 of Tran, Tseng, Kohn 2023).
    """

    num_weights: int
    scale_prior: InverseGamma
    noise_prior: InverseGamma | None  # None where there is no noise variance, as in classification

    def first_weights(self, rng: np.random.Generator, n: int) -> np.ndarray:
        """n draws (n, d_w) of weights to begin with: of a size at which signals pass through all layers."""
        raise NotImplementedError

    def weight_gradient(
        self, weights: np.ndarray, batch: np.ndarray, precision: float
    ) -> tuple[np.ndarray, np.ndarray]:
        """N/B sum over the batch of grad log p(row | w, s2) with 1 / s2 = precision, (m, d_w), and of the misfit, (m,).

        The misfit is the squared error that s2 is the mean of; of a target without noise it is the log likelihood,
        and the precision is not looked at.
        """
        raise NotImplementedError

    def with_noise(self, weights: np.ndarray, variances: np.ndarray) -> np.ndarray:
        """theta (m, d) of weights (m, d_w) and noise variances (m,), which a target without noise leaves out."""
        raise NotImplementedError

    def validation_score(self, weights: np.ndarray, variance: float) -> float:
        """Mean over the validation rows of -log p(y | x, w, s2) of one net (d_w,), in nats; lower is better."""
        raise NotImplementedError

    @property
    def flat_score(self) -> float:
        """The same of the best constant prediction: what a net that has learnt nothing gets."""
        raise NotImplementedError
