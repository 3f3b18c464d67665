"""Ways to make one posterior of draws of K subposteriors. Each gives a density q."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np

from pmdviz.densities.density import Density, GaussianMixture, effective_sample_size, normalise
from pmdviz.experiments.aggregation.models.base import Model
from pmdviz.experiments.aggregation.models.gmm import GMM
from pmdviz.experiments.aggregation.models.mixture import Mixture
from pmdviz.experiments.aggregation.models.selection import fit_by_bic
from pmdviz.methods.shared.smoothing import SmoothingKnobs, smoothed

MOST_COMPONENTS = 4  # of a machine's model, chosen by BIC
ROUNDS = 4  # of draws and fits


class Combined(NamedTuple):
    """An approximation of the posterior, and what must be known of it, in words, or ""."""

    density: Density
    note: str = ""


def gaussian_product(parts: Sequence[np.ndarray], scale: np.ndarray, rng: np.random.Generator) -> Combined:
    """N(m, C) with C^-1 = sum_k C_k^-1 and C^-1 m = sum_k C_k^-1 m_k, from the moments of draws (n, d) of each part.

    Exact for Gaussian subposteriors (Scott et al. 2016, section 3.1; Neiswanger, Wang, Xing 2014, section 3.1).
    """
    means, precisions = _moments(parts)
    cov = np.linalg.inv(precisions.sum(axis=0))
    mean = cov @ np.einsum("kij,kj->i", precisions, means)
    return Combined(GaussianMixture(mean[None], np.zeros(1), np.linalg.cholesky(cov)[None]))


def consensus(parts: Sequence[np.ndarray], scale: np.ndarray, rng: np.random.Generator) -> Combined:
    """A KDE of the averages theta_i = (sum_k W_k)^-1 sum_k W_k theta_ki, W_k = C_k^-1 (Scott et al. 2016, section 3).

    The i-th draws of all parts are averaged. For Gaussian subposteriors they are draws of the posterior.
    """
    _, precisions = _moments(parts)
    total = np.einsum("kij,knj->ni", precisions, np.stack(parts))
    return kernel_density(np.linalg.solve(precisions.sum(axis=0), total.T).T, scale)


def kl_weighted(parts: Sequence[np.ndarray], scale: np.ndarray, rng: np.random.Generator) -> Combined:
    """The mixture of Gaussians nearest to the product of the machines' mixtures q_k: argmax E_{prod q_k} log p(x).

    A machine fits a mixture to its draws, with as many components as BIC says. Points are drawn from the pool
    (1/K) sum_k q_k, and the mixture is fitted to them by EM with weights prod_k q_k over what they were drawn from;
    then half of the points come from this fit, and again. That is the weighted fit to pooled points by which Han 2019
    (Algorithm 12) averages models, with other weights: those of the algorithm lead to the average of the K
    subposteriors, which is too wide for their product. It has as many components as the largest of the q_k.
    """
    dim = parts[0].shape[1]
    ladder = [GMM(dim, components) for components in range(1, MOST_COMPONENTS + 1)]
    fits = [fit_by_bic(ladder, part, rng).params for part in parts]
    model = ladder[max(len(fit.shares) for fit in fits) - 1]
    current, n = None, len(parts[0])
    for _ in range(ROUNDS):
        points, log_weights = _weighted_points(model, fits, current, rng, n)
        current = model.fit(points, log_weights, start=current, rng=rng).params
    return Combined(_density(current), _trust(log_weights, model.num_params()))


def _weighted_points(
    model: Model, fits: list[Mixture], current: Mixture | None, rng: np.random.Generator, n: int
) -> tuple[np.ndarray, np.ndarray]:
    """Points (2 n, d) from the pool, or half of them from the current fit, and the log weights of the product."""
    share = n * 2 if current is None else n
    which = np.bincount(rng.integers(len(fits), size=share), minlength=len(fits))
    drawn = [model.sample(fit, rng, int(count)) for fit, count in zip(fits, which, strict=True)]
    if current is not None:
        drawn.append(model.sample(current, rng, n))
    points = np.concatenate(drawn)
    each = np.stack([model.log_density(points, fit) for fit in fits])
    proposal = np.logaddexp.reduce(each, axis=0) - np.log(len(fits))
    if current is not None:
        proposal = np.logaddexp(proposal, model.log_density(points, current)) - np.log(2)
    return points, each.sum(axis=0) - proposal


def _trust(log_weights: np.ndarray, num_params: int) -> str:
    """Words where fewer weighted points decide than there are numbers to fit, times five."""
    ess = effective_sample_size(normalise(log_weights))
    return f"{ess:.0f} effective points: too few to fit {num_params} numbers to" if ess < 5 * num_params else ""


def kernel_density(draws: np.ndarray, scale: np.ndarray) -> Combined:
    """A KDE of draws (n, d) that all count alike, with the kernel that methods have by default."""
    log_weights = np.full(len(draws), -np.log(len(draws)))
    return Combined(smoothed(draws, log_weights, SmoothingKnobs.defaults(), scale))


def _density(mixture: Mixture) -> GaussianMixture:
    with np.errstate(divide="ignore"):
        return GaussianMixture(mixture.means, np.log(mixture.shares), np.linalg.cholesky(mixture.covs))


def _moments(parts: Sequence[np.ndarray]) -> tuple[np.ndarray, np.ndarray]:
    """Means (K, d) and inverse covariances (K, d, d)."""
    return np.stack([part.mean(axis=0) for part in parts]), np.stack([np.linalg.inv(np.cov(p.T)) for p in parts])


class Combiner(NamedTuple):
    """An entry of COMBINERS: its words, and what it does with the draws, the prior's sds and a generator."""

    title: str
    combine: Callable[[Sequence[np.ndarray], np.ndarray, np.random.Generator], Combined]


COMBINERS = {
    "product": Combiner("product of Gaussians", gaussian_product),
    "consensus": Combiner("weighted averages of draws", consensus),
    "kl_weighted": Combiner("product of mixtures, KL-weighted", kl_weighted),
}
