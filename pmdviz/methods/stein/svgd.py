"""Stein variational gradient descent (Liu, Wang 2016): particles pulled uphill together and pushed apart.

    x_i <- x_i + e s D(s phi(x_i)),  phi(x) = (1/m) sum_j [k(x_j, x) g_j + grad_j k(x_j, x)],  g_j = grad log p(x_j, X)

with k(x, y) = f(|x - y|^2 / h), s the prior's sds, and D the direction by an optimiser: `plain` leaves its argument as
it is, Adam and AdaGrad divide each coordinate of each particle by the size of the forces so far. At rest phi is 0 at
every particle, whatever D. The `formula` of the page has one D for all factors s D(s .). In `SVGD.step` this is, line
by line: the gradients g_j on a batch and the squared width h (`squared_width`; by default med^2 / log(m + 1), med the
median distance within a mode), the force phi at every particle (`KERNELS`), D, and the step size
e_t = min(1, eta / (n_0 + t^kappa)) (`decayed`).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import NamedTuple, TypeAlias

import numpy as np

from pmdviz.densities.density import effective_sample_size, normalise
from pmdviz.errors import TargetError
from pmdviz.kernels.checks import Array, Rng
from pmdviz.kernels.factors import precision
from pmdviz.kernels.stein import soft_means
from pmdviz.knobs import Choice, Real, Whole
from pmdviz.methods import optimisers, stein, weighting
from pmdviz.methods.base import BatchMethod, Stepped, checked_gradient, checked_log_density
from pmdviz.methods.optimisers import DecayingKnobs, flow_update, momentum, paced
from pmdviz.methods.step import BATCH_SIZE, BatchKnobs, Cost, Path, Scalar, StepInfo, Update, Work
from pmdviz.methods.weighting import BANDWIDTH, BANDWIDTH_RULE, NUM_PARTICLES, SmoothedMethod, SmoothingKnobs
from pmdviz.targets import Target

PAIRS = {"sampled": "of sampled pairs", "exact": "of all pairs"}
BY_MEDIAN, ANNEALS = ("length_scale_rule", ("liu_wang", "thesis", "median")), ("annealing", "on")


class AnnealedFlowKnobs(DecayingKnobs, stein.WidthKnobs):
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
    kernel = Choice(stein.RBF, {stein.RBF: "Gaussian (RBF)", "imq": "inverse multiquadric"}, "Kernel")
    length_scale_rule = stein.WIDTH_RULE.at("local")
    length_scale = stein.GIVEN_WIDTH.at(0.3)
    median = Choice("sampled", PAIRS, "Median distance", only_if=BY_MEDIAN)
    annealing = Choice("off", {"off": "off", "on": "on"}, "Annealing")
    num_temperatures = Whole(100, (1, 1_000_000), (1, 1000), "Number of temperatures K", only_if=ANNEALS)
    power = Real(1.0, (0.1, 20), (1, 6), "Temperature exponent p", only_if=ANNEALS)
    steps_per_temperature = Whole(1, (1, 100_000), (1, 50), "Steps per temperature", only_if=ANNEALS)


def temperature(iteration: int, knobs: AnnealedFlowKnobs) -> float:
    """beta of the step after so many, at most 1: ((1 + floor(iteration / steps_per_temperature)) / K)^p.

    Without annealing it is 1.
    """
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


AnyState: TypeAlias = "SVGDState | GFSVGDState"


class SVGDState(NamedTuple):
    """Particles, all of the same weight, and the optimiser's memory."""

    particles: Array  # (m, d)
    log_weights: Array  # (m,) equal, logsumexp 0
    first: Array  # (m, d) Adam's mean of s phi; unused by the others
    second: Array  # (m, d) Adam's mean square, or AdaGrad's sum of squares; unused by plain steps
    iteration: int
    h: float  # of the kernel of the last step, in squared units of theta; NaN at the start


