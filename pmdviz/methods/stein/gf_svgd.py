"""Gradient-free SVGD (Han 2019): the force of a surrogate's gradient, weighted by surrogate over target."""

from __future__ import annotations

from functools import partial
from typing import NamedTuple

import numpy as np

from pmdviz.densities.density import effective_sample_size
from pmdviz.errors import InputError
from pmdviz.knobs import Choice
from pmdviz.methods.base import checked_log_density, read_only
from pmdviz.methods.grammar import Grammar, by
from pmdviz.methods.shared import optimisers
from pmdviz.methods.shared.particles import equal_log_weights, num_particles_knob, prior_draws
from pmdviz.methods.shared.pulls import flow_update, momentum, paced
from pmdviz.methods.shared.smoothing import SmoothedMethod, SmoothingKnobs, kernel_rule, kernel_width
from pmdviz.methods.stein.annealed import AnnealedFlowKnobs, temperature
from pmdviz.methods.stein.kernels import KERNELS, forces, parts_of_force, squared_width
from pmdviz.methods.stein.shown import WithSurrogate
from pmdviz.methods.stein.surrogates import (
    MOMENTS,
    PRIOR,
    SURROGATES,
    Surrogate,
    log_density_and_score,
    log_ratios,
    surrogate_knob,
    surrogate_mean,
    surrogate_ratio,
    surrogate_sd,
    width_knob,
)
from pmdviz.methods.step import STEP_SIZE, TEMPERATURE, Cost, Path, Scalar, StepInfo, Work, on_the_way
from pmdviz.targets import Target

STEPS = 500  # that the default budget is enough for
FEW = 0.05  # ESS of the weights as a share of the particles: below it they do not see the target
EXPLODED = 100.0  # times the prior's variance
INVERTED = "inverted"


class GFSVGDKnobs(AnnealedFlowKnobs, SmoothingKnobs):
    """The knobs of `gf_svgd`."""

    kind_words = "knob of method 'gf_svgd':"

    num_particles = num_particles_knob(
        300, "restart", "Number of points that move together; a step costs m² kernel values.", usual=(20, 5_000)
    )
    surrogate = surrogate_knob(MOMENTS)
    surrogate_ratio = surrogate_ratio()
    surrogate_mean = surrogate_mean()
    surrogate_sd = surrogate_sd()
    surrogate_width = width_knob()
    weighting = Choice(
        "ratios",
        choices={"ratios": "surrogate over target", INVERTED: "target over surrogate (wrong)"},
        label="Weights",
        doc="The force of a particle counts ρ/p: most where the target is small, so that particles leave. Target over "
        "surrogate looks like importance sampling, and is wrong.",
    )
    bandwidth_rule = kernel_rule("local")
    bandwidth = kernel_width("local")

    def work(self, num_data: int) -> Work:
        """m^2 kernels of the force and as many of a surrogate made of kernels, and m likelihoods of all data."""
        m = self.num_particles
        return Work(kernels=2 * m**2, likelihoods=m * num_data)


class GFSVGDState(NamedTuple):
    """Particles, all of the same weight, the optimiser's memory, and what the last step knew of them."""

    particles: np.ndarray  # (m, d)
    log_weights: np.ndarray  # (m,) equal, logsumexp 0
    first: np.ndarray  # (m, d)
    second: np.ndarray  # (m, d)
    before: np.ndarray  # (m, d) where the particles stood before the last step
    log_p: np.ndarray  # (m,) log of the target there, at the temperature of that step, unnormalised
    log_ratios: np.ndarray  # (m,) log of surrogate over target there, logsumexp 0
    iteration: int
    growth: float  # of the particles' variance, in prior variances


