"""The two-mode mixture of Dai et al. 2016, section 6: the main teaching target."""

from __future__ import annotations

import numpy as np

from pmdviz.kernels.gibbs import mixture_sweep
from pmdviz.kernels.likelihoods.mixture import (
    MixtureModel,
    mixture_grad_log_likelihood,
    mixture_log_likelihood,
    mixture_model,
)
from pmdviz.knobs import Knobs, Real
from pmdviz.targets.base import GaussianPrior, Target
from pmdviz.targets.modes import Handle
from pmdviz.targets.options import data_points, data_seed, noise, only_simulated, own_data, prior_sd
from pmdviz.targets.reference.exact import GridExact
from pmdviz.targets.table_form import SIMULATED, TableForm, divided_table

REACH = 8.0  # prior sds each way: they hold all but 1e-14 of the prior
TABLE = TableForm("One column of numbers: each is a datum x.")


class MixtureOptions(Knobs):
    """Options of `mixture`."""

    kind_words = "option of target 'mixture':"

    data = own_data(TABLE)
    num_data = data_points(1000)
    sigma_x = noise(2.5, "Standard deviation of each component. With 1.5 and N = 400 the modes are well separated.")
    p = Real(
        0.5,
        bounds=(0.01, 0.99),
        label="First component's weight p",
        acts="restart",
        doc="With p = 0.5 the likelihood is the same at both modes, but not the prior: at the defaults they hold 0.459 "
        "and 0.541 of the posterior.",
    )
    prior_sd = prior_sd(bounds=(0.05, 100), basic=True)
    theta1 = Real(
        1.0,
        bounds=(-5, 5),
        label="True θ₁",
        unit="units of x",
        acts="restart",
        only_if=only_simulated(),
        doc="True mean of the first component.",
    )
    theta2 = Real(
        -2.0,
        bounds=(-5, 5),
        label="True θ₂",
        unit="units of x",
        acts="restart",
        only_if=only_simulated(),
        doc="True distance from the first mean to the second.",
    )
    data_seed = data_seed()


class Mixture(GaussianPrior, Target):
    """x ~ p N(theta1, sigma_x^2) + (1-p) N(theta1 + theta2, sigma_x^2), theta ~ N(0, prior_sd^2 I).

    With p = 0.5 the likelihood is the same at (theta1, theta2) and (theta1 + theta2, -theta2): two modes.
    The prior is not, so their masses differ.
    """

    name = "mixture"
    title = "Two-mode mixture (2-D)"
    about = (
        "Each data point comes from a Gaussian centred at θ₁ or at θ₁ + θ₂. "
        "Swapping the two fits the data just as well."
    )
    source = "Dai, He, Dai, Song 2016, section 6"
    Options = MixtureOptions
    kernel_groups = ("mixture",)
    declared = frozenset({"gradient", "conditionals", "simulation", "row_density"})
    table = TABLE

    def build(self) -> None:
        """Draw the data from `default_rng(data_seed)` alone, or take those of a table."""
        o, self.dim, self.parameter_names = self.options, 2, ("θ₁", "θ₂")
        self.prior_sd = o.prior_sd
        if o.data == SIMULATED:
            self.data = self._simulate(np.random.default_rng(o.data_seed), np.array([o.theta1, o.theta2]), o.num_data)
            self.prior_frame(o.theta1, o.theta2, o.theta1 + o.theta2)
        else:
            self.data = divided_table(o.data, TABLE, o.num_data, o.data_seed)[0][:, 0]
            self.prior_frame(*np.quantile(self.data, [0.05, 0.95]))

    def handles(self) -> tuple[Handle, ...]:
        """Both modes of the likelihood, which are one another's mirror images where p is 0.5."""
        o = self.options
        if o.data != SIMULATED:
            return ()
        return (
            Handle("first mode", (o.theta1, o.theta2), lambda x, y: {"theta1": x, "theta2": y}),
            Handle("second mode", (o.theta1 + o.theta2, -o.theta2), lambda x, y: {"theta1": x + y, "theta2": -y}),
        )

    @property
    def model(self) -> MixtureModel:
        """For compiled chains."""
        return mixture_model(self.prior_sd, self.num_data, self.options.sigma_x, self.options.p)

    def make_exact(self) -> GridExact:
        """By a grid sum: both means lie between the data and 0, up to the prior's reach."""
        reach = REACH * self.prior_sd
        if self.options.data != SIMULATED:
            reach += 2 * float(np.abs(self.data).max())
        return GridExact(self.log_joint, ((-reach, reach),) * 2)

    def _simulate(self, rng: np.random.Generator, theta: np.ndarray, n: int) -> np.ndarray:
        second = rng.random(n) >= self.options.p
        return theta[0] + theta[1] * second + self.options.sigma_x * rng.standard_normal(n)

    def _log_likelihood(self, theta: np.ndarray, batch: np.ndarray) -> np.ndarray:
        return mixture_log_likelihood(theta, batch, self.options.sigma_x, self.options.p)

    def _grad_log_likelihood(self, theta: np.ndarray, batch: np.ndarray) -> np.ndarray:
        return mixture_grad_log_likelihood(theta, batch, self.options.sigma_x, self.options.p)

    def _gibbs_sweep(self, rng: np.random.Generator, theta: np.ndarray, data: np.ndarray) -> np.ndarray:
        """The labels given theta, then both coordinates of theta at once given the labels."""
        uniforms, normals = rng.random(len(data)), rng.standard_normal(2)
        return mixture_sweep(theta, data, self.options.sigma_x, self.options.p, self.prior_sd, uniforms, normals)