MOVES = stein.width_scalar("units of θ"), stein.move_scalar("units of θ")


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

    Annealed (Han 2019, Algorithm 6): the target is p0^(1 - beta) (p0 L)^beta = p0 L^beta, where p0 is the prior (q0
    without data). Its score is grad log p0 + beta grad log L. The thesis divides the step by beta where p0 is constant;
    this method does not.
    """

    name = "svgd"
    requires = frozenset({"reals", "gradient"})
    varies_less = stein.APART
    kernel_groups = ("svgd",)
    scalars = (optimisers.STEP_SIZE, *MOVES, optimisers.TEMPERATURE)

    paths = (Path("drive", "uphill", True), Path("repulsion", "apart", True))
    update = update_towards("p(θ_j | batch)")

    def init(self, rng: Rng, target: Target, knobs: SVGDKnobs) -> SVGDState:
        """m draws from the prior."""
        particles, _ = weighting.prior_draws(rng, target, knobs.num_particles)
        zeros = np.zeros(particles.shape)
        return SVGDState(particles, weighting.equal(len(particles)), zeros, zeros.copy(), 0, np.nan)

    def step(self, rng: Rng, state: SVGDState, target: Target, batch: Array, knobs: SVGDKnobs) -> Stepped:
        """One step along the Stein force of a batch."""
        q = partial(self.density, state, knobs, target)
        # Where the knob m has been turned: a random subset, or copies moved by kernel noise; `rows` says from which.
        state, resize, rows = weighting.resized(rng, state, knobs.num_particles, target, MEMORY, q)
        x, beta, annealed = state.particles, temperature(state.iteration, knobs), knobs.annealing == "on"
        scores = tempered_scores(target, x, batch, beta)
        (particles, first, second), info, h = moved_along(state, scores, target, knobs, beta)
        words = f"{resize}step {info.step_size:.3g} · batch of {len(batch):,} · {info.words}"
        info = info._replace(cost=Cost(len(batch), 0, len(batch) * len(x)), words=words, parents=rows)
        if annealed:
            info = info._replace(numbers={**info.numbers, "β": beta}, update=ANNEALED)
        return SVGDState(particles, state.log_weights, first, second, state.iteration + 1, h), info

    def unfinished(self, state: SVGDState, knobs: SVGDKnobs) -> str:
        """That the power of the likelihood is not 1 yet."""
        beta = temperature(state.iteration - 1, knobs) if state.iteration else 1.0
        return optimisers.on_the_way(beta) if beta < 1 else ""

    def caveat(self, state: SVGDState, knobs: SVGDKnobs) -> str:
        """That the power of the likelihood is not 1 yet, or that the variance has collapsed."""
        if state.iteration == 0:
            return ""
        if known := self.unfinished(state, knobs):
            return known
        m, d = state.particles.shape
        # From the particles alone (ours), as if they were at rest.
        kept = stein.kept_variance(state.particles, state.h) if knobs.kernel == stein.RBF and m > 1 else 1.0
        if kept < COLLAPSED:
            cure = f"use a wider kernel, or more particles ({m:,} in {d} dimension{'s' * (d > 1)} here)"
            return f"variance about {kept:.0%} of a Gaussian posterior's: particles barely repel one another; {cure}"
        return super().caveat(state, knobs)


def moved_along(
    state: AnyState, scores: Array, target: Target, knobs: AnnealedFlowKnobs, beta: float, weights: Array | None = None
) -> tuple[tuple[Array, Array, Array], StepInfo, float]:
    """One step along the Stein force of `scores` (m, d): particles and the optimiser's memory, info, h."""
    t, x, h = state.iteration + 1, state.particles, stein.squared_width(state.particles, knobs, target)
    given = x, scores, h, knobs.kernel, weights
    force = stein.KERNELS[knobs.kernel].force(x, scores, h, weights) * target.scale  # s (d,), the prior's sds
    direction, first, second = optimisers.OPTIMISERS[knobs.optimiser](force, state.first, state.second, t)
    size = optimisers.decayed(t, knobs)
    particles = x + size * target.scale * direction
    # What the step reports: drive, repulsion and momentum, which add up to the move. They take `first` as it was.
    memory = (state.first, second, t)
    moved, annealed = float(np.sqrt(((particles - x) ** 2).sum(axis=1).mean())), knobs.annealing == "on"
    scalars = {"step_size": size, "length_scale": float(np.sqrt(h)), "typical_move": moved}
    scalars |= {"temperature": beta} if annealed else {}
    words = f"kernel width {np.sqrt(h):.3g} · typical move {moved:.2g}" + (f" · β = {beta:.3g}" if annealed else "")
    terms = paced(knobs.optimiser, memory, size * target.scale, target.scale, partial(stein.parts_of_force, *given))
    info = StepInfo(Cost(), words, {}, scalars, terms, partial(stein.forces, *given), numbers={"ε": size})
    return (particles, first, second), info, h


