"""Bayesian linear regression in any dimension: the posterior is a Gaussian in closed form."""

from __future__ import annotations

import numpy as np

from pmdviz.kernels.likelihoods.linear import LinearModel, linear_grad_log_likelihood, linear_log_likelihood
from pmdviz.knobs import Knobs, Real, Whole
from pmdviz.targets.base import GaussianPrior, Target
from pmdviz.targets.options import data_points, data_seed, noise, prior_sd
from pmdviz.targets.reference.exact import GaussianExact
from pmdviz.targets.space import numbered

NUM_TEST = 1000  # rows held out


class LinearOptions(Knobs):
    """Options of `linear`."""

    kind_words = "option of target 'linear':"

    dim = Whole(8, bounds=(1, 200), label="Dimension d", acts="restart", doc="Number of regression weights.")
    num_data = data_points(500)
    sigma_y = noise(1.0, "Standard deviation of y around the line.", label="Noise sd of y", unit="units of y")
    correlation = Real(
        0.5,
        bounds=(0, 1),
        inclusive_bounds=(True, False),
        label="Correlation of features",
        acts="restart",
        doc="Correlation r of neighbouring features; features k and l have correlation r^|k-l|.",
    )
    prior_sd = prior_sd(bounds=(0.05, 100))
    data_seed = data_seed()


class Linear(GaussianPrior, Target):
    """y ~ N(x.w, sigma_y^2), w ~ N(0, prior_sd^2 I), features x ~ N(0, R) with R_kl = r^|k - l|.

    Posterior N(mean, S), S^-1 = I / prior_sd^2 + X'X / sigma_y^2, mean = S X'y / sigma_y^2; the true w is a draw of the
    prior. A row of the data is (x_1, ..., x_d, y).
    """

    name = "linear"
    title = "Linear regression (any dimension)"
    about = "Each y is a weighted sum of features plus Gaussian noise; the posterior of the weights is a Gaussian."
    source = "any textbook, such as Bishop 2006, section 3.3"
    Options = LinearOptions
    declared = frozenset({"gradient", "conditionals", "simulation", "predictive"})
    predicts = "number"

    def build(self) -> None:
        """Draw the true weights, features and y from `default_rng(data_seed)` alone."""
        o = self.options
        self.dim, self.prior_sd, self.parameter_names = o.dim, o.prior_sd, numbered("w", o.dim)
        self.sigma_y = float(o.sigma_y)
        rng = np.random.default_rng(o.data_seed)
        self.true_weights = o.prior_sd * rng.standard_normal(o.dim)
        self.data = self._simulate(rng, self.true_weights, o.num_data)
        self.test_data = self._simulate(rng, self.true_weights, NUM_TEST)
        self.prior_frame(*self.true_weights)

    @property
    def model(self) -> LinearModel:
        """For compiled chains."""
        return LinearModel(1 / self.prior_sd**2, float(self.num_data), self.sigma_y)

    def make_exact(self) -> GaussianExact:
        """In closed form."""
        mean, factor = self._posterior(self.data)
        return GaussianExact(mean, np.linalg.inv(factor @ factor.T), self._log_evidence(mean, factor))

    def _posterior(self, rows: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Mean (d,), and the Cholesky factor of the precision."""
        x, y, variance = rows[:, :-1], rows[:, -1], self.sigma_y**2
        factor = np.linalg.cholesky(np.eye(self.dim) / self.prior_sd**2 + x.T @ x / variance)
        return np.linalg.solve(factor.T, np.linalg.solve(factor, x.T @ y / variance)), factor

    def _log_evidence(self, mean: np.ndarray, factor: np.ndarray) -> float:
        """log p(y | X) = log p(mean) + log p(y | X, mean) - log p(mean | y, X)."""
        at_mean = 0.5 * self.dim * np.log(2 * np.pi) - np.log(np.diag(factor)).sum()
        return float(self.log_joint(mean[None])[0] + at_mean)

    def _simulate(self, rng: np.random.Generator, theta: np.ndarray, n: int) -> np.ndarray:
        """Features by an autoregression of order 1, whose correlations are r^|k-l|, and y."""
        r, noise = self.options.correlation, rng.standard_normal((n, self.dim + 1))
        x = noise[:, :-1].copy()
        for k in range(1, self.dim):
            x[:, k] = r * x[:, k - 1] + np.sqrt(1 - r**2) * noise[:, k]
        return np.column_stack([x, (x * theta).sum(axis=1) + self.sigma_y * noise[:, -1]])

    def _log_likelihood(self, theta: np.ndarray, batch: np.ndarray) -> np.ndarray:
        return linear_log_likelihood(theta, batch, self.sigma_y)

    def _grad_log_likelihood(self, theta: np.ndarray, batch: np.ndarray) -> np.ndarray:
        return linear_grad_log_likelihood(theta, batch, self.sigma_y)

    def _gibbs_sweep(self, rng: np.random.Generator, theta: np.ndarray, data: np.ndarray) -> np.ndarray:
        """All weights given all data at once: a sweep is an independent draw of the posterior."""
        mean, factor = self._posterior(data)
        return mean + np.linalg.solve(factor.T, rng.standard_normal(self.dim))

    def row_mean(self, theta: np.ndarray, rows: np.ndarray) -> np.ndarray:
        """E(y | x, theta), (m, d) and (n, d + 1) -> (m, n)."""
        return np.einsum("md,nd->mn", theta, rows[:, :-1])

    def row_log_likelihood(self, theta: np.ndarray, rows: np.ndarray) -> np.ndarray:
        """log p(y | x, theta) of every row, (m, d) and (n, d + 1) -> (m, n), in nats."""
        sigma, residual = self.sigma_y, rows[:, -1] - self.row_mean(theta, rows)
        return -0.5 * (residual / sigma) ** 2 - np.log(sigma * np.sqrt(2 * np.pi))
