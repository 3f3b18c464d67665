"""A mixture of probabilistic PCAs, fitted by EM (Tipping, Bishop 1999, "Mixtures of probabilistic PCA")."""

from __future__ import annotations

from pmdviz.experiments.aggregation.models.base import Model
from pmdviz.experiments.aggregation.models.covariances import LowRank


class MixturePPCA(Model):
    """sum_c share_c N(m_c, W_c W_c' + s2_c I) with W_c (d, q)."""

    name = "mixture_ppca"
    title = "mixture of probabilistic PCAs"
    mixed, low_rank = True, True

    @staticmethod
    def family(dim: int, latent: int) -> LowRank:
        """q directions and noise."""
        return LowRank(dim, latent)
