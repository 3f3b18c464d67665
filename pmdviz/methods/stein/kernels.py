"""The kernels of Stein methods: the force that each gives, and its two parts as arrows."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from pmdviz.kernels.svgd import imq_force, stein_force
from pmdviz.knobs import Choice

ARROWS = 50  # particles whose forces a picture shows

# (particles, scores, h) -> (1/m) sum_j [k(x_j, x_i) s_j + grad_j k(x_j, x_i)], (m, d)
Force = Callable[[np.ndarray, np.ndarray, float], np.ndarray]


class SteinKernel(NamedTuple):
    """k as a function f of r = |x - y|^2 / h: grad_y k(y, x) = slope(r) (2/h) (x - y) with slope = -f'."""

    force: Force
    value: Callable[[np.ndarray], np.ndarray]
    slope: Callable[[np.ndarray], np.ndarray]


KERNELS = {
    "rbf": SteinKernel(stein_force, lambda r: np.exp(-r), lambda r: np.exp(-r)),
    "imq": SteinKernel(imq_force, lambda r: (1 + r) ** -0.5, lambda r: 0.5 * (1 + r) ** -1.5),
}


def stein_kernel(default: str = "rbf") -> Choice:
    """The knob `kernel`."""
    return Choice(
        default,
        choices={"rbf": "Gaussian (RBF)", "imq": "inverse multiquadric"},
        label="Kernel",
        doc="How much particles at distance |x-y| share: exp(-|x-y|²/h), or (1 + |x-y|²/h)^(-1/2), whose tails reach "
        "particles that are far away.",
    )


def forces(particles: np.ndarray, scores: np.ndarray, h: float, kernel: str = "rbf") -> dict[str, np.ndarray]:
    """Both parts of the force on some particles: k(x_j, x_i) grad log p(x_j, X) and grad_j k(x_j, x_i), each a mean.

    From where the particles stood before the step: each (n, 2, d), from and to.
    """
    rows = np.linspace(0, len(particles) - 1, min(ARROWS, len(particles))).astype(np.int64)
    start, m = particles[rows], len(particles)
    squared = sum((start[:, k, None] - particles[:, k]) ** 2 for k in range(particles.shape[1])) / h
    value, slope = KERNELS[kernel].value(squared), KERNELS[kernel].slope(squared)
    drive = value @ scores / m
    repulsion = 2 / h * (start * slope.sum(axis=1, keepdims=True) - slope @ particles) / m
    return {name: np.stack([start, start + force], axis=1) for name, force in
            (("drive", drive), ("repulsion", repulsion))}  # fmt: skip
