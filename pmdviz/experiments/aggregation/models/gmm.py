"""A mixture of Gaussians, fitted by EM: its likelihood has many maxima, and its components no numbers of their own."""

from __future__ import annotations

from pmdviz.experiments.aggregation.models.base import Model
from pmdviz.experiments.aggregation.models.covariances import Full


class GMM(Model):
    """sum_c share_c N(m_c, C_c) with any covariances C_c."""

    name = "gmm"
    title = "mixture of Gaussians"
    mixed = True

    @staticmethod
    def family(dim: int, latent: int) -> Full:
        """Any covariance."""
        return Full(dim)
