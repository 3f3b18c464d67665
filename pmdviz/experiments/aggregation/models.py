"""The models that machines can fit: mixtures of one or several Gaussians and of PPCAs."""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from pmdviz.errors import InputError
from pmdviz.experiments.aggregation.mixture import (
    MOST_STEPS,
    Coordinates,
    Covariances,
    Fit,
    Full,
    LowRank,
    Mixture,
    beginning,
    log_joint,
    log_sum,
    maximise,
    sample,
)

NEAREST, FARTHEST = 4.0, 5.0  # distance of two centres of a true mixture, and the first radius to draw them in


class Model:
    """A mixture of `components` Gaussians in `dim` dimensions, whose covariances are of one family.

    It has no state: every function is given the parameters.
    """

    name: ClassVar[str]
    title: ClassVar[str]
    mixed: ClassVar[bool] = False  # whether there may be several components
    low_rank: ClassVar[bool] = False  # whether there is a latent dimension

    def __init__(self, dim: int, components: int = 1, latent: int = 1) -> None:
        self.dim, self.components = dim, components if self.mixed else 1
        self.covariances: Covariances = self.family(dim, latent)

    @staticmethod
    def family(dim: int, latent: int) -> Covariances:
        """The family of covariances."""
        raise NotImplementedError

    @property
    def closed_form(self) -> bool:
        """Whether the most likely parameters depend on the points by mean and covariance alone."""
        return self.components == 1

    @property
    def ambiguous(self) -> bool:
        """Whether different parameters are the same density."""
        return self.components > 1 or self.covariances.ambiguous

    def num_params(self, components: int | None = None) -> int:
        """Free numbers of a model of so many components."""
        c = components or self.components
        return c - 1 + c * (self.dim + self.covariances.num_params)

    def fit(
        self,
        points: np.ndarray,
        log_weights: np.ndarray | None = None,
        start: Mixture | None = None,
        rng: np.random.Generator | None = None,
        most_steps: int = MOST_STEPS,
    ) -> Fit:
        """Most likely parameters for points (n, d), each counted exp(log_weights) (n,) times; their sum says nothing.

        EM goes on from `start`, with as many components as it has, or from the best of several beginnings of `rng`.
        Raises InputError where no weight is positive.
        """
        weights = normalised(np.zeros(len(points)) if log_weights is None else log_weights)
        if start is None:
            start = beginning(points, weights, self.components, self.covariances, rng or np.random.default_rng(0))
        return maximise(points, weights, start, self.covariances, most_steps)

    def of_moments(self, mean: np.ndarray, second: np.ndarray) -> Mixture:
        """The one component that is most likely for a distribution of mean E x (d,) and E xx' (d, d)."""
        cov, _ = self.covariances.fitted(second - np.outer(mean, mean), 0.0)
        return Mixture(np.ones(1), mean[None], cov[None])

    def log_density(self, points: np.ndarray, params: Mixture) -> np.ndarray:
        """log p(x), (n,), in nats."""
        return log_sum(log_joint(points, params))

    def sample(self, params: Mixture, rng: np.random.Generator, n: int) -> np.ndarray:
        """Independent draws (n, d)."""
        return sample(params, rng, n)

    def coordinates(self, near: Mixture) -> Coordinates:
        """Coordinates of parameters near some."""
        return Coordinates(self.covariances, near)

    def truth(self, rng: np.random.Generator) -> Mixture:
        """Parameters to draw data from, the centres of several components at least NEAREST apart."""
        c, d = self.components, self.dim
        means = _apart(rng, c, d) if c > 1 else rng.standard_normal((1, d))
        shares = rng.uniform(1.0, 2.0, c)
        return Mixture(shares / shares.sum(), means, np.array([self.covariances.drawn(rng) for _ in range(c)]))


