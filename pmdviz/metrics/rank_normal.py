"""What R-hat and bulk ESS share: split chains and normal scores (Vehtari, Gelman, Simpson, Carpenter, Bürkner 2021)."""

from __future__ import annotations

from collections.abc import Callable
from statistics import NormalDist

import numpy as np

from pmdviz.methods import Method
from pmdviz.metrics.base import Measurable
from pmdviz.targets import Target

FEWEST = 4  # draws of a chain: two in each half


def halves(chains: np.ndarray) -> np.ndarray:
    """Each chain of (C, n) as two of half the length, (2 C, n // 2); of an odd number the middle draw is left out."""
    half = chains.shape[1] // 2
    return np.concatenate([chains[:, :half], chains[:, -half:]])


def normal_scores(values: np.ndarray) -> np.ndarray:
    """Φ⁻¹((r - 3/8) / (S + 1/4)), r the rank of each of the S values, ties having their mean rank (Eq. 14)."""
    _, place, count = np.unique(values, return_inverse=True, return_counts=True)
    ranks = np.cumsum(count) - (count - 1) / 2
    quantile = NormalDist().inv_cdf
    scores = np.array([quantile(share) for share in (ranks - 0.375) / (values.size + 0.25)])
    return scores[place].reshape(values.shape)


def worst(
    frame: Measurable, diagnostic: Callable[[np.ndarray], float | None], of: Callable[[list[float]], float]
) -> float | None:
    """The worst (`of`: max or min) of what a diagnostic says of each coordinate; None where it has none of one."""
    found = [diagnostic(coordinate) for coordinate in np.moveaxis(frame.chains, 2, 0)]
    known = [value for value in found if value is not None]
    return of(known) if len(known) == len(found) else None


def is_chain(target: Target, method: Method) -> bool:
    """Whether there are draws of chains in real coordinates."""
    return method.family == "chain" and "reals" in target.offers
