"""A posterior with two modes on a line, so that densities are curves."""

from __future__ import annotations

import numpy as np

from pmdviz.kernels.likelihoods.bimodal import BimodalModel, bimodal_grad_log_likelihood, bimodal_log_likelihood
from pmdviz.knobs import Knobs, Real
from pmdviz.targets.base import GaussianPrior, Target
from pmdviz.targets.modes import Handle
from pmdviz.targets.options import data_points, data_seed, noise, only_simulated, own_data, prior_sd
from pmdviz.targets.reference.exact import GridExact
from pmdviz.targets.table_form import SIMULATED, TableForm, divided_table

REACH = 8.0  # prior sds each way: they hold all but 1e-14 of the prior
TABLE = TableForm("One column of numbers: each is a datum x, a noisy θ².")


class BimodalOptions(Knobs):
    """Options of `bimodal1d`."""

    kind_words = "option of target 'bimodal1d':"

    data = own_data(TABLE)
    num_data = data_points(100)
    sigma_x = noise(3.0, "Standard deviation of each datum around θ².")
    prior_sd = prior_sd(bounds=(0.05, 100))
    theta = Real(
        1.2,
        bounds=(0, 3),
        label="True |θ|",
        unit="√(units of x)",
        acts="restart",
        only_if=only_simulated(),
        doc="True size of θ; 0 gives a single mode.",
    )
    data_seed = data_seed()


class Bimodal1D(GaussianPrior, Target):
    """x ~ N(theta^2, sigma_x^2), theta ~ N(0, prior_sd^2): theta and -theta explain the data equally well."""

    name = "bimodal1d"
    title = "Two modes on a line (1-D)"
    about = "Each x is θ² plus Gaussian noise; the sign of θ leaves no trace, so there are two mirror-image modes."
    source = "ours"
    Options = BimodalOptions
    kernel_groups = ("bimodal",)
    declared = frozenset({"gradient", "row_density"})
    table = TABLE

    def build(self) -> None:
        """Draw the data from `default_rng(data_seed)` alone, or take those of a table."""
        o, self.dim, self.parameter_names = self.options, 1, ("θ",)
        self.prior_sd = o.prior_sd
        if o.data == SIMULATED:
            rng = np.random.default_rng(o.data_seed)
            self.data = o.theta**2 + o.sigma_x * rng.standard_normal(o.num_data)
            self.prior_frame(o.theta)
        else:
            self.data = divided_table(o.data, TABLE, o.num_data, o.data_seed)[0][:, 0]
            self.prior_frame(self._best_fit)

    @property
    def _best_fit(self) -> float:
        """The size of θ at which the data are most likely."""
        return float(np.sqrt(max(self.data.mean(), 0.0)))

    def handles(self) -> tuple[Handle, ...]:
        """Both modes."""
        o = self.options
        if o.data != SIMULATED:
            return ()
        return tuple(
            Handle(f"{side} mode", (sign * o.theta, 0.0), lambda x, y: {"theta": abs(x)})
            for side, sign in (("right", 1), ("left", -1))
        )

    @property
    def model(self) -> BimodalModel:
        """For compiled chains."""
        return BimodalModel(1 / self.prior_sd**2, float(self.num_data), float(self.options.sigma_x))

    def make_exact(self) -> GridExact:
        """By a grid sum: the modes lie between the best fit and 0, up to the prior's reach."""
        reach = REACH * self.prior_sd
        if self.options.data != SIMULATED:
            reach += self._best_fit
        return GridExact(self.log_joint, ((-reach, reach),))

    def _log_likelihood(self, theta: np.ndarray, batch: np.ndarray) -> np.ndarray:
        return bimodal_log_likelihood(theta, batch, self.options.sigma_x)

    def _grad_log_likelihood(self, theta: np.ndarray, batch: np.ndarray) -> np.ndarray:
        return bimodal_grad_log_likelihood(theta, batch, self.options.sigma_x)
