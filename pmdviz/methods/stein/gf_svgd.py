"""Gradient-free SVGD (Han 2019): the force of a surrogate's gradient, weighted by surrogate over target."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import NamedTuple

import numpy as np

from pmdviz.densities.density import effective_sample_size, normalise
from pmdviz.errors import InputError, TargetError
from pmdviz.kernels.checks import Array, Rng
from pmdviz.kernels.factors import precision
from pmdviz.kernels.stein_forces import sampled_median_distance, soft_means
from pmdviz.knobs import Choice, Real
from pmdviz.methods import optimisers
from pmdviz.methods.base import checked_log_density, read_only
from pmdviz.methods.optimisers import flow_update, momentum, paced
from pmdviz.methods.particles import (
    BANDWIDTH,
    BANDWIDTH_RULE,
    NUM_PARTICLES,
    SmoothedMethod,
    SmoothingKnobs,
    covariance,
    equal_log_weights,
    prior_draws,
    resized,
)
from pmdviz.methods.stein import APART, CLOSEST, DIVISORS, FACTOR_UNIT, KERNELS, forces, parts_of_force, squared_width
from pmdviz.methods.stein.svgd import MEMORY, AnnealedFlowKnobs, temperature
from pmdviz.methods.step import STEP_SIZE, TEMPERATURE, Cost, Path, Scalar, StepInfo, Work, on_the_way
from pmdviz.targets import Target

PRIOR, GAUSSIAN, FLAT, MOMENTS, AT_PARTICLES, DENSITY = "prior", "gaussian", "flat", "moments", "kernels", "density"

TITLES = {
    MOMENTS: "Gaussian by moments",
    GAUSSIAN: "fixed Gaussian",
    PRIOR: "prior (or q₀)",
    AT_PARTICLES: "kernels at particles",
    DENSITY: "kernels, times p",
    FLAT: "none (ρ = 1)",
}


class Surrogate:
    """log rho up to a constant, and its gradient."""

    def log_density(self, points: Array) -> Array:
        """log rho + constant, (n, d) -> (n,), in nats."""
        raise NotImplementedError

    def score(self, points: Array) -> Array:
        """grad log rho, (n, d) -> (n, d)."""
        raise NotImplementedError

    def both(self, points: Array) -> tuple[Array, Array]:
        """log rho + constant (n,) and its gradient (n, d)."""
        return self.log_density(points), self.score(points)

    def marginal(self, coordinates: Sequence[int]) -> Surrogate | None:
        """The density of some of its coordinates; None where it has none, or none in closed form."""
        return None


class FlatSurrogate(Surrogate):
    """rho = 1: no drive, and a repulsion weighted by 1/p."""

    def log_density(self, points: Array) -> Array:
        """0."""
        return np.zeros(len(points))

    def score(self, points: Array) -> Array:
        """0."""
        return np.zeros(points.shape)


@dataclass(frozen=True, eq=False)
class GaussianSurrogate(Surrogate):
    """rho = N(mean, cov), for a mean (d,) and a covariance (d, d)."""

    mean: Array
    cov: Array

    def log_density(self, points: Array) -> Array:
        """-(x - mean)' cov^-1 (x - mean) / 2."""
        return 0.5 * (self.score(points) * (points - self.mean)).sum(axis=1)

    def score(self, points: Array) -> Array:
        """-cov^-1 (x - mean)."""
        return -np.einsum("ni,ij->nj", points - self.mean, precision(self.cov))

    def marginal(self, coordinates: Sequence[int]) -> GaussianSurrogate:
        """The Gaussian of these coordinates."""
        chosen = list(coordinates)
        return GaussianSurrogate(self.mean[chosen], self.cov[np.ix_(chosen, chosen)])


