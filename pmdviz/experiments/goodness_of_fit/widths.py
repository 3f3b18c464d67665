"""The usual bandwidth of a Gaussian kernel."""

from __future__ import annotations

import numpy as np

from pmdviz.kernels.distances import median_distance

SMALLEST = 1e-12  # of points most of which coincide


def median_square(points: np.ndarray) -> float:
    """h = the squared median distance of points (n, d), of exp(-|x - y|^2 / h); of points that coincide nearly 0."""
    return max(median_distance(points) ** 2, SMALLEST)
