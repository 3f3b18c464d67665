"""Stein variational gradient descent (Liu, Wang 2016): particles pulled uphill together and pushed apart."""

from __future__ import annotations

from functools import partial
from typing import NamedTuple

import numpy as np

from pmdviz.densities.bandwidth import local_scale, neighbourhood_covariance
from pmdviz.kernels.distances import median_distance
from pmdviz.kernels.svgd import sampled_median_distance, stein_force
from pmdviz.knobs import Choice, Real
from pmdviz.methods.base import checked_gradient, read_only
from pmdviz.methods.cost import Work
from pmdviz.methods.shared import optimisers
from pmdviz.methods.shared.batching import BatchKnobs, BatchMethod, batch_size_knob
from pmdviz.methods.shared.particles import equal_log_weights, num_particles_knob, prior_draws
from pmdviz.methods.shared.smoothing import SmoothedMethod, SmoothingKnobs, kernel_rule, kernel_width
from pmdviz.methods.step import STEP_SIZE, Cost, Path, Scalar, StepInfo
from pmdviz.targets import Target

ARROWS = 50  # particles whose forces a picture shows
CLOSEST = 1e-6  # of the prior's sd: coincident particles have a kernel too
MEDIANS = {"sampled": sampled_median_distance, "exact": median_distance}


class SVGDKnobs(BatchKnobs, SmoothingKnobs):
    """The knobs of `svgd`."""

    kind_words = "knob of method 'svgd':"

    num_particles = num_particles_knob(
        1500, "restart", "Number of points that move together; a step costs m² kernel values."
    )
    batch_size = batch_size_knob(20)
    bandwidth_rule = kernel_rule("local")  # its particles repel one another, which misleads leaving one out
    bandwidth = kernel_width("local")
    optimiser = Choice(
        "adam",
        choices={"adam": "Adam", "adagrad": "AdaGrad"},
        label="Optimiser",
        doc="How the force becomes a step. Adam: exponential moving average. AdaGrad: accumulated squares.",
    )
    eta = optimisers.eta(10.0, default_by=("optimiser", {"adam": 10.0, "adagrad": 100.0}))
    n0 = optimisers.n0(100.0)
    kappa = optimisers.kappa()
    length_scale_rule = Choice(
        "local",
        choices={
            "liu_wang": "median / log m",
            "median": "median distance",
            "local": "median within a mode",
            "given": "fixed",
        },
        label="RBF width rule",
        doc="The RBF is exp(-|x-y|²/h). Median / log m: h = med²/log(m+1) with the median distance med, as in Liu and "
        "Wang. Median distance: h = med². Median within a mode: as the first, with the median distance within a mode. "
        "Fixed: the square of the given number.",
    )
    length_scale = Real(
        0.3,
        bounds=(1e-6, 1_000_000),
        softbounds=(0.02, 5),
        log=True,
        label="RBF width √h",
        unit="units of θ",
        only_if=("length_scale_rule", "given"),
        doc="Range of the repulsion between particles.",
    )
    median = Choice(
        "sampled",
        choices={"sampled": "of sampled pairs", "exact": "of all pairs"},
        label="Median distance",
        only_if=("length_scale_rule", ("liu_wang", "median")),
        doc="The median over 20,000 sampled pairs, which depend on m alone, or over all pairs.",
    )

    def work(self, num_data: int) -> Work:
        """m^2 kernels and m gradients of the batch."""
        m = self.num_particles
        return Work(kernels=m**2, gradients=m * self.rows(num_data))


class SVGDState(NamedTuple):
    """Particles, all of the same weight, and the optimiser's memory."""

    particles: np.ndarray  # (m, d)
    log_weights: np.ndarray  # (m,) equal, logsumexp 0
    first: np.ndarray  # (m, d)
    second: np.ndarray  # (m, d)
    iteration: int


