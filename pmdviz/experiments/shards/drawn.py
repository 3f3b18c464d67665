"""Subposteriors from near: an ellipse for each, and for what was made of them, over draws of the posterior."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from pmdviz.densities.density import Density
from pmdviz.experiments.pictures import Ellipses, Group
from pmdviz.streams import stream
from pmdviz.targets import Target

POINTS = 500  # draws of the posterior
FIRST = slice(0, 2)  # the coordinates that are drawn
FEW = 8  # components of a density; of more, as of a KDE, mean and covariance


def near(whole: Target, parts: Sequence[np.ndarray], made: Mapping[str, Density]) -> Ellipses:
    """Means and covariances of the parts, components of what was made of them; the first two coordinates of each."""
    names = whole.parameter_names
    groups = [Group("subposteriors", *_moments(parts))]
    groups += [Group(title, *_shape(density), bold=True) for title, density in made.items()]
    points = whole.reference().sample(stream("pictures"), POINTS)[:, FIRST]
    return Ellipses(groups, points, names[0], names[1], f"{len(parts)} shards; the dots are draws of the posterior")


def _moments(parts: Sequence[np.ndarray]) -> tuple[np.ndarray, np.ndarray]:
    """(K, 2) and (K, 2, 2)."""
    return np.stack([part[:, FIRST].mean(axis=0) for part in parts]), np.stack(
        [np.cov(part[:, FIRST].T) for part in parts]
    )


def _shape(density: Density) -> tuple[np.ndarray, np.ndarray]:
    """Of each component, or of the whole where there are many: (k, 2) and (k, 2, 2)."""
    if len(density.particles) > FEW:
        return density.mean[None, FIRST], density.cov[None, FIRST, FIRST]
    factors = density.choleskys
    return density.centres[:, FIRST], (factors @ factors.transpose(0, 2, 1))[:, FIRST, FIRST]
