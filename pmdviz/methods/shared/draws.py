"""Draws of particles: parents by one of four ways of resampling, and how evenly the draws are spread.

`balanced` draws come from 16 candidates each, thinned to one for every cell of a k-d tree (`kernels.thinning`). Each
draw is still distributed as an independent one, so means over draws are unbiased; but they are no longer independent
of one another, and their sums vary less.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from pmdviz.densities.density import KernelDensity
from pmdviz.densities.shaped import ShapedDensity
from pmdviz.kernels.resampling import multinomial, residual, stratified, systematic
from pmdviz.kernels.thinning import thinned
from pmdviz.targets import Target

DRAWS = {"balanced": 16, "independent": 1}  # candidates for each draw
MAX_NUMBERS = 4_000_000  # coordinates of all candidates, 32 MB: beyond it each draw has fewer

RESAMPLERS: dict[str, Callable[[np.random.Generator, np.ndarray, int], np.ndarray]] = {
    "systematic": lambda rng, weights, n: systematic(weights, n, rng.random()),
    "stratified": lambda rng, weights, n: stratified(weights, rng.random(n)),
    "residual": lambda rng, weights, n: residual(weights, rng.random(n)),
    "multinomial": lambda rng, weights, n: multinomial(weights, rng.random(n)),
}


def candidates_each(draws: str, n: int, dim: int) -> int:
    """How many candidates there are for each of n draws in `dim` dimensions."""
    return max(1, min(DRAWS[draws], MAX_NUMBERS // (n * dim)))


def from_prior(rng: np.random.Generator, target: Target, n: int, draws: str) -> np.ndarray:
    """n draws (n, d) from the target's prior; cells are as wide as the prior's sd makes them."""
    each = candidates_each(draws, n, target.dim)
    candidates = target.sample_prior(rng, each * n)
    if each == 1:
        return candidates
    return candidates[thinned(candidates / target.scale, n, rng.random(n))]


def from_density(
    rng: np.random.Generator,
    density: KernelDensity | ShapedDensity,
    n: int,
    draws: str = "balanced",
    resampler: str = "systematic",
) -> np.ndarray:
    """n draws (n, d) from a weighted KDE: parents by resampling, plus kernel noise."""
    return children(rng, density, n, draws, resampler)[0]


def children(
    rng: np.random.Generator, density: KernelDensity | ShapedDensity, n: int, draws: str, resampler: str
) -> tuple[np.ndarray, np.ndarray]:
    """The draws of `from_density`, and for each the row (n,) of its parent.

    Cells are made in the units of the kernel, in which the density is smooth.
    """
    d = density.particles.shape[1]
    each = candidates_each(draws, n, d)
    parents = RESAMPLERS[resampler](rng, density.weights, each * n)
    noise = rng.standard_normal((each * n, d))
    if each > 1:
        chosen = thinned(density.in_kernels(parents, noise), n, rng.random(n))
        parents, noise = parents[chosen], noise[chosen]
    return density.displaced(parents, noise), parents