class SVGD(SmoothedMethod, BatchMethod):
    """x_i <- x_i + step * phi_i, phi_i = (1/m) sum_j [k(x_j, x_i) grad log p(x_j, X) + grad_j k(x_j, x_i)]  (Eq. 8).

    A deterministic flow but for the batches. Known bias: the particles' variance is too small, the more so the more
    dimensions and the fewer particles (two particles on N(0, v) under `liu_wang` settle at +-sqrt(v log(3) / 2)).
    """

    name = "svgd"
    title = "Stein variational gradient descent"
    about = (
        "Stein variational gradient descent moves a set of particles together: uphill on the log posterior, "
        "and apart from one another so that they cover it."
    )
    formula = "θ_i ← θ_i + ε · mean_j [k(θ_j, θ_i) ∇ log p(θ_j | X) + ∇_j k(θ_j, θ_i)]"
    what_moves = "Particles move: all are pulled uphill together and push one another apart."
    source = "Liu, Wang 2016, Algorithm 1; Adam: Kingma, Ba 2015; AdaGrad: Duchi, Hazan, Singer 2011"
    short_title = "SVGD"
    requires = frozenset({"reals", "gradient"})
    Knobs = SVGDKnobs
    scalars = (
        STEP_SIZE,
        Scalar("length_scale", "kernel width", "units of θ", True),
        Scalar("typical_move", "typical move", "units of θ", True),
    )

    paths = (Path("drive", "uphill", True), Path("repulsion", "apart", True))

    def varies_less(self, knobs: SVGDKnobs) -> str:
        """They keep their distance from one another, as draws that know nothing of one another do not."""
        return "particles that push one another apart vary less"

    def init(self, rng: np.random.Generator, target: Target, knobs: SVGDKnobs) -> SVGDState:
        """m draws from the prior."""
        particles, _ = prior_draws(rng, target, knobs.num_particles)
        zeros = np.zeros(particles.shape)
        return SVGDState(*read_only(particles, equal_log_weights(len(particles)), zeros, zeros.copy()), 0)

    def step(
        self, rng: np.random.Generator, state: SVGDState, target: Target, batch: np.ndarray, knobs: SVGDKnobs
    ) -> tuple[SVGDState, StepInfo]:
        """One step along the Stein force of a batch."""
        t, m = state.iteration + 1, len(state.particles)
        scores, h = checked_gradient(target, state.particles, batch), squared_width(state.particles, knobs, target)
        force = stein_force(state.particles, scores, h) * target.scale
        direction, first, second = optimisers.OPTIMISERS[knobs.optimiser](force, state.first, state.second, t)
        rho = optimisers.decayed(t, knobs)
        paths = partial(forces, state.particles, scores, h)
        particles = state.particles + rho * target.scale * direction
        moved = np.sqrt(((particles - state.particles) ** 2).sum(axis=1).mean())
        state = SVGDState(*read_only(particles, state.log_weights, first, second), t)
        return state, StepInfo(
            Cost(len(batch), 0, len(batch) * m),
            scalars={"step_size": rho, "length_scale": float(np.sqrt(h)), "typical_move": float(moved)},
            words=f"step {rho:.3g} · batch of {len(batch):,} · RBF width {np.sqrt(h):.3g} · typical move {moved:.2g}",
            paths=paths,
        )


def forces(particles: np.ndarray, scores: np.ndarray, h: float) -> dict[str, np.ndarray]:
    """Both parts of the force on some particles: k(x_j, x_i) grad log p(x_j, X) and grad_j k(x_j, x_i), each a mean.

    From where the particles stood before the step.
    """
    rows = np.linspace(0, len(particles) - 1, min(ARROWS, len(particles))).astype(np.int64)
    start, m = particles[rows], len(particles)
    kernel = np.exp(-sum((start[:, k, None] - particles[:, k]) ** 2 for k in range(particles.shape[1])) / h)
    drive = kernel @ scores / m
    repulsion = 2 / h * (start * kernel.sum(axis=1, keepdims=True) - kernel @ particles) / m
    return {name: np.stack([start, start + force], axis=1) for name, force in
            (("drive", drive), ("repulsion", repulsion))}  # fmt: skip


def squared_width(particles: np.ndarray, knobs: SVGDKnobs, target: Target) -> float:
    """h of the RBF exp(-|x - y|^2 / h); a lone particle has no distance and takes the prior's sd."""
    if knobs.length_scale_rule == "given":
        return knobs.length_scale**2
    m, sd = len(particles), float(target.scale.mean())
    if knobs.length_scale_rule == "local":
        distance = distance_in_modes(particles, target.scale)
    else:
        distance = MEDIANS[knobs.median](particles) if m > 1 else sd
    squared = max(distance, CLOSEST * sd) ** 2
    return squared if knobs.length_scale_rule == "median" else squared / np.log(m + 1)


def distance_in_modes(particles: np.ndarray, scale: np.ndarray) -> float:
    """Median distance of two draws of N(0, s^2 I), s^2 = det(S)^(1/d) for the covariance S within neighbourhoods.

    On one Gaussian the median distance itself; where modes lie far apart not the gap between them (ours).
    """
    m, d = particles.shape
    S = neighbourhood_covariance(particles, np.full(m, 1.0 / m), scale) / local_scale(d)
    _, log_det = np.linalg.slogdet(S + np.diag((CLOSEST * scale) ** 2))
    chi_squared = d * (1 - 2 / (9 * d)) ** 3  # Wilson and Hilferty's median, of |x - y|^2 / (2 s^2)
    return float(np.sqrt(2 * chi_squared) * np.exp(0.5 * log_det / d))