def tempered_scores(target: Target, particles: Array, batch: Array, beta: float) -> Array:
    """grad log p0 + beta (N/B) sum over the batch of grad log p(x | theta), (m, d)."""
    scores = checked_gradient(target, particles, batch)  # grad log p0 + (N/B) sum over the batch
    return scores if beta == 1 else beta * scores + (1 - beta) * target.grad_log_prior(particles)


# Gradient-free SVGD (Han 2019): the force of a surrogate's gradient, weighted by surrogate over target.
PRIOR, GAUSSIAN, FLAT, MOMENTS, AT_PARTICLES, DENSITY = "prior", "gaussian", "flat", "moments", "kernels", "density"

TITLES = {
    MOMENTS: "Gaussian by moments",
    GAUSSIAN: "fixed Gaussian",
    PRIOR: "prior (or q₀)",
    AT_PARTICLES: "kernels at particles",
    DENSITY: "kernels, times p",
    FLAT: "none (ρ = 1)",
}


class Surrogate(NamedTuple):
    """log rho up to a constant, and its gradient."""

    both: Callable[[Array], tuple[Array, Array]]  # points (n, d) -> log rho + constant (n,) in nats, and grad (n, d)
    # The density of some of its coordinates; None where it has none, or none in closed form.
    marginal: Callable[[Sequence[int]], Surrogate | None] = lambda coordinates: None

    def log_density(self, points: Array) -> Array:
        """log rho + constant, (n, d) -> (n,), in nats."""
        return self.both(points)[0]

    def score(self, points: Array) -> Array:
        """grad log rho, (n, d) -> (n, d)."""
        return self.both(points)[1]


class PriorSurrogate(Surrogate):
    """rho = the prior, or the q0 of a target without data."""


def gaussian_surrogate(mean: Array, cov: Array) -> Surrogate:
    """rho = N(mean, cov), for a mean (d,) and a covariance (d, d); the gradient is -cov^-1 (x - mean)."""

    def both(points: Array) -> tuple[Array, Array]:
        score = -np.einsum("ni,ij->nj", points - mean, precision(cov))
        return 0.5 * (score * (points - mean)).sum(axis=1), score

    return Surrogate(both, lambda some: gaussian_surrogate(mean[list(some)], cov[np.ix_(some, some)]))


def kernel_surrogate(centres: Array, log_masses: Array, h: float) -> Surrogate:
    """rho(x) = sum_j c_j exp(-|x - x_j|^2 / h), centres x_j (m, d) and log c_j (m,)  (Han 2019, Algorithm 7).

    In one pass over the kernels, by the largest term: none underflows; grad is (2/h) (sum_j r_j x_j - x), r_j the share
    of kernel j in rho(x).
    """

    def both(points: Array) -> tuple[Array, Array]:
        logs, means = soft_means(points, centres, log_masses, h)
        return logs, 2.0 / h * (means - points)

    return Surrogate(both, lambda some: kernel_surrogate(np.ascontiguousarray(centres[:, list(some)]), log_masses, h))


