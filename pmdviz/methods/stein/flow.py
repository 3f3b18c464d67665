"""Steps along the force of a set of leaders, as a map of space: how wide, how long, and how much it stretches.

All of it in units of the prior's sds, in which no coordinate is special: x = scale y has the gradient scale s(x) in y.
Step sizes and squared widths are then in units of the prior's variances.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from pmdviz.densities.density import effective_sample_size, normalise
from pmdviz.kernels.stein.steinis import is_monotone, log_determinants, transport, transport_diagonal
from pmdviz.kernels.stein.svgd import sampled_median_distance
from pmdviz.knobs import Real
from pmdviz.methods.shared import optimisers
from pmdviz.methods.stein.kernels import CLOSEST, DIVISORS

LEAST = 0.2  # of the symmetric part of I + step J: 0 would be a fold
SHORTEST = 2.0**-60  # of a scheduled step


class Determinant(NamedTuple):
    """A way to know how much y -> y + step phi(y) stretches space; J stands for what `transport` gives besides phi."""

    transport: Callable[[np.ndarray, np.ndarray, np.ndarray, float], tuple[np.ndarray, np.ndarray]]
    logs: Callable[[np.ndarray, float], tuple[np.ndarray, np.ndarray]]  # (J, step) -> log |det| and sign, each (n,)
    is_safe: Callable[[np.ndarray, float, float], bool]  # (J, step, least)


def first_order(diagonal: np.ndarray, step: float) -> tuple[np.ndarray, np.ndarray]:
    """sum_a log |1 + step J_aa| and the sign of the product, each (n,), for the diagonals (n, d) of J.

    Off by O(step^2) a step (Han 2019, Proposition 2).
    """
    factors = 1 + step * diagonal
    with np.errstate(divide="ignore"):
        return np.log(np.abs(factors)).sum(axis=1), np.sign(factors).prod(axis=1)


def _is_safe(diagonal: np.ndarray, step: float, least: float) -> bool:
    return bool(1 + step * diagonal.min() >= least)


DETERMINANTS = {
    "exact": Determinant(transport, log_determinants, is_monotone),
    "first_order": Determinant(transport_diagonal, first_order, _is_safe),
}


def squared_width(leaders: np.ndarray, factor: float) -> float:
    """h of the kernel exp(-|x - y|^2 / h): `factor` times med^2 / (2 log(n + 1)), med the leaders' median distance.

    With factor 1 as Han's thesis has it; Liu and Wang's rule is factor 2. For leaders (n, d) in prior sds; a lone one
    has no distance and takes 1.
    """
    n = len(leaders)
    distance = sampled_median_distance(leaders) if n > 1 else 1.0
    return factor * max(distance, CLOSEST) ** 2 / DIVISORS["thesis"](n)


def unfolded(way: Determinant, jacobian: np.ndarray, planned: float) -> float:
    """The planned step, halved until it is one-to-one at the points of J: their images neither meet nor overshoot."""
    eps = planned
    while not way.is_safe(jacobian, eps, LEAST) and eps > SHORTEST * planned:
        eps *= 0.5
    return eps


def ess_share(log_w: np.ndarray) -> float:
    """ESS of weights (n,) as a share of n, in [0, 1]; 0 where all are 0."""
    return effective_sample_size(normalise(log_w)) / len(log_w) if log_w.max() > -np.inf else 0.0


def log_mean(log_w: np.ndarray) -> float:
    """log of the mean of weights (n,), given by their logs, at least one of them above -inf."""
    top = log_w.max()
    return float(top + np.log(np.exp(log_w - top).mean()))


def width_factor(default: float, **by: object) -> Real:
    """The knob `length_scale_factor`."""
    return Real(
        default,
        bounds=(1e-3, 1000),
        softbounds=(0.5, 20),
        log=True,
        basic=True,
        label="RBF width factor",
        unit="× med²/(2 log(m+1))",
        doc="The RBF is exp(-|x-y|²/h), with h this number times med²/(2 log(m+1)), med being the median distance of "
        "the m points. 1 is the thesis' rule, under which they hardly see one another; 2 is Liu and Wang's.",
        **by,
    )


def first_step(default: float) -> Real:
    """The knob `eta`."""
    doc = "The step size is η/t^κ at step t, times the prior's variance in each coordinate."
    return optimisers.eta(default, doc)
