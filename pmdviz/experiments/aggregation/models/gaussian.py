"""One Gaussian: an exponential family, whose most likely parameters are the points' mean and covariance."""

from __future__ import annotations

from pmdviz.experiments.aggregation.models.base import Model
from pmdviz.experiments.aggregation.models.covariances import Full


class Gaussian(Model):
    """N(m, C) with any covariance C."""

    name = "gaussian"
    title = "Gaussian"

    @staticmethod
    def family(dim: int, latent: int) -> Full:
        """Any covariance."""
        return Full(dim)