def made_surrogate(x: Array, log_p: Array, knobs: GFSVGDKnobs, target: Target) -> Surrogate:
    """rho by the knobs, for particles (m, d) and the log of the target there (m,)."""
    if knobs.surrogate == FLAT:
        return Surrogate(lambda points: (np.zeros(len(points)), np.zeros(points.shape)))  # rho = 1: 1/p weighs alone
    if knobs.surrogate == PRIOR:
        return PriorSurrogate(lambda points: (target.log_prior(points), target.grad_log_prior(points)))
    if knobs.surrogate == GAUSSIAN:
        variances = (knobs.surrogate_sd * target.scale) ** 2
        return gaussian_surrogate(np.full(target.dim, knobs.surrogate_mean), np.diag(variances))
    if knobs.surrogate == MOMENTS:
        equal = np.full(len(x), 1 / len(x))
        full, spread = len(x) > x.shape[1], np.diag(x.var(axis=0) + stein.CLOSEST)
        spread = weighting.covariance(x, equal, target.scale) if full else spread
        return gaussian_surrogate(x.mean(axis=0), knobs.surrogate_ratio * spread)
    log_masses = log_p - log_p.max() if knobs.surrogate == DENSITY else np.zeros(len(x))
    return kernel_surrogate(x, log_masses, stein.leaders_width(x, knobs.surrogate_width, float(target.scale.mean())))


def log_ratios(log_rho: Array, log_p: Array, points: Array, inverted: bool = False) -> Array:
    """log w (m,), logsumexp 0, of w = rho/p at points (m, d); of p/rho where `inverted`.

    Raises TargetError where either density is 0 or has no value: w would be 0 or infinite whatever the others are.
    """
    of_target = "the target has density 0 there and no weight ρ/p; use a smaller step size, or unbounded parameters"
    of_surrogate = "the surrogate has density 0 there, where the target has mass; choose one positive everywhere"
    for values, words in ((log_p, of_target), (log_rho, of_surrogate)):
        bad = ~np.isfinite(values)
        if bad.any():
            at = points[bad][0]
            shown = ", ".join(f"{v:.6g}" for v in at[:6]) + ", …" * (len(at) > 6)
            raise TargetError(f"at theta = ({shown}): {words}", at)
    return normalise(log_p - log_rho if inverted else log_rho - log_p)


FITTED, IS_GIVEN, HAS_KERNELS = (("surrogate", which) for which in (MOMENTS, GAUSSIAN, (AT_PARTICLES, DENSITY)))
UNIT = stein.FACTOR_UNIT
FEW = 0.05  # ESS of the weights as a share of the particles: below it they do not see the target
EXPLODED = 100.0  # times the prior's variance
INVERTED = "inverted"
WEIGHTS = {"ratios": "surrogate over target", INVERTED: "target over surrogate (wrong)"}


WIDER = "× the particles'"  # the unit of a variance


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
    surrogate_ratio = Real(3.0, (0.01, 1_000), (0.5, 10), "Variance ratio", WIDER, log=True, only_if=FITTED)
    surrogate_mean = Real(0.0, (-1_000_000, 1_000_000), (-10, 10), "Surrogate mean", "units of θ", only_if=IS_GIVEN)
    surrogate_sd = Real(1.0, (1e-6, 1_000_000), (0.1, 10), "Surrogate sd", "prior sds", log=True, only_if=IS_GIVEN)
    surrogate_width = Real(12.0, (1e-3, 100_000), (0.5, 50), "Surrogate width", UNIT, log=True, only_if=HAS_KERNELS)
    weighting = Choice("ratios", WEIGHTS, "Weights")
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


