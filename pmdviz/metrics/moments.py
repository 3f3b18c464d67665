"""Means, sds and covariances against the reference's; total variation of weighted states."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from pmdviz.methods import Method
from pmdviz.metrics.base import Measurable, Metric, beyond_the_plane, has_reference, of_q
from pmdviz.targets import Target
from pmdviz.targets.reference.enumeration import Enumeration, numbers_of

if TYPE_CHECKING:
    from pmdviz.densities.density import Density
    from pmdviz.targets.reference.exact import Reference


def mean_error(mean: np.ndarray, reference: Reference) -> float:
    """max_k |E_q theta_k - E_p theta_k| / sd_p(theta_k)."""
    return float((np.abs(mean - reference.mean) / np.sqrt(np.diag(reference.cov))).max())


def sd_ratios(cov: np.ndarray, reference: Reference) -> np.ndarray:
    """sd_q(theta_k) / sd_p(theta_k), (d,)."""
    return np.sqrt(np.diag(cov) / np.diag(reference.cov))


def kl_of_moments(mean: np.ndarray, cov: np.ndarray, reference: Reference) -> float | None:
    """KL(N(E_p, Cov_p) || N(E_q, Cov_q)) in nats; None where Cov_q has no inverse."""
    try:
        factor, exact = np.linalg.cholesky(cov), np.linalg.cholesky(reference.cov)
    except np.linalg.LinAlgError:
        return None
    spread, shift = np.linalg.solve(factor, exact), np.linalg.solve(factor, reference.mean - mean)
    volume = 2 * (np.log(np.diag(factor)).sum() - np.log(np.diag(exact)).sum())
    return float(0.5 * ((spread**2).sum() + (shift**2).sum() - len(mean) + volume))


def kl_of_density(density: Density, reference: Reference) -> float | None:
    """The same for an approximation; None of particles too few for a shape."""
    return None if density.few else kl_of_moments(density.mean, density.cov, reference)


def _mean_error(frame: Measurable) -> float:
    return mean_error(frame.density.mean, frame.reference)


def _sd_ratio_min(frame: Measurable) -> float:
    return float(sd_ratios(frame.density.cov, frame.reference).min())


def _sd_ratio_max(frame: Measurable) -> float:
    return float(sd_ratios(frame.density.cov, frame.reference).max())


def _kl_moments(frame: Measurable) -> float | None:
    return kl_of_density(frame.density, frame.reference)


def _solid(target: Target, method: Method) -> bool:
    return has_reference(target, method) and "reals" in target.offers


Metric(
    name="mean_error",
    title="error of the mean",
    short="error",
    unit="posterior sds",
    about="largest over the coordinates of |mean - exact mean| / exact sd",
    measure=_mean_error,
    work=of_q,
    applies=has_reference,
    order=10,
    axis="mean_error",
    axis_title="Error of the mean",
    limits=(0.01, 10.0),
    colour="ink",
)
Metric(
    name="sd_ratio_min",
    title="smallest sd ratio",
    unit="sd / exact sd",
    about="smallest over the coordinates",
    measure=_sd_ratio_min,
    work=of_q,
    applies=_solid,
    ranks=False,
    order=11,
    axis="sd_ratio",
    axis_title="Standard deviations",
    axis_label="sd ratio (sd / exact sd)",
    log=False,
    limits=(0.0, 2.0),
    colour="approximate",
    dash=(2, 3),
)
Metric(
    name="sd_ratio_max",
    title="largest sd ratio",
    unit="sd / exact sd",
    about="largest over the coordinates",
    measure=_sd_ratio_max,
    work=of_q,
    applies=_solid,
    ranks=False,
    order=12,
    axis="sd_ratio",
    axis_title="Standard deviations",
    log=False,
    limits=(0.0, 2.0),
    colour="exact",
    dash=(8, 3),
)
Metric(
    name="kl_moments",
    title="forward KL of moments",
    unit="nats",
    about="KL(exact || approximation) of the Gaussians with their means and covariances",
    measure=_kl_moments,
    work=of_q,
    applies=_solid,
    traced=beyond_the_plane,
    order=13,
    axis="kl_moments",
    axis_title="forward KL of moments",
    limits=(0.01, 100.0),
    colour="exact",
    dash=(8, 3),
)


# Total variation between weighted states and exact probabilities, where there are few states.

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
