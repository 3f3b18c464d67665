"""A posterior with two modes on a line, so that densities are curves."""

from __future__ import annotations

import numpy as np

from pmdviz.kernels.likelihoods.bimodal import BimodalModel, bimodal_grad_log_likelihood, bimodal_log_likelihood
from pmdviz.knobs import Knobs, Real
from pmdviz.targets.base import GaussianPrior, Target
from pmdviz.targets.options import data_points, data_seed, noise
from pmdviz.targets.reference.exact import GridExact

PRIOR_BOX = ((-8.0, 8.0),)  # holds all but 1e-14 of the prior


class BimodalOptions(Knobs):
    """Options of `bimodal1d`."""

    kind_words = "option of target 'bimodal1d':"

    num_data = data_points(100)
    sigma_x = noise(3.0, "Standard deviation of each datum around θ².")
    theta = Real(
        1.2,
        bounds=(0, 3),
        label="True |θ|",
        unit="√(units of x)",
        acts="restart",
        doc="True size of θ; 0 gives a single mode.",
    )
    data_seed = data_seed()


class Bimodal1D(GaussianPrior, Target):
    """x ~ N(theta^2, sigma_x^2), theta ~ N(0, 1): theta and -theta explain the data equally well."""

    name = "bimodal1d"
    title = "Two modes on a line (1-D)"
    about = "Each x is θ² plus Gaussian noise; the sign of θ leaves no trace, so there are two mirror-image modes."
    source = "ours"
    Options = BimodalOptions
    declared = frozenset({"gradient", "row_density"})

    def build(self) -> None:
        """Draw the data from `default_rng(data_seed)` alone."""
        o, self.dim, self.parameter_names = self.options, 1, ("θ",)
        rng = np.random.default_rng(o.data_seed)
        self.data = o.theta**2 + o.sigma_x * rng.standard_normal(o.num_data)
        self.prior_frame(o.theta)

    @property
    def model(self) -> BimodalModel:
        """For compiled chains."""
        return BimodalModel(1 / self.prior_sd**2, float(self.num_data), float(self.options.sigma_x))

    def make_exact(self) -> GridExact:
        """By a grid sum."""
        return GridExact(self.log_joint, PRIOR_BOX)

    def _log_likelihood(self, theta: np.ndarray, batch: np.ndarray) -> np.ndarray:
        return bimodal_log_likelihood(theta, batch, self.options.sigma_x)

    def _grad_log_likelihood(self, theta: np.ndarray, batch: np.ndarray) -> np.ndarray:
        return bimodal_grad_log_likelihood(theta, batch, self.options.sigma_x)
