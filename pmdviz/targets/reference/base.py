"""What a run is judged by: moments and draws of the posterior, and its density where that is known."""

from __future__ import annotations

from typing import Protocol, TypeGuard

import numpy as np

from pmdviz.targets.reference.exact import Exact


class Reference(Protocol):
    """What every reference offers: in closed form, on a grid, by enumeration, or as draws."""

    mean: np.ndarray  # (d,)
    cov: np.ndarray  # (d, d)
    mean_error: np.ndarray  # (d,) Monte Carlo standard error of `mean`; 0 where it is exact
    log_z: float | None  # log of the normalising constant p(X), where it is known

    def sample(self, rng: np.random.Generator, n: int) -> np.ndarray:
        """n draws (n, d)."""


def has_density(reference: Reference | None) -> TypeGuard[Exact]:
    """Whether the reference has a log density, and so is exact."""
    return hasattr(reference, "log_density")


class DrawsReference:
    """Draws (k, n, d) of k independent chains or estimates, with the standard errors of their means.

    `mean_error` is the sd of the chains' means over sqrt(k).
    """

    log_z: float | None = None

    def __init__(self, chains: np.ndarray) -> None:
        k, _, d = chains.shape
        self.draws = np.array(chains.reshape(-1, d), float)
        self.mean, centred = self.draws.mean(axis=0), self.draws - self.draws.mean(axis=0)
        self.cov = np.einsum("ni,nj->ij", centred, centred) / (len(self.draws) - 1)
        self.mean_error = chains.mean(axis=1).std(axis=0, ddof=1) / np.sqrt(k)
        for array in (self.draws, self.mean, self.cov, self.mean_error):
            array.flags.writeable = False

    def sample(self, rng: np.random.Generator, n: int) -> np.ndarray:
        """n of the draws (n, d), each at most once while there are enough."""
        return self.draws[rng.choice(len(self.draws), size=n, replace=n > len(self.draws))]
