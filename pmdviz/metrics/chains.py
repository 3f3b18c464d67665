"""Diagnostics of chains: R-hat and the bulk effective sample size, of the worst coordinate."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from pmdviz.densities.chains import bulk_ess, rhat
from pmdviz.methods import Method
from pmdviz.metrics.base import Measurable, Metric
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


# R-hat: whether chains, and the halves of each, agree with one another.

Metric(
    name="rhat",
    title="R-hat",
    unit="",
    about="rank-normalised split R-hat, the largest over the coordinates; above 1.01 chains, or their halves, disagree",
    measure=lambda frame: worst(frame, rhat, max),
    applies=is_chain,
    work=work_of_draws,
    ranks=False,
    order=31,
    log=False,
    axis="rhat",
    axis_title="R-hat",
    limits=(0.9, 2.0),
    colour="particles",
)


# Bulk ESS: how many independent draws the draws of chains are worth for the middle of the posterior.

Metric(
    name="bulk_ess",
    title="bulk ESS",
    unit="draws",
    about="independent draws that those of the chains are worth (Vehtari et al. 2021), the fewest over the coordinates",
    measure=lambda frame: worst(frame, bulk_ess, min),
    applies=is_chain,
    work=work_of_draws,
    ranks=False,
    order=32,
    axis="bulk_ess",
    axis_title="Bulk ESS",
    axis_label="bulk effective sample size (draws)",
    limits=(1.0, 1e5),
    colour="particles",
)
