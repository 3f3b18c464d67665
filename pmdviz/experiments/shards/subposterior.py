"""The subposterior of a shard: the prior to the power 1/K times the likelihood of the shard's rows."""

from __future__ import annotations

from typing import Any

import numpy as np

from pmdviz.errors import InputError, shown
from pmdviz.targets.base import GaussianPrior, Target
from pmdviz.targets.custom import CustomTarget
from pmdviz.targets.linear import Linear
from pmdviz.targets.reference.exact import GaussianExact


class Subposterior(CustomTarget):
    """p(theta)^(1/K) prod over the shard's rows of p(row | theta), up to a constant; K of them multiply to the whole.

    The prior N(0, s^2 I) of the whole becomes N(0, K s^2 I): its density is p(theta / sqrt K) / K^(d/2) (Scott et al.
    2016, section 3.1).

    Parameters
    ----------
    whole : Target
        With a Gaussian prior around 0.
    rows : array (n, ...)
        Of its data.
    count : int
        K, the number of shards.

    Raises
    ------
    InputError
        Where there are no data, or the prior is not a Gaussian around 0.
    """

    def __init__(self, whole: Target, rows: np.ndarray, count: int) -> None:
        if whole.data is None:
            raise InputError(f"target {whole.name!r} has no data to share out")
        if not isinstance(whole, GaussianPrior):
            raise InputError(f"the prior must be a Gaussian around 0; target {whole.name!r} has another one")
        self.whole, self.count = whole, count
        wider, constant = np.sqrt(count), 0.5 * whole.dim * np.log(count)
        gradients: dict[str, Any] = {}
        if "gradient" in whole.offers:
            gradients["grad_log_prior"] = lambda theta: whole.grad_log_prior(theta / wider) / wider
            gradients["grad_log_likelihood"] = lambda theta, rows: _gradient(whole, theta, rows)
        super().__init__(
            log_prior=lambda theta: whole.log_prior(theta / wider) - constant,
            log_likelihood=whole.log_likelihood,
            sample_prior=lambda rng, n: wider * whole.sample_prior(rng, n),
            data=rows,
            dim=whole.dim,
            name=f"shard_of_{whole.name}",
            **gradients,
        )

    def make_exact(self) -> Any:
        """In closed form where the whole is linear regression; elsewhere by a grid sum in the plane."""
        if not isinstance(self.whole, Linear):
            return super().make_exact()
        x, y, variance = self.data_rows[:, :-1], self.data_rows[:, -1], self.whole.sigma_y**2
        precision = np.eye(self.dim) / (self.count * self.whole.prior_sd**2) + x.T @ x / variance
        return GaussianExact(np.linalg.solve(precision, x.T @ y / variance), np.linalg.inv(precision))


def _gradient(whole: Target, theta: np.ndarray, rows: np.ndarray) -> np.ndarray:
    """Of the sum of log p(row | theta) over the rows alone: without the prior, and without the factor N / B."""
    both = whole.grad_log_joint(theta, rows) - whole.grad_log_prior(theta)
    return both * len(rows) / whole.num_data


def shards_of(whole: Target, count: int, seed: int) -> list[Subposterior]:
    """Subposteriors on `count` shards of the data in a random order, of as equal sizes as can be. Raises InputError."""
    if not 1 <= count <= whole.num_data:
        raise InputError(f"there are {whole.num_data:,} data for {shown(count)} shards; give at least one to each")
    order = np.random.default_rng([seed, 1]).permutation(whole.num_data)
    return [Subposterior(whole, whole.data_rows[np.sort(rows)], count) for rows in np.array_split(order, count)]
