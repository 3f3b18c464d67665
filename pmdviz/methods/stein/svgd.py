"""Stein variational gradient descent (Liu, Wang 2016): particles pulled uphill together and pushed apart."""

from __future__ import annotations

from functools import partial
from typing import NamedTuple

import numpy as np

from pmdviz.methods.base import checked_gradient, read_only
from pmdviz.methods.grammar import Grammar, by
from pmdviz.methods.shared import optimisers
from pmdviz.methods.shared.batching import BatchKnobs, BatchMethod, batch_size_knob
from pmdviz.methods.shared.particles import equal_log_weights, num_particles_knob, prior_draws
from pmdviz.methods.shared.pulls import flow_update, momentum, paced
from pmdviz.methods.shared.smoothing import SmoothedMethod, SmoothingKnobs, kernel_rule, kernel_width
from pmdviz.methods.stein.annealed import AnnealedFlowKnobs, temperature
from pmdviz.methods.stein.kernels import KERNELS, RBF, forces, kept_variance, parts_of_force, squared_width
from pmdviz.methods.step import STEP_SIZE, TEMPERATURE, Cost, Path, Scalar, StepInfo, Update, Work, on_the_way
from pmdviz.targets import Target

COLLAPSED = 0.5  # of the posterior's variance, an sd ratio of 0.7: less is too little


def update_towards(density: str) -> Update:
    """Of steps towards a density, given as a formula of θ_j."""
    drive = f"mean_j k(θ_j, θ) ∇ log {density}"
    return flow_update(drive, "mean_j ∇_j k(θ_j, θ)", "the log posterior, as this batch sees it", momentum())


ANNEALED = update_towards("[p(θ_j) p(batch | θ_j)^{β}]")


class SVGDKnobs(AnnealedFlowKnobs, BatchKnobs, SmoothingKnobs):
    """The knobs of `svgd`."""

    kind_words = "knob of method 'svgd':"

    num_particles = num_particles_knob(
        1500, "restart", "Number of points that move together; a step costs m² kernel values."
    )
    batch_size = batch_size_knob(20)
    bandwidth_rule = kernel_rule("local")  # its particles repel one another, which misleads leaving one out
    bandwidth = kernel_width("local")

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
    h: float  # of the kernel of the last step, in squared units of theta; NaN at the start


