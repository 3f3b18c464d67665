"""log Z by the path of SVGD: the area under the squared Stein discrepancy, which should be a KL divergence."""

from __future__ import annotations

from functools import partial
from typing import NamedTuple

import numpy as np

from pmdviz.kernels.stein.steinis import transport_diagonal
from pmdviz.knobs import Choice, Whole
from pmdviz.methods.base import checked_gradient, checked_log_likelihood, read_only
from pmdviz.methods.grammar import Grammar, by
from pmdviz.methods.shared import optimisers
from pmdviz.methods.shared.particles import check_reach, equal_log_weights, num_particles_knob, prior_draws
from pmdviz.methods.shared.pulls import flow_update, paced
from pmdviz.methods.shared.smoothing import SmoothedMethod, SmoothingKnobs
from pmdviz.methods.stein.flow import (
    DETERMINANTS,
    first_step,
    squared_width,
    unfolded,
    width_factor,
)
from pmdviz.methods.stein.kernels import parts_of_force
from pmdviz.methods.stein.shown import AreaUnderDiscrepancy
from pmdviz.methods.step import STEP_SIZE, Cost, Scalar, StepInfo, Work
from pmdviz.targets import Target

STEPS = 200  # that the default budget is enough for


class PathIntegrationKnobs(SmoothingKnobs):
    """The knobs of `path_integration`."""

    kind_words = "knob of method 'path_integration':"

    num_particles = num_particles_knob(
        300, "restart", "Number of points that move together; a step costs m² kernel values.", usual=(20, 5_000)
    )
    eta = first_step(0.125)
    kappa = optimisers.step_decay(0.0)
    length_scale_factor = width_factor(1.0)
    statistic = Choice(
        "v",
        choices={"v": "all pairs (V)", "u": "pairs of different particles (U)"},
        label="Discrepancy",
        basic=True,
        doc="KSD² as the mean over all pairs of particles, each with itself too, as in the thesis: it never falls to "
        "0, and the area grows without end. Over pairs of different particles it turns negative, since they repel one "
        "another: the area dives.",
    )
    start_draws = Whole(
        20_000,
        bounds=(100, 1_000_000),
        softbounds=(1_000, 100_000),
        log=True,
        label="Draws of q₀",
        acts="restart",
        doc="Draws over which log q₀ - log p is averaged at the first step.",
    )

    def work(self, num_data: int) -> Work:
        """Two forces of all on all, gradients, and at the first step the likelihoods of the draws of q0."""
        m = self.num_particles
        return Work(kernels=m**2, likelihoods=self.start_draws * num_data, gradients=m * num_data)


class PathIntegrationState(NamedTuple):
    """Particles, all of the same weight, and the area so far."""

    particles: np.ndarray  # (m, d)
    log_weights: np.ndarray  # (m,) equal, logsumexp 0
    areas: np.ndarray  # (t + 1,) sum of step KSD^2 after each step, nats
    start_gap: float | None  # mean over q0 of log q0 - log p, unnormalised, nats: KL(q0, p) - log Z
    iteration: int


