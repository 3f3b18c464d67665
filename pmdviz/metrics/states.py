"""Total variation between weighted states and exact probabilities, where there are few states."""

from __future__ import annotations

import numpy as np

from pmdviz.methods import Method
from pmdviz.metrics.base import Measurable, Metric
from pmdviz.targets import Target
from pmdviz.targets.reference.enumeration import Enumeration, numbers_of

FEW = 512  # states: of more, most are never drawn, and TV is near 1 for exact draws too


def total_variation_of_states(space_numbers: np.ndarray, weights: np.ndarray, probabilities: np.ndarray) -> float:
    """0.5 sum over all states of |q - p|, for points (m,) by the numbers of their states with weights (m,) of sum 1.

    Only the states that were visited are looked at: the others add their probability.
    """
    visited, at = np.unique(space_numbers, return_inverse=True)
    q, p = np.bincount(at, weights=weights), probabilities[visited]
    return float(0.5 * (np.abs(q - p).sum() + max(0.0, 1.0 - p.sum())))


def _tv_states(frame: Measurable) -> float:
    numbers = numbers_of(frame.target.space, frame.density.particles)
    return total_variation_of_states(numbers, frame.density.weights, frame.reference.probabilities)


def _few_states(target: Target, method: Method) -> bool:
    if "discrete" not in target.offers:
        return False
    reference = target.reference()
    return isinstance(reference, Enumeration) and len(reference.probabilities) <= FEW


Metric(
    name="tv_states",
    title="TV of states",
    unit="0 to 1",
    about="total variation: half the sum over all states of |share of the particles - exact probability|",
    measure=_tv_states,
    applies=_few_states,
    order=8,  # before the errors of moments: a mean of categories judges little
    log=False,
    axis="tv_states",
    axis_title="TV of states",
    axis_label="TV of states (0 identical, 1 no overlap)",
    limits=(0.0, 1.0),
    fixed=True,
    colour="ink",
)
