"""The gradient-free kernel Stein discrepancy on discrete states, with a latent point drawn for each of them."""

from __future__ import annotations

from statistics import NormalDist

import numpy as np

from pmdviz.errors import InputError
from pmdviz.experiments.goodness_of_fit.base import Kernels, StateTest
from pmdviz.experiments.goodness_of_fit.bootstrap import Contrasts, bootstrap_contrasts
from pmdviz.experiments.goodness_of_fit.integrated_kernel import nodes_of
from pmdviz.experiments.goodness_of_fit.states import codes_of, enumerated, inverse_weights, log_p
from pmdviz.experiments.goodness_of_fit.widths import median_square
from pmdviz.kernels.stein.black_box import stein_matrix
from pmdviz.targets import Target
from pmdviz.targets.reference.gaussian_mixture import normal_cdf
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
