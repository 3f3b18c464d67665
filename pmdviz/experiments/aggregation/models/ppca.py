"""Probabilistic PCA, x = W z + m + noise with z ~ N(0, I): fitted in closed form (Tipping, Bishop 1999)."""

from __future__ import annotations

from pmdviz.experiments.aggregation.models.base import Model
from pmdviz.experiments.aggregation.models.covariances import LowRank


class PPCA(Model):
    """N(m, W W' + s2 I) with W (d, q)."""

    name = "ppca"
    title = "probabilistic PCA"
    low_rank = True

    @staticmethod
    def family(dim: int, latent: int) -> LowRank:
        """q directions and noise."""
        return LowRank(dim, latent)