@dataclass(frozen=True, eq=False)
class KernelSurrogate(Surrogate):
    """rho(x) = sum_j c_j exp(-|x - x_j|^2 / h), centres x_j (m, d) and log c_j (m,)  (Han 2019, Algorithm 7)."""

    centres: Array
    log_masses: Array
    h: float

    def log_density(self, points: Array) -> Array:
        """By the largest term: then none underflows."""
        return self.both(points)[0]

    def score(self, points: Array) -> Array:
        """(2/h) (sum_j r_j x_j - x), r_j the share of kernel j in rho(x)."""
        return self.both(points)[1]

    def both(self, points: Array) -> tuple[Array, Array]:
        """In one pass over the kernels."""
        logs, means = soft_means(points, self.centres, self.log_masses, self.h)
        return logs, 2.0 / self.h * (means - points)

    def marginal(self, coordinates: Sequence[int]) -> KernelSurrogate:
        """The same kernels in fewer dimensions."""
        return replace(self, centres=np.ascontiguousarray(self.centres[:, list(coordinates)]))


@dataclass(frozen=True, eq=False)
class PriorSurrogate(Surrogate):
    """rho = the prior, or the q0 of a target without data."""

    target: Target

    def log_density(self, points: Array) -> Array:
        """log p0."""
        return self.target.log_prior(points)

    def score(self, points: Array) -> Array:
        """grad log p0."""
        return self.target.grad_log_prior(points)


def made_surrogate(x: Array, log_p: Array, knobs: GFSVGDKnobs, target: Target) -> Surrogate:
    """rho by the knobs, for particles (m, d) and the log of the target there (m,)."""
    if knobs.surrogate == FLAT:
        return FlatSurrogate()
    if knobs.surrogate == PRIOR:
        return PriorSurrogate(target)
    if knobs.surrogate == GAUSSIAN:
        variances = (knobs.surrogate_sd * target.scale) ** 2
        return GaussianSurrogate(np.full(target.dim, knobs.surrogate_mean), np.diag(variances))
    if knobs.surrogate == MOMENTS:
        equal = np.full(len(x), 1 / len(x))
        spread = covariance(x, equal, target.scale) if len(x) > x.shape[1] else np.diag(x.var(axis=0) + CLOSEST)
        return GaussianSurrogate(x.mean(axis=0), knobs.surrogate_ratio * spread)
    log_masses = log_p - log_p.max() if knobs.surrogate == DENSITY else np.zeros(len(x))
    return KernelSurrogate(x, log_masses, surrogate_width(x, knobs.surrogate_width, target))


def surrogate_width(x: Array, factor: float, target: Target) -> float:
    """h of the surrogate's kernels: `factor` times med^2 / (2 log(m + 1)), the thesis' rule, in squared units of theta.

    With as many as 200 particles a factor of about 11 is med^2.
    """
    sd = float(target.scale.mean())
    distance = sampled_median_distance(x) if len(x) > 1 else sd
    return factor * max(distance, CLOSEST * sd) ** 2 / DIVISORS["thesis"](len(x))


def log_ratios(log_rho: Array, log_p: Array, points: Array, inverted: bool = False) -> Array:
    """log w (m,), logsumexp 0, of w = rho/p at points (m, d); of p/rho where `inverted`.

    Raises TargetError where either density is 0 or has no value: w would be 0 or infinite whatever the others are.
    """
    for values, words in (
        (log_p, "the target has density 0 there and no weight ρ/p; use a smaller step size, or unbounded parameters"),
        (log_rho, "the surrogate has density 0 there, where the target has mass; choose one positive everywhere"),
    ):
        bad = ~np.isfinite(values)
        if bad.any():
            at = points[bad][0]
            shown = ", ".join(f"{v:.6g}" for v in at[:6]) + ", …" * (len(at) > 6)
            raise TargetError(f"at theta = ({shown}): {words}", at)
    return normalise(log_p - log_rho if inverted else log_rho - log_p)


STEPS = 500  # that the default budget is enough for
HAS_KERNELS = ("surrogate", (AT_PARTICLES, DENSITY))
FEW = 0.05  # ESS of the weights as a share of the particles: below it they do not see the target
EXPLODED = 100.0  # times the prior's variance
INVERTED = "inverted"


