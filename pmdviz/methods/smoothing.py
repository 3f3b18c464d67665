"""The smoothing kernel of weighted particles: its knobs, and the density estimate that they give."""

from __future__ import annotations

import numpy as np

from pmdviz.bandwidths import RULES
from pmdviz.densities import KernelDensity
from pmdviz.knobs import Choice, Knobs, Real
from pmdviz.targets import Target


class SmoothingKnobs(Knobs):
    """The kernel's knobs, for every method whose state is a set of particles."""

    bandwidth_rule = Choice(
        "local",
        objects=["isotropic", "local"],
        label="Bandwidth rule",
        acts="at once",
        doc="isotropic: a round kernel of sd h; local: shaped like the modes, scaled by c m^(-1/(d+4)).",
    )
    bandwidth = Real(
        0.75,
        bounds=(1e-6, 1_000_000),
        softbounds=(0.02, 5),
        log=True,
        label="Bandwidth",
        unit="units of θ (isotropic) or factor c (local)",
        acts="at once",
        default_by=("bandwidth_rule", {"isotropic": 0.1, "local": 0.75}),
        doc="Width of the smoothing kernel: the number h or c of the current rule.",
    )


def smoothed(particles: np.ndarray, log_weights: np.ndarray, knobs: SmoothingKnobs, target: Target) -> KernelDensity:
    """The weighted KDE of particles (m, d) with log-weights (m,), by the rule of the knobs."""
    cholesky = RULES[knobs.bandwidth_rule](particles, np.exp(log_weights), knobs.bandwidth, target.scale)
    return KernelDensity(particles, log_weights, cholesky)
