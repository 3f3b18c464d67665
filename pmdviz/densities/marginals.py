"""Marginal densities of an approximation: some coordinates of a mixture of Gaussians are one again."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from pmdviz.densities.density import Density, GaussianMixture, KernelDensity
from pmdviz.densities.diagonal import DiagonalDensity
from pmdviz.densities.grid import Grid
from pmdviz.densities.product import ProductDensity
from pmdviz.densities.shaped import ShapedDensity


def marginal_on_grid(density: Density, coordinates: Sequence[int], grid: Grid) -> np.ndarray:
    """q of one or two coordinates at the cell centres of a grid of theirs, shape `grid.shape`.

    The kernel N(theta_i, L L') has the marginal N(theta_i[c], (L L')[c, c]); two coordinates of different blocks of a
    product are independent.
    """
    if isinstance(density, ProductDensity):
        found = density.marginals(coordinates)
        if len(found) == 1:
            return marginal_on_grid(found[0][1], found[0][2], grid)
        lines = {
            place: marginal_on_grid(part, own, Grid((grid.box[place],), grid.side)) for (place,), part, own in found
        }
        return lines[1][:, None] * lines[0]
    chosen = list(coordinates)
    if isinstance(density, DiagonalDensity):
        return density.marginal(chosen).on_grid(grid)
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
