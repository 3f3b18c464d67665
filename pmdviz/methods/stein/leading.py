"""What methods declare that move some points by the force of others: where those others stand."""

from __future__ import annotations

from typing import Any

import numpy as np


class Leading:
    """Mix-in: a method whose particles follow leaders, which a picture shows beside them."""

    def leaders(self, state: Any) -> np.ndarray:
        """Where the leaders stand, (A, d)."""
        raise NotImplementedError
