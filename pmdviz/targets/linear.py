"""Bayesian linear regression in any dimension: the posterior is a Gaussian in closed form."""

from __future__ import annotations

import numpy as np

from pmdviz.kernels.likelihoods.linear import LinearModel, linear_grad_log_likelihood, linear_log_likelihood
from pmdviz.knobs import Knobs, Real, Whole
from pmdviz.targets.base import GaussianPrior, Target
from pmdviz.targets.options import data_points, data_seed, noise, only_simulated, own_data, prior_sd
from pmdviz.targets.reference.exact import GaussianExact
from pmdviz.targets.space import numbered
from pmdviz.targets.table_form import SIMULATED, TableForm, divided_table, names_of_inputs

NUM_TEST = 1000  # rows held out
TABLE = TableForm(
    "Columns of features, then one of numbers y. The first weight is then the intercept.",
    most=199,
    outcome="number",
    dim_beyond=1,
)


class LinearOptions(Knobs):
    """Options of `linear`."""

    kind_words = "option of target 'linear':"

    data = own_data(TABLE)
    dim = Whole(8, bounds=(1, 200), label="Dimension d", acts="restart", doc="Number of regression weights.")
    num_data = data_points(500)
    sigma_y = noise(1.0, "Standard deviation of y around the line.", label="Noise sd of y", unit="units of y")
    correlation = Real(
        0.5,
        bounds=(0, 1),
        inclusive_bounds=(True, False),
        label="Correlation of features",
        acts="restart",
        only_if=only_simulated(),
        doc="Correlation r of neighbouring features; features k and l have correlation r^|k-l|.",
    )
    prior_sd = prior_sd(bounds=(0.05, 100))
    data_seed = data_seed()


class Linear(GaussianPrior, Target):
    """y ~ N(x.w, sigma_y^2), w ~ N(0, prior_sd^2 I), features x ~ N(0, R) with R_kl = r^|k - l|.

    Posterior N(mean, S), S^-1 = I / prior_sd^2 + X'X / sigma_y^2, mean = S X'y / sigma_y^2; the true w is a draw of the
    prior. A row of the data is (x_1, ..., x_d, y); of a person's table x_1 is 1. Rows that are not learnt from are held
    out, 5,000 at most.
    """

    name = "linear"
    title = "Linear regression (any dimension)"
    about = "Each y is a weighted sum of features plus Gaussian noise; the posterior of the weights is a Gaussian."
    source = "any textbook, such as Bishop 2006, section 3.3"
    Options = LinearOptions
    kernel_groups = ("linear",)
    declared = frozenset({"gradient", "conditionals", "simulation", "predictive"})
    predicts = "number"
    table = TABLE

    def build(self) -> None:
        """Draw the true weights, features and y from `default_rng(data_seed)` alone, or take those of a table."""
        o = self.options
        self.dim, self.prior_sd, self.parameter_names = o.dim, o.prior_sd, numbered("w", o.dim)
        self.sigma_y = float(o.sigma_y)
        if o.data == SIMULATED:
            rng = np.random.default_rng(o.data_seed)
            self.true_weights = o.prior_sd * rng.standard_normal(o.dim)
            self.data = self._simulate(rng, self.true_weights, o.num_data)
            self.test_data = self._simulate(rng, self.true_weights, NUM_TEST)
            self.prior_frame(*self.true_weights)
        else:
            self._read()

    def _read(self) -> None:
        """The rows of a table, each with a 1 before it."""
        o = self.options
        rows, rest = divided_table(o.data, TABLE, o.num_data, o.data_seed, o.dim)
        self.data = with_ones(rows)
        self.test_data = None if rest is None else with_ones(rest)
        self.input_names = names_of_inputs(o.data, TABLE, o.dim - 1)
        self.prior_frame(*self._posterior(self.data)[0])

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
        """Features by an autoregression of order 1, whose correlations are r^|k-l|, or drawn from a table's; and y."""
        if self.options.data != SIMULATED:
            x = self.data[rng.integers(self.num_data, size=n), :-1]
            return np.column_stack([x, (x * theta).sum(axis=1) + self.sigma_y * rng.standard_normal(n)])
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

    def inputs(self, rows: np.ndarray) -> np.ndarray:
        """The features without an intercept, (n, d + 1) -> (n, k)."""
        return rows[:, 1:-1] if self.input_names else rows[:, :-1]

    def rows_at(self, inputs: np.ndarray) -> np.ndarray:
        """Rows with these features (n, k) and y = 0, (n, d + 1)."""
        rows = np.column_stack([inputs, np.zeros(len(inputs))])
        return with_ones(rows) if self.input_names else rows

    def row_mean(self, theta: np.ndarray, rows: np.ndarray) -> np.ndarray:
        """E(y | x, theta), (m, d) and (n, d + 1) -> (m, n)."""
        return np.einsum("md,nd->mn", theta, rows[:, :-1])

    def row_log_likelihood(self, theta: np.ndarray, rows: np.ndarray) -> np.ndarray:
        """log p(y | x, theta) of every row, (m, d) and (n, d + 1) -> (m, n), in nats."""
        sigma, residual = self.sigma_y, rows[:, -1] - self.row_mean(theta, rows)
        return -0.5 * (residual / sigma) ** 2 - np.log(sigma * np.sqrt(2 * np.pi))


def with_ones(rows: np.ndarray) -> np.ndarray:
    """Rows (n, k) with the 1 of the intercept before them, (n, k + 1)."""
    return np.column_stack([np.ones(len(rows)), rows])