class SVGD(SmoothedMethod, BatchMethod):
    """x_i <- x_i + step * phi_i, phi_i = (1/m) sum_j [k(x_j, x_i) grad log p(x_j, X) + grad_j k(x_j, x_i)]  (Eq. 8).

    A deterministic flow but for the batches. Known bias: the particles' variance is too small, the more so the more
    dimensions and the fewer particles (two particles on N(0, v) under `liu_wang` settle at +-sqrt(v log(3) / 2)). The
    kernel's width decides, and so does m / d: under `median` 100 particles on N(0, I) keep 0.90 of the variance for
    d = 10, and 0.58 for d = 100 (Ba et al. 2021).

    Annealed (Han 2019, Algorithm 6): the target is p0^(1 - beta) (p0 L)^beta = p0 L^beta with the prior, or q0, p0, and
    its score grad log p0 + beta grad log L. Nothing is divided by beta, as is done there for a constant p0.
    """

    name = "svgd"
    title = "Stein variational gradient descent"
    about = (
        "Stein variational gradient descent moves a set of particles together: uphill on the log posterior, "
        "and apart from one another so that they cover it."
    )
    formula = "θ_i ← θ_i + ε · mean_j [k(θ_j, θ_i) ∇ log p(θ_j | X) + ∇_j k(θ_j, θ_i)]"
    what_moves = "Particles move: all are pulled uphill together and push one another apart."
    source = (
        "Liu, Wang 2016, Algorithm 1; annealed: Han 2019, Algorithm 6; Adam: Kingma, Ba 2015; "
        "AdaGrad: Duchi, Hazan, Singer 2011"
    )
    short_title = "SVGD"
    requires = frozenset({"reals", "gradient"})
    grammar = Grammar(
        propagate=by("prior"),
        move=by("Stein force", remark="on a batch"),
        adapt=by("pace", "kernel width", remark="Adam; the width by the points"),
    )
    Knobs = SVGDKnobs
    kernel_groups = ("svgd",)
    scalars = (
        STEP_SIZE,
        Scalar("length_scale", "kernel width", "units of θ", True),
        Scalar("typical_move", "typical move", "units of θ", True),
        TEMPERATURE,
    )

    paths = (Path("drive", "uphill", True), Path("repulsion", "apart", True))
    update = update_towards("p(θ_j | batch)")

    def varies_less(self, knobs: SVGDKnobs) -> str:
        """They keep their distance from one another, as draws that know nothing of one another do not."""
        return "particles that push one another apart vary less"

    def init(self, rng: np.random.Generator, target: Target, knobs: SVGDKnobs) -> SVGDState:
        """m draws from the prior."""
        particles, _ = prior_draws(rng, target, knobs.num_particles)
        zeros = np.zeros(particles.shape)
        return SVGDState(*read_only(particles, equal_log_weights(len(particles)), zeros, zeros.copy()), 0, np.nan)

    def step(
        self, rng: np.random.Generator, state: SVGDState, target: Target, batch: np.ndarray, knobs: SVGDKnobs
    ) -> tuple[SVGDState, StepInfo]:
        """One step along the Stein force of a batch."""
        t, x, beta = state.iteration + 1, state.particles, temperature(state.iteration, knobs)
        scores, h = tempered_scores(target, x, batch, beta), squared_width(x, knobs, target)
        force = KERNELS[knobs.kernel].force(x, scores, h) * target.scale
        direction, first, second = optimisers.OPTIMISERS[knobs.optimiser](force, state.first, state.second, t)
        rho = optimisers.decayed(t, knobs)
        particles = x + rho * target.scale * direction
        moved = float(np.sqrt(((particles - x) ** 2).sum(axis=1).mean()))
        told = {"step_size": rho, "length_scale": float(np.sqrt(h)), "typical_move": moved}
        parts, memory = partial(parts_of_force, x, scores, h, knobs.kernel), (state.first, second, t)
        state = SVGDState(*read_only(particles, state.log_weights, first, second), t, h)
        words = f"step {rho:.3g} · batch of {len(batch):,} · kernel width {np.sqrt(h):.3g} · typical move {moved:.2g}"
        annealed = knobs.annealing == "on"
        return state, StepInfo(
            Cost(len(batch), 0, len(batch) * len(x)),
            words + (f" · β = {beta:.3g}" if annealed else ""),
            scalars=told | ({"temperature": beta} if annealed else {}),
            terms=paced(knobs.optimiser, memory, rho * target.scale, target.scale, parts),
            paths=partial(forces, x, scores, h, knobs.kernel),
            numbers={"ε": rho} | ({"β": beta} if annealed else {}),
            update=ANNEALED if annealed else None,
        )

    def unfinished(self, state: SVGDState, knobs: SVGDKnobs) -> str:
        """That the power of the likelihood is not 1 yet."""
        beta = temperature(state.iteration - 1, knobs) if state.iteration else 1.0
        return on_the_way(beta) if beta < 1 else ""

    def caveat(self, state: SVGDState, knobs: SVGDKnobs) -> str:
        """That the power of the likelihood is not 1 yet, or that the variance has collapsed."""
        if state.iteration == 0:
            return ""
        if known := self.unfinished(state, knobs):
            return known
        m, d = state.particles.shape
        kept = kept_variance(state.particles, state.h) if knobs.kernel == RBF and m > 1 else 1.0
        if kept < COLLAPSED:
            return (
                f"variance about {kept:.0%} of the posterior's: particles barely repel one another; "
                f"use a wider kernel, or more particles ({m:,} in {d} dimension{'s' * (d > 1)} here)"
            )
        return super().caveat(state, knobs)


def tempered_scores(target: Target, particles: np.ndarray, batch: np.ndarray, beta: float) -> np.ndarray:
    """grad log p0 + beta (N/B) sum over the batch of grad log p(x | theta), (m, d)."""
    scores = checked_gradient(target, particles, batch)
    return scores if beta == 1 else beta * scores + (1 - beta) * target.grad_log_prior(particles)