class GFSVGDKnobs(AnnealedFlowKnobs, SmoothingKnobs):
    """The knobs of `gf_svgd`.

    num_particles: Number of points that move together; a step costs m² kernel values.
    surrogate: The density whose gradient takes the place of the target's. By the particles' moments: the Gaussian of
        their mean and, times the variance ratio, their covariance. Fixed Gaussian: the given mean and sd. Prior: needs
        a gradient of the prior. Kernels: Σ c exp(-|x-x′|²/h) over the particles x′, with c = 1, or with c = p(x′) as in
        Han's Algorithm 7. None: the particles push one another apart, most where p is small.
    surrogate_ratio: How many times the particles' covariance the surrogate's is.
    surrogate_mean: The mean of the fixed Gaussian in every coordinate.
    surrogate_sd: Standard deviation of the fixed Gaussian, in each coordinate in units of the prior's; its variance
        should be about three times the posterior's.
    surrogate_width: h of the surrogate's kernels. 1 is the thesis' rule, under which the surrogate is narrower than the
        target; about 11 for 200 particles is the squared median distance.
    weighting: The force of a particle counts ρ/p: most where the target is small: particles leave. Target over
        surrogate looks like importance sampling, and is wrong.
    """

    num_particles = NUM_PARTICLES.at(300, softbounds=(20, 5_000), acts="copies")
    surrogate = Choice(MOMENTS, TITLES, "Surrogate ρ", basic=True)
    surrogate_ratio = Real(
        3.0, (0.01, 1_000), (0.5, 10), "Variance ratio", "× the particles'", log=True, only_if=("surrogate", MOMENTS)
    )
    surrogate_mean = Real(
        0.0, (-1_000_000, 1_000_000), (-10, 10), "Surrogate mean", "units of θ", only_if=("surrogate", GAUSSIAN)
    )
    surrogate_sd = Real(
        1.0, (1e-6, 1_000_000), (0.1, 10), "Surrogate sd", "prior sds", log=True, only_if=("surrogate", GAUSSIAN)
    )
    surrogate_width = Real(
        12.0, (1e-3, 100_000), (0.5, 50), "Surrogate width", FACTOR_UNIT, log=True, only_if=HAS_KERNELS
    )
    weighting = Choice(
        "ratios", {"ratios": "surrogate over target", INVERTED: "target over surrogate (wrong)"}, "Weights"
    )
    bandwidth_rule = BANDWIDTH_RULE.at("local")
    bandwidth = BANDWIDTH.at(0.75)

    def work(self, num_data: int) -> Work:
        """m^2 kernels of the force and as many of a surrogate made of kernels, and m likelihoods of all data."""
        m = self.num_particles
        return Work(kernels=2 * m**2, likelihoods=m * num_data)


class GFSVGDState(NamedTuple):
    """Particles, all of the same weight, the optimiser's memory, and what the last step knew of them."""

    particles: Array  # (m, d)
    log_weights: Array  # (m,) equal, logsumexp 0
    first: Array  # (m, d)
    second: Array  # (m, d)
    before: Array  # (m, d) of the particles before the last step
    log_p: Array  # (m,) log of the target there, at the temperature of that step, unnormalised
    log_ratios: Array  # (m,) log of surrogate over target there, logsumexp 0
    iteration: int
    growth: float  # of the particles' variance, in prior variances


