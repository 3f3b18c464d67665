"""Stein variational gradient descent (Liu, Wang 2016): particles pulled uphill together and pushed apart.

    x_i <- x_i + e s D(s phi(x_i)),  phi(x) = (1/m) sum_j [k(x_j, x) g_j + grad_j k(x_j, x)],  g_j = grad log p(x_j, X)

with k(x, y) = f(|x - y|^2 / h), s the prior's sds, and D the direction by an optimiser: `plain` leaves its argument as
it is, Adam and AdaGrad divide each coordinate of each particle by the size of the forces so far. At rest phi is 0 at
every particle, whatever D. In `SVGD.step` this is, line by line: the gradients g_j on a batch and the squared width h
(`squared_width`), the force phi at every particle (`KERNELS`), D, and the step size e (`decayed`).
"""

from __future__ import annotations

from functools import partial
from typing import NamedTuple

import numpy as np

from pmdviz.kernels.checks import Array, Rng
from pmdviz.knobs import Choice, Real, Whole
from pmdviz.methods import optimisers
from pmdviz.methods.base import BatchMethod, checked_gradient, read_only
from pmdviz.methods.optimisers import flow_update, momentum, paced
from pmdviz.methods.particles import (
    BANDWIDTH,
    BANDWIDTH_RULE,
    NUM_PARTICLES,
    SmoothedMethod,
    SmoothingKnobs,
    equal_log_weights,
    prior_draws,
    resized,
)
from pmdviz.methods.stein import (
    APART,
    GIVEN_WIDTH,
    KERNELS,
    RBF,
    WIDTH_RULE,
    forces,
    kept_variance,
    parts_of_force,
    squared_width,
)
from pmdviz.methods.step import (
    BATCH_SIZE,
    STEP_SIZE,
    TEMPERATURE,
    BatchKnobs,
    Cost,
    MethodKnobs,
    Path,
    Scalar,
    StepInfo,
    Update,
    Work,
    on_the_way,
)
from pmdviz.targets import Target

PAIRS = {"sampled": "of sampled pairs", "exact": "of all pairs"}


class AnnealedFlowKnobs(MethodKnobs):
    """Steps along a force, its kernel, and the way of the target from the prior to the posterior.

    optimiser: How the force becomes a step. Adam: exponential moving average. AdaGrad: accumulated squares. None: the
        force itself: all particles move by one map: a coordinate moves by ε s² φ, s its prior sd and φ the
        force in units of θ. The kernel's width is the same for every coordinate of θ, whatever its prior sd.
    kernel: How much particles at distance |x-y| share: exp(-|x-y|²/h), or (1 + |x-y|²/h)^(-1/2), whose tails reach
        particles that are far away.
    median: The median over 20,000 sampled pairs, which depend on m alone, or over all pairs.
    annealing: Begin with the prior as the target and raise the likelihood's power β to 1 (Han 2019, Algorithm 6;
        without a gradient Algorithm 7).
    num_temperatures: β = (k/K)^p for k = 1 to K.
    power: β = (k/K)^p: a larger p makes the first steps away from the prior smaller.
    steps_per_temperature: Steps along the force at each β.
    """

    optimiser = Choice("adam", {"adam": "Adam", "adagrad": "AdaGrad", "plain": "none"}, "Optimiser")
    eta = optimisers.ETA.at(10.0, default_by=("optimiser", {"adam": 10.0, "adagrad": 100.0, "plain": 1.0}))
    n0 = optimisers.N0.at(100.0)
    kappa = optimisers.KAPPA.at(1.0)
    kernel = Choice(RBF, {RBF: "Gaussian (RBF)", "imq": "inverse multiquadric"}, "Kernel")
    length_scale_rule = WIDTH_RULE.at("local")
    length_scale = GIVEN_WIDTH.at(0.3)
    median = Choice(
        "sampled", PAIRS, "Median distance", only_if=("length_scale_rule", ("liu_wang", "thesis", "median"))
    )
    annealing = Choice("off", {"off": "off", "on": "on"}, "Annealing")
    num_temperatures = Whole(100, (1, 1_000_000), (1, 1000), "Number of temperatures K", only_if=("annealing", "on"))
    power = Real(1.0, (0.1, 20), (1, 6), "Temperature exponent p", only_if=("annealing", "on"))
    steps_per_temperature = Whole(1, (1, 100_000), (1, 50), "Steps per temperature", only_if=("annealing", "on"))


