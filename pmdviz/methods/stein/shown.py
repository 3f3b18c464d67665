"""What methods of this family declare of themselves, for pictures: whoever leads, an area that is added up, weights."""

from __future__ import annotations

from typing import Any

import numpy as np

from pmdviz.targets import Target


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


class Reweighting:
    """Mix-in: a method that gives points other weights than those that they came with."""

    def before(self, state: Any) -> np.ndarray:
        """The weights that they came with, (m,), sum 1."""
        raise NotImplementedError
