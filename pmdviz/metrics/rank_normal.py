"""What the metrics R-hat and bulk ESS share: the worst coordinate, and where they apply."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from pmdviz.methods import Method
from pmdviz.metrics.base import Measurable
from pmdviz.targets import Target


def worst(
    frame: Measurable, diagnostic: Callable[[np.ndarray], float | None], of: Callable[[list[float]], float]
) -> float | None:
    """The worst (`of`: max or min) of what a diagnostic says of each coordinate; None where it has none of one."""
    found = [diagnostic(coordinate) for coordinate in np.moveaxis(frame.chains, 2, 0)]
    known = [value for value in found if value is not None]
    return of(known) if len(known) == len(found) else None


def work_of_draws(frame: Measurable) -> float:
    """150 µs for every coordinate, and 60 ns for each of its draws."""
    return 1.5e5 * frame.target.dim + 60.0 * frame.particles.size


def is_chain(target: Target, method: Method) -> bool:
    """Whether there are draws of chains in real coordinates."""
    return method.family == "chain" and "reals" in target.offers