class GFSVGD(SmoothedMethod):
    """Gradient-free SVGD.

    short_title: GF-SVGD
    about: Gradient-free SVGD moves particles by the gradient of a surrogate density, weighted by surrogate over
        target: the target is only evaluated.
    formula: θ_i ← θ_i + ε D Σ_j w_j [k(θ_j, θ_i) ∇ log ρ(θ_j) + ∇_j k(θ_j, θ_i)],  w_j ∝ ρ(θ_j) / p(θ_j | X)
    what_moves: Particles move: those where the surrogate exceeds the posterior push the others most.
    source: Han 2019 (thesis), Algorithm 5; annealed: Algorithm 7; Han, Liu 2018
    propagate: prior
    move: Stein force (of a surrogate, each point weighted by surrogate over target)
    adapt: preconditioner + kernel width + surrogate (Adam; width and surrogate by the points)

    w_j is rho(x_j) / p(x_j), summing to 1. w times Stein's operator of rho is the operator of p, applied to w k: so the
    flow of infinitely many particles has p as a fixed point, without p's gradient. The kernel is in effect
    w(x) k(x, x') and not k, so finitely many particles come to rest elsewhere than in SVGD. The direction
    w(x_i) phi_i would be steepest; the thesis drops the factor. With the surrogate rho = p it is SVGD; best is one with
    about three times the variance of p.

    Annealed (Algorithm 7) the target of a step is p0^(1 - beta) (p0 L)^beta = p0 L^beta, as in `svgd`.
    """

    name = "gf_svgd"
    varies_less = APART
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

    def init(self, rng: Rng, target: Target, knobs: GFSVGDKnobs) -> GFSVGDState:
        """m draws from the prior."""
        particles, _ = prior_draws(rng, target, knobs.num_particles)
        equal, zeros = equal_log_weights(len(particles)), np.zeros(particles.shape)
        arrays = particles, equal, zeros, zeros.copy(), particles.copy(), np.zeros(len(particles)), equal.copy()
        return GFSVGDState(*read_only(*arrays), 0, growth(particles, target.scale))

    def step(
        self, rng: Rng, state: GFSVGDState, target: Target, batch: Array, knobs: GFSVGDKnobs
    ) -> tuple[GFSVGDState, StepInfo]:
        """One step along the weighted force of the surrogate."""
        state, resize, rows = resized(
            rng, state, knobs.num_particles, target, MEMORY, lambda: self.density(state, knobs, target)
        )
        t, x, beta = state.iteration + 1, state.particles, temperature(state.iteration, knobs)
        log_p = checked_log_density(target, x, batch, beta)
        rho = made_surrogate(x, log_p, knobs, target)
        log_rho, scores = rho.both(x)
        log_w = log_ratios(log_rho, log_p, x, knobs.weighting == INVERTED)
        w, h = np.exp(log_w), squared_width(x, knobs, target)
        force = KERNELS[knobs.kernel].force(x, scores, h, w) * target.scale
        direction, first, second = optimisers.OPTIMISERS[knobs.optimiser](force, state.first, state.second, t)
        size = optimisers.decayed(t, knobs)
        particles = x + size * target.scale * direction
        parts, memory = partial(parts_of_force, x, scores, h, knobs.kernel, w), (state.first, second, t)
        arrays = read_only(particles, state.log_weights, first, second, x, log_p, log_w)
        info = _step_info(len(batch), beta, size, h, effective_sample_size(log_w), particles - x, knobs)
        state = GFSVGDState(*arrays, t, growth(particles, target.scale))
        terms = paced(knobs.optimiser, memory, size * target.scale, target.scale, parts)
        paths = partial(forces, x, scores, h, knobs.kernel, w)
        return state, info._replace(
            words=resize + info.words, parents=rows, terms=terms, paths=paths, numbers={"ε": size}
        )

    def surrogate(self, state: GFSVGDState, knobs: GFSVGDKnobs, target: Target) -> Surrogate:
        """That of the last step, or of the start."""
        return made_surrogate(state.before, state.log_p, knobs, target)

    def ratios(self, state: GFSVGDState) -> Array:
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
                "set Surrogate to the particles' moments, or use a smaller step size or a narrower kernel"
            )
        if known := self.unfinished(state, knobs):
            return known
        ess = effective_sample_size(state.log_ratios)
        if ess < max(FEW * m, 2) and m > 2:
            return (
                f"{ess:.1f} effective particles in ρ/p: few particles exert all of the force, "
                "and the others move without regard to the posterior; use a surrogate nearer to it"
            )
        return super().caveat(state, knobs)


def _step_info(rows: int, beta: float, size: float, h: float, ess: float, moves: Array, knobs: GFSVGDKnobs) -> StepInfo:
    moved, annealed = float(np.sqrt((moves**2).sum(axis=1).mean())), knobs.annealing == "on"
    scalars = {"step_size": size, "length_scale": float(np.sqrt(h)), "typical_move": moved, "surrogate_ess": ess}
    words = f"step {size:.3g} · ESS of ρ/p {ess:.3g} · kernel width {np.sqrt(h):.3g} · typical move {moved:.2g}"
    return StepInfo(
        Cost(rows, rows * len(moves)),
        words + (f" · β = {beta:.3g}" if annealed else ""),
        scalars=scalars | ({"temperature": beta} if annealed else {}),
    )


def growth(particles: Array, scale: Array) -> float:
    """The particles' variance in prior variances, a mean over the coordinates."""
    return float((particles.var(axis=0) / scale**2).mean())
