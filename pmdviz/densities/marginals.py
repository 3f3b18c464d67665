"""Marginal densities of an approximation: some coordinates of a mixture of Gaussians are one again."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from pmdviz.densities.density import Density, GaussianMixture, KernelDensity
from pmdviz.densities.grid import Grid
from pmdviz.densities.shaped import ShapedDensity


def marginal_on_grid(density: Density, coordinates: Sequence[int], grid: Grid) -> np.ndarray:
    """q of one or two coordinates at the cell centres of a grid of theirs, shape `grid.shape`.

    The kernel N(theta_i, L L') has the marginal N(theta_i[c], (L L')[c, c]).
    """
    chosen = list(coordinates)
    total = np.zeros(grid.shape)
    for part in _parts(density):
        rows = part.cholesky[chosen]
        factor = np.linalg.cholesky(rows @ rows.T)
        points = np.ascontiguousarray(part.particles[:, chosen])
        total += KernelDensity(points, part.log_weights, factor).on_grid(grid)
    return total


def _parts(density: Density) -> list[KernelDensity]:
    """The approximation as kernel densities of one shape each, with their shares."""
    if isinstance(density, ShapedDensity):
        return density.parts
    if isinstance(density, GaussianMixture):
        triples = zip(density.particles, density.log_weights, density.choleskys, strict=True)
        return [KernelDensity(mean[None], weight[None], factor) for mean, weight, factor in triples]
    assert isinstance(density, KernelDensity)
    return [density]