def temperature(iteration: int, knobs: AnnealedFlowKnobs) -> float:
    """beta of the step after so many: ((1 + floor(iteration / m)) / K)^p, at most 1; 1 without annealing."""
    if knobs.annealing == "off":
        return 1.0
    rung = min(1 + iteration // knobs.steps_per_temperature, knobs.num_temperatures)
    return (rung / knobs.num_temperatures) ** knobs.power


MEMORY = ("first", "second")  # of the optimiser, which copies of a particle have too
COLLAPSED = 0.5  # of the posterior's variance, an sd ratio of 0.7: less is too little


def update_towards(density: str) -> Update:
    """Of steps towards a density, given as a formula of θ_j."""
    drive = f"mean_j k(θ_j, θ) ∇ log {density}"
    return flow_update(drive, "mean_j ∇_j k(θ_j, θ)", "the log posterior of this batch", momentum())


ANNEALED = update_towards("[p(θ_j) p(batch | θ_j)^{β}]")


class SVGDKnobs(AnnealedFlowKnobs, BatchKnobs, SmoothingKnobs):
    """The knobs of `svgd`.

    num_particles: Number of points that move together; a step costs m² kernel values.
    """

    num_particles = NUM_PARTICLES.at(1500, acts="copies")
    batch_size = BATCH_SIZE.at(20)
    bandwidth_rule = BANDWIDTH_RULE.at("local")  # its particles repel one another, which misleads leaving one out
    bandwidth = BANDWIDTH.at(0.75)

    def work(self, num_data: int) -> Work:
        """m^2 kernels and m gradients of the batch."""
        m = self.num_particles
        return Work(kernels=m**2, gradients=m * self.rows(num_data))


class SVGDState(NamedTuple):
    """Particles, all of the same weight, and the optimiser's memory."""

    particles: Array  # (m, d)
    log_weights: Array  # (m,) equal, logsumexp 0
    first: Array  # (m, d)
    second: Array  # (m, d)
    iteration: int
    h: float  # of the kernel of the last step, in squared units of theta; NaN at the start


class SVGD(SmoothedMethod, BatchMethod):
    """Stein variational gradient descent.

    short_title: SVGD
    about: Stein variational gradient descent moves a set of particles together: uphill on the log posterior, and apart
        from one another so that they cover it.
    formula: θ_i ← θ_i + ε D mean_j [k(θ_j, θ_i) ∇ log p(θ_j | X) + ∇_j k(θ_j, θ_i)],  D from the optimiser
    what_moves: Particles move: all are pulled uphill together and push one another apart.
    source: Liu, Wang 2016, Algorithm 1; annealed: Han 2019, Algorithm 6; Adam: Kingma, Ba 2015; AdaGrad: Duchi, Hazan,
        Singer 2011
    propagate: prior
    move: Stein force (on a batch)
    adapt: preconditioner + kernel width (Adam; the width by the points)

    A deterministic flow but for the batches. Known bias: the particles' variance is too small, the more so the more
    dimensions and the fewer particles (two particles on N(0, v) under `liu_wang` settle at +-sqrt(v log(3) / 2)). The
    kernel's width decides, and so does m / d: under `median` 100 particles on N(0, I) keep 0.90 of the variance for
    d = 10, and 0.58 for d = 100 (Ba et al. 2021).

    Annealed (Han 2019, Algorithm 6): the target is p0^(1 - beta) (p0 L)^beta = p0 L^beta with the prior, or q0, p0, and
    its score grad log p0 + beta grad log L. Nothing is divided by beta, as is done there for a constant p0.
    """

    name = "svgd"
    requires = frozenset({"reals", "gradient"})
    varies_less = APART
    kernel_groups = ("svgd",)
    scalars = (
        STEP_SIZE,
        Scalar("length_scale", "kernel width", "units of θ", True),
        Scalar("typical_move", "typical move", "units of θ", True),
        TEMPERATURE,
    )

    paths = (Path("drive", "uphill", True), Path("repulsion", "apart", True))
    update = update_towards("p(θ_j | batch)")

    def init(self, rng: Rng, target: Target, knobs: SVGDKnobs) -> SVGDState:
        """m draws from the prior."""
        particles, _ = prior_draws(rng, target, knobs.num_particles)
        zeros = np.zeros(particles.shape)
        return SVGDState(*read_only(particles, equal_log_weights(len(particles)), zeros, zeros.copy()), 0, np.nan)

    def step(
        self, rng: Rng, state: SVGDState, target: Target, batch: Array, knobs: SVGDKnobs
    ) -> tuple[SVGDState, StepInfo]:
        """One step along the Stein force of a batch."""
        state, resize, rows = resized(
            rng, state, knobs.num_particles, target, MEMORY, lambda: self.density(state, knobs, target)
        )
        t, x, beta = state.iteration + 1, state.particles, temperature(state.iteration, knobs)
        scores, h = tempered_scores(target, x, batch, beta), squared_width(x, knobs, target)
        force = KERNELS[knobs.kernel].force(x, scores, h) * target.scale
        direction, first, second = optimisers.OPTIMISERS[knobs.optimiser](force, state.first, state.second, t)
        rho = optimisers.decayed(t, knobs)
        particles = x + rho * target.scale * direction
        moved = float(np.sqrt(((particles - x) ** 2).sum(axis=1).mean()))
        scalars = {"step_size": rho, "length_scale": float(np.sqrt(h)), "typical_move": moved}
        parts, memory = partial(parts_of_force, x, scores, h, knobs.kernel), (state.first, second, t)
        state = SVGDState(*read_only(particles, state.log_weights, first, second), t, h)
        words = f"step {rho:.3g} · batch of {len(batch):,} · kernel width {np.sqrt(h):.3g} · typical move {moved:.2g}"
        annealed = knobs.annealing == "on"
        return state, StepInfo(
            Cost(len(batch), 0, len(batch) * len(x)),
            resize + words + (f" · β = {beta:.3g}" if annealed else ""),
            parents=rows,
            scalars=scalars | ({"temperature": beta} if annealed else {}),
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
                f"variance about {kept:.0%} of a Gaussian posterior's: particles barely repel one another; "
                f"use a wider kernel, or more particles ({m:,} in {d} dimension{'s' * (d > 1)} here)"
            )
        return super().caveat(state, knobs)


def tempered_scores(target: Target, particles: Array, batch: Array, beta: float) -> Array:
    """grad log p0 + beta (N/B) sum over the batch of grad log p(x | theta), (m, d)."""
    scores = checked_gradient(target, particles, batch)
    return scores if beta == 1 else beta * scores + (1 - beta) * target.grad_log_prior(particles)
