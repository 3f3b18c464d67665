"""The table of the `local` rule: what neighbourhoods measure on a standard Gaussian, by dimension."""

from __future__ import annotations

from argparse import Namespace
from typing import Any

import numpy as np

from pmdviz.densities.bandwidth import neighbourhood_covariance

POINTS = 6000
DIMENSIONS = (1, 2, 3, 4, 5, 7, 10, 15, 20, 30, 50)


def run(options: Namespace) -> dict[str, Any]:
    """Mean variance and its standard error over seeded samples of 6000 points."""
    sets, weights, found = 4 if options.quick else 20, np.full(POINTS, 1 / POINTS), {}
    for d in DIMENSIONS:
        samples = (np.random.default_rng([d, seed]).standard_normal((POINTS, d)) for seed in range(sets))
        values = [np.trace(neighbourhood_covariance(draws, weights, np.ones(d))) / d for draws in samples]
        error = np.std(values, ddof=1) / np.sqrt(sets)
        found[str(d)] = {"r": round(float(np.mean(values)), 4), "standard_error": round(float(error), 5)}
    return found
