"""How wide the kernel of a Stein method is: rules that take h from the particles' distances, and their knobs."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from pmdviz.densities.bandwidth import local_scale, neighbourhood_covariance
from pmdviz.kernels.distances import median_distance
from pmdviz.kernels.factors import cholesky
from pmdviz.kernels.stein.svgd import sampled_median_distance
from pmdviz.knobs import Choice, Real
from pmdviz.targets import Target

CLOSEST = 1e-6  # of the prior's sd: coincident particles have a kernel too
MEDIANS = {"sampled": sampled_median_distance, "exact": median_distance}
RULES = {
    "liu_wang": "median / log m",
    "thesis": "median / 2 log m",
    "median": "median distance",
    "local": "median within a mode",
    "given": "fixed",
}


def log_count(m: int) -> float:
    """log(m + 1) for m particles."""
    return np.log(m + 1)


# rule -> what the squared median distance is divided by
DIVISORS: dict[str, Callable[[int], float]] = {
    "liu_wang": log_count,
    "thesis": lambda m: 2 * log_count(m),
    "median": lambda m: 1.0,
    "local": log_count,
}


def width_rule(default: str) -> Choice:
    """The knob `length_scale_rule`, for a method whose own default it is."""
    return Choice(
        default,
        choices=RULES,
        label="Kernel width rule",
        doc="The kernel is a function of |x-y|²/h; med is the median distance. Median / log m: h = med²/log(m+1), as "
        "in Liu and Wang; enough for d ≤ 3. Median / 2 log m: half of that, as in Han's thesis; the variance collapses "
        "from d = 5 on. Median distance: h = med²; for d ≥ 5. Median within a mode: as the first, with the median "
        "distance within a mode. Fixed: the square of the given number.",
    )


def given_width() -> Real:
    """The knob `length_scale`: √h where the rule is `given`."""
    return Real(
        0.3,
        bounds=(1e-6, 1_000_000),
        softbounds=(0.02, 5),
        log=True,
        label="Kernel width √h",
        unit="units of θ",
        only_if=("length_scale_rule", "given"),
        doc="Range of the repulsion between particles.",
    )


def median_of() -> Choice:
    """The knob `median`: over which pairs of particles."""
    return Choice(
        "sampled",
        choices={"sampled": "of sampled pairs", "exact": "of all pairs"},
        label="Median distance",
        only_if=("length_scale_rule", ("liu_wang", "thesis", "median")),
        doc="The median over 20,000 sampled pairs, which depend on m alone, or over all pairs.",
    )


def squared_width(particles: np.ndarray, knobs: Any, target: Target) -> float:
    """h of a kernel of |x - y|^2 / h, in squared units of theta, by `knobs.length_scale_rule`.

    `liu_wang`: med^2 / log(m + 1), the kernel at the median distance is then 1 / (m + 1) (Liu, Wang 2016, section 5).
    `thesis`: med^2 / (2 log(m + 1)), there 1 / (m + 1)^2: in many dimensions the particles hardly see one another.
    `median`: med^2, there 1 / e. `local`: as the first, by `distance_in_modes` (ours). A lone particle has no distance
    and takes the prior's sd.
    """
    if knobs.length_scale_rule == "given":
        return knobs.length_scale**2
    m, sd = len(particles), float(target.scale.mean())
    if knobs.length_scale_rule == "local":
        distance = distance_in_modes(particles, target.scale)
    else:
        distance = MEDIANS[knobs.median](particles) if m > 1 else sd
    return max(distance, CLOSEST * sd) ** 2 / DIVISORS[knobs.length_scale_rule](m)


def distance_in_modes(particles: np.ndarray, scale: np.ndarray) -> float:
    """Median distance of two draws of N(0, s^2 I), s^2 = det(S)^(1/d) for the covariance S within neighbourhoods.

    On one Gaussian the median distance itself; where modes lie far apart not the gap between them (ours).
    """
    m, d = particles.shape
    S = neighbourhood_covariance(particles, np.full(m, 1.0 / m), scale) / local_scale(d)
    log_sds = np.log(np.diag(cholesky(S + np.diag(CLOSEST**2 * (scale**2 + np.diag(S))))))
    chi_squared = d * (1 - 2 / (9 * d)) ** 3  # Wilson and Hilferty's median, of |x - y|^2 / (2 s^2)
    return float(np.sqrt(2 * chi_squared) * np.exp(log_sds.mean()))
