"""Coordinates of mixtures near one of them: what can be averaged and corrected, and its scores."""

from __future__ import annotations

import numpy as np

from pmdviz.experiments.aggregation.models.covariances import Covariances
from pmdviz.experiments.aggregation.models.em import responsibilities
from pmdviz.experiments.aggregation.models.mixture import Mixture


class Coordinates:
    """All shares but the last, the means, and every covariance in its chart; components as those of `near`."""

    def __init__(self, family: Covariances, near: Mixture) -> None:
        self.components, self.dim = near.means.shape
        self.charts = [family.chart(cov) for cov in near.covs]

    def vector(self, params: Mixture) -> np.ndarray:
        """Coordinates (p,)."""
        covs = [chart.vector(cov) for chart, cov in zip(self.charts, params.covs, strict=True)]
        return np.concatenate([params.shares[:-1], params.means.ravel(), *covs])

    def params(self, vector: np.ndarray) -> Mixture:
        """The parameters of coordinates (p,); they may be no density, which `Mixture.fault` says."""
        c, d = self.components, self.dim
        shares, means, covs = np.split(vector, [c - 1, c - 1 + c * d])
        matrices = [chart.matrix(part) for chart, part in zip(self.charts, covs.reshape(c, -1), strict=True)]
        return Mixture(np.append(shares, 1 - shares.sum()), means.reshape(c, d), np.array(matrices))

    def score(self, points: np.ndarray, params: Mixture) -> np.ndarray:
        """Derivatives of log p(x) by the coordinates, (n, p).

        With responsibilities r_c and z = C^-1 (x - m_c): by a share r_c / share_c - r_last / share_last, by a mean
        r_c z, by the entries of a covariance r_c (zz' - C^-1) / 2.
        """
        member = responsibilities(points, params)
        by_share = member / params.shares
        means, covs = [], []
        for c, precision in enumerate(np.linalg.inv(params.covs)):
            z = (points - params.means[c]) @ precision
            means.append(member[:, c, None] * z)
            slopes = 0.5 * member[:, c, None, None] * (z[:, :, None] * z[:, None, :] - precision)
            covs.append(self.charts[c].score(params.covs[c], slopes))
        return np.column_stack([by_share[:, :-1] - by_share[:, -1:], *means, *covs])
