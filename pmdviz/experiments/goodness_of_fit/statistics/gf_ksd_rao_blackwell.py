"""The gradient-free kernel Stein discrepancy with the latent points integrated out: none is drawn."""

from __future__ import annotations

import numpy as np

from pmdviz.experiments.goodness_of_fit.base import Kernels, StateTest
from pmdviz.experiments.goodness_of_fit.integrated_kernel import integrated_kernel
from pmdviz.experiments.goodness_of_fit.states import codes_of, inverse_weights, log_p
from pmdviz.targets import Target

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
