"""Pairs of correlated coordinates: the smallest target on which it is known how wrong a mean-field approximation is."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from pmdviz.kernels.factors import precision
from pmdviz.knobs import Knobs, Real, Whole
from pmdviz.targets.blocks import Block, InBlocks, checked_blocks
from pmdviz.targets.reference.exact import GaussianExact
from pmdviz.targets.space import numbered
from pmdviz.targets.without_data.base import WithoutData, q0_mean, q0_sd

VIEW_SDS = 3.0  # of a coordinate


class CorrelatedGaussianOptions(Knobs):
    """Options of `correlated_gaussian`."""

    kind_words = "option of target 'correlated_gaussian':"

    dim = Whole(2, bounds=(1, 100), label="Dimension d", acts="restart", doc="Number of coordinates.")
    correlation = Real(
        0.9,
        bounds=(-0.999, 0.999),
        softbounds=(-0.99, 0.99),
        label="Correlation ρ",
        acts="restart",
        doc="Of the first coordinate and the second, of the third and the fourth, and so on. The best q whose "
        "coordinates are independent has sds √(1 - ρ²) times the true ones.",
    )
    q0_mean = q0_mean()
    q0_sd = q0_sd(2.0)


class CorrelatedGaussian(InBlocks, WithoutData):
    """N(0, C) with variances 1, and correlation rho within the pairs (1, 2), (3, 4), ... alone; log Z = 0.

    The blocks are the pairs, on which a mean field is exact.
    """

    name = "correlated_gaussian"
    title = "Correlated Gaussian (any dimension)"
    about = "Pairs of correlated coordinates: what is lost when each is approximated on its own can be read off."
    source = "ours; any textbook: Bishop 2006, section 10.1.2"
    Options = CorrelatedGaussianOptions
    declared = frozenset({"gradient", "blocks"})

    def build(self) -> None:
        """Nothing is drawn."""
        o, self.dim = self.options, self.options.dim
        self.parameter_names = numbered("x", o.dim)
        self.cov = np.eye(o.dim)
        odd = np.arange(0, o.dim - 1, 2)
        self.cov[odd, odd + 1] = self.cov[odd + 1, odd] = o.correlation
        self.precision = precision(self.cov)
        pairs = [range(k, min(k + 2, o.dim)) for k in range(0, o.dim, 2)]
        self.blocks = checked_blocks(pairs, self.parameter_names)
        reach = np.full(o.dim, VIEW_SDS)
        self.start_from(o.q0_mean, o.q0_sd, -reach, reach)

    def make_exact(self) -> GaussianExact:
        """In closed form."""
        return GaussianExact(np.zeros(self.dim), self.cov, 0.0)

    def block_gradient(
        self, block: Block, own: np.ndarray, others: np.ndarray, closed: Mapping[str, np.ndarray]
    ) -> np.ndarray:
        """It is linear in the others, (M, k): their mean is enough."""
        columns, rest = block.columns, others.mean(axis=0)
        rest[columns] = 0.0
        rows = self.precision[columns]  # (k, d)
        return -np.einsum("ij,mj->mi", rows[:, columns], own) - np.einsum("ij,j->i", rows, rest)

    def _log_p(self, theta: np.ndarray) -> np.ndarray:
        constant = 0.5 * (self.dim * np.log(2 * np.pi) - np.linalg.slogdet(self.precision)[1])
        return 0.5 * (theta * self._grad_log_p(theta)).sum(axis=1) - constant

    def _grad_log_p(self, theta: np.ndarray) -> np.ndarray:
        return -np.einsum("ij,mj->mi", self.precision, theta)