def normalised(log_weights: np.ndarray) -> np.ndarray:
    """Weights of sum 1. Raises InputError where none is positive or one is not a number."""
    top = log_weights.max()
    if not np.isfinite(top):
        raise InputError("log weights must be numbers, and one of them finite")
    weights = np.exp(log_weights - top)
    return weights / weights.sum()


def _apart(rng: np.random.Generator, c: int, d: int) -> np.ndarray:
    """Centres (c, d), none nearer to another than NEAREST, in a ball that grows until they fit."""
    radius, found = FARTHEST, np.empty((0, d))
    while len(found) < c:
        direction = rng.standard_normal(d)
        centre = direction / np.linalg.norm(direction) * radius * rng.uniform() ** (1 / d)
        if len(found) == 0 or np.linalg.norm(found - centre, axis=1).min() >= NEAREST:
            found = np.vstack([found, centre])
        radius *= 1.01
    return found


# How many components the points ask for, by the Bayesian information criterion.

PATIENCE = 2  # more components are no longer tried after so many in succession that were no better
SHORT = 60  # steps of EM in the comparison


def fit_by_bic(models: list[Model], points: np.ndarray, rng: np.random.Generator) -> Fit:
    """The fit of the model with the least BIC = p log n - 2 log L; `models` have more and more components.

    EM is short for the comparison, as components too many settle slowly, and goes on to its end for the chosen one.
    """
    best, chosen, least, worse = None, None, np.inf, 0
    for model in models:
        found = model.fit(points, rng=rng, most_steps=SHORT)
        value = bic(model, points, found)
        worse = 0 if value < least else worse + 1
        if value < least:
            best, chosen, least = found, model, value
        if worse == PATIENCE:
            break
    return chosen.fit(points, start=best.params)


def bic(model: Model, points: np.ndarray, fit: Fit) -> float:
    """p log n - 2 log L, in nats."""
    likelihood = model.log_density(points, fit.params).sum()
    return float(model.num_params(len(fit.params.shares)) * np.log(len(points)) - 2 * likelihood)


# One Gaussian: an exponential family, whose most likely parameters are the points' mean and covariance.


class Gaussian(Model):
    """N(m, C) with any covariance C."""

    name = "gaussian"
    title = "Gaussian"

    @staticmethod
    def family(dim: int, latent: int) -> Full:
        """Any covariance."""
        return Full(dim)


# A mixture of Gaussians, fitted by EM: its likelihood has many maxima, and its components no numbers of their own.


class GMM(Model):
    """sum_c share_c N(m_c, C_c) with any covariances C_c."""

    name = "gmm"
    title = "mixture of Gaussians"
    mixed = True

    @staticmethod
    def family(dim: int, latent: int) -> Full:
        """Any covariance."""
        return Full(dim)


# Probabilistic PCA, x = W z + m + noise with z ~ N(0, I): fitted in closed form (Tipping, Bishop 1999).


class PPCA(Model):
    """N(m, W W' + s2 I) with W (d, q)."""

    name = "ppca"
    title = "probabilistic PCA"
    low_rank = True

    @staticmethod
    def family(dim: int, latent: int) -> LowRank:
        """q directions and noise."""
        return LowRank(dim, latent)


# A mixture of probabilistic PCAs, fitted by EM (Tipping, Bishop 1999, "Mixtures of probabilistic PCA").


class MixturePPCA(Model):
    """sum_c share_c N(m_c, W_c W_c' + s2_c I) with W_c (d, q)."""

    name = "mixture_ppca"
    title = "mixture of probabilistic PCAs"
    mixed, low_rank = True, True

    @staticmethod
    def family(dim: int, latent: int) -> LowRank:
        """q directions and noise."""
        return LowRank(dim, latent)


# The models that machines can fit: mixtures of one or several Gaussians, a file each.

MODELS: dict[str, type[Model]] = {model.name: model for model in (Gaussian, PPCA, MixturePPCA, GMM)}

__all__ = ["MODELS", "Model"]
