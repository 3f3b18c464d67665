"""What methods of this family declare of themselves, for pictures, one mix-in each."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from pmdviz.methods.stein.quantile_bins import QuantileBins
from pmdviz.targets import Target

if TYPE_CHECKING:
    from pmdviz.methods.stein.surrogates import Surrogate


class Leading:
    """Mix-in: a method whose particles follow leaders, which a picture shows beside them."""

    def leaders(self, state: Any) -> np.ndarray:
        """Where the leaders stand, (A, d)."""
        raise NotImplementedError

    def stretch(self, state: Any, knobs: Any, target: Target, points: np.ndarray) -> np.ndarray:
        """log |det| of the last step's map at points (n, d), nats: (n,); 0 before the first step."""
        raise NotImplementedError


class AreaUnderDiscrepancy:
    """Mix-in: a method that adds up an area step by step, which should come to KL(q0, p)."""

    def areas(self, state: Any) -> np.ndarray:
        """After each step and before the first, (t + 1,), nats."""
        raise NotImplementedError


class WithSurrogate:
    """Mix-in: a method with a surrogate rho in place of the target's gradient, which a picture shows beside it."""

    def surrogate(self, state: Any, knobs: Any, target: Target) -> Surrogate:
        """rho of the last step."""
        raise NotImplementedError

    def ratios(self, state: Any) -> np.ndarray:
        """Each particle's rho/p in the last step, (m,), sum 1."""
        raise NotImplementedError

    def temperature(self, state: Any, knobs: Any) -> float:
        """beta of the last step, whose target was prior x likelihood^beta; 1 without annealing."""
        raise NotImplementedError


class Latent:
    """Mix-in: a method whose particles stand for real points, by the bin of a base that each of their entries is in."""

    def latent(self, state: Any) -> np.ndarray:
        """The points, (m, d)."""
        raise NotImplementedError

    def bins(self, target: Target, knobs: Any) -> QuantileBins:
        """What stands for what."""
        raise NotImplementedError


class Reweighting:
    """Mix-in: a method that gives points other weights than those that they came with."""

    def before(self, state: Any) -> np.ndarray:
        """The weights that they came with, (m,), sum 1."""
        raise NotImplementedError
