"""The smoothing kernel of weighted particles: its knobs, and the density estimate that they give."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from pmdviz.densities.bandwidth import RULES, USUAL, typical_distance
from pmdviz.densities.density import KernelDensity
from pmdviz.densities.diagonal import MANY, DiagonalDensity, diagonal_density, few_density
from pmdviz.densities.shaped import WIDEST, ShapedDensity, chosen_shape, shaped_density
from pmdviz.knobs import Choice, Real
from pmdviz.methods.base import Method
from pmdviz.methods.step import MethodKnobs
from pmdviz.targets import Target


def holder_smoothness(only_if: dict[str, object]) -> Real:
    """The knob `smoothness`, for a method that has more uses of it than the kernel's width."""
    return Real(
        USUAL,
        bounds=(0, 1000),
        softbounds=(0, 6),
        label="Smoothness β",
        acts="at once",
        only_if=only_if,
        doc="Assumed smoothness of the posterior: h shrinks like m^(-1/(d+2β)). 2 suits a Gaussian kernel; the paper "
        "assumes 1.",
    )


KERNELS = {
    "isotropic": "round, fixed width",
    "median": "round, by distances",
    "covariance": "shape of all particles",
    "local": "shape of each mode",
    "shaped": "automatic, by cluster",
}
WIDTHS = {"isotropic": 0.1, "median": 0.1, "covariance": 0.35, "local": 0.75, "shaped": 1.0}


def kernel_rule(default: str) -> Choice:
    """The knob `bandwidth_rule`, for a method whose own default it is."""
    return Choice(
        default,
        choices=KERNELS,
        label="Bandwidth rule",
        acts="at once",
        doc="The shape of the kernel around each particle. Round: sd h, or h median distances between particles. Shape "
        "of all particles, or of each mode: their covariance, scaled by c m^(-1/(d+2β)). Automatic: one kernel shape "
        "for each cluster, which leaves mean and covariance unchanged; leave-one-out picks the width.",
    )


def kernel_width(rule: str) -> Real:
    """The knob `bandwidth`, for a method whose own default `rule` is."""
    return Real(
        WIDTHS[rule],
        bounds=(1e-6, 1_000_000),
        softbounds=(0.02, 5),
        log=True,
        basic=True,
        label="Bandwidth h",
        unit="units of θ (isotropic) or median distances (median) or factor c (covariance) or factor c (local) "
        "or × automatic (shaped)",
        acts="at once",
        default_by=("bandwidth_rule", WIDTHS),
        doc="Width of the smoothing kernel that turns the particles into the density q; its unit follows the rule. "
        "Automatic: a kernel is at most 0.95 as wide as its cluster, and from about 2 on nothing changes.",
    )


class SmoothingKnobs(MethodKnobs):
    """The kernel's knobs, for every method whose state is a set of particles."""

    bandwidth_rule = kernel_rule("shaped")
    bandwidth = kernel_width("shaped")
    smoothness = holder_smoothness({"bandwidth_rule": ("local", "covariance")})


class SmoothedMethod(Method):
    """A method with `SmoothingKnobs`: its state has particles (m, d) and log weights (m,), and q is their KDE.

    A state may also say of how many candidates `each` of its particles was chosen.
    """

    def density(
        self, state: Any, knobs: SmoothingKnobs, target: Target
    ) -> KernelDensity | ShapedDensity | DiagonalDensity:
        """The weighted KDE before any resampling, by the rule of the knobs."""
        return smoothed(state.particles, state.log_weights, knobs, target.scale, getattr(state, "each", 1))


def smoothed(
    particles: np.ndarray, log_weights: np.ndarray, knobs: SmoothingKnobs, scale: np.ndarray, each: int = 1
) -> KernelDensity | ShapedDensity | DiagonalDensity:
    """The KDE of particles (m, d) by the rule of the knobs; `scale` (d,) are the prior's sds.

    Every particle was chosen of so many candidates `each`. Beyond 100 coordinates kernels without a covariance, round
    ones and those of fewer than d + 2 particles, are kept as sds: matrices of d x d would dwarf the particles.
    """
    weights = np.exp(log_weights)
    (m, d), round_ = particles.shape, knobs.bandwidth_rule in ("isotropic", "median")
    if d > MANY and round_:
        return _round(particles, log_weights, knobs, scale)
    if d > MANY and m < d + 2:
        if knobs.bandwidth_rule == "shaped":
            return few_density(
                particles,
                log_weights,
                min(chosen_shape(particles, weights, each).width * knobs.bandwidth, WIDEST),
                scale,
            )
        h = knobs.bandwidth * m ** (-1.0 / (d + 2 * knobs.smoothness))
        return replace(few_density(particles, log_weights, h, scale), centres=particles)
    if knobs.bandwidth_rule == "shaped":
        shape = chosen_shape(particles, weights, each)
        return shaped_density(particles, log_weights, shape, knobs.bandwidth, scale)
    rule = RULES[knobs.bandwidth_rule]
    cholesky = rule(particles, weights, knobs.bandwidth, scale, knobs.smoothness)
    given = knobs.bandwidth_rule == "isotropic"  # a given width takes no shape
    return KernelDensity(particles, log_weights, cholesky, m < d + 2 and not given)


def _round(particles: np.ndarray, log_weights: np.ndarray, knobs: SmoothingKnobs, scale: np.ndarray) -> DiagonalDensity:
    """Round kernels of the width that the rule `isotropic` or `median` gives."""
    (m, d), given = particles.shape, knobs.bandwidth_rule == "isotropic"
    unit = 1.0 if given else typical_distance(particles, np.exp(log_weights), scale)
    return DiagonalDensity(
        particles, log_weights, particles, np.full(d, knobs.bandwidth * unit), m < d + 2 and not given
    )


def smoothed_along(
    particles: np.ndarray, log_weights: np.ndarray, knobs: SmoothingKnobs, scale: np.ndarray
) -> DiagonalDensity:
    """The same for many coordinates: a kernel without a shape, as wide along each as that coordinate asks for.

    Round kernels stay what they are. The factor of all others is that of m^(-1/5) sds of each coordinate.
    """
    if knobs.bandwidth_rule in ("isotropic", "median"):
        return replace(_round(particles, log_weights, knobs, scale), few=False)
    return diagonal_density(particles, log_weights, knobs.bandwidth, scale)
