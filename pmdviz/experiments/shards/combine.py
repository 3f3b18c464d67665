"""Ways to make one posterior of draws of K subposteriors. Each gives a density q."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from pmdviz.densities.density import Density, GaussianMixture, effective_sample_size, normalise
from pmdviz.engine.recipe import Recipe
from pmdviz.engine.session import Session
from pmdviz.errors import InputError, shown
from pmdviz.experiments.aggregation.mixture import Mixture
from pmdviz.experiments.aggregation.models import GMM, Model, fit_by_bic
from pmdviz.methods import METHODS
from pmdviz.methods.shared.smoothing import SmoothingKnobs, smoothed
from pmdviz.targets.base import GaussianPrior, Target
from pmdviz.targets.custom import CustomTarget
from pmdviz.targets.linear import Linear
from pmdviz.targets.reference.exact import GaussianExact

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


# How a machine draws from its subposterior.

Draw = Callable[[Target, int, int], np.ndarray]  # (target, how many n, seed) -> (n, d)


class Sampler(NamedTuple):
    """A way to n draws that all count alike."""

    title: str
    draw: Draw
    method: str = ""


def _exact(target: Target, n: int, seed: int) -> np.ndarray:
    return target.exact.sample(np.random.default_rng([seed, 2]), n)


def _by(method: str) -> Sampler:
    def draw(target: Target, n: int, seed: int) -> np.ndarray:
        """n draws of q at the end of a run with n particles, in random order: their parents come in that of particles.

        Without it averages of i-th draws are averages of draws from the same place, and not from independent ones.
        """
        rng, recipe = np.random.default_rng([seed, 2]), Recipe(target, method, seed=seed, num_particles=n)
        return rng.permutation(Session(recipe, metrics_every=10**9).advance(10**9).density.sample(rng, n))

    return Sampler(METHODS[method].title, draw, method)


SAMPLERS = {"exact": Sampler("iid draws", _exact), "pmd": _by("pmd"), "smc_mcmc": _by("smc_mcmc")}


# The subposterior of a shard: the prior to the power 1/K times the likelihood of the shard's rows.


class Subposterior(CustomTarget):
    """p(theta)^(1/K) prod over the shard's rows of p(row | theta), up to a constant; K of them multiply to the whole.

    The prior N(0, s^2 I) of the whole becomes N(0, K s^2 I): its density is p(theta / sqrt K) / K^(d/2) (Scott et al.
    2016, section 3.1).

    Parameters
    ----------
    whole : Target
        With a Gaussian prior around 0.
    rows : array (n, ...)
        Of its data.
    count : int
        K, the number of shards.

    Raises
    ------
    InputError
        Where there are no data, or the prior is not a Gaussian around 0.
    """

    def __init__(self, whole: Target, rows: np.ndarray, count: int) -> None:
        if whole.data is None:
            raise InputError(f"target {whole.name!r} has no data to share out")
        if not isinstance(whole, GaussianPrior):
            raise InputError(f"the prior must be a Gaussian around 0; target {whole.name!r} has another one")
        self.whole, self.count = whole, count
        wider, constant = np.sqrt(count), 0.5 * whole.dim * np.log(count)
        gradients: dict[str, Any] = {}
        if "gradient" in whole.offers:
            gradients["grad_log_prior"] = lambda theta: whole.grad_log_prior(theta / wider) / wider
            gradients["grad_log_likelihood"] = lambda theta, rows: _gradient(whole, theta, rows)
        super().__init__(
            log_prior=lambda theta: whole.log_prior(theta / wider) - constant,
            log_likelihood=whole.log_likelihood,
            sample_prior=lambda rng, n: wider * whole.sample_prior(rng, n),
            data=rows,
            dim=whole.dim,
            name=f"shard_of_{whole.name}",
            **gradients,
        )

    def make_exact(self) -> Any:
        """In closed form where the whole is linear regression; elsewhere by a grid sum in the plane."""
        if not isinstance(self.whole, Linear):
            return super().make_exact()
        x, y, variance = self.data_rows[:, :-1], self.data_rows[:, -1], self.whole.sigma_y**2
        precision = np.eye(self.dim) / (self.count * self.whole.prior_sd**2) + x.T @ x / variance
        return GaussianExact(np.linalg.solve(precision, x.T @ y / variance), np.linalg.inv(precision))


def _gradient(whole: Target, theta: np.ndarray, rows: np.ndarray) -> np.ndarray:
    """Of the sum of log p(row | theta) over the rows alone: without the prior, and without the factor N / B."""
    both = whole.grad_log_joint(theta, rows) - whole.grad_log_prior(theta)
    return both * len(rows) / whole.num_data


def shards_of(whole: Target, count: int, seed: int) -> list[Subposterior]:
    """Subposteriors on `count` shards of the data in a random order, of as equal sizes as can be. Raises InputError."""
    if not 1 <= count <= whole.num_data:
        raise InputError(f"there are {whole.num_data:,} data for {shown(count)} shards; give at least one to each")
    order = np.random.default_rng([seed, 1]).permutation(whole.num_data)
    return [Subposterior(whole, whole.data_rows[np.sort(rows)], count) for rows in np.array_split(order, count)]
