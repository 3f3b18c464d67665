"""The gradient-free kernel Stein discrepancy on discrete states, with a latent point drawn for each of them."""

from __future__ import annotations

from statistics import NormalDist

import numpy as np

from pmdviz.errors import InputError
from pmdviz.experiments.goodness_of_fit.base import Kernels, StateTest
from pmdviz.experiments.goodness_of_fit.bootstrap import Contrasts, bootstrap_contrasts
from pmdviz.experiments.goodness_of_fit.integrated_kernel import nodes_of
from pmdviz.experiments.goodness_of_fit.states import codes_of, enumerated, inverse_weights
from pmdviz.experiments.goodness_of_fit.widths import median_square
from pmdviz.kernels.stein.black_box import stein_matrix
from pmdviz.targets import Target
from pmdviz.targets.space import Discrete


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
        latent, weights = latent_of(rng, target.space, points), inverse_weights(target, points)
        return Kernels(median_square(latent), lambda h: gf_kernel(latent, weights, h))

    def mean_under(self, target: Target, h: float) -> float:
        """The same with x given z integrated out by quadrature, of one coordinate. Raises InputError for more."""
        states, p = enumerated(target)
        if target.dim > 1:
            raise InputError(f"latent points are integrated out in one dimension; target {target.name!r} has more")
        x, mass, bins = nodes_of(len(states), h)
        place = np.argsort(states[:, 0])[bins]
        matrix = gf_kernel(x[:, None], inverse_weights(target, states)[place], h)
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


def gf_kernel(latent: np.ndarray, weights: np.ndarray, h: float) -> np.ndarray:
    """w_i kappa(x_i, x_j) w_j (n, n) for latent points (n, d) and weights (n,)."""
    return np.outer(weights, weights) * stein_matrix(latent, -latent, h)


def latent_of(rng: np.random.Generator, space: Discrete, points: np.ndarray) -> np.ndarray:
    """x (n, d) with Gamma(x) = z: Phi^-1 of a uniform point of [k/K, (k + 1)/K), k the place of the value."""
    shares = (codes_of(space, points) + rng.random(points.shape)) / len(space.values)
    inside = np.clip(shares, 1e-300, 1 - 1e-16)
    return np.array([*map(NormalDist().inv_cdf, inside.ravel())]).reshape(points.shape)