class GFSVGD(SmoothedMethod, WithSurrogate):
    """x_i <- x_i + step * phi_i, phi_i = sum_j w_j [k(x_j, x_i) grad log rho(x_j) + grad_j k(x_j, x_i)]  (Algorithm 5).

    w_j is rho(x_j) / p(x_j), summing to 1: E_p of w times Stein's operator of rho is that of p, so that the fixed
    points are those of SVGD on p, without p's gradient. The direction w(x_i) phi_i would be steepest; the thesis drops
    the factor. With the surrogate rho = p it is SVGD; best is one with about three times the variance of p.

    Annealed (Algorithm 7) the target of a step is p0^(1 - beta) (p0 L)^beta = p0 L^beta, as in `svgd`.
    """

    name = "gf_svgd"
    title = "Gradient-free SVGD"
    about = (
        "Gradient-free SVGD moves particles by the gradient of a surrogate density, "
        "weighted by surrogate over target, so that the target is only evaluated."
    )
    formula = "θ_i ← θ_i + ε · Σ_j w_j [k(θ_j, θ_i) ∇ log ρ(θ_j) + ∇_j k(θ_j, θ_i)],  w_j ∝ ρ(θ_j) / p(θ_j | X)"
    what_moves = "Particles move: those where the surrogate exceeds the posterior push the others most."
    source = "Han 2019 (thesis), Algorithm 5; annealed: Algorithm 7; Han, Liu 2018"
    short_title = "GF-SVGD"
    grammar = Grammar(
        propagate=by("prior"),
        move=by("Stein force", remark="of a surrogate, each point weighted by surrogate over target"),
        adapt=by("pace", "kernel width", "surrogate", remark="Adam; width and surrogate by the points"),
    )
    Knobs = GFSVGDKnobs
    kernel_groups = ("responsibilities", "svgd")
    budget_words = f"{STEPS} steps"
    scalars = (
        STEP_SIZE,
        Scalar("length_scale", "kernel width", "units of θ", True),
        Scalar("typical_move", "typical move", "units of θ", True),
        Scalar("surrogate_ess", "ESS of ρ/p", "particles", True),
        TEMPERATURE,
    )
    paths = (Path("drive", "uphill on ρ", True), Path("repulsion", "apart", True))
    update = flow_update(
        "Σ_j w_j k(θ_j, θ) ∇ log ρ(θ_j)", "Σ_j w_j ∇_j k(θ_j, θ)", "the surrogate ρ, weighted by w ∝ ρ/p", momentum()
    )

    def varies_less(self, knobs: GFSVGDKnobs) -> str:
        """As SVGD's."""
        return "particles that push one another apart vary less"

    def default_budget(self, target: Target, knobs: GFSVGDKnobs) -> int:
        """For 500 steps."""
        return STEPS * target.num_data

    def fitted(self, knobs: GFSVGDKnobs, target: Target) -> GFSVGDKnobs:
        """With another surrogate where the prior has no gradient."""
        lacking = knobs.surrogate == PRIOR and "gradient" not in target.offers
        return knobs.changed({"surrogate": MOMENTS}) if lacking else knobs

    def check_pair(self, target: Target, knobs: GFSVGDKnobs) -> None:
        """The prior is a surrogate only where it has a gradient. Raises InputError."""
        super().check_pair(target, knobs)
        if knobs.surrogate == PRIOR and "gradient" not in target.offers:
            raise InputError(
                f"target {target.name!r} offers no gradient, not of its prior either: "
                f"surrogate 'prior' cannot be used; {MOMENTS!r} needs none"
            )

    def init(self, rng: np.random.Generator, target: Target, knobs: GFSVGDKnobs) -> GFSVGDState:
        """m draws from the prior."""
        particles, _ = prior_draws(rng, target, knobs.num_particles)
        equal, zeros = equal_log_weights(len(particles)), np.zeros(particles.shape)
        arrays = particles, equal, zeros, zeros.copy(), particles.copy(), np.zeros(len(particles)), equal.copy()
        return GFSVGDState(*read_only(*arrays), 0, growth(particles, target.scale))

    def batch_size(self, state: GFSVGDState, knobs: GFSVGDKnobs, num_data: int) -> int:
        """All of them: the noise of a batch's N/B sum would be exponentiated in the weights."""
        return num_data

    def batches(self, state: GFSVGDState, knobs: GFSVGDKnobs) -> str:
        """All data in their order."""
        return "whole"

    def step(
        self, rng: np.random.Generator, state: GFSVGDState, target: Target, batch: np.ndarray, knobs: GFSVGDKnobs
    ) -> tuple[GFSVGDState, StepInfo]:
        """One step along the weighted force of the surrogate."""
        t, x, beta = state.iteration + 1, state.particles, temperature(state.iteration, knobs)
        log_p = checked_log_density(target, x, batch, beta)
        rho = SURROGATES[knobs.surrogate](x, log_p, knobs, target)
        log_rho, scores = log_density_and_score(rho, x)
        log_w = log_ratios(log_rho, log_p, x, knobs.weighting == INVERTED)
        w, h = np.exp(log_w), squared_width(x, knobs, target)
        force = KERNELS[knobs.kernel].force(x, scores, h, w) * target.scale
        direction, first, second = optimisers.OPTIMISERS[knobs.optimiser](force, state.first, state.second, t)
        size = optimisers.decayed(t, knobs)
        particles = x + size * target.scale * direction
        parts, memory = partial(parts_of_force, x, scores, h, knobs.kernel, w), (state.first, second, t)
        arrays = read_only(particles, state.log_weights, first, second, x, log_p, log_w)
        info = _told(len(batch), beta, size, h, effective_sample_size(log_w), particles - x, knobs)
        state = GFSVGDState(*arrays, t, growth(particles, target.scale))
        terms = paced(knobs.optimiser, memory, size * target.scale, target.scale, parts)
        paths = partial(forces, x, scores, h, knobs.kernel, w)
        return state, info._replace(terms=terms, paths=paths, numbers={"ε": size})

    def surrogate(self, state: GFSVGDState, knobs: GFSVGDKnobs, target: Target) -> Surrogate:
        """That of the last step, or of the start."""
        return SURROGATES[knobs.surrogate](state.before, state.log_p, knobs, target)

    def ratios(self, state: GFSVGDState) -> np.ndarray:
        """w of the last step."""
        return np.exp(state.log_ratios)

    def temperature(self, state: GFSVGDState, knobs: GFSVGDKnobs) -> float:
        """Of the last step, or the first."""
        return temperature(max(state.iteration - 1, 0), knobs)

    def ended(self, state: GFSVGDState, knobs: GFSVGDKnobs, target: Target) -> str:
        """Where the particles have left: their variance is more than 100 times the prior's."""
        return "diverged" if state.growth > EXPLODED else ""

    def unfinished(self, state: GFSVGDState, knobs: GFSVGDKnobs) -> str:
        """That the power of the likelihood is not 1 yet."""
        beta = self.temperature(state, knobs) if state.iteration and state.growth <= EXPLODED else 1.0
        return on_the_way(beta) if beta < 1 else ""

    def caveat(self, state: GFSVGDState, knobs: GFSVGDKnobs) -> str:
        """That the power of the likelihood is not 1 yet, or that few particles have all the weight of the force."""
        if state.iteration == 0:
            return ""
        m = len(state.particles)
        if state.growth > EXPLODED:
            return (
                "particles diverged: their variance is more than 100 times the prior's, and the run ends here; "
                "the surrogate drives them apart faster than it holds them"
            )
        if known := self.unfinished(state, knobs):
            return known
        ess = effective_sample_size(state.log_ratios)
        if ess < max(FEW * m, 2) and m > 2:
            return (
                f"{ess:.1f} effective particles in ρ/p: few particles exert all of the force, "
                "and the others do not feel the posterior; a surrogate nearer to it helps"
            )
        return super().caveat(state, knobs)


def _told(rows: int, beta: float, size: float, h: float, ess: float, moves: np.ndarray, knobs: GFSVGDKnobs) -> StepInfo:
    moved, annealed = float(np.sqrt((moves**2).sum(axis=1).mean())), knobs.annealing == "on"
    told = {"step_size": size, "length_scale": float(np.sqrt(h)), "typical_move": moved, "surrogate_ess": ess}
    words = f"step {size:.3g} · ESS of ρ/p {ess:.3g} · kernel width {np.sqrt(h):.3g} · typical move {moved:.2g}"
    return StepInfo(
        Cost(rows, rows * len(moves)),
        words + (f" · β = {beta:.3g}" if annealed else ""),
        scalars=told | ({"temperature": beta} if annealed else {}),
    )


def growth(particles: np.ndarray, scale: np.ndarray) -> float:
    """The particles' variance in prior variances, a mean over the coordinates."""
    return float((particles.var(axis=0) / scale**2).mean())