class PathIntegration(SmoothedMethod, AreaUnderDiscrepancy):
    """K <- K + eps KSD^2(X), x_i <- x_i + eps phi(x_i), log Z = K - E_q0 [log q0 - log p]  (Algorithm 4).

    Along the flow of infinitely many particles dKL/dt = -KSD^2, so that the area K under KSD^2 would be KL(q0, p) in
    the end. It is a failure, shown as one, and the estimate is declared biased. As printed, KSD^2 is a V-statistic: it
    holds the pairs of each particle with itself, eps tr(kappa) / m at every step, and the area grows linearly
    for ever. Without them it is a U-statistic of particles that are not independent: they repel one another, it
    becomes negative, and the area dives. There is no right K; a wider kernel (factor 8) only makes the excess smaller.
    The thesis prints the step without its eps. Steps are halved until they are one-to-one at the particles (ours);
    without that they diverge wherever the posterior is much narrower than the prior.
    """

    name = "path_integration"
    title = "Path integration of SVGD"
    about = (
        "Path integration adds up how fast SVGD should approach the posterior, to learn how far away it began and so "
        "log Z; with finitely many particles it misses."
    )
    formula = "K ← K + ε KSD²(X),  θ_i ← θ_i + ε φ(θ_i),  log Z ≈ K - E[log q₀ - log p]"
    what_moves = "Particles move as in SVGD, while the area under their Stein discrepancy grows."
    source = "Han 2019 (thesis), Algorithm 4"
    short_title = "Path integration"
    requires = frozenset({"reals", "gradient"})
    grammar = Grammar(
        propagate=by("prior"),
        move=by("Stein force"),
        adapt=by("step size", "kernel width", remark="a step is halved where it would fold space"),
    )
    Knobs = PathIntegrationKnobs
    kernel_groups = ("steinis", "svgd")
    estimates_log_z = True
    scalars = (
        STEP_SIZE,
        Scalar("length_scale", "kernel width", "prior sds", True),
        Scalar("squared_discrepancy", "KSD²", "nats per unit of step"),
        Scalar("area", "area under KSD²", "nats"),
    )
    budget_words = f"{STEPS} steps"
    update = flow_update("mean_j k(θ_j, θ) ∇ log p(θ_j | X)", "mean_j ∇_j k(θ_j, θ)", "the log posterior")

    def varies_less(self, knobs: PathIntegrationKnobs) -> str:
        """As SVGD's."""
        return "particles that push one another apart vary less"

    def default_budget(self, target: Target, knobs: PathIntegrationKnobs) -> int:
        """For 200 steps: passes over the data, or without any so many evaluations a particle."""
        if target.data is not None:
            return (1 + STEPS) * target.num_data
        return STEPS + knobs.start_draws // knobs.num_particles

    def init(self, rng: np.random.Generator, target: Target, knobs: PathIntegrationKnobs) -> PathIntegrationState:
        """m draws from the prior."""
        particles, _ = prior_draws(rng, target, knobs.num_particles)
        arrays = read_only(particles, equal_log_weights(len(particles)), np.zeros(1))
        return PathIntegrationState(*arrays, None, 0)

    def batch_size(self, state: PathIntegrationState, knobs: PathIntegrationKnobs, num_data: int) -> int:
        """All of them."""
        return num_data

    def batches(self, state: PathIntegrationState, knobs: PathIntegrationKnobs) -> str:
        """All data in their order."""
        return "whole"

    def step(
        self,
        rng: np.random.Generator,
        state: PathIntegrationState,
        target: Target,
        batch: np.ndarray,
        knobs: PathIntegrationKnobs,
    ) -> tuple[PathIntegrationState, StepInfo]:
        """The discrepancy where the particles stand, times the step; then the step."""
        t, unit, asked = state.iteration + 1, target.scale, 0
        if state.start_gap is None:
            asked, gap = knobs.start_draws, start_gap(rng, target, batch, knobs.start_draws)
            state = state._replace(start_gap=gap)
        scores, places = checked_gradient(target, state.particles, batch) * unit, state.particles / unit
        h, planned = squared_width(places, knobs.length_scale_factor), optimisers.step_size(t, knobs.eta, knobs.kappa)
        force, diagonal = transport_diagonal(places, places, scores, h)
        eps = unfolded(DETERMINANTS["first_order"], diagonal, planned)
        squared = squared_discrepancy(scores, force, diagonal, h, knobs.statistic)
        areas = np.append(state.areas, state.areas[-1] + eps * squared)
        particles = state.particles + eps * unit * force
        check_reach(particles, target, planned, batch)
        parts = partial(parts_of_force, places, scores, h)
        state = PathIntegrationState(*read_only(particles, state.log_weights, areas), state.start_gap, t)
        shorter = f" (of {planned:.3g}: a longer one would fold space)" if eps < planned else ""
        scalars = {"step_size": eps, "length_scale": np.sqrt(h), "squared_discrepancy": squared, "area": areas[-1]}
        return state, StepInfo(
            Cost(len(batch) * (1 + (asked > 0)), len(batch) * asked, len(batch) * len(particles)),
            f"step {eps:.3g}{shorter} · RBF width {np.sqrt(h):.3g} prior sds · KSD² {squared:.3g} · "
            f"area {areas[-1]:.4g} nats",
            scalars={name: float(value) for name, value in scalars.items()},
            terms=paced("plain", (places, places, t), eps * unit, 1.0, parts),
            numbers={"ε": eps},
        )

    def log_z(self, state: PathIntegrationState, knobs: PathIntegrationKnobs, target: Target) -> float | None:
        """The area less what it started from; biased, see above."""
        return None if state.start_gap is None else float(state.areas[-1] - state.start_gap)

    def areas(self, state: PathIntegrationState) -> np.ndarray:
        """After each step, (t + 1,), nats."""
        return state.areas

    caveat_is_of_q = False

    def caveat(self, state: PathIntegrationState, knobs: PathIntegrationKnobs) -> str:
        """That log Z is biased, and which way."""
        way = "grows for ever" if knobs.statistic == "v" else "dives"
        return f"log Z is biased: the area under KSD² {way} with finitely many particles, whatever the target"


def start_gap(rng: np.random.Generator, target: Target, batch: np.ndarray, num: int) -> float:
    """Mean over draws of q0 of log q0 - log p = -(log likelihood of all data), nats."""
    draws, _ = prior_draws(rng, target, num)
    return float(-checked_log_likelihood(target, draws, batch).mean())


def squared_discrepancy(
    scores: np.ndarray, force: np.ndarray, diagonal: np.ndarray, h: float, statistic: str = "v"
) -> float:
    """KSD^2 by the RBF of width h: mean over pairs of k [s.s' + (s - s').(x - x') 2/h + 2d/h - 4 |x - x'|^2/h^2].

    Over all pairs (v) it is the mean over i of s_i . phi(x_i) + tr grad phi(x_i), for phi (m, d) and the diagonal
    (m, d) of its Jacobian; over different ones (u) without |s_i|^2 + 2 d / h, which is a particle's with itself.
    """
    m, d = scores.shape
    v = float(((scores * force).sum(axis=1) + diagonal.sum(axis=1)).mean())
    if statistic == "v" or m == 1:
        return v
    own = float((scores**2).sum(axis=1).mean()) + 2 * d / h
    return (m * v - own) / (m - 1)
