"""The conjugate Gaussian: everything about the posterior is known in closed form."""

from __future__ import annotations

import numpy as np

from pmdviz.kernels.likelihoods.gaussian import GaussianModel, gaussian_grad_log_likelihood, gaussian_log_likelihood
from pmdviz.knobs import Knobs, Real, Whole
from pmdviz.targets.base import GaussianPrior, Target
from pmdviz.targets.modes import Handle
from pmdviz.targets.options import data_points, data_seed, noise, only_simulated, own_data, prior_sd
from pmdviz.targets.reference.exact import GaussianExact
from pmdviz.targets.space import numbered
from pmdviz.targets.table_form import SIMULATED, TableForm, divided_table

TABLE = TableForm("A column of numbers for each coordinate of θ: a row is a datum x.", most=100, dim_beyond=0)


class GaussianOptions(Knobs):
    """Options of `gaussian`."""

    kind_words = "option of target 'gaussian':"

    data = own_data(TABLE)
    dim = Whole(2, bounds=(1, 100), label="Dimension d", acts="restart", doc="Number of parameters.")
    num_data = data_points(20)
    sigma_x = noise(2.0, "Standard deviation of each datum around θ.")
    prior_sd = prior_sd(bounds=(0.05, 100))
    theta = Real(
        0.7,
        bounds=(-5, 5),
        label="True θ",
        unit="units of x",
        acts="restart",
        only_if=only_simulated(),
        doc="True value of every coordinate.",
    )
    data_seed = data_seed()


class Gaussian(GaussianPrior, Target):
    """x ~ N(theta, sigma_x^2 I), theta ~ N(0, prior_sd^2 I).

    Posterior N(mean, v I) with 1/v = 1/prior_sd^2 + N/sigma_x^2 and mean = v sum_n x_n / sigma_x^2.
    """

    name = "gaussian"
    title = "Conjugate Gaussian (any dimension)"
    about = "Each x is θ plus Gaussian noise; the posterior is a Gaussian that you can check by hand."
    source = "Dai, He, Dai, Song 2016, Theorem 5 can be measured on it; any textbook"
    Options = GaussianOptions
    kernel_groups = ("gaussian",)
    declared = frozenset({"gradient", "conditionals", "simulation", "row_density"})
    table = TABLE

    def build(self) -> None:
        """Draw the data from `default_rng(data_seed)` alone, or take those of a table."""
        o = self.options
        self.dim, self.prior_sd = o.dim, o.prior_sd
        self.parameter_names = numbered("θ", o.dim)
        if o.data == SIMULATED:
            rng = np.random.default_rng(o.data_seed)
            self.data = self._simulate(rng, np.full(o.dim, o.theta), o.num_data)
            self.prior_frame(o.theta)
        else:
            self.data = divided_table(o.data, TABLE, o.num_data, o.data_seed, o.dim)[0]
            self.prior_frame(*self._posterior(self.data)[0])

    def handles(self) -> tuple[Handle, ...]:
        """The true θ, whose coordinates are all the same: a point of the picture counts by their mean."""
        o, shown = self.options, min(self.dim, 2)
        if o.data != SIMULATED:
            return ()
        at = (o.theta, o.theta if shown == 2 else 0.0)
        return (Handle("true θ", at, lambda x, y: {"theta": (x + y) / shown}),)

    @property
    def model(self) -> GaussianModel:
        """For compiled chains."""
        return GaussianModel(1 / self.prior_sd**2, float(self.num_data), float(self.options.sigma_x))

    def make_exact(self) -> GaussianExact:
        """In closed form."""
        mean, variance = self._posterior(self.data)
        at_mean = 0.5 * self.dim * np.log(2 * np.pi * variance)  # log p(X) = log p(mean, X) - log p(mean | X)
        return GaussianExact(mean, variance * np.eye(self.dim), float(self.log_joint(mean[None])[0] + at_mean))

    def _posterior(self, data: np.ndarray) -> tuple[np.ndarray, float]:
        """Mean (d,) and variance of each coordinate."""
        o = self.options
        variance = 1 / (1 / o.prior_sd**2 + len(data) / o.sigma_x**2)
        return variance * data.sum(axis=0) / o.sigma_x**2, variance

    def _simulate(self, rng: np.random.Generator, theta: np.ndarray, n: int) -> np.ndarray:
        return theta + self.options.sigma_x * rng.standard_normal((n, self.dim))

    def _log_likelihood(self, theta: np.ndarray, batch: np.ndarray) -> np.ndarray:
        return gaussian_log_likelihood(theta, batch, self.options.sigma_x)

    def _grad_log_likelihood(self, theta: np.ndarray, batch: np.ndarray) -> np.ndarray:
        return gaussian_grad_log_likelihood(theta, batch, self.options.sigma_x)

    def row_log_likelihood(self, theta: np.ndarray, rows: np.ndarray) -> np.ndarray:
        """log p(x | theta) of every row, (m, d) and (n, d) -> (m, n), in nats."""
        sigma, away = self.options.sigma_x, theta[:, None] - rows
        return -0.5 * (away**2).sum(axis=2) / sigma**2 - self.dim * np.log(sigma * np.sqrt(2 * np.pi))

    def _gibbs_sweep(self, rng: np.random.Generator, theta: np.ndarray, data: np.ndarray) -> np.ndarray:
        """The coordinates do not depend on one another: a sweep is an independent draw from the posterior."""
        mean, variance = self._posterior(data)
        return mean + np.sqrt(variance) * rng.standard_normal(self.dim)