SURROGATE_ESS = Scalar("surrogate_ess", "ESS of ρ/p", "particles", True)


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
    needs = (("surrogate", PRIOR, "gradient", MOMENTS),)
    varies_less = stein.APART
    kernel_groups = ("responsibilities", "svgd")
    usual_steps = 500
    scalars = (optimisers.STEP_SIZE, *MOVES, SURROGATE_ESS, optimisers.TEMPERATURE)
    paths = (Path("drive", "uphill on ρ", True), Path("repulsion", "apart", True))
    update = flow_update(
        "Σ_j w_j k(θ_j, θ) ∇ log ρ(θ_j)", "Σ_j w_j ∇_j k(θ_j, θ)", "the surrogate ρ, weighted by w ∝ ρ/p", momentum()
    )

    def init(self, rng: Rng, target: Target, knobs: GFSVGDKnobs) -> GFSVGDState:
        """m draws from the prior."""
        particles, _ = weighting.prior_draws(rng, target, knobs.num_particles)
        equal, zeros = weighting.equal(len(particles)), np.zeros(particles.shape)
        arrays = particles, equal, zeros, zeros.copy(), particles.copy(), np.zeros(len(particles)), equal.copy()
        return GFSVGDState(*arrays, 0, growth(particles, target.scale))

    def step(self, rng: Rng, state: GFSVGDState, target: Target, batch: Array, knobs: GFSVGDKnobs) -> Stepped:
        """One step along the weighted force of the surrogate."""
        q = partial(self.density, state, knobs, target)
        state, resize, rows = weighting.resized(rng, state, knobs.num_particles, target, MEMORY, q)
        x, beta = state.particles, temperature(state.iteration, knobs)
        log_p = checked_log_density(target, x, batch, beta)
        rho = made_surrogate(x, log_p, knobs, target)
        log_rho, scores = rho.both(x)
        log_w = log_ratios(log_rho, log_p, x, knobs.weighting == INVERTED)
        (particles, first, second), info, _ = moved_along(state, scores, target, knobs, beta, np.exp(log_w))
        ess, arrays = effective_sample_size(log_w), (particles, state.log_weights, first, second, x, log_p, log_w)
        words = f"{resize}step {info.step_size:.3g} · ESS of ρ/p {ess:.3g} · {info.words}"
        info = info._replace(cost=Cost(len(batch), len(batch) * len(x)), words=words, parents=rows)
        info = info._replace(scalars={**info.scalars, "surrogate_ess": ess})
        return GFSVGDState(*arrays, state.iteration + 1, growth(particles, target.scale)), info

    def surrogate(self, state: GFSVGDState, knobs: GFSVGDKnobs, target: Target) -> Surrogate:
        """That of the last step, or of the start."""
        return made_surrogate(state.before, state.log_p, knobs, target)

    def temperature(self, state: GFSVGDState, knobs: GFSVGDKnobs) -> float:
        """Of the last step, or the first."""
        return temperature(max(state.iteration - 1, 0), knobs)

    def ended(self, state: GFSVGDState, knobs: GFSVGDKnobs, target: Target) -> str:
        """Where the particles have left: their variance is more than 100 times the prior's."""
        return "diverged" if state.growth > EXPLODED else ""

    def unfinished(self, state: GFSVGDState, knobs: GFSVGDKnobs) -> str:
        """That the power of the likelihood is not 1 yet."""
        beta = self.temperature(state, knobs) if state.iteration and state.growth <= EXPLODED else 1.0
        return optimisers.on_the_way(beta) if beta < 1 else ""

    def caveat(self, state: GFSVGDState, knobs: GFSVGDKnobs) -> str:
        """That the power of the likelihood is not 1 yet, or that few particles have all the weight of the force."""
        if state.iteration == 0:
            return ""
        m = len(state.particles)
        if state.growth > EXPLODED:
            words = "particles diverged: their variance is more than 100 times the prior's, and the run ends here"
            cure = "set Surrogate to the particles' moments, or use a smaller step size or a narrower kernel"
            return f"{words}; {cure}"
        if known := self.unfinished(state, knobs):
            return known
        ess = effective_sample_size(state.log_ratios)
        if ess < max(FEW * m, 2) and m > 2:
            words = "few particles exert all of the force, and the others move without regard to the posterior"
            return f"{ess:.1f} effective particles in ρ/p: {words}; use a surrogate nearer to it"
        return super().caveat(state, knobs)


def growth(particles: Array, scale: Array) -> float:
    """The particles' variance in prior variances, a mean over the coordinates."""
    return float((particles.var(axis=0) / scale**2).mean())
