"""The kernels of Stein methods: the force that each gives, and its two parts as arrows."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple, Protocol

import numpy as np

from pmdviz.kernels.stein.svgd import imq_force, stein_force
from pmdviz.knobs import Choice

RBF = "rbf"
ARROWS = 50  # particles whose forces a picture shows
SOLID = 1e-9  # of a coordinate's variance: a covariance of coincident particles has an inverse too


class Force(Protocol):
    """(1/m) sum_j [k(x_j, x_i) s_j + grad_j k(x_j, x_i)], (m, d); weights (m,) take the place of 1/m."""

    def __call__(
        self, particles: np.ndarray, scores: np.ndarray, h: float, weights: np.ndarray | None = None
    ) -> np.ndarray:
        """For particles and scores, (m, d) each."""


class SteinKernel(NamedTuple):
    """k as a function f of r = |x - y|^2 / h: grad_y k(y, x) = slope(r) (2/h) (x - y) with slope = -f'."""

    force: Force
    value: Callable[[np.ndarray], np.ndarray]
    slope: Callable[[np.ndarray], np.ndarray]


KERNELS = {
    RBF: SteinKernel(stein_force, lambda r: np.exp(-r), lambda r: np.exp(-r)),
    "imq": SteinKernel(imq_force, lambda r: (1 + r) ** -0.5, lambda r: 0.5 * (1 + r) ** -1.5),
}


def stein_kernel(default: str = RBF) -> Choice:
    """The knob `kernel`."""
    return Choice(
        default,
        choices={RBF: "Gaussian (RBF)", "imq": "inverse multiquadric"},
        label="Kernel",
        doc="How much particles at distance |x-y| share: exp(-|x-y|²/h), or (1 + |x-y|²/h)^(-1/2), whose tails reach "
        "particles that are far away.",
    )


def forces(
    particles: np.ndarray, scores: np.ndarray, h: float, kernel: str = RBF, weights: np.ndarray | None = None
) -> dict[str, np.ndarray]:
    """Both parts of the force on some particles: k(x_j, x_i) grad log p(x_j, X) and grad_j k(x_j, x_i), each a mean.

    From where the particles stood before the step: each (n, 2, d), from and to. `weights` (m,) are those of the mean.
    """
    (rows, r), m = _some(particles, h), len(particles)
    start, (w, total) = particles[rows], (1.0, m) if weights is None else (weights, 1)
    value, slope = KERNELS[kernel].value(r) * w, KERNELS[kernel].slope(r) * w
    drive = value @ scores / total
    repulsion = 2 / h * (start * slope.sum(axis=1, keepdims=True) - slope @ particles) / total
    return {name: np.stack([start, start + force], axis=1) for name, force in
            (("drive", drive), ("repulsion", repulsion))}  # fmt: skip


def parts_of_force(
    particles: np.ndarray, scores: np.ndarray, h: float, kernel: str = RBF, weights: np.ndarray | None = None
) -> dict[str, np.ndarray]:
    """Both parts of the force on all particles, (m, d) each: without any scores there is but the repulsion."""
    force = KERNELS[kernel].force
    repulsion = force(particles, np.zeros(scores.shape), h, weights)
    return {"drive": force(particles, scores, h, weights) - repulsion, "repulsion": repulsion}


def kept_variance(particles: np.ndarray, h: float) -> float:
    """Their variance over that of the Gaussian posterior on which they rest under the RBF, from them alone (ours).

    Where they rest the force on each of them is 0, and so is its product with x_i (from their mean). For the score
    -x / v that makes s^2 / v = (2/h) sum_ij k_ij (x_i - x_j) . x_i / sum_ij k_ij z_i . z_j, with s^2 their variance and
    z = x / s (whitened where m >= d + 2): exact at rest, however few of them there are for d. Far modes make it too
    small, since x then reaches over the gap between them. So the larger of this and of a / (1 + a) is taken, with
    a = mean_i sum_j k_ij r_ij / d and r_ij = |x_i - x_j|^2 / h, which counts every mode by itself and is too small
    where many see one another (0.27 for 0.58). By some of the rows.
    """
    (rows, r), (m, d) = _some(particles, h), particles.shape
    k, x = np.exp(-r), particles - particles.mean(axis=0)
    apart = float((k * r).sum(axis=1).mean()) / d
    sd = x.std(axis=0)
    if h == 0 or not (sd > 0).all():
        return apart / (1 + apart)
    z = x / sd
    if m >= d + 2:
        z = np.linalg.solve(np.linalg.cholesky(z.T @ z / m + SOLID * np.eye(d)), z.T).T
    push = 2 / h * float((x[rows] * (x[rows] * k.sum(axis=1)[:, None] - k @ x)).sum())
    pull = float((z[rows] * (k @ z)).sum())
    return max(push / pull if pull > 0 else 0.0, apart / (1 + apart))


def _some(particles: np.ndarray, h: float) -> tuple[np.ndarray, np.ndarray]:
    """Rows of at most ARROWS particles, and r = |x_i - x_j|^2 / h of each from all, (n, m)."""
    rows = np.linspace(0, len(particles) - 1, min(ARROWS, len(particles))).astype(np.int64)
    start = particles[rows]
    return rows, sum((start[:, k, None] - particles[:, k]) ** 2 for k in range(particles.shape[1])) / h
